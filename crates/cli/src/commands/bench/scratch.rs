//! The place a benchmark works in: a scratch palace beside a folder, or a scratch collection on a server.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use loci_core::{CollectionName, PalaceRef, Result};
use loci_engine::PalaceAddress;

use crate::errors::io_error;

/// A place of its own, so that existing drawers stay untouched.
#[derive(Debug)]
pub(super) struct ScratchPlace {
    pub(super) address: PalaceAddress,
    pub(super) collection: CollectionName,
    /// The folder of a scratch palace.
    folder: Option<PathBuf>,
}

impl ScratchPlace {
    /// Makes a place beside the palace at `address`, or in it if it lives on a server.
    pub(super) fn make(address: &PalaceAddress) -> Result<Self> {
        let mark = RandomState::new().hash_one(std::process::id());
        let collection = CollectionName::new(format!("bench-{mark:016x}"))?;
        let Some(palace) = &address.reference.local_path else {
            // Fails if the palace is missing: a run must not leave an empty one behind.
            address.backend.collections(&address.reference)?;
            return Ok(Self {
                address: address.clone(),
                collection,
                folder: None,
            });
        };
        let above = nearest_folder(palace);
        let folder = above.join(format!(".loci-bench-{mark:016x}"));
        std::fs::create_dir(&folder).map_err(|cause| {
            io_error(
                format!("cannot make a scratch folder in {}", above.display()),
                cause,
            )
            .with_hint("nothing was changed; name a palace in a folder that you may write to with --palace")
        })?;
        Ok(Self {
            address: PalaceAddress {
                backend: address.backend.clone(),
                reference: PalaceRef::local(folder.join("palace")),
            },
            collection,
            folder: Some(folder),
        })
    }

    /// Names the place for people.
    pub(super) fn describe(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => format!("the collection {}", self.collection),
        }
    }

    /// Returns the bytes on disk of a scratch palace.
    pub(super) fn measure_size(&self) -> Option<u64> {
        self.folder.as_deref().map(measure_folder)
    }

    /// Removes a scratch palace; a scratch collection was dropped by the run.
    pub(super) fn remove(&self) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        self.address.backend.close_palace(&self.address.reference);
        std::fs::remove_dir_all(folder).map_err(|cause| {
            io_error(
                format!("cannot remove the scratch folder {}", folder.display()),
                cause,
            )
            .with_hint("remove it by hand; it holds generated drawers only")
        })
    }
}

impl Drop for ScratchPlace {
    fn drop(&mut self) {
        // Nothing is left of an ordinary end; this is for errors on the way.
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns the folder that a palace is in, or the nearest above it that exists: the same disk, in most cases.
fn nearest_folder(palace: &Path) -> PathBuf {
    let above = palace.ancestors().skip(1);
    let existing = above.filter(|folder| folder.exists()).map(Path::to_owned).next();
    existing.unwrap_or_else(std::env::temp_dir)
}

fn measure_folder(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => measure_folder(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
