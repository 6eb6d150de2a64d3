//! Filling a space: listing the drawers that lack a vector in it, and storing the vectors made for them.

use loci_core::vector::{check_vector, dimension_mismatch};
use loci_core::{
    DrawerContext, DrawerFields, EmbedderIdentity, Error, ErrorKind, Metric, PendingRequest, Result,
    SpaceState, UnembeddedDrawer, VectorFill, VectorFillReport,
};
use rusqlite::{Connection, Transaction};

use crate::attributes::AttributeKeys;
use crate::failure::corrupt_error;
use crate::row::{self, StoredDrawer};
use crate::shelf::CollectionShelf;
use crate::space::StoredSpace;
use crate::write::{self, last_seq, store_seq};
use crate::{vectors, words};

/// Answers a [`PendingRequest`] request: walks the rows after the last one seen, and reads the texts without a vector.
pub(crate) fn list_pending(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &PendingRequest,
) -> Result<Vec<UnembeddedDrawer>> {
    let space = find_target_space(shelf, &request.identity)?;
    let after = i64::try_from(request.after).unwrap_or(i64::MAX);
    let rows = vectors::rows_lacking_vector(connection, space, after, i64::MAX, request.limit)?;
    rows.into_iter()
        .map(|row| read_unembedded(connection, row))
        .collect()
}

fn read_unembedded(connection: &Connection, row: i64) -> Result<UnembeddedDrawer> {
    let include = DrawerFields {
        document: true,
        context: true,
        ..DrawerFields::NOTHING
    };
    let drawer = read_stored(connection, row, include)?.drawer;
    let document = drawer.document.as_deref().unwrap_or_default();
    Ok(UnembeddedDrawer {
        text: DrawerContext::indexed_text(drawer.context.as_ref(), document).into_owned(),
        version: u64::try_from(row).unwrap_or(0),
        id: drawer.id,
    })
}

fn read_stored(connection: &Connection, row: i64, include: DrawerFields) -> Result<StoredDrawer> {
    row::load_by_row(connection, row, include)?
        .ok_or_else(|| corrupt_error(format!("row {row} is in an index but not in the table")))
}

/// Returns the space a model's vectors are filled into: the one being built, or else the active one.
fn find_target_space<'s>(shelf: &'s CollectionShelf, identity: &EmbedderIdentity) -> Result<&'s StoredSpace> {
    let fits = |space: &&StoredSpace| space.embedder.as_ref() == Some(identity);
    let active = Some(&shelf.space);
    let found = shelf.being_built().filter(fits).or(active.filter(fits));
    found.ok_or_else(|| {
        let building = match shelf.being_built() {
            Some(space) => format!("one for {} is being built", space.model()),
            None => "none is being built".to_owned(),
        };
        Error::new(
            ErrorKind::IdentityMismatch,
            format!(
                "the collection {:?} has no space for {identity}: {} is active, and {building}",
                shelf.name.as_str(),
                shelf.space.model()
            ),
        )
        .with_hint(format!(
            "nothing was changed; begin one with `loci embedder switch {}`",
            identity.model
        ))
    })
}

/// Checks vectors before the lock is taken.
pub(crate) fn check_vectors(
    metric: Metric,
    identity: &EmbedderIdentity,
    vectors: &[VectorFill],
) -> Result<()> {
    for VectorFill { id, vector, .. } in vectors {
        check_vector(vector, metric).map_err(|error| error.with_context("id", id))?;
        if vector.len() != identity.dimension {
            return Err(dimension_mismatch(identity.dimension, vector.len()).with_context("id", id));
        }
    }
    Ok(())
}

/// Stores checked vectors within one write transaction.
pub(crate) fn fill_space(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: CollectionShelf,
    identity: &EmbedderIdentity,
    vectors: &[VectorFill],
) -> Result<VectorFillReport> {
    let space = find_target_space(&shelf, identity)?;
    // A process that began to fill before the pause must stop as well.
    if space.state == SpaceState::Paused {
        return Err(paused_error(identity));
    }
    let mut work = FillWork {
        transaction,
        number: space.number,
        shelf,
        keys: AttributeKeys::default(),
        seq: last_seq(transaction)?,
    };
    let mut filled = VectorFillReport::default();
    for filling in vectors {
        if work.store_vector(filling)? {
            filled.stored += 1;
        } else {
            filled.stale += 1;
        }
    }
    crate::crash::point("fill-stored");
    work.finish(palace)?;
    Ok(filled)
}

fn paused_error(identity: &EmbedderIdentity) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the switch to {identity} is paused, so no vectors are stored"),
    )
    .with_hint(format!(
        "nothing was written; continue with `loci embedder switch {}`",
        identity.model
    ))
}

/// Vectors being stored in one space within one transaction.
struct FillWork<'t, 'c> {
    transaction: &'t Transaction<'c>,
    /// The number of the space.
    number: i64,
    shelf: CollectionShelf,
    keys: AttributeKeys,
    seq: i64,
}

impl FillWork<'_, '_> {
    fn target_space(&mut self) -> Result<&mut StoredSpace> {
        let gone = || corrupt_error("the embedding space is gone");
        self.shelf.space_by_number(self.number).ok_or_else(gone)
    }

    /// Stores one vector; returns `false` if it is stale.
    fn store_vector(&mut self, filling: &VectorFill) -> Result<bool> {
        let transaction = self.transaction;
        let found = row::row_of(transaction, self.shelf.collection, &filling.id)?;
        // The row is the version of the text: another one means that the text the vector was made of is gone.
        let Some(mut row) = found.filter(|row| u64::try_from(*row) == Ok(filling.version)) else {
            return Ok(false);
        };
        // Several processes may fill one space at once; the first vector stays.
        if vectors::has_vector(transaction, self.target_space()?, row)? {
            return Ok(false);
        }
        if row <= self.target_space()?.sealed {
            row = self.move_to_tail(row)?;
        }
        vectors::insert(transaction, self.target_space()?, row, &filling.vector)?;
        Ok(true)
    }

    /// Gives a drawer whose row lies below the sealed mark a new row, where its vector belongs to the tail.
    fn move_to_tail(&mut self, row: i64) -> Result<i64> {
        let include = DrawerFields {
            embedding: false,
            ..DrawerFields::EVERYTHING
        };
        let stored = read_stored(self.transaction, row, include)?;
        // Packing the passed segment again would avoid the move, but costs a whole segment for each gap.
        self.seq += 1;
        write::renumber_drawer(
            self.transaction,
            &mut self.shelf,
            &mut self.keys,
            &stored,
            self.seq,
        )?;
        crate::crash::point("fill-moved");
        Ok(self.seq)
    }

    /// Seals what is full and writes the counters.
    fn finish(mut self, palace: [u8; 16]) -> Result<()> {
        let mut seq = self.seq;
        let mut number = || {
            seq += 1;
            seq
        };
        // A move inserts into every space and into the words, so all of them may have filled a segment.
        for space in self.shelf.spaces_mut() {
            vectors::seal_filled(self.transaction, space, palace, &mut number)?;
        }
        words::seal_full(self.transaction, self.shelf.projection)?;
        self.shelf.store_counters(self.transaction)?;
        store_seq(self.transaction, seq)
    }
}
