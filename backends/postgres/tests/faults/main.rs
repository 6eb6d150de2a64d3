//! Faults under real writers: cut connections, killed server processes, servers that stop at once, and many writers.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are only ever tests: a panic is a red line, and campaigns print what they did"
)]

mod crashes;
mod cuts;
mod processes;
mod proxy;
mod workload;
mod writers;

use std::sync::Arc;

use loci_core::{
    ApplyRequest, Backend, Collection, CollectionName, CreateMode, DrawerId, IdempotencyKey, NewDrawer,
    OpenOptions, Receipt, Result, Write,
};
use loci_postgres::PostgresBackend;

/// Returns a backend that seals and merges words after few drawers, so that the faults meet that too.
fn new_backend() -> PostgresBackend {
    PostgresBackend::new().sealing_words_at(5, 20)
}

/// Checks that the words of every stored drawer are found, by an index that is sound.
fn check_words(url: &str) {
    use loci_core::LexicalRequest;
    let backend = new_backend();
    let collection = open(&backend, url).unwrap();
    let found = collection
        .lexical(&LexicalRequest::for_words("half", 100_000))
        .unwrap();
    assert_eq!(found.len(), stored_ids(collection.as_ref()).len());
    assert_eq!(backend.list_damage(&backend.adopt_url(url).unwrap()), []);
}

/// Opens, or makes, the usual collection of the palace at a URL.
fn open(backend: &PostgresBackend, url: &str) -> Result<Arc<dyn Collection>> {
    let palace = backend.adopt_url(url)?;
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    backend.create(
        &palace,
        &name,
        CreateMode::OpenExisting,
        &OpenOptions::for_writing(),
    )
}

/// The batch of one writer's turn: two drawers, which are stored together or not at all.
fn batch(writer: usize, turn: usize) -> Vec<Write> {
    let half = |half: &str| {
        let id = DrawerId::new(format!("w{writer}-t{turn}-{half}")).unwrap();
        Write::Add(NewDrawer::new(
            id,
            format!("the {half} half of turn {turn} of writer {writer}"),
        ))
    };
    vec![half("left"), half("right")]
}

/// Applies a batch under its own key.
fn apply(collection: &dyn Collection, writes: &[Write], key: &str) -> Result<Receipt> {
    let key = IdempotencyKey::new(key)?;
    collection.apply(&ApplyRequest::from_writes(writes).under_key(&key))
}

/// Lists the ids of all drawers.
fn stored_ids(collection: &dyn Collection) -> Vec<String> {
    use loci_core::{DrawerFields, GetRequest};
    let all = GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    let drawers = collection.get(&all).unwrap();
    drawers.into_iter().map(|drawer| drawer.id.to_string()).collect()
}

/// Checks that the change feed lists every stored drawer once, in ascending order.
fn check_feed(collection: &dyn Collection) {
    use loci_core::Cursor;
    let page = collection
        .feed()
        .unwrap()
        .changes_since(Cursor(0), usize::MAX)
        .unwrap();
    let in_order = page.changes.windows(2).all(|two| two[0].seq < two[1].seq);
    assert!(in_order, "{:?}", page.changes);
    let mut listed: Vec<String> = page.changes.iter().map(|change| change.id.to_string()).collect();
    listed.sort();
    assert_eq!(listed, stored_ids(collection));
}

/// Checks that every batch is stored whole or not at all, and those that were acknowledged are.
fn check_batches(collection: &dyn Collection, acknowledged: &[(usize, usize)], tried: &[(usize, usize)]) {
    let stored = stored_ids(collection);
    let has = |writer: usize, turn: usize, half: &str| stored.contains(&format!("w{writer}-t{turn}-{half}"));
    for (writer, turn) in tried {
        let (left, right) = (has(*writer, *turn, "left"), has(*writer, *turn, "right"));
        assert_eq!(left, right, "half of turn {turn} of writer {writer}");
        if acknowledged.contains(&(*writer, *turn)) {
            assert!(
                left,
                "turn {turn} of writer {writer} was acknowledged and is lost"
            );
        }
    }
}
