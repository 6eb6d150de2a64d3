//! The damaged pages this process has found, by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type DamageRecord = BTreeMap<String, BTreeSet<u32>>;

static RECORD: Mutex<DamageRecord> = Mutex::new(BTreeMap::new());
/// False until the first damage, so that writing sound pages takes no lock.
static ANY: AtomicBool = AtomicBool::new(false);

fn lock_record() -> MutexGuard<'static, DamageRecord> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From so many damaged pages on, another one is taken for damaged at once.
const WIDESPREAD: usize = 64;

/// Returns whether `page` of `file` is on record, or so many others that it is not worth waiting for.
pub(super) fn is_noted(file: &str, page: u32) -> bool {
    let known = |pages: &BTreeSet<u32>| pages.contains(&page) || pages.len() >= WIDESPREAD;
    ANY.load(Ordering::Acquire) && lock_record().get(file).is_some_and(known)
}

/// Notes that `page` of `file` failed its checksum.
pub(super) fn note_page(file: &str, page: u32) {
    lock_record().entry(file.to_owned()).or_default().insert(page);
    ANY.store(true, Ordering::Release);
}

/// Forgets `page` of `file`: it was written anew.
pub(super) fn forget_page(file: &str, page: u32) {
    if ANY.load(Ordering::Acquire)
        && let Some(pages) = lock_record().get_mut(file)
    {
        pages.remove(&page);
    }
}

/// Returns the pages of the database at `path` that failed their checksum when this process read them, ascending.
pub(crate) fn damaged_pages(path: &Path) -> Vec<u32> {
    // The record uses the names SQLite opened the files under, which are absolute and without links.
    let full = path.canonicalize().or_else(|_| std::path::absolute(path));
    let key = full.as_deref().unwrap_or(path).to_string_lossy();
    lock_record()
        .get(key.as_ref())
        .map(|pages| pages.iter().copied().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_on_record_until_the_page_is_written_anew() {
        let path = Path::new("/nowhere/palace.db");
        note_page("/nowhere/palace.db", 7);
        note_page("/nowhere/palace.db", 3);
        assert_eq!(damaged_pages(path), [3, 7]);
        forget_page("/nowhere/palace.db", 3);
        assert_eq!(damaged_pages(path), [7]);
        assert!(is_noted("/nowhere/palace.db", 7) && !is_noted("/nowhere/palace.db", 3));
    }
}
