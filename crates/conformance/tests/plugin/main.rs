//! The suite and the model test over the wire: the reference as a plug-in, in processes of its own.

mod hub;

use std::sync::Arc;

use hub::ReferenceHub;
use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TempFolder, TestWorld, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_plugin::{PluginBackend, PluginOptions};

struct PluginHarness {
    profile: &'static [&'static str],
}

struct PluginWorld {
    folder: TempFolder,
    backend: Arc<PluginBackend>,
    hub: ReferenceHub,
}

impl BackendHarness for PluginHarness {
    fn name(&self) -> String {
        "the reference as a plug-in".into()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let folder = TempFolder::new()?;
        let (hub, backend) = ReferenceHub::start(folder.path(), self.profile)?;
        Ok(Box::new(PluginWorld {
            backend: Arc::new(backend),
            folder,
            hub,
        }))
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
        Ok(Arc::new(self.hub.join(PluginOptions::default())?))
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
