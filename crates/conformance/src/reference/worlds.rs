//! Worlds of the reference, on which the suite itself is tested.

use std::fmt;
use std::sync::Arc;

use loci_core::{Backend, PalaceRef};

use super::Reference;
use crate::{BackendHarness, TempFolder, TestWorld};

/// Makes worlds of references with the same descriptor.
pub struct ReferenceHarness {
    make: Box<dyn Fn() -> Reference + Send + Sync>,
    read_only: bool,
}

impl fmt::Debug for ReferenceHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReferenceHarness")
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl ReferenceHarness {
    /// Makes worlds of the references that `make` returns.
    pub fn new(make: impl Fn() -> Reference + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            read_only: false,
        }
    }

    /// Makes worlds whose backend refuses writes and is filled through a writable instance over the same storage.
    pub fn read_only(make: impl Fn() -> Reference + Send + Sync + 'static) -> Self {
        Self {
            read_only: true,
            ..Self::new(make)
        }
    }
}

impl BackendHarness for ReferenceHarness {
    fn name(&self) -> String {
        "the reference".into()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let writer = Arc::new((self.make)());
        let subject = if self.read_only {
            Arc::new(writer.read_only())
        } else {
            Arc::clone(&writer)
        };
        Ok(Box::new(ReferenceWorld {
            folder: TempFolder::new()?,
            writer,
            subject,
        }))
    }
}

struct ReferenceWorld {
    folder: TempFolder,
    writer: Arc<Reference>,
    subject: Arc<Reference>,
}

impl TestWorld for ReferenceWorld {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.subject) as Arc<dyn Backend>
    }

    fn writer(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.writer) as Arc<dyn Backend>
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.folder.path().join("one").join("palace"))
    }

    fn another_palace(&self) -> PalaceRef {
        PalaceRef::local(self.folder.path().join("two").join("palace"))
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(self.subject.reopened()))
    }
}
