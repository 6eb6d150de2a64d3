//! The embedded store shows every case of the contract, without waivers.

use std::path::PathBuf;
use std::sync::Arc;

use loci_conformance::{Harness, World};
use loci_core::{Backend, PalaceRef};
use loci_store::Embedded;
use tempfile::TempDir;

struct EmbeddedHarness;

struct Folder {
    root: TempDir,
    backend: Arc<Embedded>,
}

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

impl Harness for EmbeddedHarness {
    fn name(&self) -> String {
        "embedded".to_owned()
    }

    fn fresh(&self) -> Result<Box<dyn World>, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(Folder {
            root,
            backend: Arc::new(Embedded::new()),
        }))
    }
}

impl World for Folder {
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
        Ok(Arc::new(Embedded::new()))
    }
}

fn main() {
    loci_conformance::main(EmbeddedHarness, &[]);
}
