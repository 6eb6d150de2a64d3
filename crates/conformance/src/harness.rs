//! What a backend's test file brings: isolated places to store in, and handles on them.

use std::fs;
use std::sync::Arc;

use loci_core::{Backend, PalaceRef};

/// Makes worlds for one backend.
pub trait Harness: Send + Sync {
    /// What the backend under test is called, in messages.
    fn name(&self) -> String;

    /// A world nobody has written in. An error means that the backend cannot be reached and turns every case red.
    fn fresh(&self) -> Result<Box<dyn World>, String>;
}

/// One isolated place to store in, taken down when it is dropped.
pub trait World: Send + Sync {
    /// The backend under test; the same instance each time.
    fn backend(&self) -> Arc<dyn Backend>;

    /// The backend that fills the world; another one only where the backend under test takes no writes.
    fn writer(&self) -> Arc<dyn Backend> {
        self.backend()
    }

    /// The palace the cases use; it does not exist at first.
    fn palace(&self) -> PalaceRef;

    /// A different palace in the same storage; it does not exist at first.
    fn another_palace(&self) -> PalaceRef;

    /// A new instance of the backend under test over the same storage, as another process would make it.
    fn reopen(&self) -> Result<Arc<dyn Backend>, String>;

    /// Leaves the storage as a power cut would, without closing anything; `false` if this world cannot.
    fn crash(&self) -> bool {
        false
    }

    /// Takes the palace's files away under open handles; `false` if this world cannot.
    fn vanish(&self) -> Result<bool, String> {
        let Some(folder) = self.palace().local_path else {
            return Ok(false);
        };
        fs::remove_dir_all(&folder)
            .map(|()| true)
            .map_err(|error| error.to_string())
    }

    /// Puts the other palace's files in the place of the palace's under open handles; `false` if this world cannot.
    fn replace(&self) -> Result<bool, String> {
        let (Some(folder), Some(other)) = (self.palace().local_path, self.another_palace().local_path) else {
            return Ok(false);
        };
        fs::rename(&folder, folder.with_extension("replaced"))
            .and_then(|()| fs::rename(&other, &folder))
            .map(|()| true)
            .map_err(|error| error.to_string())
    }
}
