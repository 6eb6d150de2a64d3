//! Import of another program's memory: each piece filed under its own id, and settled where the palace has it already.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Collection, CollectionReader, DrawerId, Error, ErrorKind, FilingDoor, Get, Include, NewDrawer,
    OpenOptions, OriginKind, Provenance, Result, Twin,
};
use loci_mine::project::folded;
use serde::Serialize;

use super::{Committed, ImportRequest, Importer, OnBadLine, OnConflict};
use crate::mine::{FailedSource, SkippedSource, spelled};
use crate::palace::Palace;

/// The number of pieces made durable at once.
const BATCH: usize = 1000;

/// Another program's memory.
pub trait ForeignMemory: fmt::Debug {
    /// Its name in messages, and the source of pieces that name none.
    fn name(&self) -> &str;

    /// Its pieces that can be read, each once.
    fn pieces(&self) -> &[ForeignPiece];

    /// Reads the piece of this number as a drawer.
    fn read_piece(&self, number: usize) -> Result<NewDrawer>;

    /// Pieces that cannot be read.
    fn broken_pieces(&self) -> Vec<FailedPiece>;
}

/// A piece of another program's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPiece {
    /// Its id; empty where it has none.
    pub id: String,
    /// Its source; empty where it names none.
    pub source: String,
}

/// A piece that was not filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedPiece {
    /// Its id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its row, where only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<i64>,
    /// Its source.
    pub source: String,
    /// The reason.
    pub error: String,
}

/// The outcome of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ForeignImportReport {
    /// Sources that pieces name.
    pub sources_seen: u64,
    /// Sources of which something is new or replaced.
    pub sources_mined: u64,
    /// Sources that were filed before.
    pub sources_unchanged: u64,
    /// Sources of which a piece failed.
    pub sources_failed: Vec<FailedSource>,
    /// Pieces that the palace has under another id.
    pub skipped: Vec<SkippedSource>,
    /// Drawers filed for the first time.
    pub drawers_added: u64,
    /// Drawers that were there and stay.
    pub drawers_kept: u64,
    /// Drawers that were there and were replaced.
    pub drawers_replaced: u64,
    /// Always none: what the other program forgot stays in the palace.
    pub drawers_removed: u64,
    /// Pieces that were not filed.
    pub chunks_failed: Vec<FailedPiece>,
    /// The number of drawers added or replaced that have no vector.
    pub without_vector: u64,
    /// The reason, where a model is recorded that should have made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, where it was made for these pieces.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// The time it took.
    pub seconds: f64,
}

impl Palace {
    /// Files every piece of another program's memory; no drawer is stored twice. `watch` hears how many were read.
    pub fn import_foreign(
        &self,
        memory: &dyn ForeignMemory,
        on_conflict: OnConflict,
        watch: &mut dyn FnMut(u64),
    ) -> Result<ForeignImportReport> {
        let began = Instant::now();
        let report = ForeignImport::new(self, memory, on_conflict)?.run(watch)?;
        Ok(ForeignImportReport {
            seconds: (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            ..report
        })
    }
}

/// An import under way.
struct ForeignImport<'a> {
    palace: &'a Palace,
    memory: &'a dyn ForeignMemory,
    importer: Importer<'a>,
    wings: WingSpeller,
    fails_if_known: bool,
    /// The number of each piece.
    numbers: HashMap<&'a str, usize>,
    /// Pieces that the palace has under other ids.
    twins: Vec<Twin>,
    /// Every source, and whether a drawer of it is new or replaced.
    sources: BTreeMap<String, bool>,
    report: ForeignImportReport,
}

impl<'a> ForeignImport<'a> {
    fn new(palace: &'a Palace, memory: &'a dyn ForeignMemory, on_conflict: OnConflict) -> Result<Self> {
        let request = ImportRequest {
            // A failure because of a known id is told from receipts, which say what it was.
            on_conflict: match on_conflict {
                OnConflict::Keep | OnConflict::Fail => OnConflict::Keep,
                OnConflict::Replace => OnConflict::Replace,
            },
            on_bad_line: OnBadLine::List,
            batch: BATCH,
            into: None,
            provenance: Provenance::new(FilingDoor::Import, OriginKind::ForeignMemory),
        };
        let numbers = memory.pieces().iter().enumerate();
        let numbers = numbers.map(|(number, piece)| (piece.id.as_str(), number));
        let sources = memory
            .pieces()
            .iter()
            .map(|piece| (source_of(memory, piece), false));
        Ok(Self {
            palace,
            memory,
            importer: palace.import(request),
            wings: WingSpeller::of(palace)?,
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
        for (number, piece) in self.memory.pieces().iter().enumerate() {
            match self.memory.read_piece(number) {
                Ok(drawer) => self.push(number, drawer)?,
                Err(error) => self.fail(Some(piece), error.to_string()),
            }
            watch(number as u64 + 1);
        }
        self.commit_rest()?;
        self.settle_twins()?;
        Ok(self.conclude())
    }

    fn push(&mut self, number: usize, mut drawer: NewDrawer) -> Result<()> {
        if let Some(wing) = drawer.place.wing.take() {
            drawer.place.wing = Some(self.wings.spell(wing)?);
        }
        let pushed = self.importer.push_drawer(number as u64, drawer);
        let committed = pushed.map_err(|error| self.with_durable(error))?;
        self.note(committed);
        Ok(())
    }

    fn commit_rest(&mut self) -> Result<()> {
        loop {
            let committed = self.importer.finish().map_err(|error| self.with_durable(error))?;
            if committed.is_none() {
                return Ok(());
            }
            self.note(committed);
        }
    }

    /// Counts a committed batch, and puts aside the pieces that the palace has under other ids.
    fn note(&mut self, committed: Option<Committed>) {
        let Some(Committed { receipt, .. }) = committed else {
            return;
        };
        self.report.drawers_added += receipt.added.len() as u64;
        self.report.drawers_replaced += receipt.replaced.len() as u64;
        for id in receipt.added.iter().chain(&receipt.replaced) {
            if let Some(piece) = self.piece_of(id) {
                self.sources.insert(source_of(self.memory, piece), true);
            }
        }
        for id in &receipt.kept {
            if self.fails_if_known {
                let error = format!("the id {:?} is there already", id.as_str());
                self.fail(self.piece_of(id), error);
            } else {
                self.report.drawers_kept += 1;
            }
        }
        self.twins.extend(receipt.twins);
    }

    fn piece_of(&self, id: &DrawerId) -> Option<&'a ForeignPiece> {
        let number = self.numbers.get(id.as_str())?;
        self.memory.pieces().get(*number)
    }

    /// Settles pieces of sources that the palace has under other ids. In the same wing that is the same thing; in
    /// another the piece is filed there as well, without its span, by which the palace would take it for the same.
    fn settle_twins(&mut self) -> Result<()> {
        let twins = std::mem::take(&mut self.twins);
        if twins.is_empty() {
            return Ok(());
        }
        let collection = self.palace.open(&OpenOptions::default())?;
        for twin in twins {
            let (Some(number), Some(piece)) = (
                self.numbers.get(twin.given.as_str()).copied(),
                self.piece_of(&twin.given),
            ) else {
                continue;
            };
            let mut drawer = self.memory.read_piece(number)?;
            let wing = drawer.place.wing.clone().map(|wing| self.wings.spell(wing));
            if wing.transpose()? == wing_of(collection.as_ref(), &twin.existing)? {
                self.skip(piece, &twin);
                continue;
            }
            drawer.place.span = None;
            drawer.metadata.remove("span_unit");
            self.push(number, drawer)?;
        }
        self.commit_rest()
    }

    /// Counts a piece that the palace has under another id.
    fn skip(&mut self, piece: &ForeignPiece, twin: &Twin) {
        let reason = format!(
            "{:?} is there already under the id {:?}",
            piece.id,
            twin.existing.as_str()
        );
        if self.fails_if_known {
            return self.fail(Some(piece), reason);
        }
        self.report.drawers_kept += 1;
        self.report.skipped.push(SkippedSource {
            source: piece.source.clone(),
            reason,
        });
    }

    fn fail(&mut self, piece: Option<&ForeignPiece>, error: String) {
        let source = piece.map_or_else(
            || self.memory.name().to_owned(),
            |piece| source_of(self.memory, piece),
        );
        self.report.chunks_failed.push(FailedPiece {
            id: piece.map(|piece| piece.id.clone()).filter(|id| !id.is_empty()),
            row: None,
            source,
            error,
        });
    }

    /// The error that stopped the import, with how much is durable.
    fn with_durable(&self, error: Error) -> Error {
        let report = &self.report;
        let durable = report.drawers_added + report.drawers_kept + report.drawers_replaced;
        let next = error
            .hint_text()
            .unwrap_or("run it again, what is there is kept")
            .to_owned();
        error
            .with("durable_chunks", durable)
            .hint(format!("{durable} chunks before it are durable; {next}"))
    }

    fn conclude(mut self) -> ForeignImportReport {
        let filed = self.importer.report().clone();
        for failed in filed.failed {
            let number = usize::try_from(failed.line).ok();
            let piece = number.and_then(|number| self.memory.pieces().get(number));
            self.fail(piece, failed.error);
        }
        let sources_failed = list_failed_sources(&self.report.chunks_failed);
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

fn source_of(memory: &dyn ForeignMemory, piece: &ForeignPiece) -> String {
    if piece.source.is_empty() {
        return memory.name().to_owned();
    }
    piece.source.clone()
}

fn wing_of(reader: &dyn CollectionReader, id: &DrawerId) -> Result<Option<String>> {
    let found = reader.get(&Get {
        include: Include::NOTHING,
        ..Get::ids([id.clone()])
    })?;
    Ok(found.into_iter().next().and_then(|drawer| drawer.place.wing))
}

/// One line for each source of which a piece failed.
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

/// Spells wings as the palace spells them, and each in one way.
struct WingSpeller {
    collection: Option<Arc<dyn Collection>>,
    known: HashMap<String, String>,
}

impl WingSpeller {
    fn of(palace: &Palace) -> Result<Self> {
        let collection = match palace.open(&OpenOptions::default()) {
            Ok(collection) => Some(collection),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            collection,
            known: HashMap::new(),
        })
    }

    fn spell(&mut self, wing: String) -> Result<String> {
        let key = folded(&wing);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let spelling = match &self.collection {
            Some(collection) => spelled(collection.as_ref(), &wing)?,
            None => wing,
        };
        self.known.insert(key, spelling.clone());
        Ok(spelling)
    }
}
