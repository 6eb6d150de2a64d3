//! Changes: the drawers filed, changed or removed since a cursor.

use loci_core::{ChangePage, CollectionExt, Cursor, Result};

use crate::palace::Palace;

impl Palace {
    /// Lists at most `limit` changes after `since`, oldest first.
    pub fn list_changes(&self, since: Cursor, limit: usize) -> Result<ChangePage> {
        self.read(|session| session.collection().require_feed()?.changes_since(since, limit))
    }
}
