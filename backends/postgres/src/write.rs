//! Applying batches: decided in memory from one lookup, stored by statements that are sent together.

mod changes;
mod known;
mod removal;
mod statements;
mod transaction;

use loci_core::vector::dimension_mismatch;
use loci_core::write::{check_batch, check_expected};
use loci_core::{
    DeclaredEmbedder, DeleteSelection, DocumentFilter, Drawer, DrawerPatch, DrawerTwin, Filter, NewDrawer,
    Receipt, Result, Visibility, Write,
};
use loci_index::tokenise::TextIndexer;

use crate::moment::MomentView;
use crate::row::{self, ServerDrawer};
use crate::shelf;
use crate::statement::SqlStatement;
use crate::vectors;
use crate::words::{self, WordBags, pack_words};
use changes::RowChanges;
use known::{BatchDrawer, BatchDrawers, BatchLookup};
use statements::CounterChanges;

pub(crate) use transaction::{WriteLimits, WriteTransaction};

/// The rights of the caller of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerWriteTerms<'t> {
    /// The model of the vectors, as declared by the caller.
    pub(crate) declared: &'t DeclaredEmbedder,
    /// The drawers that the caller sees.
    pub(crate) visibility: &'t Visibility,
}

/// The words of each new drawer of a batch, packed before the lock is taken.
pub(crate) struct PackedWords(Vec<Option<Vec<u8>>>);

impl PackedWords {
    /// Packs the words of the new drawers of a batch.
    pub(crate) fn of_batch(batch: &[Write]) -> Self {
        let mut indexer = TextIndexer::default();
        let pack = |write: &Write| match write {
            Write::Add(new) | Write::Upsert(new) => {
                Some(pack_words(&mut indexer, new.context.as_ref(), &new.document))
            }
            _ => None,
        };
        Self(batch.iter().map(pack).collect())
    }
}

/// Batches being applied one after the other in one transaction.
pub(crate) struct ServerBatchWork<'t, 'p> {
    transaction: WriteTransaction<'p>,
    terms: ServerWriteTerms<'t>,
    known: BatchDrawers,
    /// Statements that were decided on and not sent yet.
    pending: Vec<SqlStatement>,
    /// Changes of rows that come after them.
    rows: RowChanges,
    changes: CounterChanges,
    /// The last number that was given.
    seq: i64,
    /// The number of the last change of a drawer; zero while there is none.
    newest: i64,
    receipt: Receipt,
    has_sealed: bool,
}

/// Returns the question whose answer [`ServerBatchWork::apply`] needs for a batch.
pub(crate) fn lookup_question(collection: i64, batch: &[Write], visibility: &Visibility) -> SqlStatement {
    BatchLookup::for_batch(batch, visibility.is_restricted()).question(collection)
}

impl<'t, 'p> ServerBatchWork<'t, 'p> {
    /// Begins to apply batches in a transaction.
    pub(crate) fn new(transaction: WriteTransaction<'p>, terms: ServerWriteTerms<'t>) -> Self {
        Self {
            terms,
            known: BatchDrawers::default(),
            pending: Vec::new(),
            rows: RowChanges::default(),
            changes: CounterChanges::default(),
            seq: transaction.seq,
            newest: 0,
            receipt: Receipt::default(),
            has_sealed: false,
            transaction,
        }
    }

    /// Returns the transaction.
    pub(crate) fn transaction(&self) -> &WriteTransaction<'p> {
        &self.transaction
    }

    /// Returns the next number of the palace, for something that is no change of a drawer.
    pub(crate) fn next_number(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    /// Returns the number of a change of a drawer.
    fn next_seq(&mut self) -> i64 {
        self.newest = self.next_number();
        self.newest
    }

    /// Adds a statement to those that are sent with the rest.
    pub(crate) fn push(&mut self, statement: SqlStatement) {
        self.close_changes();
        self.pending.push(statement);
    }

    /// Turns the changes of rows into statements, which come before everything that follows.
    fn close_changes(&mut self) {
        let changes = std::mem::take(&mut self.rows);
        let extension = self.transaction.session().vector_schema();
        self.pending
            .extend(changes.into_statements(&self.transaction.shelf, extension));
    }

    /// Returns all statements that are not sent yet.
    fn take_pending(&mut self) -> Vec<SqlStatement> {
        self.close_changes();
        std::mem::take(&mut self.pending)
    }

    /// Seals the words that are due; `found` is the answer to [`words::select_due`].
    pub(crate) fn seal_words(&mut self, found: &[tokio_postgres::Row]) -> Result<()> {
        let mut bags = WordBags::from_rows(found);
        let (collection, deadline) = (self.collection(), self.transaction.deadline());
        bags.mend(self.transaction.session(), collection, deadline)?;
        let limits = self.transaction.palace().word_limits;
        let counters = &mut self.transaction.shelf.words;
        let sealed = words::seal_due(collection, &bags, counters, limits)?;
        self.has_sealed = !sealed.is_empty();
        self.pending.extend(sealed);
        Ok(())
    }

    fn collection(&self) -> i64 {
        self.transaction.shelf.collection
    }

    /// Refuses the batch to come if a drawer is not stored as it was read.
    pub(crate) fn check_expected(&mut self, expects: &[Drawer]) -> Result<()> {
        if expects.is_empty() {
            return Ok(());
        }
        self.look_up(&BatchLookup::for_drawers(expects))?;
        expects.iter().try_for_each(|expected| {
            let known = self.known.find(&expected.id).filter(|known| self.sees(known));
            check_expected(expected, known.map(|known| &known.stored.drawer))
        })
    }

    /// Applies a batch. `found` is the answer to its lookup, if that was asked for already.
    pub(crate) fn apply(
        &mut self,
        batch: &[Write],
        words: &PackedWords,
        found: Option<&[tokio_postgres::Row]>,
    ) -> Result<()> {
        self.admit_batch(batch)?;
        let lookup = BatchLookup::for_batch(batch, self.terms.visibility.is_restricted());
        match found {
            Some(rows) => self.known.learn(&lookup, rows)?,
            None => self.look_up(&lookup)?,
        }
        let mut words = words.0.iter();
        for write in batch {
            let packed = words.next().and_then(Option::as_ref);
            let packed = || packed.cloned().unwrap_or_default();
            match write {
                Write::Add(new) => self.add(new, packed())?,
                Write::Upsert(new) => self.upsert(new, packed())?,
                Write::Update(patch) => self.update(patch)?,
                Write::Delete(DeleteSelection::Ids(ids)) => ids.iter().for_each(|id| self.delete(id)),
                Write::Delete(DeleteSelection::Matching(condition)) => self.delete_matching(condition)?,
            }
        }
        Ok(())
    }

    /// Checks a batch against the stored collection, and records the model of its first vectors.
    fn admit_batch(&mut self, batch: &[Write]) -> Result<()> {
        let vector = batch.iter().find_map(|write| match write {
            Write::Add(new) | Write::Upsert(new) => new.embedding.as_ref(),
            Write::Update(patch) => patch.embedding.as_ref(),
            Write::Delete(_) => None,
        });
        let (space, metric) = (&self.transaction.shelf.space, self.transaction.shelf.metric);
        let declared = self.terms.declared;
        let Some(vector) = vector else {
            return check_batch(batch, metric, space.dimension);
        };
        // Another model often has another dimension too; the error about the model says more, so it comes first.
        let same_model = space.identity().check_open(declared.embedder.as_ref());
        check_batch(batch, metric, space.dimension.filter(|_| same_model.is_ok()))?;
        same_model?;
        space.identity().check_write(declared)?;
        if let Some(embedder) = &declared.embedder
            && embedder.dimension != vector.len()
        {
            return Err(dimension_mismatch(embedder.dimension, vector.len()));
        }
        let dimension = vector.len();
        let embedder = declared.embedder.clone().filter(|_| space.embedder.is_none());
        let space = &mut self.transaction.shelf.space;
        if embedder.is_some() || space.dimension.is_none() {
            let number = space.number;
            space.dimension = Some(dimension);
            space.embedder = embedder.or(space.embedder.take());
            let recorded =
                vectors::record_model(number, dimension, self.transaction.shelf.space.embedder.as_ref());
            self.push(recorded);
        }
        Ok(())
    }

    /// Sends what is pending and a question, and learns from its answer.
    fn look_up(&mut self, lookup: &BatchLookup) -> Result<()> {
        let mut statements = self.take_pending();
        statements.push(lookup.question(self.collection()));
        let mut answers = self.transaction.ask_all(&statements)?;
        self.known.learn(lookup, &answers.pop().unwrap_or_default())
    }

    fn add(&mut self, new: &NewDrawer, words: Vec<u8>) -> Result<()> {
        let drawer = self.check_new(new)?;
        if self.known.find(&new.id).is_some() {
            self.receipt.kept.push(new.id.clone());
            return Ok(());
        }
        if self.is_twin(&drawer)? {
            return Ok(());
        }
        self.file_new(drawer, words);
        Ok(())
    }

    fn upsert(&mut self, new: &NewDrawer, words: Vec<u8>) -> Result<()> {
        let drawer = self.check_new(new)?;
        if self.is_twin(&drawer)? {
            return Ok(());
        }
        let Some(old) = self.known.find(&new.id).map(|known| known.stored.row) else {
            self.file_new(drawer, words);
            return Ok(());
        };
        self.remove_row(old);
        self.receipt.replaced.push(drawer.id.clone());
        let row = self.next_seq();
        self.file_at(row, drawer, words, None);
        Ok(())
    }

    /// Returns the drawer to be filed; refused if it, or an existing drawer with its id, is out of sight.
    fn check_new(&self, new: &NewDrawer) -> Result<Drawer> {
        let drawer = new.to_filed_drawer(self.transaction.now)?;
        // Checked first, so that the answer does not depend on drawers out of sight.
        self.terms.visibility.check_written(&drawer)?;
        match self.known.find(&new.id) {
            Some(known) if !self.sees(known) => Err(Visibility::id_taken_error(&new.id)),
            _ => Ok(drawer),
        }
    }

    fn sees(&self, known: &BatchDrawer) -> bool {
        let visibility = self.terms.visibility;
        !visibility.is_restricted() || visibility.sees_drawer(&known.stored.drawer)
    }

    fn file_new(&mut self, drawer: Drawer, words: Vec<u8>) {
        self.rows.forget_removal(drawer.id.as_str());
        self.changes.drawers += 1;
        self.receipt.added.push(drawer.id.clone());
        let row = self.next_seq();
        self.file_at(row, drawer, words, None);
    }

    /// Stores a drawer in a new row; `provenance` is the stored text of a drawer that keeps its own.
    fn file_at(&mut self, row: i64, drawer: Drawer, words: Vec<u8>, provenance: Option<String>) {
        let provenance = provenance.or_else(|| provenance_text(&drawer));
        self.transaction.shelf.words.add_drawer(&words);
        self.rows.file(row, &drawer, provenance.clone(), words);
        match &drawer.embedding {
            Some(vector) => {
                self.changes.vectors += 1;
                let coded = self.transaction.is_coded(vector);
                self.changes.codes += i64::from(coded);
                self.rows.store_vector(row, vector, coded);
            }
            None => self.receipt.without_vector.push(drawer.id.clone()),
        }
        if self.rows.is_full() {
            self.close_changes();
        }
        self.known.insert(BatchDrawer {
            piece: row::piece_hash(&drawer),
            stored: ServerDrawer {
                row,
                drawer,
                provenance,
            },
        });
    }

    fn update(&mut self, patch: &DrawerPatch) -> Result<()> {
        let known = self.known.find(&patch.id).filter(|known| self.sees(known));
        let Some(old) = known.map(|known| known.stored.clone()) else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let mut drawer = old.drawer.clone();
        patch.apply_to(&mut drawer);
        self.terms.visibility.check_written(&drawer)?;
        if self.is_twin(&drawer)? {
            return Ok(());
        }
        let same_text = drawer.document == old.drawer.document && drawer.context == old.drawer.context;
        // Names written by a later release survive a change made by this one.
        let kept = (patch.provenance.is_none())
            .then(|| old.provenance.clone())
            .flatten();
        self.receipt.updated.push(drawer.id.clone());
        if same_text && vector_bits(&drawer) == vector_bits(&old.drawer) {
            self.refile_in_place(old.row, drawer, kept);
            return Ok(());
        }
        // A row number stands for one text and one vector; if either changes, the drawer gets a new row.
        let row = self.next_seq();
        if same_text {
            self.leave_row(old.row);
            self.rows.carry(old.row, row);
        }
        self.remove_row(old.row);
        let document = drawer.document.as_deref().unwrap_or_default();
        let words = pack_words(
            &mut TextIndexer::for_short_texts(),
            drawer.context.as_ref(),
            document,
        );
        self.file_at(row, drawer, words, kept);
        Ok(())
    }

    fn refile_in_place(&mut self, row: i64, drawer: Drawer, kept: Option<String>) {
        let seq = self.next_seq();
        let provenance = kept.or_else(|| provenance_text(&drawer));
        let updated = statements::update_drawer(self.collection(), row, seq, &drawer, provenance.clone());
        self.push(updated);
        if drawer.embedding.is_none() {
            self.receipt.without_vector.push(drawer.id.clone());
        }
        self.known.insert(BatchDrawer {
            piece: row::piece_hash(&drawer),
            stored: ServerDrawer {
                row,
                drawer,
                provenance,
            },
        });
    }

    fn view(&self) -> MomentView<'_> {
        MomentView {
            palace: self.transaction.palace(),
            session: self.transaction.session(),
            shelf: &self.transaction.shelf,
            visibility: self.terms.visibility,
            deadline: self.transaction.deadline(),
        }
    }

    /// Returns whether another drawer is the same piece of the same source, and if so adds it to the receipt's twins.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let Some(piece) = row::piece_hash(drawer) else {
            return Ok(false);
        };
        // Only an update can make a piece that the lookup of the batch did not know.
        if !self.known.knows_piece(&piece) {
            self.look_up(&BatchLookup::for_piece(piece.clone()))?;
        }
        let twin = self.known.find_piece(&piece);
        let Some(twin) = twin.filter(|twin| twin.stored.drawer.id != drawer.id) else {
            return Ok(false);
        };
        if !self.sees(twin) {
            return Err(Visibility::piece_taken_error(&drawer.id));
        }
        let existing = twin.stored.drawer.id.clone();
        self.receipt.twins.push(DrawerTwin {
            given: drawer.id.clone(),
            existing,
        });
        Ok(true)
    }

    /// Returns the receipt of everything since the last one was taken.
    pub(crate) fn take_receipt(&mut self) -> Result<Receipt> {
        let seq = if self.newest > 0 {
            shelf::count(self.newest)
        } else if self.terms.visibility.is_restricted() {
            // The collection's newest number would tell how much was written out of sight.
            self.newest_visible()?
        } else {
            shelf::count(self.transaction.shelf.seq)
        };
        Ok(Receipt {
            seq,
            ..std::mem::take(&mut self.receipt)
        })
    }

    fn newest_visible(&self) -> Result<u64> {
        let view = self.view();
        let scope = view.resolve_scope(&Filter::All, &DocumentFilter::All)?;
        let mut statement =
            SqlStatement::new("SELECT max(d.seq) FROM loci.drawers d WHERE d.collection = $1")
                .with_int(self.collection());
        scope.push_condition(&mut statement);
        let found = view.session.ask(statement, view.deadline)?;
        let newest = found.first().and_then(|row| row.get::<_, Option<i64>>(0));
        Ok(shelf::count(newest.unwrap_or(0)))
    }

    /// Writes the counters and commits.
    pub(crate) fn commit(mut self) -> Result<()> {
        let mut pending = self.take_pending();
        if self.newest > 0 || self.has_sealed {
            self.changes.newest = self.newest;
            pending.extend(statements::write_counters(&self.transaction.shelf, self.changes));
        }
        self.transaction.commit_up_to(self.seq, pending)
    }
}

fn provenance_text(drawer: &Drawer) -> Option<String> {
    let provenance = drawer.provenance.as_ref()?;
    Some(serde_json::to_string(provenance).expect("names and texts are always JSON"))
}

/// Returns the vector as bits: values that compare equal may still differ, as zero and minus zero do.
fn vector_bits(drawer: &Drawer) -> Option<Vec<u32>> {
    let vector = drawer.embedding.as_ref()?;
    Some(vector.iter().map(|value| value.to_bits()).collect())
}
