//! The fingerprint of a source: everything a stat says of it, without reading it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name;
use crate::stat::Stat;

/// Everything a stat says of a file, or of the files of a bundle; equal means unchanged as far as stats can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFingerprint {
    /// One file.
    File(Stat),
    /// Several: a hash of their names and stats, and the volume they are on.
    Files {
        /// The hash.
        hash: String,
        /// The device number of the first.
        device: u64,
    },
}

impl SourceFingerprint {
    /// The fingerprint of files that belong together.
    pub(crate) fn of_files(files: &[(PathBuf, Stat)]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (path, stat) in files {
            hasher.update(name::of_path(path).as_bytes());
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

    /// The volume the source is on.
    pub fn device(&self) -> u64 {
        match self {
            Self::File(stat) => stat.device,
            Self::Files { device, .. } => *device,
        }
    }
}
