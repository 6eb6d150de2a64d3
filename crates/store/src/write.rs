//! Applying a batch: rows, attributes, words, vectors, tombstones and sequence numbers in one transaction.

use std::collections::HashMap;

use loci_core::{
    Declared, Drawer, DrawerId, Get, Include, NewDrawer, Patch, Place, Receipt, Result, Selection, Twin,
    Write,
};
use loci_index::tokenise::Indexer;
use rusqlite::{Connection, Transaction, params};

use crate::attributes::{self, Keys};
use crate::failure::sqlite;
use crate::row::{self, Stored};
use crate::shelf::Shelf;
use crate::{clock, places, read, vectors, words};

/// What of a batch is made ready without a stored row: everything slow that needs none.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Filed drawers and their words, by place in the batch.
    filed: HashMap<usize, (Drawer, Vec<u8>)>,
    /// The length of the first vector in the batch.
    dimension: Option<usize>,
}

/// Checks a batch and does its slow part: completing places and cutting texts into words.
pub(crate) fn prepare(batch: &[Write]) -> Result<Prepared> {
    loci_core::write::check_batch(batch, None)?;
    let now = clock::now();
    let mut filed = HashMap::new();
    let mut indexer = Indexer::default();
    for (at, write) in batch.iter().enumerate() {
        if let Write::Add(new) | Write::Upsert(new) = write {
            let drawer = new.filed(now)?;
            let words = words::of(&mut indexer, &drawer);
            filed.insert(at, (drawer, words));
        }
    }
    let dimension = batch.iter().find_map(|write| embedding(write).map(<[f32]>::len));
    Ok(Prepared { filed, dimension })
}

fn embedding(write: &Write) -> Option<&[f32]> {
    match write {
        Write::Add(NewDrawer { embedding, .. })
        | Write::Upsert(NewDrawer { embedding, .. })
        | Write::Update(Patch { embedding, .. }) => embedding.as_deref(),
        Write::Delete(_) => None,
    }
}

/// Applies a prepared batch within one write transaction.
pub(crate) fn apply(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: Shelf,
    declared: &Declared,
    batch: &[Write],
    prepared: &Prepared,
) -> Result<Receipt> {
    let mut work = Work::begin(transaction, shelf, declared)?;
    work.apply(batch, prepared)?;
    let receipt = work.take_receipt();
    work.finish(palace)?;
    Ok(receipt)
}

/// Batches being applied one after the other in one transaction. Counters are in `shelf` until the work is finished.
pub(crate) struct Work<'t, 'c> {
    transaction: &'t Transaction<'c>,
    pub(crate) shelf: Shelf,
    /// What made the vectors, as whoever opened the collection says.
    declared: &'t Declared,
    keys: Keys,
    seq: i64,
    receipt: Receipt,
}

impl<'t, 'c> Work<'t, 'c> {
    pub(crate) fn begin(
        transaction: &'t Transaction<'c>,
        shelf: Shelf,
        declared: &'t Declared,
    ) -> Result<Self> {
        Ok(Self {
            transaction,
            shelf,
            declared,
            keys: Keys::default(),
            seq: last_seq(transaction)?,
            receipt: Receipt::default(),
        })
    }

    /// A sequence number that nobody was given before.
    pub(crate) fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    /// Applies one batch that was prepared.
    pub(crate) fn apply(&mut self, batch: &[Write], prepared: &Prepared) -> Result<()> {
        self.admit_vectors(batch, prepared.dimension)?;
        for (at, write) in batch.iter().enumerate() {
            match (write, prepared.filed.get(&at)) {
                (Write::Add(_), Some((drawer, words))) => self.add(drawer, words)?,
                (Write::Upsert(_), Some((drawer, words))) => self.upsert(drawer, words)?,
                (Write::Update(patch), _) => self.update(patch)?,
                (Write::Delete(selection), _) => self.delete(selection)?,
                (Write::Add(_) | Write::Upsert(_), None) => unreachable!("every new drawer was prepared"),
            }
        }
        words::seal_full(self.transaction, self.shelf.projection)
    }

    /// What was done since the last receipt was taken.
    pub(crate) fn take_receipt(&mut self) -> Receipt {
        Receipt {
            seq: u64::try_from(self.seq).unwrap_or(0),
            ..std::mem::take(&mut self.receipt)
        }
    }

    /// Checks dimension and model of a batch's vectors, and records them where they are the first.
    fn admit_vectors(&mut self, batch: &[Write], dimension: Option<usize>) -> Result<()> {
        let (Some(dimension), declared) = (dimension, self.declared) else {
            return Ok(());
        };
        // Vectors of another model often have another dimension too; that they are of another model says more.
        self.shelf.identity().check_open(declared.embedder.as_ref())?;
        loci_core::write::check_batch(batch, self.shelf.space.dimension)?;
        self.shelf.identity().check_write(declared)?;
        match &declared.embedder {
            Some(embedder) if embedder.dimension != dimension => {
                return Err(loci_core::write::dimension_mismatch(
                    embedder.dimension,
                    dimension,
                ));
            }
            Some(embedder) if self.shelf.space.embedder.is_none() => {
                self.shelf.space.record_embedder(self.transaction, embedder)?;
            }
            _ => {}
        }
        if self.shelf.space.dimension.is_none() {
            self.shelf.space.record_dimension(self.transaction, dimension)?;
        }
        Ok(())
    }

    fn row_of(&self, id: &DrawerId) -> Result<Option<i64>> {
        row::row_of(self.transaction, self.shelf.collection, id)
    }

    /// The id of another drawer that is the same piece of the same source.
    fn twin(&self, drawer: &Drawer) -> Result<Option<DrawerId>> {
        let twin = row::twin_of(self.transaction, self.shelf.collection, drawer)?;
        Ok(twin.map(|(_, id)| id).filter(|id| *id != drawer.id))
    }

    fn add(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        if self.row_of(&drawer.id)?.is_some() {
            self.receipt.kept.push(drawer.id.clone());
            return Ok(());
        }
        if let Some(existing) = self.twin(drawer)? {
            self.receipt.twins.push(Twin {
                given: drawer.id.clone(),
                existing,
            });
            return Ok(());
        }
        self.file(drawer, words)?;
        self.shelf.drawers += 1;
        self.receipt.added.push(drawer.id.clone());
        self.forget_tombstone(&drawer.id)
    }

    fn upsert(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        if let Some(existing) = self.twin(drawer)? {
            self.receipt.twins.push(Twin {
                given: drawer.id.clone(),
                existing,
            });
            return Ok(());
        }
        match self.row_of(&drawer.id)? {
            None => return self.add(drawer, words),
            Some(old) => self.remove(&self.stored(old)?)?,
        }
        self.file(drawer, words)?;
        self.receipt.replaced.push(drawer.id.clone());
        Ok(())
    }

    fn update(&mut self, patch: &Patch) -> Result<()> {
        let Some(old) = self.row_of(&patch.id)? else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let mut stored = self.stored(old)?;
        stored.drawer.embedding = self.vector(old)?;
        let mut drawer = stored.drawer.clone();
        patch.apply_to(&mut drawer);
        if let Some(existing) = self.twin(&drawer)? {
            self.receipt.twins.push(Twin {
                given: drawer.id,
                existing,
            });
            return Ok(());
        }
        let same_text = drawer.document == stored.drawer.document && drawer.context == stored.drawer.context;
        if same_text && bits(&drawer) == bits(&stored.drawer) {
            self.refile(&stored, &drawer)?;
        } else {
            let row = self.next_seq();
            if same_text {
                self.carry(old, row)?;
            }
            self.remove(&stored)?;
            self.file_at(row, &drawer, &words::of(&mut Indexer::default(), &drawer))?;
        }
        self.receipt.updated.push(drawer.id);
        Ok(())
    }

    fn delete(&mut self, selection: &Selection) -> Result<()> {
        let ids = match selection {
            Selection::Ids(ids) => ids.clone(),
            Selection::Matching(filter) => {
                let request = Get {
                    filter: filter.clone(),
                    include: Include::NOTHING,
                    ..Get::default()
                };
                let matching = read::get(self.transaction, &self.shelf, &request)?;
                matching.into_iter().map(|drawer| drawer.id).collect()
            }
        };
        for id in ids {
            let Some(row) = self.row_of(&id)? else {
                self.receipt.missing.push(id);
                continue;
            };
            self.remove(&self.stored(row)?)?;
            self.shelf.drawers -= 1;
            let seq = self.next_seq();
            self.transaction
                .prepare_cached("INSERT INTO tombstones(seq, collection, id) VALUES (?1, ?2, ?3)")
                .and_then(|mut statement| statement.execute(params![seq, self.shelf.collection, id.as_str()]))
                .map_err(sqlite)?;
            self.receipt.deleted.push(id);
        }
        Ok(())
    }

    fn stored(&self, row: i64) -> Result<Stored> {
        let include = Include {
            embedding: false,
            ..Include::EVERYTHING
        };
        row::by_row(self.transaction, row, include)?.ok_or_else(|| {
            crate::failure::corrupt(format!("row {row} is in the id index but not in the table"))
        })
    }

    fn vector(&self, row: i64) -> Result<Option<Vec<f32>>> {
        match self.shelf.space.dimension {
            Some(dimension) => vectors::get(self.transaction, self.shelf.space.number, row, dimension),
            None => Ok(None),
        }
    }

    /// Writes a drawer into a new row with all that is indexed of it.
    fn file(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        let row = self.next_seq();
        self.file_at(row, drawer, words)
    }

    fn file_at(&mut self, row: i64, drawer: &Drawer, words: &[u8]) -> Result<()> {
        row::insert(self.transaction, self.shelf.collection, row, drawer)?;
        places::enter(self.transaction, self.shelf.collection, &drawer.place)?;
        attributes::insert(
            self.transaction,
            self.shelf.projection,
            &mut self.keys,
            row,
            drawer,
        )?;
        words::insert(self.transaction, self.shelf.projection, row, words)?;
        match &drawer.embedding {
            Some(vector) => vectors::insert(self.transaction, &mut self.shelf.space, row, vector)?,
            None => self.receipt.without_vector.push(drawer.id.clone()),
        }
        Ok(())
    }

    /// Changes metadata and place of a row whose text and vector stay.
    fn refile(&mut self, stored: &Stored, drawer: &Drawer) -> Result<()> {
        let (row, seq) = (stored.row, self.next_seq());
        attributes::delete(
            self.transaction,
            self.shelf.projection,
            &mut self.keys,
            row,
            &stored.drawer,
        )?;
        row::update_in_place(self.transaction, row, seq, drawer)?;
        self.move_place(&stored.drawer.place, &drawer.place)?;
        attributes::insert(
            self.transaction,
            self.shelf.projection,
            &mut self.keys,
            row,
            drawer,
        )?;
        if drawer.embedding.is_none() {
            self.receipt.without_vector.push(drawer.id.clone());
        }
        Ok(())
    }

    fn move_place(&self, from: &Place, to: &Place) -> Result<()> {
        if (&from.wing, &from.room) == (&to.wing, &to.room) {
            return Ok(());
        }
        places::leave(self.transaction, self.shelf.collection, from)?;
        places::enter(self.transaction, self.shelf.collection, to)
    }

    /// Takes the vectors that other models made of a text along to its new row.
    fn carry(&mut self, from: i64, to: i64) -> Result<()> {
        let others = &mut self.shelf.others;
        others
            .iter_mut()
            .try_for_each(|space| vectors::carry(self.transaction, space, from, to))
    }

    /// Removes a row, what is indexed of it first.
    fn remove(&mut self, stored: &Stored) -> Result<()> {
        remove(self.transaction, &mut self.shelf, &mut self.keys, stored)
    }

    fn forget_tombstone(&self, id: &DrawerId) -> Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM tombstones WHERE collection = ?1 AND id = ?2")
            .and_then(|mut statement| statement.execute(params![self.shelf.collection, id.as_str()]))
            .map(drop)
            .map_err(sqlite)
    }

    /// Seals what is full and writes the counters.
    pub(crate) fn finish(mut self, palace: [u8; 16]) -> Result<()> {
        let mut seq = self.seq;
        let mut number = || {
            seq += 1;
            seq
        };
        vectors::seal_full(self.transaction, &mut self.shelf.space, palace, &mut number)?;
        for space in &mut self.shelf.others {
            vectors::seal_filled(self.transaction, space, palace, &mut number)?;
        }
        self.shelf.store_counters(self.transaction)?;
        store_seq(self.transaction, seq)
    }
}

/// Removes a drawer: what is indexed of it first, then its row.
pub(crate) fn remove(
    transaction: &Transaction<'_>,
    shelf: &mut Shelf,
    keys: &mut Keys,
    stored: &Stored,
) -> Result<()> {
    let row = stored.row;
    words::delete(transaction, shelf.projection, row)?;
    attributes::delete(transaction, shelf.projection, keys, row, &stored.drawer)?;
    places::leave(transaction, shelf.collection, &stored.drawer.place)?;
    for space in shelf.spaces_mut() {
        vectors::delete(transaction, space, row)?;
    }
    transaction
        .prepare_cached("DELETE FROM drawers WHERE row = ?1")
        .and_then(|mut statement| statement.execute([row]))
        .map(drop)
        .map_err(sqlite)
}

/// Gives a drawer whose text stays a new row, with all that is indexed of it and its vectors in every space. Its
/// `seq` stays too: nobody who follows the changes hears of it.
pub(crate) fn renumber(
    transaction: &Transaction<'_>,
    shelf: &mut Shelf,
    keys: &mut Keys,
    stored: &Stored,
    to: i64,
) -> Result<()> {
    let (from, projection) = (stored.row, shelf.projection);
    let words = words::of(&mut Indexer::default(), &stored.drawer);
    words::delete(transaction, projection, from)?;
    attributes::delete(transaction, projection, keys, from, &stored.drawer)?;
    for space in shelf.spaces_mut() {
        vectors::carry(transaction, space, from, to)?;
    }
    transaction
        .prepare_cached("UPDATE drawers SET row = ?2 WHERE row = ?1")
        .and_then(|mut statement| statement.execute([from, to]))
        .map_err(sqlite)?;
    attributes::insert(transaction, projection, keys, to, &stored.drawer)?;
    words::insert(transaction, projection, to, &words)
}

/// The vector as bits: two that compare equal may still differ, as zero and minus zero do.
fn bits(drawer: &Drawer) -> Option<Vec<u32>> {
    Some(
        drawer
            .embedding
            .as_ref()?
            .iter()
            .map(|value| value.to_bits())
            .collect(),
    )
}

/// The last sequence number the palace has given.
pub(crate) fn last_seq(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("SELECT value FROM palace WHERE key = 'seq'")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(sqlite)
}

/// Writes the palace's sequence number.
pub(crate) fn store_seq(transaction: &Transaction<'_>, seq: i64) -> Result<()> {
    transaction
        .prepare_cached("UPDATE palace SET value = ?1 WHERE key = 'seq'")
        .and_then(|mut statement| statement.execute([seq]))
        .map(drop)
        .map_err(sqlite)
}
