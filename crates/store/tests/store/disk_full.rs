//! A disk without room must cost the batch that did not fit and nothing else, and the palace must work again with room.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const DIMENSION: usize = 16;
const BATCH: usize = 20;
/// No disk here has room for so many batches.
const MANY: usize = 1500;

/// Set for a child process: how its disk is full, and where its palace is.
const TASK: &str = "LOCI_TEST_TASK";

fn batch(number: usize) -> Vec<Write> {
    let drawer = |n: usize| NewDrawer {
        document: format!("{} {}", truth::text(n, 0), "ballast ".repeat(200)),
        ..truth::drawer(n, 0, DIMENSION)
    };
    (number * BATCH..(number + 1) * BATCH)
        .map(|n| Write::Add(drawer(n)))
        .collect()
}

/// Writes until a batch does not fit; gives what was acknowledged, and the error.
fn fill(collection: &dyn Collection, told: &mut Truth) -> Error {
    let first = told.drawers.len() / BATCH;
    for number in first..MANY {
        match collection.apply_batch(&batch(number)) {
            Ok(_) => told.apply(&batch(number)),
            Err(error) => return error,
        }
    }
    panic!("{MANY} batches fitted");
}

fn assert_whole(collection: &dyn Collection, told: &Truth, when: &str) {
    assert_eq!(told.difference(&Truth::read(collection).unwrap()), None, "{when}");
    let some = told.drawers.values().step_by(37);
    assert_eq!(Truth::unfound(collection, some), Vec::<String>::new(), "{when}");
}

/// Fills the disk, keeps reading, frees space and continues, all in one process.
fn fill_and_go_on(folder: &Path, make_room: impl FnOnce()) {
    let collection = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap();
    let mut told = Truth::default();
    let error = fill(&*collection, &mut told);
    println!(
        "\n{} drawers fitted, then: {error} ({:?})",
        told.drawers.len(),
        error.hint_text()
    );
    assert!(told.drawers.len() > 5 * BATCH);
    assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
    assert!(
        error
            .hint_text()
            .is_some_and(|hint| hint.contains("nothing stored before is lost")),
        "{error:?}"
    );
    assert_whole(&*collection, &told, "through the handle that failed");
    let refused = collection.apply_batch(&batch(MANY)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned, "{refused:?}");
    assert!(
        refused
            .hint_text()
            .is_some_and(|hint| hint.contains("open the palace again")),
        "{refused:?}"
    );
    let revision = SourceRevision {
        source: "a.md".to_owned(),
        expects: None,
        stamp: Some("1".to_owned()),
        parts: Box::new(std::iter::empty()),
    };
    let refused = collection
        .require_sources()
        .unwrap()
        .revise(vec![revision])
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned, "{refused:?}");
    let fresh = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, false).unwrap();
    assert_whole(&*fresh, &told, "through a new handle, without room");
    let again = fill(&*fresh, &mut told);
    assert_eq!(
        again.kind(),
        ErrorKind::Io,
        "a smaller batch may fit, a full disk stays full: {again:?}"
    );
    make_room();
    let reopened = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, false).unwrap();
    for _ in 0..3 {
        let number = told.drawers.len() / BATCH;
        reopened.apply_batch(&batch(number)).unwrap();
        told.apply(&batch(number));
    }
    assert_whole(&*reopened, &told, "with room again");
    let diagnosis = EmbeddedBackend::new().examine(folder).unwrap();
    assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
}

/// Not a test of its own: the others start it as another process, on a disk without room.
#[test]
fn a_child_process_does_its_task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (how, folder) = task.split_once(' ').unwrap();
    let folder = PathBuf::from(folder);
    let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
    match how {
        "limit" => {
            limit(Some(4 << 20));
            fill_and_go_on(&folder, || limit(maximum));
        }
        bytes if bytes.starts_with("close:") => {
            let mut told = prefilled(&folder);
            limit(bytes.strip_prefix("close:").and_then(|bytes| bytes.parse().ok()));
            let collection = truth::open(&EmbeddedBackend::new(), &folder, DIMENSION, false).unwrap();
            fill(&*collection, &mut told);
            println!("\n{} drawers fitted, then the process ends", told.drawers.len());
        }
        _ => {
            let filler = folder.join("filler");
            std::fs::write(&filler, vec![1; 2 << 20]).unwrap();
            fill_and_go_on(&folder.join("palace"), || std::fs::remove_file(&filler).unwrap());
        }
    }
}

/// Runs this test program again for one task, started by `sh` with `before` typed first.
fn child(shell: &mut Command, before: &str, task: &str, folder: &Path) -> Output {
    shell
        .args(["-c", &format!(r#"{before}; exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args([
            "disk_full::a_child_process_does_its_task",
            "--exact",
            "--nocapture",
        ])
        .env(TASK, format!("{task} {}", folder.display()))
        .output()
        .unwrap()
}

fn assert_done(output: &Output) {
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success() && said.contains("drawers fitted, then"));
}

#[test]
fn a_file_that_may_not_grow_costs_only_the_batch_that_did_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    // Without the signal a write beyond the limit is an error, as on a disk that is full.
    assert_done(&child(
        &mut Command::new("sh"),
        "trap '' XFSZ",
        "limit",
        folder.path(),
    ));
}

/// A palace whose file is longer than any log here grows: with no room for the log there is none for the file either.
fn prefilled(folder: &Path) -> Truth {
    let collection = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap();
    let mut told = Truth::default();
    for number in 0..40 {
        collection.apply_batch(&batch(number)).unwrap();
        told.apply(&batch(number));
    }
    told
}

/// Returns the length of the log after each of the next batches.
fn log_lengths(batches: usize) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let first = prefilled(folder.path()).drawers.len() / BATCH;
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let log = folder.path().join("palace.db-wal");
    let length = |number| {
        collection.apply_batch(&batch(number)).unwrap();
        std::fs::metadata(&log).unwrap().len()
    };
    (first..first + batches).map(length).collect()
}

#[test]
fn a_commit_that_did_not_fit_is_not_taken_for_a_lost_one_later() {
    let lengths = log_lengths(6);
    for (length, short) in lengths[2..].iter().zip([1, 100, 8192, 8200].into_iter().cycle()) {
        // The log stops within the very last frame of a commit: in its page, or in its header.
        let folder = tempfile::tempdir().unwrap();
        let task = format!("close:{}", length - short);
        let output = child(&mut Command::new("sh"), "trap '' XFSZ", &task, folder.path());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let fitted = said
            .lines()
            .find_map(|line| line.strip_suffix(" drawers fitted, then the process ends"));
        let fitted: usize = fitted.unwrap().parse().unwrap();
        let mut told = Truth::default();
        (0..fitted / BATCH).for_each(|number| told.apply(&batch(number)));
        let reopened = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
        assert_whole(&*reopened, &told, &task);
        assert_eq!(reopened.info().unwrap().warnings, [], "{task}");
        let diagnosis = EmbeddedBackend::new().examine(folder.path()).unwrap();
        assert!(diagnosis.healthy, "{task}: {:?}", diagnosis.findings);
    }
}

/// The way to a mount of one's own: as root, or as root of a user namespace.
fn mounting() -> Option<&'static str> {
    let works = |flags: &&str| {
        let script = "mount -t tmpfs -o size=1m tmpfs /mnt";
        let tried = Command::new("unshare").args([flags, "sh", "-c", script]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    ["-m", "-rm"].into_iter().find(works)
}

#[test]
fn a_full_disk_costs_only_the_batch_that_did_not_fit() {
    let Some(flags) = mounting() else {
        println!("nothing may be mounted here; the limit on the length of files stands in for a full disk");
        return;
    };
    // The smaller disk is full while the log grows, the larger one while the log is moved into the file.
    for size in ["6m", "14m"] {
        let folder = tempfile::tempdir().unwrap();
        let before = format!("mount -t tmpfs -o size={size} tmpfs {}", folder.path().display());
        assert_done(&child(
            Command::new("unshare").args([flags, "sh"]),
            &before,
            "disk",
            folder.path(),
        ));
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "the mount was the child's own"
        );
    }
}
