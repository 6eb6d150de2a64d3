//! Applying a batch: rows, attributes, words, vectors, tombstones and sequence numbers in one transaction.

mod prepare;

use loci_core::{
    Declared, Drawer, DrawerCondition, DrawerId, Get, Include, Patch, Place, Receipt, Result, Selection,
    Twin, Visibility, Write,
};
use loci_index::tokenise::Indexer;
use rusqlite::{Connection, Transaction, params};

use crate::attributes::{self, Keys};
use crate::deadline::Deadline;
use crate::failure::sqlite;
use crate::receipts::KeyedBatch;
use crate::row::{self, Stored};
use crate::shelf::Shelf;
use crate::{clock, feed, places, read, vectors, words};

pub(crate) use prepare::{Prepared, prepare};

/// What the caller of a write may do, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTerms<'t> {
    /// What made the vectors, as the caller says.
    pub(crate) declared: &'t Declared,
    /// The drawers that the caller sees.
    pub(crate) visibility: &'t Visibility,
    pub(crate) deadline: Deadline,
}

/// Applies a prepared batch within one write transaction, unless it was applied under its key before.
pub(crate) fn apply(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: Shelf,
    terms: WriteTerms<'_>,
    batch: &[Write],
    prepared: &Prepared,
    keyed: Option<&KeyedBatch<'_>>,
) -> Result<Receipt> {
    let (collection, now) = (shelf.collection, clock::now());
    if let Some(keyed) = keyed
        && let Some(receipt) = keyed.find(transaction, collection, now)?
    {
        return Ok(receipt);
    }
    let mut work = Work::begin(transaction, shelf, terms)?;
    work.apply(batch, prepared)?;
    let receipt = work.take_receipt()?;
    if let Some(keyed) = keyed {
        keyed.store(transaction, collection, now, &receipt)?;
    }
    work.finish(palace)?;
    Ok(receipt)
}

/// Batches being applied one after the other in one transaction. Counters are in `shelf` until the work is finished.
pub(crate) struct Work<'t, 'c> {
    transaction: &'t Transaction<'c>,
    pub(crate) shelf: Shelf,
    terms: WriteTerms<'t>,
    keys: Keys,
    /// The last sequence number that was given before this work began.
    begun_at: i64,
    seq: i64,
    receipt: Receipt,
}

impl<'t, 'c> Work<'t, 'c> {
    pub(crate) fn begin(
        transaction: &'t Transaction<'c>,
        shelf: Shelf,
        terms: WriteTerms<'t>,
    ) -> Result<Self> {
        let seq = last_seq(transaction)?;
        Ok(Self {
            transaction,
            shelf,
            terms,
            keys: Keys::default(),
            begun_at: seq,
            seq,
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
            self.terms.deadline.check()?;
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
    pub(crate) fn take_receipt(&mut self) -> Result<Receipt> {
        let visibility = self.terms.visibility;
        // Where nothing changed, the newest number of all would tell how much others have written out of sight.
        let seq = match visibility.is_restricted() && self.seq == self.begun_at {
            true => feed::newest_among(self.transaction, &self.shelf, visibility.filter())?.0,
            false => u64::try_from(self.seq).unwrap_or(0),
        };
        Ok(Receipt {
            seq,
            ..std::mem::take(&mut self.receipt)
        })
    }

    /// Checks dimension and model of a batch's vectors, and records them where they are the first.
    fn admit_vectors(&mut self, batch: &[Write], dimension: Option<usize>) -> Result<()> {
        let (Some(dimension), declared) = (dimension, self.terms.declared) else {
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

    /// Whether the caller sees the drawer in a row.
    fn sees(&self, row: i64) -> Result<bool> {
        let visibility = self.terms.visibility;
        if !visibility.is_restricted() {
            return Ok(true);
        }
        Ok(visibility.sees(&self.stored(row)?.drawer))
    }

    /// The row of the drawer called `id`, unless the caller does not see it.
    fn visible_row_of(&self, id: &DrawerId) -> Result<Option<i64>> {
        match self.row_of(id)? {
            Some(row) if self.sees(row)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// Lists the drawer among the twins if another is the same piece of the same source.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let twin = row::twin_of(self.transaction, self.shelf.collection, drawer)?;
        let Some((row, existing)) = twin.filter(|(_, id)| *id != drawer.id) else {
            return Ok(false);
        };
        if !self.sees(row)? {
            return Err(Visibility::piece_taken(&drawer.id));
        }
        self.receipt.twins.push(Twin {
            given: drawer.id.clone(),
            existing,
        });
        Ok(true)
    }

    /// The row of a drawer to be filed, if its id is there; refused if the caller does not see that one.
    fn taken_row_of(&self, id: &DrawerId) -> Result<Option<i64>> {
        match self.row_of(id)? {
            Some(row) if !self.sees(row)? => Err(Visibility::id_taken(id)),
            found => Ok(found),
        }
    }

    fn add(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        // Asked first, so that the answer does not depend on drawers out of sight.
        self.terms.visibility.check_written(drawer)?;
        if self.taken_row_of(&drawer.id)?.is_some() {
            self.receipt.kept.push(drawer.id.clone());
            return Ok(());
        }
        if self.is_twin(drawer)? {
            return Ok(());
        }
        self.file_new(drawer, words)
    }

    fn upsert(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        self.terms.visibility.check_written(drawer)?;
        let old = self.taken_row_of(&drawer.id)?;
        if self.is_twin(drawer)? {
            return Ok(());
        }
        let Some(old) = old else {
            return self.file_new(drawer, words);
        };
        self.remove(&self.stored(old)?)?;
        self.file(drawer, words)?;
        self.receipt.replaced.push(drawer.id.clone());
        Ok(())
    }

    fn file_new(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        self.file(drawer, words)?;
        self.shelf.drawers += 1;
        self.receipt.added.push(drawer.id.clone());
        self.forget_tombstone(&drawer.id)
    }

    fn update(&mut self, patch: &Patch) -> Result<()> {
        let Some(old) = self.visible_row_of(&patch.id)? else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let mut stored = self.stored(old)?;
        stored.drawer.embedding = self.vector(old)?;
        let mut drawer = stored.drawer.clone();
        patch.apply_to(&mut drawer);
        self.terms.visibility.check_written(&drawer)?;
        if self.is_twin(&drawer)? {
            return Ok(());
        }
        let same_text = drawer.document == stored.drawer.document && drawer.context == stored.drawer.context;
        let provenance = stored.provenance_after(&drawer);
        if same_text && bits(&drawer) == bits(&stored.drawer) {
            self.refile(&stored, &drawer, provenance.as_deref())?;
        } else {
            let row = self.next_seq();
            if same_text {
                self.carry(old, row)?;
            }
            self.remove(&stored)?;
            let words = words::of(&mut Indexer::default(), &drawer);
            self.file_at(row, &drawer, &words, provenance.as_deref())?;
        }
        self.receipt.updated.push(drawer.id);
        Ok(())
    }

    /// The ids of all drawers that the caller sees and that meet the condition.
    fn ids_meeting(&self, condition: &DrawerCondition) -> Result<Vec<DrawerId>> {
        let request = Get {
            document: condition.document.clone(),
            include: Include::NOTHING,
            ..Get::default()
        };
        let filter = self.terms.visibility.narrow(&condition.filter);
        let matching = read::get(self.transaction, &self.shelf, &request, &filter)?;
        Ok(matching.into_iter().map(|drawer| drawer.id).collect())
    }

    fn delete(&mut self, selection: &Selection) -> Result<()> {
        let ids = match selection {
            Selection::Ids(ids) => ids.clone(),
            Selection::Matching(condition) => self.ids_meeting(condition)?,
        };
        for id in ids {
            let Some(row) = self.visible_row_of(&id)? else {
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
        let provenance = row::provenance_text(drawer);
        self.file_at(row, drawer, words, provenance.as_deref())
    }

    fn file_at(&mut self, row: i64, drawer: &Drawer, words: &[u8], provenance: Option<&str>) -> Result<()> {
        row::insert(self.transaction, self.shelf.collection, row, drawer, provenance)?;
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
    fn refile(&mut self, stored: &Stored, drawer: &Drawer, provenance: Option<&str>) -> Result<()> {
        let (row, seq) = (stored.row, self.next_seq());
        attributes::delete(
            self.transaction,
            self.shelf.projection,
            &mut self.keys,
            row,
            &stored.drawer,
        )?;
        row::update_in_place(self.transaction, row, seq, drawer, provenance)?;
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
