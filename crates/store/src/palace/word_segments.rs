//! Sealed segments of words that this process has read, kept until their table no longer lists them.

use std::collections::HashSet;
use std::sync::Arc;

use super::PalaceFile;
use crate::words::{WordSegment, WordSegmentEntry};

impl PalaceFile {
    /// Returns the segments of a projection that this process has read before, each in the place of its entry.
    pub(crate) fn known_word_segments(
        &self,
        projection: i64,
        entries: &[WordSegmentEntry],
    ) -> Vec<Option<Arc<WordSegment>>> {
        let state = self.lock_state();
        let known = |entry: &WordSegmentEntry| {
            let segment = state.words.get(&(projection, entry.segment))?;
            // A number may be given out again after a merge. The words of a row never change, so a segment that covers as
            // many drawers between the same rows holds the same words.
            segment.is_listed_as(entry).then(|| Arc::clone(segment))
        };
        entries.iter().map(known).collect()
    }

    /// Remembers segments of a projection, and forgets those that are no longer listed.
    pub(crate) fn remember_word_segments(
        &self,
        projection: i64,
        entries: &[WordSegmentEntry],
        read: Vec<Arc<WordSegment>>,
    ) {
        if read.is_empty() {
            return;
        }
        let listed: HashSet<i64> = entries.iter().map(|entry| entry.segment).collect();
        let mut state = self.lock_state();
        state
            .words
            .retain(|(of, segment), _| *of != projection || listed.contains(segment));
        let read = read.into_iter();
        state
            .words
            .extend(read.map(|segment| ((projection, segment.number()), segment)));
    }
}
