//! Verified segments, and the codes of some of them kept in memory within one budget for the whole process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loci_index::segment::SegmentHead;

use crate::segments::BodyPages;

/// The most bytes of codes that a process keeps in memory, all its palaces together: a third of a million vectors of
/// 384 values. The codes beyond it are read at each scan from the kernel's cache, which all processes share.
const MOST_KEPT: usize = 128_000_000;

/// The budget of this process: [`MOST_KEPT`], unless a test sets another.
static BUDGET: AtomicUsize = AtomicUsize::new(MOST_KEPT);

/// Sets the budget of this process.
#[cfg(feature = "crash-points")]
pub(crate) fn keep_codes_up_to(bytes: usize) {
    BUDGET.store(bytes, Ordering::Relaxed);
}

/// The bytes of codes kept by this process.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A verified segment: its head, and once it has been scanned twice, its codes or the pages that hold them.
#[derive(Debug)]
pub(crate) struct SoundSegment {
    pub(crate) head: SegmentHead,
    codes: OnceLock<KeptCodes>,
    pages: Mutex<Option<Arc<BodyPages>>>,
}

impl SoundSegment {
    pub(super) fn new(head: SegmentHead) -> Self {
        Self {
            head,
            codes: OnceLock::new(),
            pages: Mutex::default(),
        }
    }

    /// Returns the codes if they are kept.
    pub(crate) fn kept_codes(&self) -> Option<&[u8]> {
        self.codes.get().map(|kept| kept.0.as_ref())
    }

    /// Keeps the codes, and returns whether the budget of the process allows it.
    pub(crate) fn keep_codes(&self, codes: &[u8]) -> bool {
        let kept = KeptCodes::within_budget(codes, BUDGET.load(Ordering::Relaxed), &KEPT);
        let allowed = kept.is_some();
        // Another thread may have kept them first; the loser gives its share back.
        let _ = kept.map(|kept| self.codes.set(kept));
        allowed
    }

    /// Returns the pages that hold the codes, if they are known.
    pub(crate) fn known_pages(&self) -> Option<Arc<BodyPages>> {
        self.lock_pages().clone()
    }

    /// Remembers the pages that hold the codes, or that they are not known.
    pub(crate) fn remember_pages(&self, pages: Option<BodyPages>) {
        *self.lock_pages() = pages.map(Arc::new);
    }

    fn lock_pages(&self) -> MutexGuard<'_, Option<Arc<BodyPages>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A private copy of codes, counted against the budget until it is dropped.
#[derive(Debug)]
struct KeptCodes(Box<[u8]>, &'static AtomicUsize);

impl KeptCodes {
    fn within_budget(codes: &[u8], most: usize, kept: &'static AtomicUsize) -> Option<Self> {
        let grown = |now: usize| now.checked_add(codes.len()).filter(|sum| *sum <= most);
        kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .ok()?;
        Some(Self(codes.into(), kept))
    }
}

impl Drop for KeptCodes {
    fn drop(&mut self) {
        self.1.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kept_up_to_the_budget_and_give_their_share_back() {
        static COUNTED: AtomicUsize = AtomicUsize::new(0);
        let keep = |bytes: usize| KeptCodes::within_budget(&vec![7; bytes], 100, &COUNTED);
        let first = keep(60);
        assert_eq!(first.as_ref().map(|kept| kept.0.len()), Some(60));
        assert!(keep(41).is_none(), "it would exceed the budget");
        let second = keep(40);
        assert!(second.is_some(), "it fits exactly");
        assert!(keep(1).is_none());
        drop(first);
        assert_eq!(COUNTED.load(Ordering::Relaxed), 40);
        assert!(keep(60).is_some());
    }
}
