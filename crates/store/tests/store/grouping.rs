//! Batches that threads of one process apply at once: committed together, each with its own outcome.

mod campaign;
mod faults;
mod processes;

use std::path::PathBuf;
use std::sync::Arc;

use crate::scene::raw;
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::{EmbeddedBackend, testing};
use tempfile::TempDir;

const DIMENSION: usize = 8;
/// The number of threads that write at once.
const WRITERS: usize = 20;

/// A palace whose writes are grouped, with a collection of drawers.
struct GroupingScene {
    folder: TempDir,
    backend: EmbeddedBackend,
}

impl GroupingScene {
    fn new() -> Self {
        Self::over(EmbeddedBackend::new())
    }

    fn over(backend: EmbeddedBackend) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Also registers the store's own layer of files, which layers of tests are put over.
        let made = EmbeddedBackend::new();
        truth::open(&made, &folder.path().join("palace"), DIMENSION, true).unwrap();
        made.close();
        Self {
            folder,
            backend: backend.grouping_writes(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("palace")
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.path())
    }

    fn open(&self) -> Arc<dyn Collection> {
        self.open_seeing(Filter::All)
    }

    fn open_seeing(&self, visible: Filter) -> Arc<dyn Collection> {
        let how = OpenOptions {
            visible,
            adopts_model: true,
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new("drawers").unwrap();
        self.backend.open(&self.palace(), &name, &how).unwrap()
    }

    /// Runs `write` once for each number, at once and in the order of the numbers: the first waits for the file, the
    /// others for the first.
    fn at_once<T: Send>(&self, writers: usize, write: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let write = &write;
        let holder = raw::connect(&self.path());
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        std::thread::scope(|scope| {
            let start = |writer: usize| {
                let running = scope.spawn(move || write(writer));
                while testing::count_writers(&self.backend, &self.palace()).unwrap() <= writer {
                    std::thread::yield_now();
                }
                running
            };
            let running: Vec<_> = (0..writers).map(start).collect();
            holder.execute_batch("ROLLBACK").unwrap();
            let ended = running.into_iter().map(|writer| writer.join().unwrap());
            ended.collect()
        })
    }

    /// Shows that the palace is sound and holds exactly these drawers.
    #[track_caller]
    fn assert_holds(&self, expected: impl IntoIterator<Item = usize>) {
        let mut expected: Vec<DrawerId> = expected.into_iter().map(truth::id).collect();
        expected.sort_unstable();
        let collection = truth::open(&EmbeddedBackend::new(), &self.path(), DIMENSION, false).unwrap();
        let found = collection.get(&truth::everything()).unwrap();
        let ids: Vec<DrawerId> = found.iter().map(|drawer| drawer.id.clone()).collect();
        assert_eq!(ids, expected);
        assert_eq!(Truth::unfound(&*collection, &found), Vec::<String>::new());
        let examined = EmbeddedBackend::new().examine(&self.path()).unwrap();
        assert!(examined.healthy, "{:?}", examined.findings);
    }
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::new(name).unwrap()
}

fn added(n: usize) -> [Write; 1] {
    [Write::Add(truth::drawer(n, 0, DIMENSION))]
}

/// Returns the receipts and the kinds of the errors.
fn kinds(outcomes: Vec<Result<Receipt>>) -> (Vec<Receipt>, Vec<ErrorKind>) {
    let (done, failed): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    let done = done.into_iter().map(Result::unwrap);
    let failed = failed.into_iter().map(|error| error.unwrap_err().kind());
    (done.collect(), failed.collect())
}

#[test]
fn batches_of_one_group_have_receipts_in_their_order() {
    let scene = GroupingScene::new();
    let collection = scene.open();
    let receipts = scene.at_once(WRITERS, |n| collection.apply_batch(&added(n)).unwrap());
    for (n, receipt) in receipts.iter().enumerate() {
        assert_eq!(receipt.added, [truth::id(n)]);
    }
    assert!(
        receipts.is_sorted_by(|one, next| one.seq < next.seq),
        "{receipts:?}"
    );
    let feed = collection.feed().unwrap().changes_since(Cursor(0), 100).unwrap();
    let told: Vec<(u64, DrawerId)> = feed
        .changes
        .into_iter()
        .map(|change| (change.seq, change.id))
        .collect();
    let expected = receipts
        .into_iter()
        .map(|receipt| (receipt.seq, receipt.added[0].clone()));
    assert_eq!(told, expected.collect::<Vec<_>>());
    scene.assert_holds(0..WRITERS);
}

#[test]
fn a_batch_that_is_refused_leaves_the_others_of_its_group_alone() {
    let scene = GroupingScene::new();
    let everything = scene.open();
    everything.apply_batch(&added(90)).unwrap();
    let wing = scene.open_seeing(Filter::text_equals("wing", "wing1"));
    let (done, failed) = kinds(scene.at_once(8, |n| match n {
        // In another dimension than the others.
        2 => everything.add_drawer(truth::drawer(n, 0, DIMENSION + 1)),
        // Out of the sight of its writer, and with the id of a drawer that is.
        3 => wing.add_drawer(truth::drawer(n, 0, DIMENSION)),
        4 => {
            let mut drawer = truth::drawer(90, 1, DIMENSION);
            drawer.place.wing = Some("wing1".to_owned());
            wing.add_drawer(drawer)
        }
        // Expects what is not stored.
        5 => {
            let mut expected = everything.get(&GetRequest::by_ids([truth::id(90)])).unwrap();
            expected[0].document = Some("another text".to_owned());
            everything.apply(&ApplyRequest::from_writes(&added(n)).expecting(&expected))
        }
        7 => wing.add_drawer(truth::drawer(n, 0, DIMENSION)),
        n => everything.apply_batch(&added(n)),
    }));
    let ids: Vec<DrawerId> = done.into_iter().flat_map(|receipt| receipt.added).collect();
    assert_eq!(ids, [0, 1, 6, 7].map(truth::id));
    let expected = [
        ErrorKind::DimensionMismatch,
        ErrorKind::Invalid,
        ErrorKind::Conflict,
        ErrorKind::Conflict,
    ];
    assert_eq!(failed, expected);
    scene.assert_holds([90, 0, 1, 6, 7]);
    everything.apply_batch(&added(8)).unwrap();
}

#[test]
fn one_key_in_a_group_is_one_batch() {
    let scene = GroupingScene::new();
    let collection = scene.open();
    let key = key("same");
    let (done, failed) = kinds(scene.at_once(WRITERS, |n| {
        collection.apply(&ApplyRequest::from_writes(&added(n / 10)).under_key(&key))
    }));
    assert_eq!(done.len(), 10);
    assert!(done.iter().all(|receipt| *receipt == done[0]), "{done:?}");
    assert_eq!(failed, [ErrorKind::Conflict; 10]);
    scene.assert_holds([0]);
}

#[test]
fn one_piece_in_a_group_is_filed_once() {
    let scene = GroupingScene::new();
    let collection = scene.open();
    let (done, _) = kinds(scene.at_once(WRITERS, |n| {
        let mut drawer = truth::drawer(1, 0, DIMENSION);
        drawer.id = truth::id(n);
        drawer.place.source = Some("a.md".to_owned());
        drawer.place.span = Some(SourceSpan {
            start: 0,
            end: 9,
            line_start: 1,
            line_end: 1,
        });
        collection.add_drawer(drawer)
    }));
    assert_eq!(done[0].added, [truth::id(0)]);
    for (n, receipt) in done.iter().enumerate().skip(1) {
        assert_eq!(
            receipt.twins,
            [DrawerTwin {
                given: truth::id(n),
                existing: truth::id(0)
            }]
        );
    }
    scene.assert_holds([0]);
}

#[test]
fn of_batches_that_expect_the_same_state_the_first_of_a_group_finds_it() {
    let scene = GroupingScene::new();
    let collection = scene.open();
    collection.apply_batch(&added(1)).unwrap();
    let read = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::by_ids([truth::id(1)])
    };
    let before = collection.get(&read).unwrap();
    let outcomes = scene.at_once(WRITERS, |n| {
        let change = [Write::Upsert(truth::drawer(1, n + 1, DIMENSION))];
        collection.apply(&ApplyRequest::from_writes(&change).expecting(&before))
    });
    let (done, failed) = kinds(outcomes);
    assert_eq!(done.len(), 1);
    assert_eq!(failed, [ErrorKind::Conflict; WRITERS - 1]);
    let after = collection.get(&read).unwrap();
    assert_eq!(after[0].document, Some(truth::text(1, 1)));
}
