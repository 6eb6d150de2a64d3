//! The log beside a damaged file: its own is read, another's never.

use std::path::Path;
use std::process::Command;

use super::{assert_whole, remains, rescued};
use crate::scene::raw::{self, PAGE};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

pub(super) const DIMENSION: usize = 8;
pub(super) const FRAME: usize = PAGE + 24;

/// A palace as kill -9 leaves it: with a log that holds the newest commits, and maybe all of them.
pub(super) struct KilledPalace {
    pub(super) folder: TempDir,
    pub(super) truth: Truth,
}

pub(super) fn killed(version: usize, closed_before: bool) -> KilledPalace {
    let living = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let write = |collection: &dyn Collection, from: usize, version: usize| {
        let batch: Vec<Write> = (from..from + 60)
            .map(|n| Write::Upsert(truth::drawer(n, version, DIMENSION)))
            .collect();
        collection.apply_batch(&batch).unwrap();
    };
    if closed_before {
        let first = EmbeddedBackend::new();
        let collection = truth::open(&first, living.path(), DIMENSION, true).unwrap();
        write(collection.as_ref(), 0, version);
        first.close();
    }
    let collection = truth::open(&backend, living.path(), DIMENSION, true).unwrap();
    for from in [30, 90, 150, 40] {
        write(collection.as_ref(), from, version + 1);
    }
    let gone: Vec<DrawerId> = (100..130).map(truth::id).collect();
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
        .unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["palace.db", "palace.db-wal"] {
        // Another process copies: a second descriptor in this one would drop its locks.
        let copied = Command::new("cp")
            .arg(living.path().join(name))
            .arg(folder.path())
            .status();
        assert!(copied.unwrap().success());
    }
    backend.close();
    KilledPalace { folder, truth }
}

pub(super) fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

pub(super) fn log(folder: &Path) -> std::path::PathBuf {
    folder.join("palace.db-wal")
}

#[test]
fn commits_in_the_log_of_a_killed_process_come_back() {
    for closed_before in [true, false] {
        let killed = killed(0, closed_before);
        assert_whole(&remains(killed.folder.path()), &killed.truth);
    }
}

#[test]
fn a_torn_mark_is_no_reason_to_leave_the_log_out() {
    let killed = killed(0, true);
    for at in (PAGE - 28..PAGE).step_by(3) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["palace.db", "palace.db-wal"] {
            std::fs::copy(killed.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        change(&raw::file(folder.path()), |bytes| bytes[at..PAGE].fill(0));
        assert_whole(&remains(folder.path()), &killed.truth);
    }
}

#[test]
fn the_log_of_another_palace_is_not_mixed_in() {
    let (own, other) = (killed(0, true), killed(5, true));
    std::fs::copy(log(other.folder.path()), log(own.folder.path())).unwrap();
    for torn in [false, true] {
        if torn {
            change(&raw::file(own.folder.path()), |bytes| {
                bytes[PAGE - 28..PAGE].fill(7)
            });
        }
        let found = remains(own.folder.path());
        let codes: Vec<&str> = found
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert!(codes.contains(&"foreign_log"), "{codes:?}");
        let drawers = rescued(&found, "drawers").drawers;
        assert_eq!(drawers.len(), 60, "only what the file itself holds");
        let strange = drawers
            .values()
            .filter(|drawer| !drawer.document.as_deref().unwrap().contains("x0 "));
        assert_eq!(strange.count(), 0);
        if !torn {
            assert!(!found.lost.is_empty(), "the commits of the own log are missing");
        }
    }
}

#[test]
fn damage_in_the_log_costs_only_the_pages_it_hit() {
    let killed = killed(0, true);
    let frames = (std::fs::read(log(killed.folder.path())).unwrap().len() - 32) / FRAME;
    let mut lost_most = 0;
    for frame in (0..frames).step_by(frames / 12) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["palace.db", "palace.db-wal"] {
            std::fs::copy(killed.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        change(&log(folder.path()), |bytes| {
            bytes[32 + frame * FRAME + 24 + 4000] ^= 0x18
        });
        let found = remains(folder.path());
        assert!(!found.lost.is_empty(), "frame {frame}: the damage is reported");
        let rescued = rescued(&found, "drawers").drawers;
        let doubtful: Vec<&str> = found.doubtful.iter().map(|drawer| drawer.id.as_str()).collect();
        let listed: Vec<&str> = found.lost.iter().filter_map(|lost| lost.id.as_deref()).collect();
        for (id, drawer) in &rescued {
            if !doubtful.contains(&id.as_str()) {
                let truth = killed.truth.drawers.get(id);
                assert_eq!(
                    truth.and_then(|truth| truth.document.as_ref()),
                    drawer.document.as_ref(),
                    "frame {frame}, {id}"
                );
            }
        }
        let missing: Vec<&DrawerId> = killed
            .truth
            .drawers
            .keys()
            .filter(|id| !rescued.contains_key(*id))
            .collect();
        lost_most = lost_most.max(missing.len());
        let counted = found.lost.iter().any(|lost| lost.id.is_none());
        assert!(
            counted || missing.iter().all(|id| listed.contains(&id.as_str())),
            "frame {frame}"
        );
        assert!(
            missing.len() < 40,
            "frame {frame}: {} of {}",
            missing.len(),
            killed.truth.drawers.len()
        );
    }
    println!("one damaged frame of {frames} cost at most {lost_most} drawers");
}

#[test]
fn a_missing_log_is_reported_and_the_file_alone_comes_back() {
    let killed = killed(0, true);
    std::fs::remove_file(log(killed.folder.path())).unwrap();
    let found = remains(killed.folder.path());
    assert_eq!(found.lost.len(), 1, "{:?}", found.lost);
    assert!(found.lost[0].reason.contains("palace.db-wal"), "{:?}", found.lost);
    assert_eq!(rescued(&found, "drawers").drawers.len(), 60);
}

#[test]
fn a_log_whose_header_is_damaged_is_known_by_its_frames() {
    let killed = killed(0, true);
    change(&log(killed.folder.path()), |bytes| bytes[..24].fill(0));
    let found = remains(killed.folder.path());
    assert_eq!(found.doubtful, []);
    let drawers = rescued(&found, "drawers").drawers;
    assert_eq!(drawers.len(), killed.truth.drawers.len(), "{:?}", found.lost);
}
