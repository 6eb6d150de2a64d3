//! The change feed: drawers filed, changed or removed, in order.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CollectionName, DrawerId, Result};

/// Lists changes in the order they happened.
pub trait ChangeFeed: fmt::Debug + Send + Sync {
    /// Returns at most `limit` changes after `cursor`, oldest first, complete and without repeats.
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage>;
}

/// A point in the history of a palace; everything up to it has been seen.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Cursor(pub u64);

/// The kind of a change to a drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The drawer was filed or changed; read it for its current state.
    Put,
    /// The drawer was removed.
    Delete,
}

/// The newest change of one drawer; older ones of the same drawer are not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DrawerChange {
    // Only the newest change of a drawer is kept, so that the feed does not grow with every edit; a
    // reader that needs an old text has to have read it in time.
    /// The sequence number of the change; unique within the palace.
    pub seq: u64,
    /// The kind of the change.
    pub op: ChangeKind,
    /// The drawer that changed.
    pub id: DrawerId,
    /// The collection that holds the drawer.
    pub collection: CollectionName,
}

/// One page of changes after a cursor, oldest first, and the cursor of the next page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangePage {
    /// The changes; empty if there are none after the cursor.
    pub changes: Vec<DrawerChange>,
    /// The cursor to continue from.
    pub next: Cursor,
}
