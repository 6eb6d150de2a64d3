//! Changes: drawers filed, changed or removed since a cursor.

use loci_core::{Changes, CollectionExt, Cursor, Result};

use crate::palace::Palace;

impl Palace {
    /// Lists at most `limit` changes after `since`, oldest first.
    pub fn changes(&self, since: Cursor, limit: usize) -> Result<Changes> {
        self.read(|session| session.collection().require_feed()?.changes_since(since, limit))
    }
}
