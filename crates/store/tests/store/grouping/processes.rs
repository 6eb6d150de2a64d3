//! Processes that group their writes, killed in the middle and beside others: every acknowledged batch is there, whole.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{DIMENSION, WRITERS};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

/// Set for a child process: where its palace is, the first number it may give, and how many batches each thread writes.
const TASK: &str = "LOCI_TEST_TASK";
/// The number of drawers in a batch.
const BATCH: usize = 3;

fn batch(first: usize) -> Vec<Write> {
    (first..first + BATCH)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect()
}

/// Starts a process of twenty threads; `crash` names a point at which it ends itself.
fn start(folder: &Path, first: usize, each: usize, crash: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "grouping::processes::a_child_process_writes_in_groups",
            "--exact",
            "--nocapture",
        ])
        .env(TASK, format!("{first} {each} {}", folder.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(point) = crash {
        command.env("LOCI_CRASH_AT", point);
    }
    command.spawn().unwrap()
}

/// Not a test of its own: the others start it as another process. It prints the first number of each acknowledged batch.
#[test]
fn a_child_process_writes_in_groups() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut parts = task.splitn(3, ' ');
    let mut number = || parts.next().unwrap().parse::<usize>().unwrap();
    let (first, each) = (number(), number());
    let folder = PathBuf::from(parts.next().unwrap());
    let backend = EmbeddedBackend::new().grouping_writes();
    let syncs = EmbeddedBackend::count_syncs();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let collection = truth::open(&backend, &folder, DIMENSION, false).unwrap();
            scope.spawn(move || {
                for step in 0..each {
                    let first = first + (writer * each + step) * BATCH;
                    let receipt = collection.apply_batch(&batch(first)).unwrap();
                    assert_eq!(receipt.added.len(), BATCH);
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\nstored {first}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
    let syncs = EmbeddedBackend::count_syncs() - syncs;
    println!("\nsyncs {syncs}");
}

/// The numbers behind a word in the lines that a process prints.
fn numbers(child: &mut Child, word: &'static str) -> impl Iterator<Item = usize> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines
        .map_while(std::io::Result::ok)
        .filter_map(move |line| line.strip_prefix(word)?.trim().parse().ok())
}

fn make_palace(folder: &Path) {
    let backend = EmbeddedBackend::new();
    truth::open(&backend, folder, DIMENSION, true).unwrap();
    backend.close();
}

/// Shows that all acknowledged batches are stored, that none is stored in part, and that the palace is sound; returns
/// the number of batches.
fn assert_whole(folder: &Path, acknowledged: &BTreeSet<usize>) -> usize {
    let collection = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, false).unwrap();
    let stored: Vec<DrawerId> = collection
        .get(&truth::everything())
        .unwrap()
        .into_iter()
        .map(|drawer| drawer.id)
        .collect();
    let unique: BTreeSet<&DrawerId> = stored.iter().collect();
    assert_eq!(unique.len(), stored.len(), "a drawer is stored twice");
    let whole = |first: usize| (first..first + BATCH).all(|n| unique.contains(&truth::id(n)));
    let lost: Vec<&usize> = acknowledged.iter().filter(|first| !whole(**first)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let firsts = stored.iter().map(|id| {
        let number: usize = id.as_str().strip_prefix('d').unwrap().parse().unwrap();
        number / BATCH * BATCH
    });
    let batches: BTreeSet<usize> = firsts.collect();
    assert_eq!(batches.len() * BATCH, stored.len(), "a batch is stored in part");
    let examined = EmbeddedBackend::new().examine(folder).unwrap();
    assert!(examined.healthy, "{:?}", examined.findings);
    batches.len()
}

#[test]
fn twenty_threads_wait_for_the_disk_together() {
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path());
    let mut child = start(folder.path(), 0, 20, None);
    let syncs = numbers(&mut child, "syncs").last().unwrap();
    assert!(child.wait().unwrap().success());
    let batches = WRITERS * 20;
    println!("{syncs} syncs for {batches} batches");
    assert_eq!(assert_whole(folder.path(), &BTreeSet::new()), batches);
    // Far more than there are, since a slow machine makes small groups; without groups there is one for each batch.
    assert!(syncs * 2 < batches, "{syncs} syncs for {batches} batches");
}

#[test]
fn nothing_acknowledged_is_lost_when_a_grouping_process_is_killed() {
    let (rounds, seed) = (campaign_rounds(6), campaign_seed());
    println!("grouping: {rounds} kills, LOCI_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path());
    let (mut random, mut acknowledged) = (SeededRandom::new(seed), BTreeSet::new());
    const EACH: usize = 30;
    for round in 0..rounds as usize {
        let first = round * WRITERS * EACH * BATCH;
        let point = ["before-commit", "after-commit", "group-member"][random.below(3)];
        let point = format!("{point}:{}", 1 + random.below(20));
        let crash = random.toss_coin().then_some(point.as_str());
        let mut child = start(folder.path(), first, EACH, crash);
        let enough = 1 + random.below(WRITERS * EACH / 2);
        let mut told = numbers(&mut child, "stored");
        acknowledged.extend(told.by_ref().take(enough));
        child.kill().unwrap();
        // What it had printed by then counts as well.
        acknowledged.extend(told);
        child.wait().unwrap();
        assert_whole(folder.path(), &acknowledged);
    }
    println!("{} batches acknowledged, 0 lost", acknowledged.len());
}

#[test]
fn a_process_that_groups_and_one_that_does_not_share_a_palace() {
    const EACH: usize = 15;
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path());
    let mut child = start(folder.path(), 0, EACH, None);
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let mut acknowledged = BTreeSet::new();
    for step in 0..EACH {
        let first = 60_000 + step * BATCH;
        collection.apply_batch(&batch(first)).unwrap();
        acknowledged.insert(first);
    }
    acknowledged.extend(numbers(&mut child, "stored"));
    assert!(child.wait().unwrap().success());
    assert_eq!(acknowledged.len(), EACH + WRITERS * EACH);
    assert_eq!(assert_whole(folder.path(), &acknowledged), acknowledged.len());
}
