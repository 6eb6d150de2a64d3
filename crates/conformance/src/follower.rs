//! A follower that knows a collection only by its change feed.

use std::collections::BTreeSet;

use loci_core::{ChangeKind, Collection, CollectionExt, Cursor};

use crate::CaseOutcome;

/// The ids that follow from the feed so far, and the position up to which it was read.
#[derive(Debug, Default)]
pub(crate) struct FeedFollower {
    cursor: Cursor,
    pub(crate) ids: BTreeSet<String>,
}

impl FeedFollower {
    /// Reads the feed to its end, a few changes at a time.
    pub(crate) fn follow_feed(&mut self, drawers: &dyn Collection) -> CaseOutcome {
        // A small prime, so that pages end in the middle of most batches.
        const AT_ONCE: usize = 7;
        loop {
            let page = drawers.require_feed()?.changes_since(self.cursor, AT_ONCE)?;
            // Only an empty page ends the feed; a short one may be followed by more.
            if page.changes.is_empty() {
                return Ok(());
            }
            let sound = page.changes.len() <= AT_ONCE
                && page.changes.is_sorted_by(|a, b| a.seq < b.seq)
                // Without these a follower could loop for ever or apply a change twice.
                && page.changes.iter().all(|change| change.seq > self.cursor.0)
                && page.next > self.cursor;
            ensure!(
                sound,
                "expected at most {AT_ONCE} changes in order after {:?}, found {page:?}",
                self.cursor
            );
            self.cursor = page.next;
            for change in page.changes {
                match change.op {
                    ChangeKind::Put => self.ids.insert(change.id.into()),
                    ChangeKind::Delete => self.ids.remove(change.id.as_str()),
                };
            }
        }
    }
}
