//! The embedded store shows every case of the contract, without waivers.

use std::path::PathBuf;
use std::sync::Arc;

use loci_conformance::{BackendHarness, TestWorld};
use loci_core::{Backend, PalaceRef};
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

struct EmbeddedHarness;

struct Folder {
    root: TempDir,
    backend: Arc<EmbeddedBackend>,
}

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

impl BackendHarness for EmbeddedHarness {
    fn name(&self) -> String {
        "embedded".to_owned()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(Folder {
            root,
            backend: Arc::new(EmbeddedBackend::new()),
        }))
    }
}

impl TestWorld for Folder {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.path("palace"))
    }

    fn another_palace(&self) -> PalaceRef {
        PalaceRef::local(self.path("another"))
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(EmbeddedBackend::new()))
    }
}

fn main() {
    loci_conformance::main(EmbeddedHarness, &[]);
}
