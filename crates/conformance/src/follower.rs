//! Somebody who knows a collection by its change feed alone.

use std::collections::BTreeSet;

use loci_core::{ChangeKind, Collection, CollectionExt, Cursor};

use crate::Outcome;

/// The ids a follower of the feed believes in, and how far it has read.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    cursor: Cursor,
    pub(crate) ids: BTreeSet<String>,
}

impl Follower {
    /// Reads the feed to its end, a few changes at a time.
    pub(crate) fn follow(&mut self, drawers: &dyn Collection) -> Outcome {
        const AT_ONCE: usize = 7;
        loop {
            let page = drawers.require_feed()?.changes_since(self.cursor, AT_ONCE)?;
            if page.changes.is_empty() {
                return Ok(());
            }
            let sound = page.changes.len() <= AT_ONCE
                && page.changes.is_sorted_by(|a, b| a.seq < b.seq)
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
