//! A process that keeps the storage of the reference, and plug-ins in front of it.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use loci_plugin::{PluginBackend, PluginOptions};

/// The executable under test.
pub(crate) const PLUGIN: &str = env!("CARGO_BIN_EXE_loci-backend-reference");

/// A running hub; it ends when it is dropped, and with the test in any case.
pub(crate) struct ReferenceHub {
    socket: PathBuf,
    process: Child,
    // Closing it ends the hub.
    _life: Option<ChildStdin>,
}

impl ReferenceHub {
    /// Starts a hub with its socket in `folder`, and one plug-in in front of it.
    pub(crate) fn start(folder: &Path, profile: &[&str]) -> Result<(Self, PluginBackend), String> {
        let socket = folder.join("hub");
        let mut process = Command::new(PLUGIN)
            .arg("--hub")
            .arg(&socket)
            .args(profile)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let life = process.stdin.take();
        let mut hub = Self {
            socket,
            process,
            _life: life,
        };
        // The hub makes its socket a moment after it was started.
        loop {
            let joined = hub.join(PluginOptions::default());
            let running = hub.process.try_wait().is_ok_and(|ended| ended.is_none());
            match joined {
                Ok(backend) => return Ok((hub, backend)),
                Err(_) if running => std::thread::yield_now(),
                Err(words) => return Err(words),
            }
        }
    }

    /// Starts one more plug-in in front of the same storage.
    pub(crate) fn join(&self, options: PluginOptions) -> Result<PluginBackend, String> {
        let arguments = ["--join".to_owned(), self.socket.display().to_string()];
        PluginBackend::start("reference", PLUGIN, arguments, options).map_err(|error| error.to_string())
    }
}

impl Drop for ReferenceHub {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
