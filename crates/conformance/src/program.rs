//! Worlds of a plug-in that is given as an executable, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{Backend, PalaceRef};
use loci_plugin::{PluginBackend, PluginOptions};

use crate::{BackendHarness, TempFolder, TestWorld};

/// The time for a hello in cases that are not about it.
const PATIENT_HELLO: Duration = Duration::from_secs(60);

/// Makes worlds for the backend in an executable.
#[derive(Debug)]
pub struct ProgramHarness {
    program: PathBuf,
    arguments: Vec<String>,
    seed: Option<u64>,
}

impl ProgramHarness {
    /// Makes worlds for `program`, started with these arguments.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = String>) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().collect(),
            seed: None,
        }
    }

    /// Chooses the number that the random histories follow from.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.seed = seed;
        self
    }
}

struct ProgramWorld {
    program: PathBuf,
    arguments: Vec<String>,
    backend: Arc<PluginBackend>,
    folder: TempFolder,
}

fn start_program(program: &PathBuf, arguments: &[String]) -> Result<PluginBackend, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_prefix("loci-backend-").unwrap_or(&name);
    let options = PluginOptions {
        // One case is about the hello and its time; all others start programs too, and on a machine under load they
        // must not fail for that.
        hello_time: PATIENT_HELLO,
        ..PluginOptions::default()
    };
    PluginBackend::start(name, program, arguments.to_vec(), options).map_err(|error| error.to_string())
}

impl BackendHarness for ProgramHarness {
    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn program(&self) -> Option<(&Path, &[String])> {
        Some((&self.program, &self.arguments))
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        Ok(Box::new(ProgramWorld {
            backend: Arc::new(start_program(&self.program, &self.arguments)?),
            folder: TempFolder::new()?,
            program: self.program.clone(),
            arguments: self.arguments.clone(),
        }))
    }
}

impl TestWorld for ProgramWorld {
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
        Ok(Arc::new(start_program(&self.program, &self.arguments)?))
    }
}
