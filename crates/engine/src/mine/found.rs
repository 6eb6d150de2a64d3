//! What a walk comes upon, as mining sees it: how large it is, and what it looks like.

use loci_core::Result;

use super::formats::{self, BundleFormat, Chosen};
use super::stamp::Seen;
use super::walk::{self, Found, WalkRequest};
use super::{MineRequest, name};

/// Walks the paths of a request.
pub(crate) fn each_found(request: &MineRequest, each: &mut dyn FnMut(Found) -> Result<()>) -> Result<()> {
    let chosen = formats::chosen(request.format.as_deref())?;
    let bundles: Vec<BundleFormat> = match chosen {
        None => formats::bundles().to_vec(),
        Some(Chosen::Bundle(bundle)) => vec![bundle],
        Some(Chosen::File | Chosen::Text(_)) => Vec::new(),
    };
    let walk = WalkRequest {
        roots: &request.paths,
        max_bytes: request.max_bytes,
        hidden: request.hidden,
        ignored: request.ignored,
        bundles: &bundles,
        avoid: &request.avoid,
        excludes: request.excludes.as_deref(),
    };
    walk::walk(&walk, each)
}

/// How large a found thing is; `None` if it is nothing to mine.
pub(crate) fn bytes_of(found: &Found) -> Option<u64> {
    match found {
        Found::File { stat, .. } => Some(stat.size),
        Found::Bundle { files, .. } => Some(files.iter().map(|(_, stat)| stat.size).sum()),
        _ => None,
    }
}

/// What a found thing looked like to the walk.
pub(crate) fn seen_of(found: &Found) -> Seen {
    match found {
        Found::File { stat, .. } => Seen::File(*stat),
        Found::Bundle { files, .. } => {
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
            Seen::Files {
                hash: hasher.finalize().to_hex().to_string(),
                device: files.first().map_or(0, |(_, stat)| stat.device),
            }
        }
        Found::Skipped { .. } | Found::LeftOut { .. } => Seen::Files {
            hash: String::new(),
            device: 0,
        },
    }
}
