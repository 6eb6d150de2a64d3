//! Sources as a collection remembers them: a note of what each looked like when its drawers were filed.
//!
//! The note is never the truth about the drawers. Where it is lost the source is read once more and the drawers that
//! are there are kept; where two writers file one source at once, it decides which of them must look again.

use std::fmt;

use crate::{Error, Receipt, Result, Timestamp, Write};

/// Remembers sources and files new states of them.
///
/// A record is no drawer: it is not counted, found, exported or listed among the changes.
pub trait SourceLedger: fmt::Debug + Send + Sync {
    /// The records of some sources, in byte order of their names; names without a record are left out.
    fn find_records(&self, request: &Sources) -> Result<Vec<SourceRecord>>;

    /// Applies revisions in order, all in one durable step, and says what became of each.
    ///
    /// A revision whose source has another record by now than the one it expects is `Overtaken`: nothing of it is
    /// written, and the others go on. Parts are applied as [`crate::Collection::apply`] applies batches. An error leaves
    /// every drawer and record as it was; so does a list without revisions, which is empty in return.
    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>>;
}

/// What a collection remembers of a source beside its drawers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRecord {
    /// Its name, as drawers carry it, or that of a file that holds several sources.
    pub source: String,
    /// What it looked like; only whoever wrote it reads it.
    pub stamp: String,
    /// A number that no earlier record of the collection had.
    pub revision: u64,
    /// When it was stored.
    pub revised_at: Timestamp,
}

/// Asks for records of sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// Those with these names.
    Named(Vec<String>),
    /// Those whose name begins with `prefix`, and comes after `after` in byte order if that is given.
    Under {
        /// How the names begin; empty for all.
        prefix: String,
        /// Only names after this one.
        after: Option<String>,
        /// At most this many; at least one.
        limit: usize,
    },
}

impl Sources {
    /// Refuses requests for nothing.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Under { limit: 0, .. } => Err(Error::invalid("a list of sources must have room for one")),
            _ => Ok(()),
        }
    }
}

/// The parts of a revision: each is applied as a batch of its own, one after the other, in one transaction.
///
/// They are asked for while the collection is locked, all but the first; so large sources need not be held in memory
/// whole, and small ones are prepared before the lock.
pub type Parts<'a> = Box<dyn Iterator<Item = Vec<Write>> + 'a>;

/// A new state of one source: its drawers' changes and its record, stored in one step or not at all.
pub struct Revision<'a> {
    /// The source; not empty.
    pub source: String,
    /// The revision of the record that the changes were made for; `None` where there was no record.
    pub expects: Option<u64>,
    /// The stamp to remember; `None` forgets the record.
    pub stamp: Option<String>,
    /// What changes among the drawers; may be nothing at all. An empty part is passed over.
    pub parts: Parts<'a>,
}

impl Revision<'_> {
    /// Refuses a source without a name.
    pub fn check(&self) -> Result<()> {
        match self.source.is_empty() {
            true => Err(Error::invalid("a source has no name")),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Revision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revision")
            .field("source", &self.source)
            .field("expects", &self.expects)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

/// What became of a revision.
#[allow(
    clippy::large_enum_variant,
    reason = "one for each revision, and nearly all are done: a box would be one more allocation for each"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revised {
    /// It is durable.
    Done {
        /// What it did to the drawers.
        receipt: Receipt,
        /// The revision of the record as it is now; `None` where it was forgotten.
        revision: Option<u64>,
    },
    /// Somebody else revised the source since; nothing of this was written.
    Overtaken,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(source: &str) -> Revision<'static> {
        Revision {
            source: source.to_owned(),
            expects: Some(7),
            stamp: None,
            parts: Box::new(std::iter::empty()),
        }
    }

    #[test]
    fn a_source_needs_a_name_and_a_list_room_for_one() {
        assert!(revision("").check().is_err());
        assert!(
            revision(" ").check().is_ok(),
            "any text but the empty one is a name"
        );
        let under = |limit| Sources::Under {
            prefix: String::new(),
            after: None,
            limit,
        };
        assert!(under(0).check().is_err());
        assert!(under(1).check().is_ok());
        assert!(
            Sources::Named(Vec::new()).check().is_ok(),
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
