//! Applying a batch: rows, attributes, words, vectors, tombstones and sequence numbers in one transaction.

mod prepare;
mod rows;

use loci_core::{
    ApplyRequest, DeclaredEmbedder, DeleteSelection, Drawer, DrawerCondition, DrawerFields, DrawerId,
    DrawerPatch, DrawerPlace, DrawerTwin, GetRequest, Receipt, Result, Visibility, Write,
};
use loci_index::tokenise::TextIndexer;
use rusqlite::{Connection, Transaction, params};

use crate::attributes::{self, AttributeKeys};
use crate::days::PausedCounting;
use crate::deadline::BudgetDeadline;
use crate::failure::sqlite_error;
use crate::receipts::KeyedBatch;
use crate::row::{self, StoredDrawer};
use crate::shelf::CollectionShelf;
use crate::{clock, feed, places, read, vectors, words};

pub(crate) use prepare::{PreparedBatch, prepare_batch};
pub(crate) use rows::{remove_drawer, renumber_drawer};

/// The rights of the caller of a write, and its deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTerms<'t> {
    /// The model of the vectors, as declared by the caller.
    pub(crate) declared: &'t DeclaredEmbedder,
    /// The drawers that the caller sees.
    pub(crate) visibility: &'t Visibility,
    pub(crate) deadline: BudgetDeadline,
}

/// Applies a prepared batch within one write transaction, unless it was already applied under its key.
pub(crate) fn apply_batch(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: CollectionShelf,
    terms: WriteTerms<'_>,
    ApplyRequest {
        writes: batch,
        expects,
        ..
    }: ApplyRequest<'_>,
    prepared: &PreparedBatch,
    keyed: Option<&KeyedBatch<'_>>,
) -> Result<Receipt> {
    let (collection, now) = (shelf.collection, clock::now());
    if let Some(keyed) = keyed
        && let Some(receipt) = keyed.find_receipt(transaction, collection, now)?
    {
        return Ok(receipt);
    }
    let mut work = BatchWork::begin(transaction, shelf, terms)?;
    expects
        .iter()
        .try_for_each(|expected| work.check_expected(expected))?;
    work.apply(batch, prepared)?;
    let receipt = work.take_receipt()?;
    if let Some(keyed) = keyed {
        keyed.store_receipt(transaction, collection, now, &receipt)?;
    }
    work.finish(palace)?;
    Ok(receipt)
}

/// Batches being applied one after the other in one transaction. Counters are in `shelf` until the work is finished.
pub(crate) struct BatchWork<'t, 'c> {
    transaction: &'t Transaction<'c>,
    pub(crate) shelf: CollectionShelf,
    terms: WriteTerms<'t>,
    keys: AttributeKeys,
    /// The last sequence number given before this work began.
    begun_at: i64,
    seq: i64,
    receipt: Receipt,
}

impl<'t, 'c> BatchWork<'t, 'c> {
    pub(crate) fn begin(
        transaction: &'t Transaction<'c>,
        shelf: CollectionShelf,
        terms: WriteTerms<'t>,
    ) -> Result<Self> {
        let seq = last_seq(transaction)?;
        Ok(Self {
            transaction,
            shelf,
            terms,
            keys: AttributeKeys::default(),
            begun_at: seq,
            seq,
            receipt: Receipt::default(),
        })
    }

    /// Returns a sequence number that was never given before.
    pub(crate) fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    /// Applies one prepared batch.
    pub(crate) fn apply(&mut self, batch: &[Write], prepared: &PreparedBatch) -> Result<()> {
        self.admit_vectors(batch, prepared.dimension)?;
        let (counting, first) = (PausedCounting::begin_for(self.transaction, batch)?, self.seq + 1);
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
        if let Some(counting) = counting {
            counting.end(self.shelf.collection, first, self.seq)?;
        }
        // Sealed after each batch: a large revision applies many of them in one transaction.
        words::seal_full(self.transaction, self.shelf.projection)
    }

    /// Returns the receipt for everything done since the last one was taken.
    pub(crate) fn take_receipt(&mut self) -> Result<Receipt> {
        let visibility = self.terms.visibility;
        // If nothing changed, the palace's newest number would reveal how much was written out of sight.
        let seq = if visibility.is_restricted() && self.seq == self.begun_at {
            feed::newest_seq_among(self.transaction, &self.shelf, visibility.filter())?.0
        } else {
            u64::try_from(self.seq).unwrap_or(0)
        };
        Ok(Receipt {
            seq,
            ..std::mem::take(&mut self.receipt)
        })
    }

    /// Checks the dimension and model of a batch's vectors, and records them if these are the first vectors.
    fn admit_vectors(&mut self, batch: &[Write], dimension: Option<usize>) -> Result<()> {
        let (Some(dimension), declared) = (dimension, self.terms.declared) else {
            return Ok(());
        };
        // Another model often has another dimension too; the error about the model says
        // more, so it comes first.
        self.shelf.identity().check_open(declared.embedder.as_ref())?;
        loci_core::write::check_batch(batch, self.shelf.metric, self.shelf.space.dimension)?;
        self.shelf.identity().check_write(declared)?;
        match &declared.embedder {
            Some(embedder) if embedder.dimension != dimension => {
                return Err(loci_core::vector::dimension_mismatch(
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

    /// Returns whether the caller sees the drawer in a row.
    fn caller_sees(&self, row: i64) -> Result<bool> {
        let visibility = self.terms.visibility;
        if !visibility.is_restricted() {
            return Ok(true);
        }
        Ok(visibility.sees_drawer(&self.read_stored(row)?.drawer))
    }

    /// Returns the row of the drawer called `id`, if the caller sees it.
    fn visible_row_of(&self, id: &DrawerId) -> Result<Option<i64>> {
        match self.row_of(id)? {
            Some(row) if self.caller_sees(row)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// Refuses the batch if a drawer is not stored as it was read.
    fn check_expected(&self, expected: &Drawer) -> Result<()> {
        let row = self.visible_row_of(&expected.id)?;
        let stored = row.map(|row| self.read_stored(row)).transpose()?;
        loci_core::write::check_expected(expected, stored.as_ref().map(|stored| &stored.drawer))
    }

    /// Returns whether another drawer is the same piece of the same source, and if so adds it to the receipt's twins.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let twin = row::find_twin(self.transaction, self.shelf.collection, drawer)?;
        let Some((row, existing)) = twin.filter(|(_, id)| *id != drawer.id) else {
            return Ok(false);
        };
        if !self.caller_sees(row)? {
            return Err(Visibility::piece_taken_error(&drawer.id));
        }
        self.receipt.twins.push(DrawerTwin {
            given: drawer.id.clone(),
            existing,
        });
        Ok(true)
    }

    /// Returns the row of a drawer to be filed, if its id is taken; fails if the caller does not see that drawer.
    fn taken_row_of(&self, id: &DrawerId) -> Result<Option<i64>> {
        match self.row_of(id)? {
            Some(row) if !self.caller_sees(row)? => Err(Visibility::id_taken_error(id)),
            found => Ok(found),
        }
    }

    fn add(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        // Checked first, so that the answer does not depend on drawers out of sight.
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
        self.remove_row(&self.read_stored(old)?)?;
        self.file_drawer(drawer, words)?;
        self.receipt.replaced.push(drawer.id.clone());
        Ok(())
    }

    fn file_new(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        self.file_drawer(drawer, words)?;
        self.shelf.drawers += 1;
        self.receipt.added.push(drawer.id.clone());
        self.forget_tombstone(&drawer.id)
    }

    fn update(&mut self, patch: &DrawerPatch) -> Result<()> {
        let Some(old) = self.visible_row_of(&patch.id)? else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let mut stored = self.read_stored(old)?;
        stored.drawer.embedding = self.read_vector(old)?;
        let mut drawer = stored.drawer.clone();
        patch.apply_to(&mut drawer);
        self.terms.visibility.check_written(&drawer)?;
        if self.is_twin(&drawer)? {
            return Ok(());
        }
        let same_text = drawer.document == stored.drawer.document && drawer.context == stored.drawer.context;
        let provenance = stored.provenance_after(&drawer);
        // A row number stands for one text and one vector; if either changes, the drawer gets a new row.
        if same_text && vector_bits(&drawer) == vector_bits(&stored.drawer) {
            self.refile_in_place(&stored, &drawer, provenance.as_deref())?;
        } else {
            let row = self.next_seq();
            if same_text {
                self.carry_other_vectors(old, row)?;
            }
            self.remove_row(&stored)?;
            let words = words::pack_words(&mut TextIndexer::default(), &drawer);
            self.file_at(row, &drawer, &words, provenance.as_deref())?;
        }
        self.receipt.updated.push(drawer.id);
        Ok(())
    }

    /// Returns the ids of all drawers that the caller sees and that meet the condition.
    fn ids_meeting(&self, condition: &DrawerCondition) -> Result<Vec<DrawerId>> {
        let request = GetRequest {
            document: condition.document.clone(),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        };
        let filter = self.terms.visibility.narrow_filter(&condition.filter);
        let matching = read::get(self.transaction, &self.shelf, &request, &filter)?;
        Ok(matching.into_iter().map(|drawer| drawer.id).collect())
    }

    fn delete(&mut self, selection: &DeleteSelection) -> Result<()> {
        let ids = match selection {
            DeleteSelection::Ids(ids) => ids.clone(),
            DeleteSelection::Matching(condition) => self.ids_meeting(condition)?,
        };
        for id in ids {
            let Some(row) = self.visible_row_of(&id)? else {
                self.receipt.missing.push(id);
                continue;
            };
            self.remove_row(&self.read_stored(row)?)?;
            self.shelf.drawers -= 1;
            let seq = self.next_seq();
            self.transaction
                .prepare_cached("INSERT INTO tombstones(seq, collection, id) VALUES (?1, ?2, ?3)")
                .and_then(|mut statement| statement.execute(params![seq, self.shelf.collection, id.as_str()]))
                .map_err(sqlite_error)?;
            self.receipt.deleted.push(id);
        }
        Ok(())
    }

    fn read_stored(&self, row: i64) -> Result<StoredDrawer> {
        let include = DrawerFields {
            embedding: false,
            ..DrawerFields::EVERYTHING
        };
        row::load_by_row(self.transaction, row, include)?.ok_or_else(|| {
            crate::failure::corrupt_error(format!("row {row} is in the id index but not in the table"))
        })
    }

    fn read_vector(&self, row: i64) -> Result<Option<Vec<f32>>> {
        match self.shelf.space.dimension {
            Some(dimension) => vectors::get(self.transaction, self.shelf.space.number, row, dimension),
            None => Ok(None),
        }
    }

    /// Writes a drawer into a new row, with all its index entries.
    fn file_drawer(&mut self, drawer: &Drawer, words: &[u8]) -> Result<()> {
        let row = self.next_seq();
        let provenance = row::provenance_text(drawer);
        self.file_at(row, drawer, words, provenance.as_deref())
    }

    fn file_at(&mut self, row: i64, drawer: &Drawer, words: &[u8], provenance: Option<&str>) -> Result<()> {
        row::insert(self.transaction, self.shelf.collection, row, drawer, provenance)?;
        places::add_drawer(self.transaction, self.shelf.collection, &drawer.place)?;
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

    /// Changes the metadata and place of a row whose text and vector stay.
    fn refile_in_place(
        &mut self,
        stored: &StoredDrawer,
        drawer: &Drawer,
        provenance: Option<&str>,
    ) -> Result<()> {
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

    fn move_place(&self, from: &DrawerPlace, to: &DrawerPlace) -> Result<()> {
        if (&from.wing, &from.room) == (&to.wing, &to.room) {
            return Ok(());
        }
        places::remove_drawer(self.transaction, self.shelf.collection, from)?;
        places::add_drawer(self.transaction, self.shelf.collection, to)
    }

    /// Moves the vectors that other models made of a text to its new row.
    fn carry_other_vectors(&mut self, from: i64, to: i64) -> Result<()> {
        let others = &mut self.shelf.others;
        others
            .iter_mut()
            .try_for_each(|space| vectors::carry_vector(self.transaction, space, from, to))
    }

    /// Removes a row and all its index entries.
    fn remove_row(&mut self, stored: &StoredDrawer) -> Result<()> {
        remove_drawer(self.transaction, &mut self.shelf, &mut self.keys, stored)
    }

    fn forget_tombstone(&self, id: &DrawerId) -> Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM tombstones WHERE collection = ?1 AND id = ?2")
            .and_then(|mut statement| statement.execute(params![self.shelf.collection, id.as_str()]))
            .map(drop)
            .map_err(sqlite_error)
    }

    /// Seals what is full and writes the counters.
    pub(crate) fn finish(mut self, palace: [u8; 16]) -> Result<()> {
        let mut seq = self.seq;
        let mut number = || {
            seq += 1;
            seq
        };
        // Segments take numbers from the same sequence as rows, so that no number ever names two things.
        vectors::seal_full(self.transaction, &mut self.shelf.space, palace, &mut number)?;
        for space in &mut self.shelf.others {
            vectors::seal_filled(self.transaction, space, palace, &mut number)?;
        }
        self.shelf.store_counters(self.transaction)?;
        store_seq(self.transaction, seq)
    }
}

/// Returns the vector as bits: values that compare equal may still differ, as zero and minus zero do.
fn vector_bits(drawer: &Drawer) -> Option<Vec<u32>> {
    Some(
        drawer
            .embedding
            .as_ref()?
            .iter()
            .map(|value| value.to_bits())
            .collect(),
    )
}

/// Returns the last sequence number the palace has given.
pub(crate) fn last_seq(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("SELECT value FROM palace WHERE key = 'seq'")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(sqlite_error)
}

/// Writes the palace's sequence number.
pub(crate) fn store_seq(transaction: &Transaction<'_>, seq: i64) -> Result<()> {
    transaction
        .prepare_cached("UPDATE palace SET value = ?1 WHERE key = 'seq'")
        .and_then(|mut statement| statement.execute([seq]))
        .map(drop)
        .map_err(sqlite_error)
}
