//! Each call is one transaction: reads and writes are counted at the locks that SQLite takes for them.

use std::path::Path;

use crate::power::counter::{self, LockCounts};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 8;

const ONE_READ: LockCounts = LockCounts {
    opened: 0,
    reads: 1,
    writes: 0,
};

/// Every write transaction begins as a read of the state that it changes.
const ONE_WRITE: LockCounts = LockCounts {
    opened: 0,
    reads: 1,
    writes: 1,
};

fn backend() -> EmbeddedBackend {
    counter::register();
    EmbeddedBackend::over_vfs(counter::NAME)
}

fn name() -> CollectionName {
    CollectionName::new("drawers").unwrap()
}

fn model() -> EmbedderIdentity {
    EmbedderIdentity {
        model: "model-a".into(),
        revision: "1".into(),
        dimension: DIMENSION,
    }
}

fn adopting() -> OpenOptions {
    OpenOptions {
        adopts_model: true,
        ..OpenOptions::for_writing()
    }
}

/// A palace with twenty drawers, and what keeps it open with some of them in its log.
fn make_palace(folder: &Path) -> (PalaceRef, EmbeddedBackend) {
    let palace = PalaceRef::local(folder.join("palace"));
    let options = OpenOptions {
        embedder: Some(model()),
        ..OpenOptions::for_writing()
    };
    let backend = EmbeddedBackend::new();
    let drawers = backend
        .create(&palace, &name(), CreateMode::Exclusive, &options)
        .unwrap();
    let batch: Vec<Write> = (0..20)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    drawers.apply_batch(&batch).unwrap();
    (palace, backend)
}

#[test]
fn a_fresh_process_opens_the_file_once_and_in_one_read_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let (palace, other) = make_palace(folder.path());
    let open = || {
        let backend = backend();
        let (drawers, counted) = counter::count(|| {
            let drawers = backend.open(&palace, &name(), &adopting()).unwrap();
            assert_eq!(drawers.model(), IdentityState::Known(model()));
            drawers
        });
        let (_, again) = counter::count(|| backend.open(&palace, &name(), &adopting()).unwrap());
        assert_eq!(again, ONE_READ, "opening it again");
        assert_eq!(drawers.count(&DrawerCondition::default()).unwrap(), 20);
        backend.close();
        counted
    };
    let opened = LockCounts {
        opened: 1,
        ..ONE_READ
    };
    assert_eq!(open(), opened, "beside another process");
    other.close();
    // The first process that opens a palace makes the index of its log, with writers locked out.
    let alone = LockCounts { writes: 1, ..opened };
    assert_eq!(open(), alone, "alone");
}

#[test]
fn every_read_is_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let (palace, _other) = make_palace(folder.path());
    let backend = backend();
    let drawers = backend.open(&palace, &name(), &adopting()).unwrap();
    type Read = fn(&dyn Collection) -> usize;
    let reads: [(&str, Read); 8] = [
        ("get", |all| all.get(&GetRequest::default()).unwrap().len()),
        ("query", |all| {
            let query = QueryRequest::nearest_to(truth::vector(1, 0, DIMENSION), 3);
            all.query(&query).unwrap().len()
        }),
        ("lexical", |all| {
            all.lexical(&LexicalRequest::for_words("text", 3)).unwrap().len()
        }),
        ("count", |all| {
            all.count(&DrawerCondition::default()).unwrap() as usize
        }),
        ("facets", |all| {
            all.facets(&FacetRequest::by_room()).unwrap().len()
        }),
        ("info", |all| all.info().unwrap().drawers as usize),
        ("spaces", |all| {
            all.require_spaces().unwrap().list_spaces().unwrap().len()
        }),
        ("changes", |all| {
            let feed = all.require_feed().unwrap();
            feed.changes_since(Cursor(0), 5).unwrap().changes.len()
        }),
    ];
    for (name, read) in reads {
        let (_, counted) = counter::count(|| read(drawers.as_ref()));
        assert_eq!(counted, ONE_READ, "{name}");
    }
}

#[test]
fn all_reads_of_a_moment_are_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let (palace, _other) = make_palace(folder.path());
    let backend = backend();
    let drawers = backend.open(&palace, &name(), &adopting()).unwrap();
    let (_, counted) = counter::count(|| {
        let moment = drawers.moment().unwrap().unwrap();
        assert_eq!(moment.get(&GetRequest::default()).unwrap().len(), 20);
        assert_eq!(moment.info().unwrap().drawers, 20);
        let query = QueryRequest::nearest_to(truth::vector(1, 0, DIMENSION), 3);
        assert_eq!(moment.query(&query).unwrap()[0].len(), 3);
        moment.lexical(&LexicalRequest::for_words("text", 3)).unwrap();
    });
    assert_eq!(counted, ONE_READ);
    // While a moment holds the connection there is, another is opened, and its first read is the one it is opened in.
    let held = drawers.moment().unwrap().unwrap();
    let second = LockCounts {
        opened: 1,
        ..ONE_READ
    };
    let (_, counted) = counter::count(|| drawers.info().unwrap());
    assert_eq!(counted, second, "a read beside a moment");
    drop(held);
    let (_, counted) = counter::count(|| drawers.info().unwrap());
    assert_eq!(counted, ONE_READ, "a read after a moment");
}

#[test]
fn every_write_is_one_transaction_and_reads_nothing_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (palace, _other) = make_palace(folder.path());
    let backend = backend();
    let drawers = backend.open(&palace, &name(), &adopting()).unwrap();
    for n in 20..23 {
        let (receipt, counted) =
            counter::count(|| drawers.add_drawer(truth::drawer(n, 0, DIMENSION)).unwrap());
        assert_eq!(receipt.added.len(), 1);
        assert_eq!(counted, ONE_WRITE, "drawer {n}");
    }
    let (_, counted) = counter::count(|| {
        drawers.set_identity(&model(), IdentityChange::Confirm).unwrap();
    });
    assert_eq!(counted, ONE_WRITE, "recording a model");
}

#[test]
fn creating_is_one_read_where_the_collection_is_there_and_one_write_more_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (palace, _other) = make_palace(folder.path());
    let create = |backend: &EmbeddedBackend, called: &str, mode| {
        let called = CollectionName::new(called).unwrap();
        backend.create(&palace, &called, mode, &adopting()).map(drop)
    };
    let fresh = backend();
    let (made, counted) = counter::count(|| create(&fresh, "drawers", CreateMode::OpenExisting));
    made.unwrap();
    let opened = LockCounts {
        opened: 1,
        ..ONE_READ
    };
    assert_eq!(counted, opened, "in a fresh process");
    let (made, counted) = counter::count(|| create(&fresh, "drawers", CreateMode::OpenExisting));
    made.unwrap();
    assert_eq!(counted, ONE_READ, "once more");
    let (made, counted) = counter::count(|| create(&fresh, "drawers", CreateMode::Exclusive));
    assert_eq!(made.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(counted, ONE_READ, "exclusively");
    let read_then_write = LockCounts {
        opened: 0,
        reads: 2,
        writes: 1,
    };
    let (made, counted) = counter::count(|| create(&fresh, "others", CreateMode::Exclusive));
    made.unwrap();
    assert_eq!(counted, read_then_write, "another collection");
}

#[test]
fn a_new_palace_takes_few_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let palace = PalaceRef::local(folder.path().join("palace"));
    let backend = backend();
    let (made, counted) = counter::count(|| {
        backend.create(
            &palace,
            &name(),
            CreateMode::OpenExisting,
            &OpenOptions::for_writing(),
        )
    });
    made.unwrap();
    // The file is given a log, its tables, a look at them, and its collection; the index of the log is made once.
    let expected = LockCounts {
        opened: 1,
        reads: 4,
        writes: 3,
    };
    assert_eq!(counted, expected);
}
