//! A power cut at any moment must not lose an acknowledged batch, leave one in half, or leave an index behind its rows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use crate::power::image::{Disk, Mode};
use crate::power::recorder::{self, Op};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds};

const DIMENSION: usize = 8;
/// Threads that check images; each takes its share of the points.
const WORKERS: usize = 2;
/// Every so many images, every drawer is searched for, not a sample.
const THOROUGH: usize = 40;

static ONE_RECORDING: Mutex<()> = Mutex::new(());

/// One step of the workload.
enum Step {
    Batch(Vec<Write>),
    /// The same, through another handle of its own.
    Second(Vec<Write>),
    /// A new state of a source, in parts.
    Revise(&'static str, Vec<Vec<Write>>),
    Maintain(MaintenanceKind),
    Reopen,
}

fn adds(from: usize, n: usize) -> Step {
    let writes = (from..from + n).map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)));
    Step::Batch(writes.collect())
}

fn revise(source: &'static str, parts: &[std::ops::Range<usize>], version: usize) -> Step {
    let parts = parts.iter().map(|numbers| upserts(numbers.clone(), version));
    Step::Revise(source, parts.collect())
}

fn upserts(numbers: impl Iterator<Item = usize>, version: usize) -> Vec<Write> {
    numbers
        .map(|n| Write::Upsert(truth::drawer(n, version, DIMENSION)))
        .collect()
}

fn updates(numbers: impl Iterator<Item = usize>, version: usize) -> Vec<Write> {
    let patch = |n: usize| DrawerPatch {
        document: n.is_multiple_of(2).then(|| truth::text(n, version)),
        embedding: n.is_multiple_of(2).then(|| truth::vector(n, version, DIMENSION)),
        metadata: [("patched".to_owned(), Some(MetadataValue::from(version as i64)))].into(),
        ..DrawerPatch::new(truth::id(n))
    };
    numbers.map(|n| Write::Update(patch(n))).collect()
}

fn deletes(numbers: impl Iterator<Item = usize>) -> Step {
    Step::Batch(vec![Write::Delete(DeleteSelection::Ids(
        numbers.map(truth::id).collect(),
    ))])
}

fn deletes_where(filter: &str) -> Step {
    let filter = Filter::parse_str(filter).unwrap();
    Step::Batch(vec![Write::Delete(DeleteSelection::Matching(filter.into()))])
}

/// Writes, deletes and maintenance that seal a segment, mark rows in it and rewrite it.
fn workload() -> Vec<Step> {
    let mixed = |from: usize| {
        let mut batch = upserts(from..from + 3, 1);
        batch.extend(updates(from + 3..from + 7, 1));
        batch.push(Write::Add(truth::drawer(5000 + from, 0, DIMENSION)));
        batch.push(Write::Delete(DeleteSelection::Ids(vec![truth::id(from + 8)])));
        batch
    };
    vec![
        adds(0, 1),
        adds(1, 5),
        adds(6, 300),
        Step::Batch(mixed(20)),
        Step::Reopen,
        adds(306, 350),
        Step::Second(mixed(60)),
        revise("a.md", &[3000..3040, 3040..3060], 0),
        adds(656, 360),
        deletes(100..110),
        adds(1016, 30),
        Step::Batch(updates((200..260).step_by(3), 2)),
        Step::Maintain(MaintenanceKind::ANALYZE),
        deletes_where(r#"{"$and": [{"tenth": 7}, {"n": {"$lt": 400}}]}"#),
        Step::Second(upserts((500..520).step_by(2), 3)),
        Step::Maintain(MaintenanceKind::COMPACT),
        adds(1046, 8),
        Step::Reopen,
        Step::Maintain(MaintenanceKind::REINDEX),
        Step::Batch(mixed(300)),
        revise("b.md", &[], 0),
        revise("a.md", &[3030..3050, 3100..3110, 3000..3010], 1),
        deletes_where(r#"{"wing": "wing2"}"#),
        Step::Maintain(MaintenanceKind::COMPACT),
        Step::Second(mixed(900)),
        adds(2000, 2),
    ]
}

/// A log of everything that reached the disk, and what was true after each batch.
struct Recording {
    log: Vec<Op>,
    states: Vec<Truth>,
}

fn record(steps: Vec<Step>) -> Recording {
    let _one = ONE_RECORDING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    recorder::register(false);
    let folder = tempfile::tempdir().unwrap();
    recorder::start(folder.path());
    let (mut backend, second) = (
        EmbeddedBackend::over_vfs(recorder::NAME),
        EmbeddedBackend::over_vfs(recorder::NAME),
    );
    let open = |backend: &EmbeddedBackend| truth::open(backend, folder.path(), DIMENSION, true).unwrap();
    let mut collection = open(&backend);
    let mut states = vec![Truth::default()];
    recorder::mark("done 0");
    for step in steps {
        let (source, batches, through) = match step {
            Step::Batch(batch) => (None, vec![batch], collection.clone()),
            Step::Second(batch) => (None, vec![batch], open(&second)),
            Step::Revise(source, parts) => (Some(source), parts, collection.clone()),
            Step::Maintain(kind) => {
                let status = collection.require_upkeep().unwrap().run(&kind).unwrap().status;
                assert_eq!(status, MaintenanceStatus::Ran, "{kind} has something to do here");
                continue;
            }
            Step::Reopen => {
                backend.close();
                second.close_palace(&PalaceRef::local(folder.path()));
                backend = EmbeddedBackend::over_vfs(recorder::NAME);
                collection = open(&backend);
                continue;
            }
        };
        let mut after = states.last().unwrap().clone();
        let stamp = states.len().to_string();
        batches.iter().for_each(|batch| after.apply(batch));
        after
            .records
            .extend(source.map(|source| (source.to_owned(), stamp.clone())));
        states.push(after);
        recorder::mark(format!("try {}", states.len() - 1));
        match source {
            None => {
                // Its receipt is one more thing that must be there exactly if the batch is.
                let key = IdempotencyKey::new(stamp).unwrap();
                let request = ApplyRequest::from_writes(&batches[0]).under_key(&key);
                through.apply(&request).unwrap();
            }
            Some(source) => file(&*through, source, stamp, batches),
        }
        recorder::mark(format!("done {}", states.len() - 1));
    }
    backend.close();
    second.close();
    Recording {
        log: recorder::finish(),
        states,
    }
}

/// Files a new state of a source.
fn file(collection: &dyn Collection, source: &str, stamp: String, parts: Vec<Vec<Write>>) {
    let known = collection
        .require_sources()
        .unwrap()
        .find_records(&SourceRecordQuery::Named(vec![source.to_owned()]))
        .unwrap();
    let revision = SourceRevision {
        source: source.to_owned(),
        expects: known.first().map(|record| record.revision),
        stamp: Some(stamp),
        parts: Box::new(parts.into_iter()),
    };
    let revised = collection
        .require_sources()
        .unwrap()
        .revise(vec![revision])
        .unwrap();
    assert_ne!(revised, [RevisionOutcome::Overtaken]);
}

/// The number of the last mark that begins with `word`.
fn last(marks: &[String], word: &str) -> Option<usize> {
    let mut marks = marks.iter().rev();
    marks.find_map(|mark| mark.strip_prefix(word)?.trim().parse().ok())
}

/// Lists everything in the image that is not as promised.
fn violations(folder: &Path, marks: &[String], states: &[Truth], seed: u64, thorough: bool) -> Vec<String> {
    let Some(done) = last(marks, "done") else {
        return unborn(folder);
    };
    let tried = last(marks, "try").unwrap_or(0).max(done);
    let backend = EmbeddedBackend::new();
    let collection = match truth::open(&backend, folder, DIMENSION, false) {
        Ok(collection) => collection,
        Err(error) => return vec![format!("it does not open: {error:?}")],
    };
    let found = match Truth::read(&*collection) {
        Ok(found) => found,
        Err(error) => return vec![format!("it cannot be read: {error:?}")],
    };
    let Some(reached) = (done..=tried).find(|at| states[*at] == found) else {
        let why = states[done].difference(&found);
        return vec![format!("it is neither batch {done} nor {tried}: {why:?}")];
    };
    let state = &states[reached];
    let mut wrong = Truth::unfound(&*collection, sample(states, done, state, seed, thorough));
    if collection.count(&Filter::All.into()).ok() != Some(state.count()) {
        wrong.push("the count is wrong".to_owned());
    }
    if collection.facets(&FacetRequest::by_room()).ok() != Some(state.by_room()) {
        wrong.push("the rooms are wrong".to_owned());
    }
    if thorough
        && let Err(error) = collection.apply_batch(&[Write::Upsert(truth::drawer(9000, 0, DIMENSION))])
    {
        wrong.push(format!("it takes no more writes: {error:?}"));
    }
    if thorough && let Err(error) = free_key(&*collection, reached + 1) {
        wrong.push(format!("a receipt is there without its batch: {error:?}"));
    }
    backend.close();
    wrong.extend(findings(folder));
    wrong
}

/// Uses the key of a batch for another one, which is refused if that batch has left a receipt.
fn free_key(collection: &dyn Collection, step: usize) -> Result<Receipt> {
    let key = IdempotencyKey::new(step.to_string()).unwrap();
    let nothing = [Write::Delete(DeleteSelection::Ids(vec![truth::id(99_999)]))];
    collection.apply(&ApplyRequest::from_writes(&nothing).under_key(&key))
}

/// Before its first acknowledgement a palace is there, empty, or not there; then it can be made.
fn unborn(folder: &Path) -> Vec<String> {
    let backend = EmbeddedBackend::new();
    match truth::open(&backend, folder, DIMENSION, false) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return vec![format!("half made, it does not open: {error:?}")],
    }
    let made =
        truth::open(&backend, folder, DIMENSION, true).and_then(|collection| Truth::read(&*collection));
    match made {
        Ok(found) if found == Truth::default() => findings(folder),
        other => vec![format!("half made, it cannot be made: {other:?}")],
    }
}

fn findings(folder: &Path) -> Vec<String> {
    match EmbeddedBackend::new().examine(folder) {
        Ok(diagnosis) if diagnosis.healthy => Vec::new(),
        other => vec![format!("examined: {other:?}")],
    }
}

/// Drawers to search for: what the last batch touched, and some others; all where `thorough`.
fn sample<'a>(
    states: &[Truth],
    done: usize,
    state: &'a Truth,
    seed: u64,
    thorough: bool,
) -> impl Iterator<Item = &'a Drawer> {
    let before = &states[done.saturating_sub(1)].drawers;
    let touched = state
        .drawers
        .values()
        .filter(|drawer| before.get(&drawer.id) != Some(*drawer));
    let mut wanted: BTreeSet<&DrawerId> = touched.take(12).map(|drawer| &drawer.id).collect();
    let all: Vec<&DrawerId> = state.drawers.keys().collect();
    let mut random = SeededRandom::new(seed);
    if !all.is_empty() {
        wanted.extend((0..8).map(|_| all[random.below(all.len())]));
    }
    state
        .drawers
        .values()
        .filter(move |drawer| thorough || wanted.contains(&drawer.id))
}

/// Whether the power is cut after step `point`: around everything but plain writes, and at every `stride`-th of those.
fn is_cut(log: &[Op], point: usize, stride: usize) -> bool {
    let turning = match &log[point] {
        Op::Write { .. } => false,
        Op::Mark(text) => text.starts_with("done"),
        _ => true,
    };
    let next = log.get(point + 1);
    let before = matches!(
        next,
        Some(Op::Sync { .. } | Op::Truncate { .. } | Op::Delete { .. })
    );
    turning || before || point.is_multiple_of(stride)
}

/// Cuts the power at many points of a log; gives the number of images and what was wrong with them.
fn cut(recording: &Recording, log: &[Op], stride: usize, seeds: u64) -> (usize, Vec<String>) {
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || cut_share(recording, log, stride, seeds, worker)))
            .collect();
        let done = shares.into_iter().map(|share| share.join().unwrap());
        done.fold((0, Vec::new()), |(images, mut all), (more, found)| {
            all.extend(found);
            (images + more, all)
        })
    })
}

fn cut_share(
    recording: &Recording,
    log: &[Op],
    stride: usize,
    seeds: u64,
    worker: usize,
) -> (usize, Vec<String>) {
    let (mut disk, mut images, mut found) = (Disk::default(), 0_usize, Vec::new());
    for (point, op) in log.iter().enumerate() {
        disk.apply(op);
        if !is_cut(log, point, stride) || point % WORKERS != worker {
            continue;
        }
        for mode in Mode::ALL {
            let by_chance = matches!(mode, Mode::Subset | Mode::Torn);
            for seed in 0..if by_chance { seeds } else { 1 } {
                let seed = point as u64 * 64 + seed;
                let image = disk.image(seed, mode);
                images += 1;
                let thorough = images.is_multiple_of(THOROUGH);
                let wrong = violations(
                    image.folder.path(),
                    &image.marks,
                    &recording.states,
                    seed,
                    thorough,
                );
                found.extend(
                    wrong
                        .into_iter()
                        .map(|why| format!("point {point} ({mode:?}, seed {seed}): {why}")),
                );
            }
        }
    }
    (images, found)
}

#[test]
fn every_acknowledged_batch_outlives_a_power_cut_and_none_is_left_in_half() {
    let began = std::time::Instant::now();
    let recording = record(workload());
    let syncs = recording
        .log
        .iter()
        .filter(|op| matches!(op, Op::Sync { .. }))
        .count();
    let stride = (199 / campaign_rounds(1).min(199)) as usize;
    let (images, found) = cut(&recording, &recording.log, stride, campaign_rounds(1));
    println!(
        "{} steps, {syncs} syncs, {images} images, {} violations, {:?}",
        recording.log.len(),
        found.len(),
        began.elapsed()
    );
    assert_eq!(found, Vec::<String>::new());
    assert!(
        images > 300 && syncs > 40,
        "{images} images of {syncs} syncs prove little"
    );
}

/// A shorter workload for the tests that must fail.
fn short_recording() -> Recording {
    record(vec![
        adds(0, 40),
        Step::Reopen,
        adds(40, 40),
        deletes(10..20),
        adds(80, 5),
    ])
}

#[test]
fn the_same_check_sees_a_disk_that_does_not_sync() {
    let recording = short_recording();
    let lying: Vec<Op> = recording
        .log
        .iter()
        .filter(|op| !matches!(op, Op::Sync { .. }))
        .cloned()
        .collect();
    let (images, found) = cut(&recording, &lying, usize::MAX, 1);
    println!(
        "{images} images, {} violations; first: {:?}",
        found.len(),
        found.first()
    );
    assert!(
        found.len() > images / 4,
        "of {images} images only these: {found:?}"
    );
}

#[test]
fn the_same_check_sees_one_synced_write_that_never_reached_the_disk() {
    let recording = short_recording();
    let of_log =
        |op: &Op| matches!(op, Op::Write { file, bytes, .. } if file.ends_with("-wal") && bytes.len() > 1000);
    // The last page of the last batch: nothing later can stand in for it before the log is moved into the file.
    let acknowledged = |op: &Op| matches!(op, Op::Mark(text) if text == "done 4");
    let end = recording.log.iter().position(acknowledged).unwrap();
    let lost = recording.log[..end].iter().rposition(of_log).unwrap();
    let mut holed = recording.log[..=end].to_vec();
    holed.remove(lost);
    let image = |log: &[Op]| {
        let mut disk = Disk::default();
        log.iter().for_each(|op| disk.apply(op));
        disk.image(0, Mode::Dropped)
    };
    let check = |log: &[Op]| {
        let image = image(log);
        violations(image.folder.path(), &image.marks, &recording.states, 0, true)
    };
    assert_eq!(check(&recording.log[..=end]), Vec::<String>::new());
    assert_ne!(check(&holed), Vec::<String>::new());
}
