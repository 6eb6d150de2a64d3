//! Filling a space: which drawers lack a vector in it, and storing the vectors that were made of them.

use loci_core::write::{check_vector, dimension_mismatch};
use loci_core::{
    Context, EmbedderIdentity, Error, ErrorKind, Filled, Filling, Include, Pending, Result, SpaceState,
    Unembedded,
};
use rusqlite::{Connection, Transaction};

use crate::attributes::Keys;
use crate::failure::corrupt;
use crate::row::{self, Stored};
use crate::shelf::Shelf;
use crate::space::Space;
use crate::write::{self, last_seq, store_seq};
use crate::{vectors, words};

/// Answers a [`Pending`]: walks the rows after the last one seen, and reads the text of those without a vector.
pub(crate) fn pending(connection: &Connection, shelf: &Shelf, request: &Pending) -> Result<Vec<Unembedded>> {
    let space = space_of(shelf, &request.identity)?;
    let after = i64::try_from(request.after).unwrap_or(i64::MAX);
    let rows = vectors::lacking(connection, space, after, i64::MAX, request.limit)?;
    rows.into_iter().map(|row| unembedded(connection, row)).collect()
}

fn unembedded(connection: &Connection, row: i64) -> Result<Unembedded> {
    let include = Include {
        document: true,
        context: true,
        ..Include::NOTHING
    };
    let drawer = stored(connection, row, include)?.drawer;
    let document = drawer.document.as_deref().unwrap_or_default();
    Ok(Unembedded {
        text: Context::indexed(drawer.context.as_ref(), document).into_owned(),
        version: u64::try_from(row).unwrap_or(0),
        id: drawer.id,
    })
}

fn stored(connection: &Connection, row: i64, include: Include) -> Result<Stored> {
    row::by_row(connection, row, include)?
        .ok_or_else(|| corrupt(format!("row {row} is in an index but not in the table")))
}

/// The space a model's vectors are filled into: the one being built, or else the active one.
fn space_of<'s>(shelf: &'s Shelf, identity: &EmbedderIdentity) -> Result<&'s Space> {
    let fits = |space: &&Space| space.embedder.as_ref() == Some(identity);
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
                "the collection {:?} has no space for {identity}: {} answers, and {building}",
                shelf.name.as_str(),
                shelf.space.model()
            ),
        )
        .hint(format!(
            "nothing was changed; begin one with `loci embedder switch {}`",
            identity.model
        ))
    })
}

/// Checks vectors before anything is written.
pub(crate) fn check(identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<()> {
    for Filling { id, vector, .. } in vectors {
        check_vector(vector).map_err(|error| error.with("id", id))?;
        if vector.len() != identity.dimension {
            return Err(dimension_mismatch(identity.dimension, vector.len()).with("id", id));
        }
    }
    Ok(())
}

/// Stores checked vectors within one write transaction.
pub(crate) fn fill(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: Shelf,
    identity: &EmbedderIdentity,
    vectors: &[Filling],
) -> Result<Filled> {
    let space = space_of(&shelf, identity)?;
    if space.state == SpaceState::Paused {
        return Err(paused(identity));
    }
    let mut work = Work {
        transaction,
        number: space.number,
        shelf,
        keys: Keys::default(),
        seq: last_seq(transaction)?,
    };
    let mut filled = Filled::default();
    for filling in vectors {
        match work.store(filling)? {
            true => filled.stored += 1,
            false => filled.stale += 1,
        }
    }
    crate::crash::point("fill-stored");
    work.finish(palace)?;
    Ok(filled)
}

fn paused(identity: &EmbedderIdentity) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the switch to {identity} is paused, so no vectors are stored"),
    )
    .hint(format!(
        "nothing was written; go on with `loci embedder switch {}`",
        identity.model
    ))
}

/// Some vectors being stored in one space.
struct Work<'t, 'c> {
    transaction: &'t Transaction<'c>,
    /// The number of the space.
    number: i64,
    shelf: Shelf,
    keys: Keys,
    seq: i64,
}

impl Work<'_, '_> {
    fn space(&mut self) -> Result<&mut Space> {
        let gone = || corrupt("the embedding space is gone");
        self.shelf.numbered(self.number).ok_or_else(gone)
    }

    /// Stores one vector; `false` if it is stale.
    fn store(&mut self, filling: &Filling) -> Result<bool> {
        let transaction = self.transaction;
        let found = row::row_of(transaction, self.shelf.collection, &filling.id)?;
        let Some(mut row) = found.filter(|row| u64::try_from(*row) == Ok(filling.version)) else {
            return Ok(false);
        };
        if vectors::has(transaction, self.space()?, row)? {
            return Ok(false);
        }
        if row <= self.space()?.sealed {
            row = self.move_up(row)?;
        }
        vectors::insert(transaction, self.space()?, row, &filling.vector)?;
        Ok(true)
    }

    /// Gives a drawer whose row lies among sealed ones a new row, where its vector belongs to the tail.
    fn move_up(&mut self, row: i64) -> Result<i64> {
        let include = Include {
            embedding: false,
            ..Include::EVERYTHING
        };
        let stored = stored(self.transaction, row, include)?;
        self.seq += 1;
        write::renumber(
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
        for space in self.shelf.spaces_mut() {
            vectors::seal_filled(self.transaction, space, palace, &mut number)?;
        }
        words::seal_full(self.transaction, self.shelf.projection)?;
        self.shelf.store_counters(self.transaction)?;
        store_seq(self.transaction, seq)
    }
}
