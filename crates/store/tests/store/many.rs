//! Many writers and readers on one palace must wait for each other, never fail, never lose, never see half.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use crate::scene::raw;
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 8;
const WRITERS: usize = 4;
const EACH: usize = 500;

/// Set for a child process: what to do, and where.
const TASK: &str = "LOCI_TEST_TASK";

fn open(folder: &Path) -> Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap()
}

/// The drawer a writer writes at one step; no two share a number.
fn number(writer: usize, step: usize) -> usize {
    writer * EACH + step
}

fn write_share(folder: &Path, writer: usize) {
    let collection = open(folder);
    for step in 0..EACH {
        let receipt = collection
            .add_drawer(truth::drawer(number(writer, step), 0, DIMENSION))
            .unwrap();
        assert_eq!(receipt.added.len(), 1);
    }
}

fn expected(writers: usize) -> Truth {
    let mut told = Truth::default();
    let all = (0..writers * EACH).map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)));
    told.apply(&all.collect::<Vec<_>>());
    told
}

/// Everything acknowledged is there, found by its own vector and word, and the palace is sound.
fn assert_complete(folder: &Path, writers: usize) {
    let told = expected(writers);
    let collection = open(folder);
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    assert_eq!(
        Truth::unfound(&*collection, told.drawers.values()),
        Vec::<String>::new()
    );
    assert_eq!(
        collection.info().unwrap().coverage.packed as usize,
        writers * EACH / 1024 * 1024
    );
    let diagnosis = EmbeddedBackend::new().examine(folder).unwrap();
    assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
}

/// Runs this test program again for one task.
fn child(task: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "many::a_child_process_does_its_task",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(TASK, format!("{task} {}", folder.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test of its own: the other tests start it as another process with a task.
#[test]
fn a_child_process_does_its_task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut parts = task.split(' ');
    let (verb, folder) = (parts.next().unwrap(), PathBuf::from(parts.next().unwrap()));
    match verb {
        "hold" => hold(&folder),
        writer => write_share(&folder, writer.parse().unwrap()),
    }
}

/// Holds the write lock until its input ends.
fn hold(folder: &Path) {
    let connection = raw::connect(folder);
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    println!("\nheld");
    std::io::stdout().flush().unwrap();
    let mut end = String::new();
    std::io::stdin().read_line(&mut end).unwrap();
}

#[test]
fn four_threads_of_five_hundred_single_writes_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let folder = folder.path();
            scope.spawn(move || write_share(folder, writer));
        }
    });
    assert_complete(folder.path(), WRITERS);
}

#[test]
fn four_processes_of_five_hundred_single_writes_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..WRITERS)
        .map(|writer| child(&writer.to_string(), folder.path()))
        .collect();
    for process in children {
        let output = process.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    assert_complete(folder.path(), WRITERS);
    assert_eq!(
        raw::names(folder.path()).len(),
        1,
        "{:?}",
        raw::names(folder.path())
    );
}

#[test]
fn a_palace_that_many_make_at_once_is_made_once() {
    for round in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let start = Barrier::new(WRITERS);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (folder, start) = (folder.path(), &start);
                scope.spawn(move || {
                    start.wait();
                    let opened = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true);
                    let added = opened
                        .and_then(|collection| collection.add_drawer(truth::drawer(writer, 0, DIMENSION)));
                    assert!(added.is_ok(), "round {round}: {added:?}");
                });
            }
        });
        assert_eq!(
            open(folder.path()).count(&Filter::All.into()).unwrap(),
            WRITERS as u64
        );
    }
}

/// Opens the collection of this number, making it, and files one drawer in it.
fn fill_one(backend: &EmbeddedBackend, folder: &Path, n: usize) -> Arc<dyn Collection> {
    let name = CollectionName::new(format!("shelf-{n:02}")).unwrap();
    let opened = backend.create(
        &PalaceRef::local(folder),
        &name,
        CreateMode::OpenExisting,
        &OpenOptions::default(),
    );
    let collection = opened.unwrap_or_else(|error| panic!("collection {n} was refused: {error:?}"));
    collection.add_drawer(truth::drawer(n, 0, DIMENSION)).unwrap();
    collection
}

#[test]
fn a_palace_takes_many_collections_from_one_handle_and_from_two() {
    const SHELVES: usize = 20;
    for handles in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let backends: Vec<EmbeddedBackend> = (0..handles).map(|_| EmbeddedBackend::new()).collect();
        let shelves: Vec<Arc<dyn Collection>> = (0..SHELVES)
            .map(|n| fill_one(&backends[n % handles], folder.path(), n))
            .collect();
        for (n, shelf) in shelves.iter().enumerate() {
            let found = shelf.get(&GetRequest::by_ids([truth::id(n)])).unwrap();
            assert_eq!(
                (found.len(), shelf.count(&Filter::All.into()).unwrap()),
                (1, 1),
                "shelf {n}"
            );
        }
        let listed = backends[0].collections(&PalaceRef::local(folder.path())).unwrap();
        assert_eq!(listed.len(), SHELVES);
        let diagnosis = EmbeddedBackend::new().examine(folder.path()).unwrap();
        assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
    }
}

#[test]
fn readers_never_wait_for_a_writer_and_see_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    let (done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let reader = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
            let mut newest = Cursor(0);
            while !done.load(Ordering::SeqCst) {
                // A batch is ten drawers: a moment between two batches is a multiple of ten, whatever is asked.
                let ids = reader
                    .get(&GetRequest {
                        include: DrawerFields::NOTHING,
                        ..GetRequest::default()
                    })
                    .unwrap();
                let rooms = reader.facets(&FacetRequest::by_room()).unwrap();
                let counted: u64 = rooms.iter().map(|facet| facet.drawers).sum();
                let info = reader.info().unwrap();
                assert_eq!(ids.len() % 10, 0, "half a batch was listed");
                assert_eq!(counted % 10, 0, "half a batch was counted");
                assert_eq!((info.drawers % 10, info.drawers), (0, info.coverage.nearest));
                assert!(ids.len() as u64 <= counted && counted <= info.drawers && newest <= info.seq);
                newest = info.seq;
                reads.fetch_add(1, Ordering::SeqCst);
            }
        });
        for batch in 0..120 {
            let drawers = (batch * 10..batch * 10 + 10).map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)));
            writer.apply_batch(&drawers.collect::<Vec<_>>()).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(reads.load(Ordering::SeqCst) > 0);
}

#[test]
fn a_reader_is_served_while_a_writer_holds_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path())
        .add_drawer(truth::drawer(1, 0, DIMENSION))
        .unwrap();
    let holder = raw::connect(folder.path());
    holder
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM drawers; DELETE FROM collections")
        .unwrap_err();
    holder
        .execute_batch("DELETE FROM vectors_1; DELETE FROM drawers")
        .unwrap();
    let fresh = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    assert_eq!(fresh.count(&Filter::All.into()).unwrap(), 1);
    assert_eq!(
        fresh
            .query(&QueryRequest::nearest_to(truth::vector(1, 0, DIMENSION), 1))
            .unwrap()[0]
            .len(),
        1
    );
    holder.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn a_writer_that_waits_in_vain_is_told_who_holds_the_palace() {
    let folder = tempfile::tempdir().unwrap();
    let how = OpenOptions {
        wait: Duration::from_millis(200),
        ..OpenOptions::default()
    };
    let name = CollectionName::new("drawers").unwrap();
    let collection = EmbeddedBackend::new()
        .create(
            &PalaceRef::local(folder.path()),
            &name,
            CreateMode::OpenExisting,
            &how,
        )
        .unwrap();
    let mut holder = child("hold", folder.path());
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    let new = || NewDrawer::new(truth::id(1), "waits");
    let error = collection.add_drawer(new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error:?}");
    let pid = ("pid", holder.id().to_string());
    assert!(error.context().contains(&pid), "{error:?}");
    assert!(
        error.message().contains(&pid.1) && error.hint_text().is_some(),
        "{error:?}"
    );
    drop(holder.stdin.take());
    assert!(lines.all(|line| line.is_ok()) && holder.wait().unwrap().success());
    collection.add_drawer(new()).unwrap();
}

#[test]
fn the_same_maintenance_twice_at_once_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    let drawers: Vec<Write> = (0..20)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    collection.apply_batch(&drawers).unwrap();
    let holder = raw::connect(folder.path());
    // While the lock is held the first run is inside and cannot end.
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            open(folder.path())
                .require_upkeep()
                .unwrap()
                .run(&MaintenanceKind::REINDEX)
                .unwrap()
        });
        let running = |state: MaintenanceState| state.running.contains(&MaintenanceKind::REINDEX);
        while !running(collection.require_upkeep().unwrap().state().unwrap()) {
            std::thread::yield_now();
        }
        let second = open(folder.path())
            .require_upkeep()
            .unwrap()
            .run(&MaintenanceKind::REINDEX)
            .unwrap();
        assert_eq!(second.status, MaintenanceStatus::AlreadyRunning);
        holder.execute_batch("ROLLBACK").unwrap();
        assert_eq!(first.join().unwrap().status, MaintenanceStatus::Ran);
    });
    let again = collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert_eq!(again.status, MaintenanceStatus::Ran, "its turn comes again");
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}
