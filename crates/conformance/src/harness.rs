//! The part of the suite that a backend's test file implements: isolated places to store in, and access to them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{Backend, Capability, Collection, PalaceRef};

/// Makes worlds for one backend.
pub trait BackendHarness: Send + Sync {
    /// Returns the name of the backend under test, for messages.
    fn name(&self) -> String;

    /// Makes an empty world. An error means that the backend cannot be reached, and fails every case.
    fn make_world(&self) -> Result<Box<dyn TestWorld>, String>;

    /// Returns the executable of the backend and its arguments, if it is a program of its own.
    fn program(&self) -> Option<(&Path, &[String])> {
        None
    }

    /// Returns the number that the random histories follow from, if one was chosen.
    fn seed(&self) -> Option<u64> {
        None
    }
}

/// One isolated place to store in, taken down when it is dropped.
pub trait TestWorld: Send + Sync {
    /// Returns the backend under test; the same instance each time.
    fn backend(&self) -> Arc<dyn Backend>;

    /// Returns the backend that fills the world; a different one only if the backend under test refuses writes.
    fn writer(&self) -> Arc<dyn Backend> {
        self.backend()
    }

    /// Returns the palace that the cases use; it does not exist at first.
    fn palace(&self) -> PalaceRef;

    /// Returns a different palace in the same storage; it does not exist at first.
    fn another_palace(&self) -> PalaceRef;

    /// Returns a new instance of the backend under test over the same storage, as another process would make it.
    fn reopen(&self) -> Result<Arc<dyn Backend>, String>;

    /// Returns the capabilities that were chosen for the palaces of this world, beyond those that the backend advertises.
    fn chosen_capabilities(&self) -> Vec<Capability> {
        Vec::new()
    }

    /// Puts that choice into effect; called with each collection that a case has filled.
    fn settle(&self, _filled: &dyn Collection) -> Result<(), String> {
        Ok(())
    }

    /// Leaves the storage as a power cut would, without closing anything; `false` if this world cannot.
    fn crash(&self) -> bool {
        false
    }

    /// Removes the palace's files under open handles; `false` if this world cannot.
    fn remove_files(&self) -> Result<bool, String> {
        // Without a local folder there is nothing that could be removed behind the backend's back.
        let Some(folder) = self.palace().local_path else {
            return Ok(false);
        };
        fs::remove_dir_all(&folder)
            .map(|()| true)
            .map_err(|error| error.to_string())
    }

    /// Replaces the palace's files by those of the other palace under open handles; `false` if this world cannot.
    fn replace_files(&self) -> Result<bool, String> {
        let (Some(folder), Some(other)) = (self.palace().local_path, self.another_palace().local_path) else {
            return Ok(false);
        };
        // Moved aside and not removed: the old files stay valid for open handles, which must still notice.
        fs::rename(&folder, folder.with_extension("replaced"))
            .and_then(|()| fs::rename(&other, &folder))
            .map(|()| true)
            .map_err(|error| error.to_string())
    }
}
