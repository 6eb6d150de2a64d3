//! The change feed: rows and tombstones in the order of their numbers, which is that of the commits.

use loci_core::{ChangeKind, ChangePage, Cursor, DrawerChange, DrawerId, Result};

use crate::moment::MomentView;
use crate::row::stored_text;
use crate::shelf;
use crate::statement::SqlStatement;

/// Returns at most `limit` changes of the collection after `cursor`, oldest first.
pub(crate) fn changes_since(view: &MomentView<'_>, cursor: Cursor, limit: usize) -> Result<ChangePage> {
    let statement = SqlStatement::new(
        "SELECT * FROM (
            (SELECT seq, false, id FROM loci.drawers WHERE collection = $1 AND seq > $2 ORDER BY seq LIMIT $3)
            UNION ALL
            (SELECT seq, true, id FROM loci.tombstones WHERE collection = $1 AND seq > $2 ORDER BY seq LIMIT $3)
         ) AS changes ORDER BY 1 LIMIT $3",
    )
    .with_int(view.shelf.collection)
    .with_int(i64::try_from(cursor.0).unwrap_or(i64::MAX))
    .with_int(i64::try_from(limit).unwrap_or(i64::MAX));
    let found = view.session.ask(statement, view.deadline)?;
    let changes = found.iter().map(|row| {
        Ok(DrawerChange {
            seq: shelf::count(row.get(0)),
            op: if row.get(1) {
                ChangeKind::Delete
            } else {
                ChangeKind::Put
            },
            id: DrawerId::new(stored_text(row.get(2))?)?,
            collection: view.shelf.name.clone(),
        })
    });
    let changes = changes.collect::<Result<Vec<_>>>()?;
    let next = changes.last().map_or(cursor, |change| Cursor(change.seq));
    Ok(ChangePage { changes, next })
}
