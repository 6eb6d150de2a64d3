//! Import of another program's memory: files each piece under its own id, and resolves those the palace already has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Collection, CollectionReader, DrawerFields, DrawerId, DrawerTwin, Error, ErrorKind, FilingDoor,
    GetRequest, NewDrawer, OpenOptions, OriginKind, Provenance, Result,
};
use loci_mine::project::fold_name;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CommittedBatch, ImportRequest, LineImporter, OnBadLine, OnConflict, OnProvenance};
use crate::mine::{FailedSource, SkippedSource, spell_wing};
use crate::palace::Palace;

/// The number of pieces made durable at once.
const BATCH: usize = 1000;

/// Another program's memory.
pub trait ForeignMemory: fmt::Debug {
    /// Returns its name in messages, which is also the source of pieces that name none.
    fn name(&self) -> &str;

    /// Returns the pieces that can be read, each once.
    fn list_pieces(&self) -> &[ForeignPiece];

    /// Reads the piece with this number as a drawer.
    fn read_piece(&self, number: usize) -> Result<NewDrawer>;

    /// Returns the pieces that cannot be read.
    fn broken_pieces(&self) -> Vec<FailedPiece>;
}

/// A piece of another program's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPiece {
    /// Its id; empty if it has none.
    pub id: String,
    /// Its source; empty if it names none.
    pub source: String,
}

/// A piece that was not filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedPiece {
    /// Its id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its row, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<i64>,
    /// Its source.
    pub source: String,
    /// The reason.
    pub error: String,
}

/// The outcome of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ForeignImportReport {
    /// Sources named by pieces.
    pub sources_seen: u64,
    /// Sources with a new or replaced piece.
    pub sources_mined: u64,
    /// Sources that were filed before.
    pub sources_unchanged: u64,
    /// Sources with a failed piece.
    pub sources_failed: Vec<FailedSource>,
    /// Pieces that exist under another id.
    pub skipped: Vec<SkippedSource>,
    /// Drawers filed for the first time.
    pub drawers_added: u64,
    /// Drawers that existed and were kept.
    pub drawers_kept: u64,
    /// Drawers that existed and were replaced.
    pub drawers_replaced: u64,
    /// Always 0: drawers that the other program has deleted since stay in the palace.
    pub drawers_removed: u64,
    /// Pieces that were not filed.
    pub chunks_failed: Vec<FailedPiece>,
    /// The number of drawers added or replaced that have no vector.
    pub without_vector: u64,
    /// The reason, if a model is recorded that should have made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, if it was created for these pieces.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// The time it took.
    pub seconds: f64,
}

impl Palace {
    /// Files every piece of another program's memory; no drawer is stored twice. `watch` is called with the number
    /// read.
    pub fn import_foreign(
        &self,
        memory: &dyn ForeignMemory,
        on_conflict: OnConflict,
        watch: &mut dyn FnMut(u64),
    ) -> Result<ForeignImportReport> {
        let began = Instant::now();
        let report = ForeignImport::new(self, memory, on_conflict)?.run(watch)?;
        Ok(ForeignImportReport {
            // To the millisecond; more digits would differ from run to run and mean nothing.
            seconds: (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            ..report
        })
    }
}

/// An import under way.
struct ForeignImport<'a> {
    palace: &'a Palace,
    memory: &'a dyn ForeignMemory,
    importer: LineImporter<'a>,
    wings: WingSpeller,
    fails_if_known: bool,
    /// The number of each piece, by its id.
    numbers: HashMap<&'a str, usize>,
    /// Pieces that exist under other ids.
    twins: Vec<DrawerTwin>,
    /// Every source, and whether a drawer of it is new or replaced.
    sources: BTreeMap<String, bool>,
    report: ForeignImportReport,
}

impl<'a> ForeignImport<'a> {
    fn new(palace: &'a Palace, memory: &'a dyn ForeignMemory, on_conflict: OnConflict) -> Result<Self> {
        let request = ImportRequest {
            // Failures because of an existing id are listed here from receipts, which tell the same id from a twin
            // under another one; twins may still be filed.
            on_conflict: match on_conflict {
                OnConflict::Keep | OnConflict::Fail => OnConflict::Keep,
                OnConflict::Replace => OnConflict::Replace,
            },
            on_bad_line: OnBadLine::List,
            batch: BATCH,
            into: None,
            provenance: Provenance::new(FilingDoor::Import, OriginKind::ForeignMemory),
            on_provenance: OnProvenance::Ignore,
        };
        let numbers = memory.list_pieces().iter().enumerate();
        let numbers = numbers.map(|(number, piece)| (piece.id.as_str(), number));
        let sources = memory
            .list_pieces()
            .iter()
            .map(|piece| (name_source(memory, piece), false));
        Ok(Self {
            palace,
            memory,
            importer: palace.import(request),
            wings: WingSpeller::for_palace(palace)?,
            fails_if_known: on_conflict == OnConflict::Fail,
            numbers: numbers.collect(),
            twins: Vec::new(),
            sources: sources.collect(),
            report: ForeignImportReport {
                chunks_failed: memory.broken_pieces(),
                ..ForeignImportReport::default()
            },
        })
    }

    fn run(mut self, watch: &mut dyn FnMut(u64)) -> Result<ForeignImportReport> {
        for (number, piece) in self.memory.list_pieces().iter().enumerate() {
            match self.memory.read_piece(number) {
                Ok(drawer) => self.push_piece(number, drawer)?,
                Err(error) => self.list_failure(Some(piece), error.to_string()),
            }
            watch(number as u64 + 1);
        }
        // Twins are known only from receipts, so every batch must be committed before they are settled.
        self.commit_rest()?;
        self.settle_twins()?;
        Ok(self.into_report())
    }

    fn push_piece(&mut self, number: usize, mut drawer: NewDrawer) -> Result<()> {
        if let Some(wing) = drawer.place.wing.take() {
            drawer.place.wing = Some(self.wings.spell_wing(wing)?);
        }
        let pushed = self.importer.push_drawer(number as u64, drawer);
        let committed = pushed.map_err(|error| self.name_durable_count(error))?;
        self.count_batch(committed);
        Ok(())
    }

    fn commit_rest(&mut self) -> Result<()> {
        loop {
            let committed = self
                .importer
                .finish()
                .map_err(|error| self.name_durable_count(error))?;
            if committed.is_none() {
                return Ok(());
            }
            self.count_batch(committed);
        }
    }

    /// Counts a committed batch, and sets aside the pieces that exist under other ids.
    fn count_batch(&mut self, committed: Option<CommittedBatch>) {
        let Some(CommittedBatch { receipt, .. }) = committed else {
            return;
        };
        self.report.drawers_added += receipt.added.len() as u64;
        self.report.drawers_replaced += receipt.replaced.len() as u64;
        for id in receipt.added.iter().chain(&receipt.replaced) {
            if let Some(piece) = self.find_piece(id) {
                self.sources.insert(name_source(self.memory, piece), true);
            }
        }
        for id in &receipt.kept {
            if self.fails_if_known {
                let error = format!("the id {:?} already exists", id.as_str());
                self.list_failure(self.find_piece(id), error);
            } else {
                self.report.drawers_kept += 1;
            }
        }
        self.twins.extend(receipt.twins);
    }

    fn find_piece(&self, id: &DrawerId) -> Option<&'a ForeignPiece> {
        let number = self.numbers.get(id.as_str())?;
        self.memory.list_pieces().get(*number)
    }

    /// Settles pieces that exist under other ids. In the same wing such a piece is skipped. In another wing it is filed
    /// as well, without its span, by which the palace would recognise it as a twin again.
    fn settle_twins(&mut self) -> Result<()> {
        let twins = std::mem::take(&mut self.twins);
        if twins.is_empty() {
            return Ok(());
        }
        let collection = self.palace.open(&OpenOptions::default())?;
        for twin in twins {
            let (Some(number), Some(piece)) = (
                self.numbers.get(twin.given.as_str()).copied(),
                self.find_piece(&twin.given),
            ) else {
                continue;
            };
            let mut drawer = self.memory.read_piece(number)?;
            let wing = drawer.place.wing.clone().map(|wing| self.wings.spell_wing(wing));
            if wing.transpose()? == read_wing(collection.as_ref(), &twin.existing)? {
                self.skip_twin(piece, &twin);
                continue;
            }
            drawer.place.span = None;
            // The unit of a span that is gone would mislead.
            drawer.metadata.remove("span_unit");
            self.push_piece(number, drawer)?;
        }
        self.commit_rest()
    }

    /// Counts a piece that exists under another id.
    fn skip_twin(&mut self, piece: &ForeignPiece, twin: &DrawerTwin) {
        let reason = format!(
            "{:?} already exists under the id {:?}",
            piece.id,
            twin.existing.as_str()
        );
        if self.fails_if_known {
            return self.list_failure(Some(piece), reason);
        }
        self.report.drawers_kept += 1;
        self.report.skipped.push(SkippedSource {
            source: piece.source.clone(),
            reason,
        });
    }

    fn list_failure(&mut self, piece: Option<&ForeignPiece>, error: String) {
        let source = piece.map_or_else(
            || self.memory.name().to_owned(),
            |piece| name_source(self.memory, piece),
        );
        self.report.chunks_failed.push(FailedPiece {
            id: piece.map(|piece| piece.id.clone()).filter(|id| !id.is_empty()),
            row: None,
            source,
            error,
        });
    }

    /// Adds the number of durable chunks to the error that stopped the import.
    fn name_durable_count(&self, error: Error) -> Error {
        let report = &self.report;
        let durable = report.drawers_added + report.drawers_kept + report.drawers_replaced;
        let next = error
            .hint_text()
            .unwrap_or("run it again, existing drawers are kept")
            .to_owned();
        error.with_context("durable_chunks", durable).with_hint(format!(
            "{} before it stored; {next}",
            loci_core::format_count(durable, "chunk")
        ))
    }

    fn into_report(mut self) -> ForeignImportReport {
        let filed = self.importer.report().clone();
        // The importer calls them lines; here the number of a line is the number of a piece.
        for failed in filed.failed {
            let number = usize::try_from(failed.line).ok();
            let piece = number.and_then(|number| self.memory.list_pieces().get(number));
            self.list_failure(piece, failed.error);
        }
        let sources_failed = list_failed_sources(&self.report.chunks_failed);
        // A source with a failed piece counts as failed only, so that the three counts add up to all sources.
        let failed: BTreeSet<&str> = sources_failed.iter().map(|one| one.source.as_str()).collect();
        let sound = self
            .sources
            .iter()
            .filter(|(name, _)| !failed.contains(name.as_str()));
        let (mined, unchanged): (Vec<_>, Vec<_>) = sound.partition(|(_, changed)| **changed);
        ForeignImportReport {
            sources_seen: (mined.len() + unchanged.len() + failed.len()) as u64,
            sources_mined: mined.len() as u64,
            sources_unchanged: unchanged.len() as u64,
            sources_failed,
            without_vector: filed.without_vector,
            lacking: filed.lacking,
            made_palace: filed.made_palace,
            ..self.report
        }
    }
}

fn name_source(memory: &dyn ForeignMemory, piece: &ForeignPiece) -> String {
    if piece.source.is_empty() {
        return memory.name().to_owned();
    }
    piece.source.clone()
}

fn read_wing(reader: &dyn CollectionReader, id: &DrawerId) -> Result<Option<String>> {
    let found = reader.get(&GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::by_ids([id.clone()])
    })?;
    Ok(found.into_iter().next().and_then(|drawer| drawer.place.wing))
}

/// Summarises the failures of each source in one line.
fn list_failed_sources(pieces: &[FailedPiece]) -> Vec<FailedSource> {
    let mut by_source: BTreeMap<&str, Vec<&FailedPiece>> = BTreeMap::new();
    for piece in pieces {
        by_source.entry(&piece.source).or_default().push(piece);
    }
    let describe = |(source, pieces): (&str, Vec<&FailedPiece>)| {
        let first = pieces
            .first()
            .map(|one| describe_failure(one))
            .unwrap_or_default();
        let more = match pieces.len() {
            0 | 1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        FailedSource {
            source: source.to_owned(),
            error: format!("{first}{more}"),
        }
    };
    by_source.into_iter().map(describe).collect()
}

fn describe_failure(piece: &FailedPiece) -> String {
    match (&piece.id, piece.row) {
        (Some(id), _) => format!("chunk {id}: {}", piece.error),
        (None, Some(row)) => format!("row {row}: {}", piece.error),
        (None, None) => format!("a chunk without an id: {}", piece.error),
    }
}

/// Spells each wing in one way: as the palace does, or as its first piece does.
struct WingSpeller {
    collection: Option<Arc<dyn Collection>>,
    known: HashMap<String, String>,
}

impl WingSpeller {
    fn for_palace(palace: &Palace) -> Result<Self> {
        let collection = match palace.open(&OpenOptions::default()) {
            Ok(collection) => Some(collection),
            // The import may be the first to file anything here.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            collection,
            known: HashMap::new(),
        })
    }

    fn spell_wing(&mut self, wing: String) -> Result<String> {
        // Remembered by the folded name: the palace is asked once per wing, and two spellings in one import do not
        // become two wings.
        let key = fold_name(&wing);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let spelling = match &self.collection {
            Some(collection) => spell_wing(collection.as_ref(), &wing)?,
            None => wing,
        };
        self.known.insert(key, spelling.clone());
        Ok(spelling)
    }
}
