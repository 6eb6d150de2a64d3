//! The embedded store shows every case of the contract, without waivers, whether or not it groups writes.

use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TestWorld, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

struct EmbeddedHarness {
    make: fn() -> EmbeddedBackend,
}

struct Folder {
    root: TempDir,
    make: fn() -> EmbeddedBackend,
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
            make: self.make,
            backend: Arc::new((self.make)()),
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
        Ok(Arc::new((self.make)()))
    }
}

fn main() {
    let single = EmbeddedHarness {
        make: EmbeddedBackend::new,
    };
    let grouping = EmbeddedHarness {
        make: || EmbeddedBackend::new().grouping_writes(),
    };
    let mut trials = list_trials_under("", single, &[]);
    trials.extend(list_trials_under("grouping::", grouping, &[]));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
