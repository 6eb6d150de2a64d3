//! Work spread over the cores of this machine.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Returns the number of available cores.
pub(super) fn core_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does the work for every item on at most `cores` cores at once; each thread begins with its own state.
///
/// If the system gives no more threads, the calling one does the rest.
pub(super) fn spread_work<T: Send, S>(
    cores: usize,
    items: impl Iterator<Item = T> + Send,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
) {
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || {
        let mut own = begin();
        while let Some(item) = next() {
            work(&mut own, item);
        }
    };
    thread::scope(|scope| {
        // From one: the calling thread works too, so that a single core starts no thread at all.
        for _ in 1..cores {
            // Not an error: on a machine out of threads the work is only slower.
            if thread::Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
}
