//! New states of sources among kills and other processes: a source is old or new, and no state is lost unseen.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::scene::raw;
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

/// Set for a child process: what to do, and where.
const TASK: &str = "LOCI_TEST_TASK";

const DIMENSION: usize = 8;
/// The number of drawers of each source, and how many of them come in one part.
const PIECES: usize = 540;
const PART: usize = 200;

fn open(folder: &Path) -> Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap()
}

/// Runs this test program again for one task, which may end itself at a point.
fn child(task: &str, folder: &Path, crash_at: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["sources::a_child_process_does_its_task", "--exact", "--nocapture"])
        .env(TASK, format!("{task} {}", folder.display()))
        .stdout(Stdio::null());
    if let Some(point) = crash_at {
        command.env("LOCI_CRASH_AT", point);
    }
    command.spawn().unwrap()
}

/// Not a test of its own: the other tests start it as another process with a task.
#[test]
fn a_child_process_does_its_task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (verb, folder) = task.split_once(' ').unwrap();
    let folder = PathBuf::from(folder);
    match verb {
        "revise" => drop(revise_both(&*open(&folder), 1)),
        "count" => count_up(&folder),
        "large" => file_a_large_source(&folder),
        other => panic!("no task {other:?}"),
    }
}

fn record(collection: &dyn Collection, source: &str) -> Option<SourceRecord> {
    let named = SourceRecordQuery::Named(vec![source.to_owned()]);
    collection
        .require_sources()
        .unwrap()
        .find_records(&named)
        .unwrap()
        .pop()
}

fn of_source(source: &str) -> Filter {
    Filter::text_equals("source", source)
}

/// The parts that take a source to a version: what it had goes, and what it has now comes.
fn parts(source: &str, from: usize, version: usize) -> Vec<Vec<Write>> {
    let piece = |n: usize| {
        let mut drawer = truth::drawer(n, version, DIMENSION);
        drawer.place.source = Some(source.to_owned());
        Write::Add(drawer)
    };
    let new: Vec<Write> = (from..from + PIECES).map(piece).collect();
    let mut parts = vec![vec![Write::Delete(DeleteSelection::Matching(
        of_source(source).into(),
    ))]];
    parts.extend(new.chunks(PART).map(<[Write]>::to_vec));
    parts
}

const SOURCES: [(&str, usize); 2] = [("a.md", 0), ("b.md", 5000)];

/// Takes both sources to a version in one step.
fn revise_both(collection: &dyn Collection, version: usize) -> Vec<RevisionOutcome> {
    let revision = |(source, from): (&str, usize)| SourceRevision {
        source: source.to_owned(),
        expects: record(collection, source).map(|record| record.revision),
        stamp: Some(format!("version {version}")),
        parts: Box::new(parts(source, from, version).into_iter()),
    };
    collection
        .require_sources()
        .unwrap()
        .revise(SOURCES.map(revision).into())
        .unwrap()
}

/// The expected content of a palace once both sources have this version.
fn told(version: usize) -> Truth {
    let mut told = Truth::default();
    for (source, from) in SOURCES {
        parts(source, from, version)[1..]
            .iter()
            .for_each(|part| told.apply(part));
        told.records
            .insert(source.to_owned(), format!("version {version}"));
    }
    told
}

#[test]
fn sources_cut_off_on_their_way_to_a_new_state_are_old_or_new() {
    let made = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, made.path(), DIMENSION, true).unwrap();
    revise_both(&*collection, 0);
    drop(collection);
    backend.close();
    let bytes = std::fs::read(raw::file(made.path())).unwrap();
    let feed = |collection: &dyn Collection| {
        collection
            .require_feed()
            .unwrap()
            .changes_since(Cursor(0), usize::MAX)
            .unwrap()
    };
    // Each source comes in four parts, and both together fill a segment.
    for (point, version) in [
        ("source-part:1", 0),
        ("source-part:2", 0),
        ("source-part:4", 0),
        ("source-recorded:1", 0),
        ("source-part:5", 0),
        ("source-part:8", 0),
        ("source-recorded:2", 0),
        ("before-seal", 0),
        ("after-seal", 0),
        ("before-commit", 0),
        ("after-commit", 1),
    ] {
        let folder = raw::folder_with(&bytes);
        let before = feed(&*open(folder.path()));
        let ended = child("revise", folder.path(), Some(point)).wait().unwrap();
        assert!(!ended.success(), "{point}: it was not cut off");
        let collection = open(folder.path());
        let found = Truth::read(&*collection).unwrap();
        assert!(
            found == told(version),
            "{point}: {:?}",
            told(version).difference(&found)
        );
        assert_eq!(feed(&*collection) == before, version == 0, "{point}");
        let examined = EmbeddedBackend::new().examine(folder.path()).unwrap();
        assert!(examined.healthy, "{point}: {:?}", examined.findings);
        let revised = revise_both(&*collection, 2);
        assert!(
            !revised.contains(&RevisionOutcome::Overtaken),
            "{point}: it goes on"
        );
        assert!(Truth::read(&*collection).unwrap() == told(2), "{point}");
        let every = found.drawers.len() / 20;
        let now = told(2);
        assert_eq!(
            Truth::unfound(&*collection, now.drawers.values().step_by(every)),
            Vec::<String>::new(),
            "{point}"
        );
    }
}

const COUNTERS: usize = 3;
const STEPS: usize = 25;

/// Adds one to the number that a source is stamped with, some times, whatever the others do.
fn count_up(folder: &Path) {
    let collection = open(folder);
    let mut done = 0;
    while done < STEPS {
        let before = record(&*collection, "counter");
        let number = before
            .as_ref()
            .map_or(0, |record| record.stamp.parse::<usize>().unwrap());
        let counted = vec![Write::Add(truth::drawer(number, 0, DIMENSION))];
        let revision = SourceRevision {
            source: "counter".to_owned(),
            expects: before.map(|record| record.revision),
            stamp: Some((number + 1).to_string()),
            parts: Box::new(std::iter::once(counted)),
        };
        match collection
            .require_sources()
            .unwrap()
            .revise(vec![revision])
            .unwrap()
            .remove(0)
        {
            RevisionOutcome::Done { receipt, .. } => {
                assert_eq!(receipt.added, [truth::id(number)]);
                done += 1;
            }
            RevisionOutcome::Overtaken => {}
        }
    }
}

#[test]
fn processes_that_count_on_one_source_lose_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    let children: Vec<Child> = (0..COUNTERS)
        .map(|_| child("count", folder.path(), None))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "a process failed");
    }
    let last = record(&*collection, "counter").unwrap();
    assert_eq!(last.stamp, (COUNTERS * STEPS).to_string());
    assert_eq!(
        collection.count(&Filter::All.into()).unwrap() as usize,
        COUNTERS * STEPS
    );
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}

const LARGE_PARTS: usize = 160;
const MEGABYTE: usize = 1 << 20;

/// The most memory this process has had at once, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1024
}

/// Files a source of which each part is a megabyte, and fails if it was ever in memory whole.
fn file_a_large_source(folder: &Path) {
    let collection = open(folder);
    let part = |n: usize| {
        let piece = |at: usize| {
            let text = format!("zq{n}x{at} {}", "- ".repeat(MEGABYTE / 16));
            Write::Add(NewDrawer::new(DrawerId::new(format!("{n}-{at}")).unwrap(), text))
        };
        (0..8).map(piece).collect::<Vec<_>>()
    };
    let before = peak();
    let revision = SourceRevision {
        source: "large.txt".to_owned(),
        expects: None,
        stamp: Some("1".to_owned()),
        parts: Box::new((0..LARGE_PARTS).map(part)),
    };
    let revised = collection
        .require_sources()
        .unwrap()
        .revise(vec![revision])
        .unwrap()
        .remove(0);
    let RevisionOutcome::Done { receipt, .. } = revised else {
        panic!("nobody else is there");
    };
    assert_eq!(receipt.added.len(), 8 * LARGE_PARTS);
    let taken = (peak() - before) / MEGABYTE;
    println!("{LARGE_PARTS} parts of a megabyte took {taken} megabytes");
    assert!(taken < LARGE_PARTS * 2 / 3, "they were in memory at once");
}

#[test]
fn a_large_source_is_never_in_memory_whole() {
    if !Path::new("/proc/self/status").exists() {
        println!("this system does not tell how much memory a process takes");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(child("large", folder.path(), None).wait().unwrap().success());
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let hits = collection
        .lexical(&LexicalRequest::for_words(format!("zq{}x7", LARGE_PARTS - 1), 2))
        .unwrap();
    assert_eq!(hits.len(), 1, "the last piece is there");
}

fn remember<'a>(names: &[&str]) -> Vec<SourceRevision<'a>> {
    let revision = |name: &&str| SourceRevision {
        source: (*name).to_owned(),
        expects: None,
        stamp: Some(String::new()),
        parts: Box::new(std::iter::empty()),
    };
    names.iter().map(revision).collect()
}

#[test]
fn names_with_zero_bytes_are_paged_like_any_others() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    let names = ["a", "a\0", "a\0\0", "a\0b", "a\u{1}", "ab"];
    collection
        .require_sources()
        .unwrap()
        .revise(remember(&names))
        .unwrap();
    for (after, prefix, first) in [
        (Some("a"), "", "a\0"),
        (Some("a\0"), "a", "a\0\0"),
        (Some("a\0\0"), "a\0", "a\0b"),
        (Some("a\0b"), "a", "a\u{1}"),
        (None, "a\0b", "a\0b"),
    ] {
        let request = SourceRecordQuery::Under {
            prefix: prefix.to_owned(),
            after: after.map(str::to_owned),
            limit: 1,
        };
        let found = collection
            .require_sources()
            .unwrap()
            .find_records(&request)
            .unwrap();
        assert_eq!(
            found[0].source, first,
            "the first after {after:?} under {prefix:?}"
        );
    }
}

#[test]
fn revisions_that_are_all_overtaken_write_nothing_to_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    collection
        .require_sources()
        .unwrap()
        .revise(remember(&["a", "b"]))
        .unwrap();
    let log = || {
        std::fs::metadata(folder.path().join("palace.db-wal"))
            .unwrap()
            .len()
    };
    let before = log();
    let revised = collection
        .require_sources()
        .unwrap()
        .revise(remember(&["a", "b"]))
        .unwrap();
    assert_eq!(revised, [RevisionOutcome::Overtaken, RevisionOutcome::Overtaken]);
    assert_eq!(log(), before);
    collection
        .require_sources()
        .unwrap()
        .revise(remember(&["a", "c"]))
        .unwrap();
    assert!(log() > before, "one that is not overtaken does");
}
