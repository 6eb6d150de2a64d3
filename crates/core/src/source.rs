//! Sources as a collection remembers them: a record of the state in which each was filed.
//!
//! The record is never the truth about the drawers. If it is lost, the source is read again and existing drawers
//! are kept; if two writers file one source at once, it decides which of them must retry.

use std::fmt;

use crate::{Error, Receipt, Result, Timestamp, Write};

/// Remembers sources and files new states of them.
///
/// A record is not a drawer: it is not counted, found, exported or listed among the changes.
pub trait SourceLedger: fmt::Debug + Send + Sync {
    /// Returns the records of some sources, in byte order of their names; names without a record are skipped.
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>>;

    /// Applies revisions in order, all in one durable step, and returns the outcome of each.
    ///
    /// A revision whose source no longer has the record it expects is `Overtaken`: nothing of it is written, and
    /// the others are still applied. Parts are applied as [`crate::Collection::apply`] applies batches. An error
    /// leaves every drawer and record as it was; so does an empty list of revisions, which returns an empty list.
    fn revise(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>>;
}

/// The record that a collection keeps of a source besides its drawers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRecord {
    /// Its name as drawers carry it, or the name of a file that holds several sources.
    pub source: String,
    /// The state it was filed in; opaque to all but its writer.
    pub stamp: String,
    /// A number that no earlier record of the collection has had.
    pub revision: u64,
    /// The time it was stored.
    pub revised_at: Timestamp,
}

/// Asks for records of sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceRecordQuery {
    /// Records with these names.
    Named(Vec<String>),
    /// Records whose name begins with `prefix` and, if `after` is given, follows it in byte order.
    Under {
        /// The prefix of the names; empty for all.
        prefix: String,
        /// The name after which to continue.
        after: Option<String>,
        /// The most records to return; at least one.
        limit: usize,
    },
}

impl SourceRecordQuery {
    /// Refuses a limit of zero.
    pub fn check_request(&self) -> Result<()> {
        match self {
            // A page of nothing would make a caller that pages until the end loop for ever.
            Self::Under { limit: 0, .. } => Err(Error::invalid(
                "the limit of a list of sources must be at least one",
            )),
            _ => Ok(()),
        }
    }
}

/// The parts of a revision: each is applied as a separate batch, one after the other, in one transaction.
///
/// All but the first are produced while the collection is locked: large sources need not fit in memory, and small
/// ones are prepared before the lock.
pub type RevisionParts<'a> = Box<dyn Iterator<Item = Vec<Write>> + 'a>;

/// A new state of one source: the changes to its drawers and its record, stored in one step or not at all.
pub struct SourceRevision<'a> {
    /// The source; not empty.
    pub source: String,
    /// The revision of the record that the changes are based on; `None` if there was no record.
    pub expects: Option<u64>,
    /// The stamp to record; `None` removes the record.
    pub stamp: Option<String>,
    /// The changes to the drawers; may be empty. An empty part is skipped.
    pub parts: RevisionParts<'a>,
}

impl SourceRevision<'_> {
    /// Refuses a source without a name.
    pub fn check_source(&self) -> Result<()> {
        if self.source.is_empty() {
            return Err(Error::invalid("a source has no name"));
        }
        Ok(())
    }
}

impl fmt::Debug for SourceRevision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceRevision")
            .field("source", &self.source)
            .field("expects", &self.expects)
            .field("stamp", &self.stamp)
            // The parts are an iterator that can be consumed only once; printing them would use them up.
            .finish_non_exhaustive()
    }
}

/// The outcome of a revision.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every revision is done, so a box would cost one more allocation for each"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionOutcome {
    /// The revision is durable.
    Done {
        /// The receipt for the drawers.
        receipt: Receipt,
        /// The current revision of the record; `None` if it was removed.
        revision: Option<u64>,
    },
    /// Another writer revised the source in the meantime; nothing of this revision was written.
    Overtaken,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(source: &str) -> SourceRevision<'static> {
        SourceRevision {
            source: source.to_owned(),
            expects: Some(7),
            stamp: None,
            parts: Box::new(std::iter::empty()),
        }
    }

    #[test]
    fn a_source_needs_a_name_and_a_list_room_for_one() {
        assert!(revision("").check_source().is_err());
        assert!(
            revision(" ").check_source().is_ok(),
            "any text but the empty one is a name"
        );
        let under = |limit| SourceRecordQuery::Under {
            prefix: String::new(),
            after: None,
            limit,
        };
        assert!(under(0).check_request().is_err());
        assert!(under(1).check_request().is_ok());
        assert!(
            SourceRecordQuery::Named(Vec::new()).check_request().is_ok(),
            "no names is no record"
        );
    }

    #[test]
    fn a_revision_is_shown_without_asking_for_its_parts() {
        let mut never = revision("a.md");
        never.parts = Box::new(std::iter::from_fn(|| unreachable!("nobody asked")));
        let shown = format!("{never:?}");
        assert!(shown.contains("a.md") && shown.contains('7'), "{shown}");
    }
}
