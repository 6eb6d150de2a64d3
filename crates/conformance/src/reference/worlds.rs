//! Worlds of the reference, for the suite to be shown on it.

use std::fmt;
use std::sync::Arc;

use loci_core::{Backend, PalaceRef};

use super::Reference;
use crate::{Harness, TempFolder, World};

/// Makes worlds of references that are all described alike.
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
    /// Worlds of what `make` makes.
    pub fn new(make: impl Fn() -> Reference + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            read_only: false,
        }
    }

    /// Worlds whose backend takes no writes and is filled through a twin that does.
    pub fn read_only(make: impl Fn() -> Reference + Send + Sync + 'static) -> Self {
        Self {
            read_only: true,
            ..Self::new(make)
        }
    }
}

impl Harness for ReferenceHarness {
    fn name(&self) -> String {
        "the reference".into()
    }

    fn fresh(&self) -> Result<Box<dyn World>, String> {
        let writer = Arc::new((self.make)());
        let subject = match self.read_only {
            true => Arc::new(writer.read_only()),
            false => Arc::clone(&writer),
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

impl World for ReferenceWorld {
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
        Ok(Arc::new(self.subject.again()))
    }
}
