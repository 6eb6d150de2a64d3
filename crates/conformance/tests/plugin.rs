//! The suite and the model test over the wire: the reference as a plug-in, in processes of its own.

use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TempFolder, TestWorld, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_plugin::{PluginBackend, PluginOptions};

const PLUGIN: &str = env!("CARGO_BIN_EXE_loci-backend-reference");

struct PluginHarness {
    profile: &'static [&'static str],
}

/// A process that keeps the storage, and plug-ins in front of it.
struct PluginWorld {
    folder: TempFolder,
    backend: Arc<PluginBackend>,
    hub: Child,
    // Closing it ends the hub.
    _life: Option<ChildStdin>,
}

fn start_plugin(folder: &TempFolder) -> Result<PluginBackend, String> {
    let socket = folder.path().join("hub").display().to_string();
    let arguments = ["--join".to_owned(), socket];
    PluginBackend::start("reference", PLUGIN, arguments, PluginOptions::default())
        .map_err(|error| error.to_string())
}

impl BackendHarness for PluginHarness {
    fn name(&self) -> String {
        "the reference as a plug-in".into()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let folder = TempFolder::new()?;
        let socket = folder.path().join("hub");
        let mut hub = Command::new(PLUGIN)
            .arg("--hub")
            .arg(&socket)
            .args(self.profile)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let life = hub.stdin.take();
        let mut started = start_plugin(&folder);
        // The hub makes its socket a moment after it was started.
        while started.is_err() && hub.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::yield_now();
            started = start_plugin(&folder);
        }
        Ok(Box::new(PluginWorld {
            backend: Arc::new(started?),
            folder,
            hub,
            _life: life,
        }))
    }
}

impl Drop for PluginWorld {
    fn drop(&mut self) {
        drop(self.hub.kill());
        drop(self.hub.wait());
    }
}

impl TestWorld for PluginWorld {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.folder.path().join("one").join("palace"))
    }

    fn another_palace(&self) -> PalaceRef {
        PalaceRef::local(self.folder.path().join("two").join("palace"))
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(start_plugin(&self.folder)?))
    }
}

fn main() {
    let mut trials = list_trials_under("plugin::", PluginHarness { profile: &[] }, &[]);
    let minimal = PluginHarness {
        profile: &["minimal"],
    };
    trials.extend(list_trials_under("plugin_minimal::", minimal, &[]));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
