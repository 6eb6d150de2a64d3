//! One writer at a time for each collection, and readers that see whole batches, within this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use loci_core::Timestamp;

/// The gates of all collections that this process has opened, by server and collection.
static GATES: LazyLock<Mutex<GateMap>> = LazyLock::new(Mutex::default);

/// Gates by the server's address and the collection's id.
type GateMap = HashMap<(String, String), Arc<CollectionGate>>;

/// Lets one writer or several readers pass, in the order in which they come.
///
/// Chroma has no transactions: without this, two writers could both find that an id is free. In order, because a call takes
/// milliseconds: the system's own locks would let writers that come again and again starve all others.
#[derive(Debug, Default)]
pub(crate) struct CollectionGate {
    queue: Mutex<GateQueue>,
    moved: Condvar,
    writes: AtomicU64,
    seq: AtomicU64,
}

#[derive(Debug, Default)]
struct GateQueue {
    /// The number that the next one to come is given.
    next: u64,
    /// The number whose turn it is.
    turn: u64,
    readers: u64,
}

/// A reader inside the gate.
#[derive(Debug)]
pub(crate) struct ReaderPass<'a>(&'a CollectionGate);

/// A writer inside the gate.
#[derive(Debug)]
pub(crate) struct WriterPass<'a>(&'a CollectionGate);

impl Drop for ReaderPass<'_> {
    fn drop(&mut self) {
        self.0.lock_queue().readers -= 1;
        self.0.moved.notify_all();
    }
}

impl Drop for WriterPass<'_> {
    fn drop(&mut self) {
        self.0.lock_queue().turn += 1;
        self.0.moved.notify_all();
    }
}

impl CollectionGate {
    /// Returns the gate of a collection, which all handles of this process share.
    pub(crate) fn find(server: &str, collection: &str) -> Arc<Self> {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (server.to_owned(), collection.to_owned());
        Arc::clone(gates.entry(key).or_default())
    }

    fn lock_queue(&self) -> MutexGuard<'_, GateQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn, and for every reader to leave if `alone`.
    fn wait_turn(&self, alone: bool) -> MutexGuard<'_, GateQueue> {
        let mut queue = self.lock_queue();
        let own = queue.next;
        queue.next += 1;
        let is_early = |queue: &mut GateQueue| queue.turn != own || (alone && queue.readers > 0);
        self.moved
            .wait_while(queue, is_early)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_to_read(&self) -> ReaderPass<'_> {
        let mut queue = self.wait_turn(false);
        queue.readers += 1;
        // Whoever is next may be a reader, too.
        queue.turn += 1;
        self.moved.notify_all();
        ReaderPass(self)
    }

    pub(crate) fn enter_to_write(&self) -> WriterPass<'_> {
        drop(self.wait_turn(true));
        self.writes.fetch_add(1, Ordering::SeqCst);
        WriterPass(self)
    }

    /// Returns how often this process has begun to write to the collection.
    pub(crate) fn count_writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Numbers a write: above every earlier one of this process, and in the order of time across processes.
    pub(crate) fn number_write(&self, now: Timestamp) -> u64 {
        let now = u64::try_from(now.as_micros()).unwrap_or_default();
        now.max(self.seq.load(Ordering::SeqCst) + 1)
    }

    /// Notes that a write was done, or has at least begun.
    pub(crate) fn note_write(&self, seq: u64) {
        self.seq.store(seq, Ordering::SeqCst);
    }

    /// Returns the number of the last write of this process; 0 before the first.
    pub(crate) fn last_write(&self) -> u64 {
        self.seq.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_the_gate_and_a_writer_has_it_alone() {
        let gate = CollectionGate::default();
        let (first, second) = (gate.enter_to_read(), gate.enter_to_read());
        let written = AtomicU64::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let _pass = gate.enter_to_write();
                written.store(1, Ordering::SeqCst);
            });
            // The writer has its number once this is 3, and then waits for both readers.
            while gate.lock_queue().next < 3 {
                std::thread::yield_now();
            }
            assert_eq!(written.load(Ordering::SeqCst), 0);
            drop((first, second));
            let _after = gate.enter_to_read();
            assert_eq!(
                written.load(Ordering::SeqCst),
                1,
                "who came later waits for the writer"
            );
        });
    }
}
