//! Changes as a caller sees them who may see some wings only.
//!
//! The feed is one of the whole collection, so it is read beside the caller's own handle, and a change is kept if that
//! handle has its drawer. A removed drawer is in no wing any more, so removals are left out.

use std::collections::HashSet;

use loci_core::{
    ChangeFeed, ChangeKind, ChangePage, Collection, CollectionExt as _, Cursor, DrawerChange, DrawerFields,
    DrawerId, GetRequest, OpenOptions, Result,
};

use crate::palace::PalaceSession;

/// The changes read at once while those of some wings are looked for.
const AT_ONCE: usize = 1_000;

/// Calls `read` with a function that returns at most so many changes after a cursor that concern drawers the caller of
/// this session sees.
pub(super) fn with_visible_feed<T>(
    session: &PalaceSession<'_>,
    read: impl FnOnce(&mut dyn FnMut(Cursor, usize) -> Result<ChangePage>) -> Result<T>,
) -> Result<T> {
    let palace = session.palace();
    if !palace.access().is_restricted() {
        let feed = session.collection().require_feed()?;
        return read(&mut |since, limit| feed.changes_since(since, limit));
    }
    let whole = palace.open_whole(&OpenOptions::default())?;
    let feed = whole.require_feed()?;
    read(&mut |since, limit| list_visible(session.collection(), feed, since, limit))
}

fn list_visible(
    visible: &dyn Collection,
    feed: &dyn ChangeFeed,
    since: Cursor,
    limit: usize,
) -> Result<ChangePage> {
    // That of the newest visible drawer: without news in these wings nothing is read, whatever happens in the others.
    let newest = visible.info()?.seq;
    let (mut at, mut changes) = (since, Vec::new());
    while changes.len() < limit && at < newest {
        let page = feed.changes_since(at, AT_ONCE)?;
        if page.changes.is_empty() {
            break;
        }
        at = page.next;
        changes.extend(keep_visible(visible, page.changes)?);
    }
    changes.truncate(limit);
    // Never beyond the last change that is shown: a cursor that moves on would tell of changes in other wings.
    let next = changes.last().map_or(since, |change| Cursor(change.seq));
    Ok(ChangePage { changes, next })
}

fn keep_visible(visible: &dyn Collection, changes: Vec<DrawerChange>) -> Result<Vec<DrawerChange>> {
    let filed = changes.into_iter().filter(|change| change.op == ChangeKind::Put);
    let mut filed: Vec<DrawerChange> = filed.collect();
    let ids: Vec<DrawerId> = filed.iter().map(|change| change.id.clone()).collect();
    let found = visible.get(&GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::by_ids(ids)
    })?;
    let seen: HashSet<DrawerId> = found.into_iter().map(|drawer| drawer.id).collect();
    filed.retain(|change| seen.contains(&change.id));
    Ok(filed)
}
