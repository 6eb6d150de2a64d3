//! Import: files lines of JSON into collections, batch by batch; no drawer is stored twice.

mod brought;
mod choices;
mod commit;
mod foreign;
mod sealing;
mod shelf;

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::write::check_batch;
use loci_core::{
    CollectionInfo, CollectionName, Error, ErrorKind, IdentityState, Metric, NewDrawer, OpenOptions,
    OriginKind, Provenance, Receipt, Result, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::seal::{SecretGuard, SecretTally, adopt_naming_key};
use crate::{deletions, line};
use shelf::{ImportShelf, PendingLine};

pub use choices::{OnBadLine, OnConflict, OnProvenance};
pub use foreign::{FailedPiece, ForeignImportReport, ForeignMemory, ForeignPiece};

/// The options of an import.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// The action for existing drawers.
    pub on_conflict: OnConflict,
    /// The action for lines that cannot be stored.
    pub on_bad_line: OnBadLine,
    /// The number of lines to commit at once; at least one.
    pub batch: usize,
    /// The collection for every line, even if it names another; without it, lines that name none go to the palace's
    /// own.
    pub into: Option<CollectionName>,
    /// The provenance of drawers from lines without one.
    pub provenance: Provenance,
    /// The action for lines that bring provenance.
    pub on_provenance: OnProvenance,
}

/// A batch that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommittedBatch {
    /// The number of durable batches, this one included.
    pub batch: u64,
    /// The collection it was committed to.
    pub collection: CollectionName,
    /// Vectors that its lines brought.
    pub vectors_brought: u64,
    /// Those that were compared with vectors made here of the same texts.
    pub vectors_checked: u64,
    /// The receipt of the commit.
    #[serde(flatten)]
    pub receipt: Receipt,
}

/// The outcome of an import so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportReport {
    /// Drawers filed for the first time.
    pub added: u64,
    /// Drawers that existed, under this id or another, and were kept unchanged.
    pub kept: u64,
    /// Drawers that existed and were replaced.
    pub replaced: u64,
    /// Lines that were not stored.
    pub failed: Vec<FailedLine>,
    /// Vectors that the lines brought.
    pub vectors_brought: u64,
    /// Those that were compared with vectors made here of the same texts; none if the model is not available.
    pub vectors_checked: u64,
    /// Lines whose provenance was not believed.
    pub provenance_ignored: u64,
    /// The secrets found in them.
    #[serde(skip_serializing_if = "SecretTally::is_empty")]
    pub secrets: SecretTally,
    /// The number of drawers added or replaced that have no vector.
    pub without_vector: u64,
    /// The reason, if a model is recorded that should have made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, if it was created for these lines.
    #[serde(skip)]
    pub made_palace: Option<String>,
}

/// A line that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedLine {
    /// Its number, counted from 1.
    pub line: u64,
    /// The reason.
    pub error: String,
}

/// Accepts lines and commits them in batches.
#[derive(Debug)]
pub struct LineImporter<'a> {
    palace: &'a Palace,
    request: ImportRequest,
    /// The collection for lines that name none.
    otherwise: Option<CollectionName>,
    shelves: BTreeMap<CollectionName, ImportShelf>,
    /// The headers read so far, by the collection they describe.
    headers: BTreeMap<CollectionName, Arc<line::ExportHeader>>,
    /// Headers with lists of deletions or names of keys that are not stored yet.
    deleted: Vec<(CollectionName, line::ExportHeader)>,
    report: ImportReport,
    batches: u64,
}

/// A line as a drawer, and its collection.
type ParsedLine = (CollectionName, PendingLine);

/// The size of text and vectors at which a batch is committed, in bytes.
const BATCH_BYTES: usize = 64 << 20;

impl<'a> LineImporter<'a> {
    fn new(palace: &'a Palace, request: ImportRequest) -> Self {
        Self {
            palace,
            request,
            otherwise: None,
            shelves: BTreeMap::new(),
            headers: BTreeMap::new(),
            deleted: Vec::new(),
            report: ImportReport::default(),
            batches: 0,
        }
    }

    /// Returns the outcome so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// Returns the number of durable batches.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Returns the number of lines that wait for their batch to be committed.
    pub fn count_waiting(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.pending.len()).sum()
    }

    /// Adds line `number`; returns the batch that became durable by it, if one did. Blank lines are skipped.
    pub fn push(&mut self, number: u64, bytes: &[u8]) -> Result<Option<CommittedBatch>> {
        match self.parse_line(number, bytes) {
            Ok(None) => Ok(None),
            Ok(Some((collection, one))) => self.queue_line(collection, one),
            Err(error) => self.list_failure(number, error).map(|()| None),
        }
    }

    /// Adds a drawer that did not come from a line, as number `number` in reports; returns the batch that became
    /// durable by it, if one did.
    pub fn push_drawer(&mut self, number: u64, drawer: NewDrawer) -> Result<Option<CommittedBatch>> {
        let collection = self.choose_collection(None)?;
        match self.check_drawer(&collection, &drawer) {
            Ok(()) => self.queue_line(collection, PendingLine::new(number, drawer)),
            Err(error) => self.list_failure(number, error).map(|()| None),
        }
    }

    fn queue_line(
        &mut self,
        collection: CollectionName,
        mut one: PendingLine,
    ) -> Result<Option<CommittedBatch>> {
        one.drawer
            .provenance
            .get_or_insert_with(|| self.request.provenance.clone());
        let shelf = self.shelves.entry(collection.clone()).or_default();
        let mut committed = None;
        // A batch with the same id twice is refused. The earlier line is committed first, so that `on_conflict` decides
        // between the two as it would between any others.
        if shelf.has_pending(&one.drawer.id) {
            committed = self.flush_shelf(&collection)?;
        }
        let batch = self.request.batch;
        let shelf = self.shelves.entry(collection.clone()).or_default();
        shelf.push(one);
        // After a flush the shelf has only this line, so there is at most one commit for each line.
        if committed.is_none() && (shelf.pending.len() >= batch || shelf.bytes >= BATCH_BYTES) {
            committed = self.flush_shelf(&collection)?;
        }
        Ok(committed)
    }

    /// Commits the pending lines of one collection; returns `None` once no lines are pending.
    pub fn finish(&mut self) -> Result<Option<CommittedBatch>> {
        let waiting = self.shelves.iter().find(|(_, shelf)| !shelf.pending.is_empty());
        match waiting.map(|(name, _)| name.clone()) {
            // A batch in which every line failed commits nothing, but the next collection may still have lines.
            Some(name) => match self.flush_shelf(&name)? {
                None => self.finish(),
                committed => Ok(committed),
            },
            None => self.store_deletions().map(|()| None),
        }
    }

    /// Stores the lists of deletions of the collections that exist by now, and finds their keys on this machine.
    fn store_deletions(&mut self) -> Result<()> {
        for (collection, header) in std::mem::take(&mut self.deleted) {
            let palace = self.palace.clone().in_collection(Some(collection));
            let opened = match palace.open(&OpenOptions::for_writing()) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened?,
            };
            if opened.sources().is_some() {
                deletions::add_records(opened.as_ref(), &header.deleted)?;
                palace.take_named_keys(&header.list_fingerprints())?;
                adopt_naming_key(&palace, opened.as_ref(), &header.sealing)?;
            }
        }
        Ok(())
    }

    fn parse_line(&mut self, number: u64, bytes: &[u8]) -> Result<Option<ParsedLine>> {
        let text = std::str::from_utf8(bytes).map_err(|cause| {
            Error::invalid(format!(
                "the line is not valid UTF-8 from byte {}",
                cause.valid_up_to() + 1
            ))
        })?;
        // Windows editors put a byte order mark before the first line; elsewhere it is part of the text.
        let text = text
            .strip_prefix('\u{feff}')
            .filter(|_| number == 1)
            .unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(None);
        }
        if let Some(header) = line::ExportHeader::parse(text) {
            if header.palace.is_some() {
                let into = self
                    .request
                    .into
                    .clone()
                    .unwrap_or_else(|| header.collection.clone());
                self.deleted.push((into, header.clone()));
            }
            self.headers.insert(header.collection.clone(), Arc::new(header));
            return Ok(None);
        }
        let mut given = line::read_line(text)?;
        let named = given.collection.as_ref();
        let header = named.and_then(|name| self.headers.get(name).cloned());
        let collection = self.choose_collection(given.collection)?;
        self.check_drawer(&collection, &given.drawer)?;
        if self.request.on_provenance == OnProvenance::Ignore && given.drawer.provenance.is_some() {
            given.drawer.provenance = Some(Provenance::new(self.request.provenance.door, OriginKind::Export));
            self.report.provenance_ignored += 1;
        }
        let one = PendingLine {
            spans: given.seals,
            header,
            ..PendingLine::new(number, given.drawer)
        };
        Ok(Some((collection, one)))
    }

    /// Chooses the collection for a line that names `named`.
    fn choose_collection(&mut self, named: Option<CollectionName>) -> Result<CollectionName> {
        if let Some(name) = self
            .request
            .into
            .clone()
            .or(named)
            .or_else(|| self.otherwise.clone())
        {
            return Ok(name);
        }
        // Once, and only for a line that names none: it lists the collections of the backend.
        let own = self.palace.collection_name()?;
        self.otherwise = Some(own.clone());
        Ok(own)
    }

    /// Refuses a drawer that the collection cannot store.
    fn check_drawer(&mut self, collection: &CollectionName, drawer: &NewDrawer) -> Result<()> {
        let (metric, dimension) = self.find_vector_rules(collection)?;
        check_batch(&[Write::Upsert(drawer.clone())], metric, dimension)?;
        // The first vector settles the dimension before any is committed, so that a later line of another length fails
        // by itself and does not spoil its batch.
        if let Some(vector) = &drawer.embedding {
            self.shelves.entry(collection.clone()).or_default().dimension = Some(vector.len());
        }
        Ok(())
    }

    /// Returns the metric of a collection, and the dimension that vectors must have if it is settled. Creates nothing.
    fn find_vector_rules(&mut self, collection: &CollectionName) -> Result<(Metric, Option<usize>)> {
        if let Some(shelf) = self.shelves.get(collection) {
            return Ok((shelf.metric, shelf.dimension));
        }
        let mut shelf = ImportShelf::default();
        let palace = self.palace.clone().in_collection(Some(collection.clone()));
        match palace.open(&OpenOptions::default()) {
            Ok(opened) => {
                let info = opened.info()?;
                shelf.metric = info.metric;
                shelf.dimension = settled_dimension(info);
            }
            // The first batch will create it; an import of nothing must not.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let rules = (shelf.metric, shelf.dimension);
        self.shelves.insert(collection.clone(), shelf);
        Ok(rules)
    }

    /// Lists a line that is invalid in itself; any other error, or any at all if requested, stops the import.
    fn list_failure(&mut self, line: u64, error: Error) -> Result<()> {
        if self.request.on_bad_line == OnBadLine::Stop || !concerns_one_line(&error) {
            return Err(error);
        }
        self.report.failed.push(FailedLine {
            line,
            error: error.to_string(),
        });
        Ok(())
    }

    fn flush_shelf(&mut self, collection: &CollectionName) -> Result<Option<CommittedBatch>> {
        let Some(shelf) = self.shelves.get_mut(collection) else {
            return Ok(None);
        };
        let pending = shelf.take_pending();
        if pending.is_empty() {
            return Ok(None);
        }
        let palace = self.palace.clone().in_collection(Some(collection.clone()));
        if let Some(header) = brought::find_declared(&pending)?
            && header.model != shelf.prepared
        {
            let made = brought::prepare_declared(&palace, header, &pending)?;
            shelf.prepared.clone_from(&header.model);
            self.report.made_palace = self.report.made_palace.take().or(made);
        }
        let filing = shelf.open_filing(&palace, &pending)?;
        let vectors = brought::check_brought(&filing, &pending)?;
        if let Some(why) = filing.lacking() {
            self.report.lacking.get_or_insert_with(|| why.to_owned());
        }
        self.report.made_palace = self.report.made_palace.take().or_else(|| filing.made_palace());
        let pending = self.seal_pending(&palace, pending)?;
        let Some(receipt) = self.commit_through_switches(&palace, collection, filing, &pending)? else {
            return Ok(None);
        };
        sealing::store_line_seals(&SecretGuard::new(&palace), &pending)?;
        self.count_receipt(&pending, &receipt);
        self.report.vectors_brought += vectors.brought;
        self.report.vectors_checked += vectors.checked;
        self.batches += 1;
        Ok(Some(CommittedBatch {
            batch: self.batches,
            collection: collection.clone(),
            vectors_brought: vectors.brought,
            vectors_checked: vectors.checked,
            receipt,
        }))
    }
}

impl Palace {
    /// Starts an import; nothing is created before the first batch.
    pub fn import(&self, request: ImportRequest) -> LineImporter<'_> {
        LineImporter::new(self, request)
    }
}

/// Returns the dimension that vectors of a collection must have; a model without vectors yet settles nothing.
fn settled_dimension(info: CollectionInfo) -> Option<usize> {
    // A model that was recorded but never used gives way to the vectors that lines bring.
    let open = matches!(info.identity, IdentityState::Known(_)) && info.coverage.nearest == 0;
    info.dimension.filter(|_| !open)
}

/// Returns whether an error concerns one drawer alone, so that the others can still be stored.
fn concerns_one_line(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::DimensionMismatch)
}
