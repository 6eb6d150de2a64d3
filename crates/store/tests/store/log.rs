//! A log that is deleted, truncated, damaged or exchanged while the palace is closed must never be ignored silently.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::scene::raw;
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds};
use tempfile::TempDir;

const DIMENSION: usize = 8;
/// Drawers in each batch.
const EACH: usize = 3;
const FRAME: u64 = raw::PAGE as u64 + 24;
const CHILD: &str = "LOCI_TEST_LOG_CHILD";

fn log(folder: &Path) -> PathBuf {
    folder.join("palace.db-wal")
}

fn batch(number: usize, version: usize) -> Vec<Write> {
    let drawers = (number * EACH..(number + 1) * EACH).map(|n| truth::drawer(n, version, DIMENSION));
    drawers.map(Write::Upsert).collect()
}

/// The end of a child process after so many batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Waits to be killed, having begun nothing more.
    Wait(usize),
    /// Closes the palace and opens it again, as many short commands would.
    Reopen(usize),
}

/// Not a test of its own: the other tests start it as a process that writes until it is killed.
#[test]
fn a_child_writes_until_it_is_killed() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = task.splitn(4, ' ').collect();
    let (version, batches): (usize, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    loop {
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, Path::new(words[3]), DIMENSION, true).unwrap();
        let begun = collection.count(&Filter::All.into()).unwrap() as usize / EACH;
        for number in begun..begun + batches {
            collection.apply_batch(&batch(number, version)).unwrap();
            println!("\nacknowledged {number}");
        }
        if words[2] == "wait" {
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        backend.close();
    }
}

fn start(folder: &Path, version: usize, then: Then) -> Child {
    let then = match then {
        Then::Wait(batches) => format!("{batches} wait"),
        Then::Reopen(batches) => format!("{batches} reopen"),
    };
    Command::new(std::env::current_exe().unwrap())
        .args([
            "log::a_child_writes_until_it_is_killed",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, format!("{version} {then} {}", folder.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills the child once it has acknowledged `n` batches; gives the number of the last one.
fn kill_after(mut child: Child, n: usize) -> usize {
    let lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(std::result::Result::ok);
    let acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
    let seen: Vec<usize> = acknowledged.take(n).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen.len(), n, "the child failed by itself");
    *seen.last().unwrap()
}

/// A palace whose writer was killed: its files, and how many batches were acknowledged.
struct Killed {
    folder: TempDir,
    batches: usize,
}

/// Of the palace and of another like it, with other texts.
fn killed(version: usize) -> &'static Killed {
    static KILLED: [OnceLock<Killed>; 2] = [OnceLock::new(), OnceLock::new()];
    KILLED[version].get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
        (0..5).for_each(|number| drop(collection.apply_batch(&batch(number, version)).unwrap()));
        backend.close();
        let batches = kill_after(start(folder.path(), version, Then::Wait(40)), 40) + 1;
        assert!(std::fs::metadata(log(folder.path())).unwrap().len() > 60 * FRAME);
        Killed { folder, batches }
    })
}

fn copied(from: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in raw::names(from) {
        std::fs::copy(from.join(&name), folder.path().join(&name)).unwrap();
    }
    folder
}

/// The state of a palace afterwards.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Every acknowledged batch is there, whole.
    complete: bool,
    /// `info` warned of a lost log.
    warned: bool,
    /// The examination found it, before and after.
    examined: bool,
    /// It did not open; the kind of the error, and what to do.
    refused: Option<(ErrorKind, bool)>,
}

const WHOLE: Found = Found {
    complete: true,
    warned: false,
    examined: false,
    refused: None,
};
const LOST: Found = Found {
    complete: false,
    warned: true,
    examined: true,
    refused: None,
};
const REFUSED: Found = Found {
    complete: false,
    warned: false,
    examined: true,
    refused: Some((ErrorKind::Corrupt, true)),
};

fn is_told(folder: &Path) -> bool {
    let diagnosis = EmbeddedBackend::new().examine(folder).unwrap();
    let told =
        |finding: &PalaceFinding| finding.code == "log_lost" || finding.message.contains("palace.db-wal");
    assert_eq!(
        diagnosis.healthy,
        !diagnosis.findings.iter().any(told),
        "{:?}",
        diagnosis.findings
    );
    !diagnosis.healthy
}

/// Opens a palace, reads all of it and writes to it; twice, since a loss must be said again.
fn look(folder: &Path, batches: usize) -> Found {
    let first = look_once(folder, batches);
    let again = look_once(folder, batches);
    assert_eq!(first, again, "it is said until it is cleared");
    first
}

fn look_once(folder: &Path, batches: usize) -> Found {
    let backend = EmbeddedBackend::new();
    let collection = match truth::open(&backend, folder, DIMENSION, false) {
        Ok(collection) => collection,
        Err(error) => {
            let refused = Some((
                error.kind(),
                error.hint_text().is_some_and(|hint| hint.contains("put the")),
            ));
            return Found {
                refused,
                examined: is_told(folder),
                ..Found::default()
            };
        }
    };
    let drawers = collection.get(&truth::everything()).unwrap();
    let ours = drawers.iter().filter(|drawer| drawer.id < truth::id(90_000));
    let right = ours.clone().filter(|drawer| {
        let n: usize = drawer.id.as_str()[1..].parse().unwrap();
        drawer.document.as_deref() == Some(truth::text(n, 0).as_str())
    });
    assert_eq!(right.count(), ours.clone().count(), "content of another palace");
    let complete = ours.count() >= batches * EACH;
    collection.apply_batch(&batch(30_000, 0)).unwrap();
    let warned = collection
        .info()
        .unwrap()
        .warnings
        .iter()
        .any(|finding| finding.code == "log_lost");
    backend.close();
    Found {
        complete,
        warned,
        examined: is_told(folder),
        refused: None,
    }
}

/// Does something to the log of a palace whose writer was killed, and looks at it.
fn after(harm: impl FnOnce(&Path)) -> Found {
    let palace = killed(0);
    let folder = copied(palace.folder.path());
    harm(folder.path());
    look(folder.path(), palace.batches)
}

fn cut(folder: &Path, length: u64) {
    let file = std::fs::File::options().write(true).open(log(folder)).unwrap();
    file.set_len(length).unwrap();
}

fn flip(folder: &Path, offset: u64) {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(log(folder))
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x20], offset).unwrap();
}

fn frames(folder: &Path) -> u64 {
    (std::fs::metadata(log(folder)).unwrap().len() - 32) / FRAME
}

#[test]
fn a_killed_writer_alone_loses_nothing_and_nothing_is_said() {
    assert_eq!(after(|_| {}), WHOLE);
}

#[test]
fn a_deleted_log_is_said() {
    assert_eq!(after(|folder| std::fs::remove_file(log(folder)).unwrap()), LOST);
}

#[test]
fn a_deleted_log_that_is_put_back_before_anyone_writes_gives_everything_back() {
    let palace = killed(0);
    let folder = copied(palace.folder.path());
    let aside = folder.path().join("aside");
    std::fs::rename(log(folder.path()), &aside).unwrap();
    assert!(is_told(folder.path()));
    std::fs::rename(&aside, log(folder.path())).unwrap();
    let found = look_once(folder.path(), palace.batches);
    assert!(found.complete, "{found:?}");
}

#[test]
fn a_log_cut_anywhere_is_said() {
    for length in [0, 10, 32, 33, 32 + FRAME / 2, 32 + FRAME] {
        assert_eq!(after(|folder| cut(folder, length)), LOST, "{length} bytes");
    }
    assert_eq!(
        after(|folder| cut(folder, 32 + frames(folder) / 2 * FRAME)),
        LOST,
        "half"
    );
    assert_eq!(
        after(|folder| cut(folder, 32 + frames(folder) * FRAME - 1)),
        LOST,
        "the last byte"
    );
}

#[test]
fn a_flipped_byte_anywhere_in_the_log_is_said_and_the_log_is_kept() {
    let count = frames(killed(0).folder.path());
    let within = |frame: u64, at: u64| 32 + frame * FRAME + at;
    for offset in [
        0,
        9,
        17,
        30,
        within(0, 3),
        within(0, 500),
        within(count / 2, 18),
        within(count / 2, 4000),
        within(count - 1, 5),
        within(count - 1, 8000),
    ] {
        let palace = killed(0);
        let folder = copied(palace.folder.path());
        flip(folder.path(), offset);
        let hurt = std::fs::read(log(folder.path())).unwrap();
        assert_eq!(look(folder.path(), palace.batches), LOST, "offset {offset}");
        let names = raw::names(folder.path());
        let kept = names
            .iter()
            .find(|name| name.contains("-wal.lost-"))
            .expect("the damaged log is kept");
        assert!(
            std::fs::read(folder.path().join(kept)).unwrap() == hurt,
            "as it was found"
        );
    }
}

#[test]
fn the_log_of_another_palace_is_refused_and_nothing_is_changed() {
    let palace = killed(0);
    let folder = copied(palace.folder.path());
    std::fs::copy(log(killed(1).folder.path()), log(folder.path())).unwrap();
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(look(folder.path(), palace.batches), REFUSED);
    assert!(before == std::fs::read(raw::file(folder.path())).unwrap());
    assert!(
        std::fs::read(log(folder.path())).unwrap() == std::fs::read(log(killed(1).folder.path())).unwrap()
    );
    std::fs::copy(log(palace.folder.path()), log(folder.path())).unwrap();
    assert_eq!(
        look(folder.path(), palace.batches),
        WHOLE,
        "with the right log back"
    );
}

#[test]
fn a_log_beside_a_palace_that_was_closed_is_refused() {
    let palace = killed(0);
    for (what, foreign) in [("another palace's", killed(1)), ("its own older one", killed(0))] {
        let folder = copied(palace.folder.path());
        // Closing copies the log into the file and deletes it.
        assert_eq!(look(folder.path(), palace.batches), WHOLE);
        assert_eq!(raw::names(folder.path()), ["palace.db"]);
        std::fs::copy(log(foreign.folder.path()), log(folder.path())).unwrap();
        assert_eq!(look(folder.path(), palace.batches), REFUSED, "{what}");
        std::fs::remove_file(log(folder.path())).unwrap();
        assert_eq!(look(folder.path(), palace.batches), WHOLE, "{what} taken away");
    }
}

#[test]
fn an_older_copy_of_the_log_is_said_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    kill_after(start(folder.path(), 0, Then::Wait(5)), 5);
    let old = std::fs::read(log(folder.path())).unwrap();
    let last = kill_after(start(folder.path(), 0, Then::Wait(30)), 30);
    let newer = copied(folder.path());
    std::fs::write(log(newer.path()), &old).unwrap();
    let found = look(newer.path(), last + 1);
    assert!(found == LOST || found == REFUSED, "{found:?}");
    assert_eq!(look(folder.path(), last + 1), WHOLE);
    std::fs::write(log(folder.path()), &old).unwrap();
    assert_eq!(look(folder.path(), last + 1), REFUSED, "beside the closed palace");
}

#[test]
fn shared_memory_may_be_gone_or_garbage() {
    let shared = |folder: &Path| folder.join("palace.db-shm");
    assert_eq!(
        after(|folder| std::fs::remove_file(shared(folder)).unwrap()),
        WHOLE
    );
    for seed in 0..4 {
        let mut random = SeededRandom::new(seed);
        let noise: Vec<u8> = (0..32_768).map(|_| random.next_bits() as u8).collect();
        assert_eq!(
            after(|folder| std::fs::write(shared(folder), &noise).unwrap()),
            WHOLE
        );
    }
    let both = |folder: &Path| {
        std::fs::remove_file(shared(folder)).unwrap();
        std::fs::remove_file(log(folder)).unwrap();
    };
    assert_eq!(after(both), LOST);
}

#[test]
fn a_new_palace_whose_tables_are_all_in_its_log_is_not_taken_for_an_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    kill_after(start(folder.path(), 0, Then::Wait(1)), 1);
    std::fs::remove_file(log(folder.path())).unwrap();
    for create in [false, true] {
        let error = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, create).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert!(error.message().contains("palace.db-wal"), "{error:?}");
    }
}

#[test]
fn a_palace_that_lost_its_log_can_still_be_backed_up_and_the_copy_says_so() {
    let folder = copied(killed(0).folder.path());
    std::fs::remove_file(log(folder.path())).unwrap();
    let (backend, palace) = (EmbeddedBackend::new(), PalaceRef::local(folder.path()));
    assert!(
        !truth::open(&backend, folder.path(), DIMENSION, false)
            .unwrap()
            .info()
            .unwrap()
            .warnings
            .is_empty()
    );
    let copy = tempfile::tempdir().unwrap();
    backend
        .backup(&palace, &raw::file(copy.path()), &mut |_| {})
        .unwrap();
    assert!(is_told(copy.path()));
}

#[test]
fn killed_and_closed_at_random_nothing_is_ever_said_that_is_not_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SeededRandom::new(11);
    let kills = 10 * campaign_rounds(1);
    for round in 0..kills {
        let writers: Vec<Child> = (0..1 + random.below(3))
            .map(|_| start(folder.path(), 0, Then::Reopen(7)))
            .collect();
        for child in writers {
            kill_after(child, 1 + random.below(20));
        }
        if random.below(3) > 0 {
            let diagnosis = EmbeddedBackend::new().examine(folder.path()).unwrap();
            assert!(diagnosis.healthy, "round {round}: {:?}", diagnosis.findings);
        }
        if random.below(2) > 0 {
            let backend = EmbeddedBackend::new();
            let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
            assert_eq!(collection.info().unwrap().warnings, Vec::new(), "round {round}");
            backend.close();
        }
    }
}

#[test]
fn a_journal_that_another_file_left_does_not_destroy_the_palace() {
    let folder = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&batch(0, 0)).unwrap();
    drop(collection);
    backend.close();
    let file = folder.path().join("palace.db");
    let before = std::fs::read(&file).unwrap();
    // The journal of a file that was being made under this name: no pages, and an original length of nothing.
    let mut journal = vec![0; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[20..24].copy_from_slice(&512_u32.to_be_bytes());
    journal[24..28].copy_from_slice(&8192_u32.to_be_bytes());
    let beside = folder.path().join("palace.db-journal");
    std::fs::write(&beside, &journal).unwrap();
    let refused = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused:?}");
    let hint = refused.hint_text().unwrap_or_default();
    assert!(hint.contains("move palace.db-journal"), "{refused:?}");
    assert!(
        std::fs::read(&file).unwrap() == before,
        "the palace was not touched"
    );
    std::fs::remove_file(&beside).unwrap();
    let opened = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    assert_eq!(opened.count(&Filter::All.into()).unwrap(), EACH as u64);
}
