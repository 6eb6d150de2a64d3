//! Whole rows with their entries in every index: removing one, and giving one another number.

use loci_core::Result;
use loci_index::tokenise::TextIndexer;
use rusqlite::Transaction;

use crate::attributes::{self, AttributeKeys};
use crate::failure::sqlite_error;
use crate::row::StoredDrawer;
use crate::shelf::CollectionShelf;
use crate::{places, vectors, words};

/// Removes a drawer: its index entries first, then its row.
pub(crate) fn remove_drawer(
    transaction: &Transaction<'_>,
    shelf: &mut CollectionShelf,
    keys: &mut AttributeKeys,
    stored: &StoredDrawer,
) -> Result<()> {
    let row = stored.row;
    words::delete(transaction, shelf.projection, row)?;
    attributes::delete(transaction, shelf.projection, keys, row, &stored.drawer)?;
    places::remove_drawer(transaction, shelf.collection, &stored.drawer.place)?;
    for space in shelf.spaces_mut() {
        vectors::delete(transaction, space, row)?;
    }
    transaction
        .prepare_cached("DELETE FROM drawers WHERE row = ?1")
        .and_then(|mut statement| statement.execute([row]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Gives a drawer whose text stays a new row, with all its index entries and its vectors in every space. Its
/// `seq` stays too, so the move does not appear in the change feed.
pub(crate) fn renumber_drawer(
    transaction: &Transaction<'_>,
    shelf: &mut CollectionShelf,
    keys: &mut AttributeKeys,
    stored: &StoredDrawer,
    to: i64,
) -> Result<()> {
    let (from, projection) = (stored.row, shelf.projection);
    let words = words::pack_words(&mut TextIndexer::default(), &stored.drawer);
    words::delete(transaction, projection, from)?;
    attributes::delete(transaction, projection, keys, from, &stored.drawer)?;
    for space in shelf.spaces_mut() {
        vectors::carry_vector(transaction, space, from, to)?;
    }
    transaction
        .prepare_cached("UPDATE drawers SET row = ?2 WHERE row = ?1")
        .and_then(|mut statement| statement.execute([from, to]))
        .map_err(sqlite_error)?;
    attributes::insert(transaction, projection, keys, to, &stored.drawer)?;
    words::insert(transaction, projection, to, &words)
}
