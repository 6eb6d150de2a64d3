//! The fingerprint of a source: everything its stats say, without reading it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name;
use crate::stat::FileStat;

/// The stats of a file, or of the files of a bundle; equal means unchanged as far as stats can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFingerprint {
    /// One file.
    File(FileStat),
    /// Several files: a hash of their names and stats, and their volume.
    Files {
        /// The hash.
        hash: String,
        /// The device number of the first file.
        device: u64,
    },
}

impl SourceFingerprint {
    /// Computes the fingerprint of files that belong together, of whose parts those over `max_bytes` are left out.
    pub(crate) fn from_files(files: &[(PathBuf, FileStat)], max_bytes: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Only a file over the limit can have such a part; with another limit it is read again.
        if files.iter().any(|(_, stat)| stat.size > max_bytes) {
            hasher.update(&max_bytes.to_le_bytes());
        }
        for (path, stat) in files {
            hasher.update(name::name_of_path(path).as_bytes());
            // Ends the name: no path holds a NUL, so two lists of files never feed the hasher the same bytes.
            hasher.update(&[0]);
            let numbers = [
                stat.size,
                stat.modified as u64,
                stat.changed as u64,
                stat.inode,
                stat.device,
            ];
            for number in numbers {
                hasher.update(&number.to_le_bytes());
            }
        }
        Self::Files {
            hash: hasher.finalize().to_hex().to_string(),
            device: files.first().map_or(0, |(_, stat)| stat.device),
        }
    }

    /// Returns the device number of the volume the source is on.
    pub fn device(&self) -> u64 {
        match self {
            Self::File(stat) => stat.device,
            Self::Files { device, .. } => *device,
        }
    }
}
