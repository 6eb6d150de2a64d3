//! Import: lines of JSON into collections, batch by batch, storing no drawer twice.

mod foreign;
mod shelf;

use std::collections::BTreeMap;

use loci_core::write::check_batch;
use loci_core::{
    CollectionExt, CollectionInfo, CollectionName, Error, ErrorKind, IdentityState, NewDrawer, OpenOptions,
    Provenance, Receipt, Result, Write,
};
use serde::Serialize;

use crate::line;
use crate::palace::{FilingSession, Palace};
use shelf::{Pending, Shelf};

pub use foreign::{FailedPiece, ForeignImportReport, ForeignMemory, ForeignPiece};

/// What to do with a line whose drawer is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave what is there.
    Keep,
    /// Replace it whole.
    Replace,
    /// List the line as failed and leave what is there.
    Fail,
}

/// What to do with a line that cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error; batches committed before it stay.
    Stop,
    /// List it as failed and go on.
    List,
}

/// How to import.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// What to do with drawers that are there.
    pub on_conflict: OnConflict,
    /// What to do with lines that cannot be stored.
    pub on_bad_line: OnBadLine,
    /// How many lines to commit at once; at least one.
    pub batch: usize,
    /// The collection for every line, whatever the lines say; without it lines that name none go to the palace's own.
    pub into: Option<CollectionName>,
    /// The provenance of drawers whose lines name none.
    pub provenance: Provenance,
}

/// A batch that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Committed {
    /// How many batches are durable with this one.
    pub batch: u64,
    /// Where it went.
    pub collection: CollectionName,
    /// What it did.
    #[serde(flatten)]
    pub receipt: Receipt,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Drawers filed for the first time.
    pub added: u64,
    /// Drawers that were there, under this id or another, and were left as they are.
    pub kept: u64,
    /// Drawers that were there and were replaced.
    pub replaced: u64,
    /// Lines that were not stored.
    pub failed: Vec<FailedLine>,
    /// Of those added or replaced, how many have no vector.
    pub without_vector: u64,
    /// Why, where a model is recorded that should have made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, where it was made for these lines.
    #[serde(skip)]
    pub made_palace: Option<String>,
}

/// A line that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedLine {
    /// Its number, counted from 1.
    pub line: u64,
    /// Why.
    pub error: String,
}

/// Takes lines and commits them in batches.
#[derive(Debug)]
pub struct Importer<'a> {
    palace: &'a Palace,
    request: ImportRequest,
    /// The collection for lines that name none.
    otherwise: Option<CollectionName>,
    shelves: BTreeMap<CollectionName, Shelf>,
    report: ImportReport,
    batches: u64,
}

/// How much text and vector waits for one commit, in bytes.
const BATCH_BYTES: usize = 64 << 20;

impl<'a> Importer<'a> {
    fn new(palace: &'a Palace, request: ImportRequest) -> Self {
        Self {
            palace,
            request,
            otherwise: None,
            shelves: BTreeMap::new(),
            report: ImportReport::default(),
            batches: 0,
        }
    }

    /// What was done so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// How many batches are durable.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// How many lines wait for their batch to be committed.
    pub fn waiting(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.pending.len()).sum()
    }

    /// Takes line `number`; returns the batch that became durable by it, if one did. Blank lines are skipped.
    pub fn push(&mut self, number: u64, bytes: &[u8]) -> Result<Option<Committed>> {
        let (collection, drawer) = match self.read(number, bytes) {
            Ok(None) => return Ok(None),
            Ok(Some(read)) => read,
            Err(error) => return self.refuse(number, error).map(|()| None),
        };
        self.take(number, collection, drawer)
    }

    /// Takes a drawer that came from elsewhere than a line, as number `number` in reports; returns the batch that
    /// became durable by it, if one did.
    pub fn push_drawer(&mut self, number: u64, drawer: NewDrawer) -> Result<Option<Committed>> {
        let collection = self.collection_for(None)?;
        match self.check(&collection, &drawer) {
            Ok(()) => self.take(number, collection, drawer),
            Err(error) => self.refuse(number, error).map(|()| None),
        }
    }

    fn take(
        &mut self,
        number: u64,
        collection: CollectionName,
        mut drawer: NewDrawer,
    ) -> Result<Option<Committed>> {
        drawer
            .provenance
            .get_or_insert_with(|| self.request.provenance.clone());
        let shelf = self.shelves.entry(collection.clone()).or_default();
        let mut committed = None;
        if shelf.holds(&drawer.id) {
            committed = self.flush(&collection)?;
        }
        let batch = self.request.batch;
        let shelf = self.shelves.entry(collection.clone()).or_default();
        shelf.push(Pending { line: number, drawer });
        // After a flush this line stands alone, so there is at most one commit for each line.
        if committed.is_none() && (shelf.pending.len() >= batch || shelf.bytes >= BATCH_BYTES) {
            committed = self.flush(&collection)?;
        }
        Ok(committed)
    }

    /// Commits what waits for some collection; `None` once nothing waits.
    pub fn finish(&mut self) -> Result<Option<Committed>> {
        let waiting = self.shelves.iter().find(|(_, shelf)| !shelf.pending.is_empty());
        match waiting.map(|(name, _)| name.clone()) {
            Some(name) => match self.flush(&name)? {
                None => self.finish(),
                committed => Ok(committed),
            },
            None => Ok(None),
        }
    }

    fn read(&mut self, number: u64, bytes: &[u8]) -> Result<Option<(CollectionName, NewDrawer)>> {
        let text = std::str::from_utf8(bytes).map_err(|cause| {
            Error::invalid(format!(
                "the line is not UTF-8 from byte {}",
                cause.valid_up_to() + 1
            ))
        })?;
        let text = text
            .strip_prefix('\u{feff}')
            .filter(|_| number == 1)
            .unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(None);
        }
        let given = line::read(text)?;
        let collection = self.collection_for(given.collection)?;
        self.check(&collection, &given.drawer)?;
        Ok(Some((collection, given.drawer)))
    }

    /// The collection for a line that names this one.
    fn collection_for(&mut self, named: Option<CollectionName>) -> Result<CollectionName> {
        if let Some(name) = self
            .request
            .into
            .clone()
            .or(named)
            .or_else(|| self.otherwise.clone())
        {
            return Ok(name);
        }
        let own = self.palace.collection_name()?;
        self.otherwise = Some(own.clone());
        Ok(own)
    }

    /// Refuses a drawer that the collection cannot take.
    fn check(&mut self, collection: &CollectionName, drawer: &NewDrawer) -> Result<()> {
        let dimension = self.dimension(collection)?;
        check_batch(&[Write::Upsert(drawer.clone())], dimension)?;
        if let Some(vector) = &drawer.embedding {
            self.shelves.entry(collection.clone()).or_default().dimension = Some(vector.len());
        }
        Ok(())
    }

    /// The dimension vectors must have, if it is settled. Makes nothing.
    fn dimension(&mut self, collection: &CollectionName) -> Result<Option<usize>> {
        if let Some(shelf) = self.shelves.get(collection) {
            return Ok(shelf.dimension);
        }
        let mut shelf = Shelf::default();
        let palace = self.palace.clone().in_collection(Some(collection.clone()));
        match palace.open(&OpenOptions::default()) {
            Ok(opened) => shelf.dimension = settled_dimension(opened.info()?),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let dimension = shelf.dimension;
        self.shelves.insert(collection.clone(), shelf);
        Ok(dimension)
    }

    /// Lists a line that is wrong in itself; anything else, or a request to stop, is an error.
    fn refuse(&mut self, line: u64, error: Error) -> Result<()> {
        if self.request.on_bad_line == OnBadLine::Stop || !is_of_the_line(&error) {
            return Err(error);
        }
        self.report.failed.push(FailedLine {
            line,
            error: error.to_string(),
        });
        Ok(())
    }

    fn flush(&mut self, collection: &CollectionName) -> Result<Option<Committed>> {
        let Some(shelf) = self.shelves.get_mut(collection) else {
            return Ok(None);
        };
        let pending = shelf.take();
        if pending.is_empty() {
            return Ok(None);
        }
        let palace = self.palace.clone().in_collection(Some(collection.clone()));
        let filing = shelf.open(&palace, &pending)?;
        if let Some(why) = filing.lacking() {
            self.report.lacking.get_or_insert_with(|| why.to_owned());
        }
        self.report.made_palace = self.report.made_palace.take().or_else(|| filing.made_palace());
        let mut committed = self.commit(&filing, &pending);
        let brings = pending.iter().any(|one| one.drawer.embedding.is_some());
        if !brings && matches!(&committed, Err(error) if error.kind() == ErrorKind::IdentityMismatch) {
            // Somebody moved the collection to another model meanwhile: go on with that one.
            let filing = palace.open_filing(None)?;
            committed = self.commit(&filing, &pending);
            if let Some(shelf) = self.shelves.get_mut(collection) {
                shelf.go_on_with(filing);
            }
        }
        let Some(receipt) = committed? else {
            return Ok(None);
        };
        self.note(&pending, &receipt);
        self.batches += 1;
        Ok(Some(Committed {
            batch: self.batches,
            collection: collection.clone(),
            receipt,
        }))
    }

    /// Commits at once; where one drawer spoils the batch, one by one, so that only that one fails.
    fn commit(&mut self, filing: &FilingSession, pending: &[Pending]) -> Result<Option<Receipt>> {
        let on_conflict = self.request.on_conflict;
        let write = |one: &Pending| match on_conflict {
            OnConflict::Replace => Write::Upsert(one.drawer.clone()),
            OnConflict::Keep | OnConflict::Fail => Write::Add(one.drawer.clone()),
        };
        let mut batch: Vec<Write> = pending.iter().map(write).collect();
        filing.embed(&mut batch)?;
        let handle = filing.collection();
        let error = match handle.apply_batch(&batch) {
            Ok(receipt) => return Ok(Some(receipt)),
            Err(error) => error,
        };
        if self.request.on_bad_line == OnBadLine::Stop || !is_of_the_line(&error) {
            return Err(error);
        }
        let mut all = None;
        for (one, write) in pending.iter().zip(batch) {
            match handle.apply_batch(&[write]) {
                Ok(receipt) => merge(all.get_or_insert_default(), receipt),
                Err(error) => self.refuse(one.line, error)?,
            }
        }
        Ok(all)
    }

    /// Counts what a receipt says, line by line where a conflict is a failure.
    fn note(&mut self, pending: &[Pending], receipt: &Receipt) {
        let report = &mut self.report;
        report.added += receipt.added.len() as u64;
        report.replaced += receipt.replaced.len() as u64;
        report.without_vector += receipt.without_vector.len() as u64;
        if self.request.on_conflict != OnConflict::Fail {
            report.kept += (receipt.kept.len() + receipt.twins.len()) as u64;
            return;
        }
        for one in pending {
            let id = &one.drawer.id;
            let twin = receipt.twins.iter().find(|twin| twin.given == *id);
            let error = match twin {
                Some(twin) => format!(
                    "{:?} is there already under the id {:?}",
                    id.as_str(),
                    twin.existing.as_str()
                ),
                None if receipt.kept.contains(id) => format!("the id {:?} is there already", id.as_str()),
                None => continue,
            };
            report.failed.push(FailedLine {
                line: one.line,
                error,
            });
        }
    }
}

impl Palace {
    /// Starts an import; nothing is made before the first batch.
    pub fn import(&self, request: ImportRequest) -> Importer<'_> {
        Importer::new(self, request)
    }
}

/// The dimension that vectors of a collection must have; a model without vectors yet settles nothing.
fn settled_dimension(info: CollectionInfo) -> Option<usize> {
    let open = matches!(info.identity, IdentityState::Known(_)) && info.coverage.nearest == 0;
    info.dimension.filter(|_| !open)
}

/// Whether an error says that one drawer is wrong, so that the others can go on.
fn is_of_the_line(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::DimensionMismatch)
}

fn merge(all: &mut Receipt, one: Receipt) {
    all.added.extend(one.added);
    all.kept.extend(one.kept);
    all.replaced.extend(one.replaced);
    all.updated.extend(one.updated);
    all.deleted.extend(one.deleted);
    all.missing.extend(one.missing);
    all.twins.extend(one.twins);
    all.without_vector.extend(one.without_vector);
    all.seq = all.seq.max(one.seq);
}
