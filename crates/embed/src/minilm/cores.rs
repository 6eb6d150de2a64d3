//! Work spread over the cores of this machine.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many cores there are to use.
pub(super) fn all() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does the work for every item, on at most `cores` cores at once; each begins with something of its own.
///
/// Where the system gives no more threads, the calling one does what is left.
pub(super) fn each<T: Send, S>(
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
        for _ in 1..cores {
            if thread::Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
}
