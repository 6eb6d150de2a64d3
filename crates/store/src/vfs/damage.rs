//! The pages this process found damaged, by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Record = BTreeMap<String, BTreeSet<u32>>;

static RECORD: Mutex<Record> = Mutex::new(BTreeMap::new());
/// False until the first damage, so that writing sound pages takes no lock.
static ANY: AtomicBool = AtomicBool::new(false);

fn record() -> MutexGuard<'static, Record> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether `page` of `file` is on record.
pub(super) fn is_noted(file: &str, page: u32) -> bool {
    ANY.load(Ordering::Acquire) && record().get(file).is_some_and(|pages| pages.contains(&page))
}

/// Notes that `page` of `file` failed its checksum.
pub(super) fn note(file: &str, page: u32) {
    record().entry(file.to_owned()).or_default().insert(page);
    ANY.store(true, Ordering::Release);
}

/// Forgets `page` of `file`: it was written anew.
pub(super) fn forget(file: &str, page: u32) {
    if ANY.load(Ordering::Acquire)
        && let Some(pages) = record().get_mut(file)
    {
        pages.remove(&page);
    }
}

/// The pages of the database at `path` that failed their checksum when this process read them, ascending.
pub(crate) fn damaged_pages(path: &Path) -> Vec<u32> {
    let full = path.canonicalize().or_else(|_| std::path::absolute(path));
    let key = full.as_deref().unwrap_or(path).to_string_lossy();
    record()
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
        note("/nowhere/palace.db", 7);
        note("/nowhere/palace.db", 3);
        assert_eq!(damaged_pages(path), [3, 7]);
        forget("/nowhere/palace.db", 3);
        assert_eq!(damaged_pages(path), [7]);
        assert!(is_noted("/nowhere/palace.db", 7) && !is_noted("/nowhere/palace.db", 3));
    }
}
