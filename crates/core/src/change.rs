//! The change feed: what was filed, changed or removed, in order.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CollectionName, DrawerId, Result};

/// Lists changes in the order they happened.
pub trait ChangeFeed: fmt::Debug + Send + Sync {
    /// At most `limit` changes after `cursor`, oldest first, complete and without repeats.
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes>;
}

/// A point in the history of a palace; everything up to it has been seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cursor(pub u64);

/// What happened to a drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was filed or changed; read it to see how it is now.
    Put,
    /// It was removed.
    Delete,
}

/// The newest change of one drawer; older ones of the same drawer are not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where in the history it stands; unique within the palace.
    pub seq: u64,
    /// What happened.
    pub op: ChangeKind,
    /// To which drawer.
    pub id: DrawerId,
    /// Of which collection.
    pub collection: CollectionName,
}

/// Some changes after a cursor, oldest first, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The changes; none means that there are none after the cursor.
    pub changes: Vec<Change>,
    /// The cursor to ask with next.
    pub next: Cursor,
}
