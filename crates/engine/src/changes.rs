//! Changes: the drawers filed, changed or removed since a cursor, or before one.

mod newest;
mod visible;

use loci_core::{
    ChangeKind, ChangePage, CollectionExt, CollectionReader, Cursor, DrawerChange, DrawerId, GetRequest,
    Result,
};

use crate::palace::{Palace, PalaceSession};
use crate::view::DrawerView;
use newest::find_newest;
use visible::with_visible_feed;

/// A change, and its drawer as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeView {
    /// The change.
    pub change: DrawerChange,
    /// The drawer; `None` if it was removed, by this change or since.
    pub drawer: Option<DrawerView>,
}

/// A page of changes with their drawers, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesReport {
    /// The changes.
    pub changes: Vec<ChangeView>,
    /// The cursor behind the last of them.
    pub next: Cursor,
    /// Whether there are earlier changes; only known of the newest ones.
    pub has_earlier: bool,
    /// Whether there may be later changes.
    pub has_later: bool,
}

impl Palace {
    /// Lists at most `limit` changes after `since`, oldest first.
    pub fn list_changes(&self, since: Cursor, limit: usize) -> Result<ChangePage> {
        self.read(|session| session.collection().require_feed()?.changes_since(since, limit))
    }

    /// Reads at most `limit` changes after `since` with their drawers, oldest first. A caller that sees some wings only
    /// gets the changes of their drawers, without removals.
    pub fn read_changes(&self, since: Cursor, limit: usize) -> Result<ChangesReport> {
        self.read(|session| {
            let page = with_visible_feed(session, |changes_since| changes_since(since, limit))?;
            Ok(ChangesReport {
                has_earlier: since > Cursor::default(),
                has_later: page.changes.len() >= limit,
                next: page.next,
                changes: add_drawers(session, page.changes)?,
            })
        })
    }

    /// Reads the newest `limit` changes with their drawers, oldest first; with `before`, the newest of those with a
    /// smaller sequence number. The cost does not grow with the number of changes before them. For a caller that sees
    /// some wings only, see [`Palace::read_changes`].
    pub fn read_newest_changes(&self, before: Option<Cursor>, limit: usize) -> Result<ChangesReport> {
        self.read(|session| {
            // By the collection and not by the moment: a change after the moment must not be skipped by the cursor.
            let newest = session.collection().info()?.seq;
            let end = before.map_or(newest.0, |before| before.0.saturating_sub(1));
            let found = with_visible_feed(session, |changes_since| {
                find_newest(end, limit, before.is_none(), changes_since)
            })?;
            Ok(ChangesReport {
                next: found
                    .changes
                    .last()
                    .map_or(Cursor(end), |change| Cursor(change.seq)),
                has_earlier: found.has_earlier,
                has_later: before.is_some(),
                changes: add_drawers(session, found.changes)?,
            })
        })
    }
}

/// Reads the drawers of changes, all at once.
fn add_drawers(session: &PalaceSession<'_>, changes: Vec<DrawerChange>) -> Result<Vec<ChangeView>> {
    let filed = changes.iter().filter(|change| change.op == ChangeKind::Put);
    let ids: Vec<DrawerId> = filed.map(|change| change.id.clone()).collect();
    // From the collection as it is now, which is never older than the changes.
    let reader: &dyn CollectionReader = session.collection();
    let drawers = if ids.is_empty() {
        Vec::new()
    } else {
        reader.get(&GetRequest::by_ids(ids))?
    };
    let mut drawers: std::collections::HashMap<DrawerId, DrawerView> = drawers
        .into_iter()
        .map(|drawer| (drawer.id.clone(), DrawerView::from(drawer)))
        .collect();
    let view = |change: DrawerChange| ChangeView {
        drawer: match change.op {
            ChangeKind::Put => drawers.remove(&change.id),
            ChangeKind::Delete => None,
        },
        change,
    };
    Ok(changes.into_iter().map(view).collect())
}
