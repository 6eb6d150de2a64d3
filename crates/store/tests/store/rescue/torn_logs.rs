//! Logs that are cut or damaged in the last transaction, were begun anew, or have no record in their file.

use std::path::Path;
use std::process::Command;

use super::logs::{DIMENSION, FRAME, change, killed, log};
use super::{assert_whole, remains, rescued};
use crate::scene::raw::{self, PAGE};
use crate::scene::spaces;
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use tempfile::TempDir;
use twox_hash::XxHash3_64;

/// The bytes at the end of the first two pages that hold the records of the log.
const ROOM: usize = 28;

/// Copies a palace in use and its log as kill -9 would leave them.
fn copy_living(living: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["palace.db", "palace.db-wal"] {
        let copied = Command::new("cp")
            .arg(living.join(name))
            .arg(folder.path())
            .status();
        assert!(copied.unwrap().success());
    }
    folder
}

/// Drawers long enough that a few fill a page.
fn long_drawers(numbers: std::ops::Range<usize>) -> Vec<Write> {
    let long = |n| {
        let drawer = truth::drawer(n, 0, DIMENSION);
        let document = format!("{} {}", drawer.document, "harbour ".repeat(200));
        Write::Upsert(NewDrawer { document, ..drawer })
    };
    numbers.map(long).collect()
}

/// A palace killed after a transaction that lengthened the file and moved drawers from page to page.
struct GrownPalace {
    folder: TempDir,
    /// Before the last transaction and after it.
    before: Truth,
    after: Truth,
}

fn grown() -> GrownPalace {
    let living = tempfile::tempdir().unwrap();
    let first = EmbeddedBackend::new();
    let collection = truth::open(&first, living.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&long_drawers(0..40)).unwrap();
    first.close();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, living.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&long_drawers(40..60)).unwrap();
    let before = Truth::read(collection.as_ref()).unwrap();
    let longer = |n| {
        Write::Update(DrawerPatch {
            metadata: [("tag".to_owned(), Some(MetadataValue::from("new ".repeat(700))))].into(),
            ..DrawerPatch::new(truth::id(n))
        })
    };
    let mut last: Vec<Write> = (0..60).step_by(5).map(longer).collect();
    last.extend(long_drawers(100..160));
    collection.apply_batch(&last).unwrap();
    let after = Truth::read(collection.as_ref()).unwrap();
    let folder = copy_living(living.path());
    backend.close();
    GrownPalace {
        folder,
        before,
        after,
    }
}

/// The numbers of the frames that end a transaction, counted from one, and the length of the file after each.
fn commits(folder: &Path) -> Vec<(usize, u32)> {
    let bytes = std::fs::read(log(folder)).unwrap();
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (1..=(bytes.len() - 32) / FRAME)
        .map(|number| (number, word(32 + (number - 1) * FRAME + 4)))
        .filter(|(_, pages)| *pages > 0)
        .collect()
}

/// The ids of some drawers that did not come back.
fn missing(expected: &Truth, found: &PalaceRemains) -> Vec<DrawerId> {
    let drawers = rescued(found, "drawers").drawers;
    let ids = expected.drawers.keys().cloned();
    ids.filter(|id| !drawers.contains_key(id)).collect()
}

#[test]
fn a_page_that_both_the_file_and_the_log_hold_is_read_once() {
    let killed = killed(0, true);
    let (_, pages) = *commits(killed.folder.path()).last().unwrap();
    let mut steps = Vec::new();
    EmbeddedBackend::new()
        .open_remains(killed.folder.path(), &mut |done, total| steps.push((done, total)))
        .unwrap();
    let pages = u64::from(pages);
    assert!(steps.into_iter().eq((1..=pages).map(|done| (done, pages))));
}

#[test]
fn frames_of_a_new_log_without_a_commit_are_not_used() {
    let killed = killed(0, true);
    let folder = killed.folder.path();
    let connection = raw::connect(folder);
    // The log is copied into the file, so the next frame begins a new one.
    connection
        .query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
        .unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 4; BEGIN; UPDATE drawers SET uses = 77;")
        .unwrap();
    let copy = copy_living(folder);
    connection.execute_batch("ROLLBACK").unwrap();
    connection.close().unwrap();
    let header = std::fs::read(log(copy.path())).unwrap();
    assert_eq!(
        header[16..24],
        header[32 + 8..32 + 16],
        "frames of the new log are there"
    );
    assert_whole(&remains(copy.path()), &killed.truth);
}

#[test]
fn a_damaged_last_frame_costs_its_page_and_not_the_transaction() {
    let grown = grown();
    let (last, _) = *commits(grown.folder.path()).last().unwrap();
    change(&log(grown.folder.path()), |bytes| {
        bytes[32 + (last - 1) * FRAME + 24 + 4000] ^= 0x18
    });
    let found = remains(grown.folder.path());
    assert!(!found.lost.is_empty(), "the damage is reported");
    let missing = missing(&grown.after, &found);
    assert!(missing.len() < 8, "{missing:?}");
}

#[test]
fn a_damaged_commit_of_a_log_without_another_hides_no_page_of_the_file() {
    let living = tempfile::tempdir().unwrap();
    let first = EmbeddedBackend::new();
    let collection = truth::open(&first, living.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&long_drawers(0..90)).unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    first.close();
    let connection = raw::connect(living.path());
    connection
        .execute_batch("UPDATE drawers SET uses = 7 WHERE id < 'd00009'")
        .unwrap();
    let folder = copy_living(living.path());
    connection.close().unwrap();
    let [(last, pages)] = commits(folder.path())[..] else {
        panic!("one transaction")
    };
    assert!(
        last < pages as usize / 2,
        "most of the pages are in the file alone"
    );
    change(&log(folder.path()), |bytes| {
        bytes[32 + (last - 1) * FRAME + 24 + 4000] ^= 0x18
    });
    assert_eq!(missing(&truth, &remains(folder.path())), []);
}

#[test]
fn a_log_cut_within_its_last_transaction_gives_the_frames_before_the_cut() {
    let grown = grown();
    let ends = commits(grown.folder.path());
    let (begin, end) = (ends[ends.len() - 2].0, ends[ends.len() - 1].0);
    let mut most = 0;
    for keep in begin + 1..end {
        let folder = tempfile::tempdir().unwrap();
        for name in ["palace.db", "palace.db-wal"] {
            std::fs::copy(grown.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        change(&log(folder.path()), |bytes| bytes.truncate(32 + keep * FRAME));
        let found = remains(folder.path());
        assert!(!found.lost.is_empty(), "the cut is reported");
        let old = missing(&grown.before, &found);
        assert_eq!(
            old,
            [],
            "{keep} of {begin}..{end}: drawers moved by the cut transaction"
        );
        most = most.max(rescued(&found, "drawers").drawers.len());
    }
    assert!(
        most > grown.before.drawers.len() + 40,
        "{most} of {}",
        grown.after.drawers.len()
    );
}

/// Copies all of the log into the file, as a checkpoint that had not finished, and cuts the log behind its first commit.
fn cut_while_copying(folder: &Path) {
    let mut room = std::fs::read(raw::file(folder)).unwrap()[PAGE - ROOM..PAGE].to_vec();
    let whole_log = std::fs::read(log(folder)).unwrap();
    let ends = commits(folder);
    raw::execute(folder, "SELECT 1");
    let copied: Vec<u8> = [
        room[12..16].to_vec(),
        (ends.last().unwrap().0 as u32).to_le_bytes().to_vec(),
    ]
    .concat();
    let check = XxHash3_64::oneshot_with_seed(0x6c6f_6369_206d_6172, &copied) as u32;
    room[..8].copy_from_slice(&copied);
    room[8..12].copy_from_slice(&check.to_le_bytes());
    change(&raw::file(folder), |bytes| {
        bytes[PAGE - ROOM..PAGE].copy_from_slice(&room);
        bytes[2 * PAGE - ROOM..2 * PAGE].copy_from_slice(&room);
    });
    let (cut, pages) = ends[0];
    assert!(pages < ends.last().unwrap().1, "the file was shorter then");
    std::fs::write(log(folder), &whole_log[..32 + cut * FRAME]).unwrap();
}

#[test]
fn pages_that_a_checkpoint_copied_beyond_a_cut_log_are_read() {
    let grown = grown();
    let folder = grown.folder.path();
    cut_while_copying(folder);
    let found = remains(folder);
    let reasons: Vec<&str> = found.lost.iter().map(|lost| lost.reason.as_str()).collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("being copied into the file")),
        "{reasons:?}"
    );
    assert_eq!(missing(&grown.after, &found), []);
}

#[test]
fn a_model_that_a_checkpoint_copied_beyond_a_cut_log_is_the_one_that_answers() {
    let living = tempfile::tempdir().unwrap();
    let first = EmbeddedBackend::new();
    let collection = truth::open(&first, living.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&long_drawers(0..2)).unwrap();
    first.close();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, living.path(), DIMENSION, true).unwrap();
    // Takes no new page, so that the pointer map is not in what is left of the log and can be believed.
    let short = Write::Add(truth::drawer(4, 0, DIMENSION));
    collection.apply_batch(&[short]).unwrap();
    let second = spaces::model("second", DIMENSION);
    spaces::switch_to(collection.as_ref(), &second);
    let folder = copy_living(living.path());
    backend.close();
    cut_while_copying(folder.path());
    let found = remains(folder.path());
    let info = found.backend.collections(&found.palace).unwrap().pop().unwrap();
    assert_eq!(info.identity, IdentityState::Known(second));
}

/// Damages both records of the log.
fn tear_marks(folder: &Path) {
    change(&raw::file(folder), |bytes| {
        bytes[PAGE - ROOM..PAGE].fill(7);
        bytes[2 * PAGE - ROOM..2 * PAGE].fill(7);
    });
}

#[test]
fn without_a_record_of_the_log_a_missing_log_may_be_a_loss() {
    let killed = killed(0, true);
    tear_marks(killed.folder.path());
    assert_whole(&remains(killed.folder.path()), &killed.truth);
    std::fs::remove_file(log(killed.folder.path())).unwrap();
    let found = remains(killed.folder.path());
    let [lost] = &found.lost[..] else {
        panic!("{:?}", found.lost)
    };
    assert_eq!((&lost.id, lost.count), (&None, None));
    let severities: Vec<FindingSeverity> = found
        .findings
        .iter()
        .filter(|finding| finding.code == "log_mark_damaged")
        .map(|finding| finding.severity)
        .collect();
    assert_eq!(severities, [FindingSeverity::Error]);
}

#[test]
fn without_a_record_of_the_log_frames_behind_a_damaged_one_are_a_loss() {
    let killed = killed(0, true);
    tear_marks(killed.folder.path());
    let ends = commits(killed.folder.path());
    for frame in [0, ends[1].0, ends[ends.len() - 1].0 - 1] {
        let folder = tempfile::tempdir().unwrap();
        for name in ["palace.db", "palace.db-wal"] {
            std::fs::copy(killed.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        change(&log(folder.path()), |bytes| {
            bytes[32 + frame * FRAME + 24 + 4000] ^= 0x18
        });
        let found = remains(folder.path());
        assert!(
            found
                .lost
                .iter()
                .any(|lost| lost.reason.contains("palace.db-wal")),
            "frame {frame}: {:?}",
            found.lost
        );
    }
}
