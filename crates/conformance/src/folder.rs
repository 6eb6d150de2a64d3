//! A temporary folder that is removed when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

static FOLDERS_MADE: AtomicU64 = AtomicU64::new(0);

/// A unique folder under the system's temporary folder.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes a new, empty folder.
    pub fn new() -> Result<Self, String> {
        let nanos = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.subsec_nanos());
        // Process id, clock and counter: several test processes run at once, and process ids are reused.
        let name = format!(
            "loci-conformance-{}-{nanos}-{}",
            std::process::id(),
            FOLDERS_MADE.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        // Not `create_dir_all`: a folder that exists already belongs to another test.
        fs::create_dir(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is litter, not a failure of the case.
        let _ = fs::remove_dir_all(&self.0);
    }
}
