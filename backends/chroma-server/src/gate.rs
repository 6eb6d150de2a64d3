//! One writer at a time for each collection, and readers that see whole batches, within this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The gates of all collections that this process has opened, by server and collection.
static GATES: LazyLock<Mutex<HashMap<(String, String), Arc<CollectionGate>>>> = LazyLock::new(Mutex::default);

/// Lets one writer or several readers pass.
///
/// Chroma has no transactions: without this, two writers could both find that an id is free.
#[derive(Debug, Default)]
pub(crate) struct CollectionGate {
    lock: RwLock<()>,
    writes: AtomicU64,
}

impl CollectionGate {
    /// Returns the gate of a collection, which all handles of this process share.
    pub(crate) fn find(server: &str, collection: &str) -> Arc<Self> {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (server.to_owned(), collection.to_owned());
        Arc::clone(gates.entry(key).or_default())
    }

    pub(crate) fn enter_to_read(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_to_write(&self) -> RwLockWriteGuard<'_, ()> {
        let guard = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        self.writes.fetch_add(1, Ordering::SeqCst);
        guard
    }

    /// Returns how often this process has written to the collection.
    pub(crate) fn count_writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }
}
