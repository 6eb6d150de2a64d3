//! What an import of a memtomem database did, counted as it goes and said in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use loci_core::Twin;
use loci_engine::mine::{FailedSource, SkippedSource};
use loci_memtomem::{Chunk, Duplicate, Ghosts, Sidecar, Survey};
use serde::Serialize;

use crate::commands::mine::listed;
use crate::page::{Page, counted};

/// What an import did, as scripts see it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    sources_seen: u64,
    sources_mined: u64,
    sources_unchanged: u64,
    pub(super) sources_failed: Vec<FailedSource>,
    skipped: Vec<SkippedSource>,
    drawers_added: u64,
    drawers_kept: u64,
    drawers_replaced: u64,
    /// Always none: what memtomem forgot stays in the palace.
    drawers_removed: u64,
    chunks_seen: u64,
    chunks_failed: Vec<FailedChunk>,
    duplicates_collapsed: u64,
    duplicates: Vec<Duplicate>,
    ghosts: Ghosts,
    held_sources: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
    pub(super) without_vector: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lacking: Option<String>,
    seconds: f64,
    #[serde(skip)]
    is_damaged: bool,
}

/// A chunk that was not filed.
#[derive(Debug, Clone, Serialize)]
struct FailedChunk {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    source: String,
    error: String,
}

/// Counts as it goes.
#[derive(Debug)]
pub(super) struct Tally {
    /// How messages call the database; the source of what names none.
    database: String,
    /// Every source, and whether a drawer of it is new or other than before.
    sources: BTreeMap<String, bool>,
    failed: Vec<FailedChunk>,
    skipped: Vec<SkippedSource>,
    notes: Vec<String>,
    added: u64,
    kept: u64,
    replaced: u64,
    /// How many drawers have no vector.
    pub(super) without_vector: u64,
    /// Why, where a model is recorded that should have made one.
    pub(super) lacking: Option<String>,
}

impl Tally {
    /// Nothing is filed yet of what a survey of the database at `path` found.
    pub(super) fn new(path: &Path, survey: &Survey) -> Self {
        let mut tally = Self {
            database: path.display().to_string(),
            sources: BTreeMap::new(),
            failed: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            added: 0,
            kept: 0,
            replaced: 0,
            without_vector: 0,
            lacking: None,
        };
        for chunk in &survey.chunks {
            tally.source(chunk);
        }
        for row in &survey.unreadable {
            tally.failed.push(FailedChunk {
                id: row.id.clone(),
                row: Some(row.row),
                source: row.source.clone().unwrap_or_else(|| tally.database.clone()),
                error: row.error.clone(),
            });
        }
        if let Some(damage) = &survey.damage {
            tally.note(format!(
                "{}: pages are damaged ({damage}); what can be read was read, rows that nothing tells of may be lost",
                tally.database
            ));
        }
        tally
    }

    /// Where a chunk came from, taken note of.
    fn source(&mut self, chunk: &Chunk) -> &mut bool {
        let name = match chunk.source.is_empty() {
            true => self.database.clone(),
            false => chunk.source.to_string(),
        };
        self.sources.entry(name).or_insert(false)
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(super) fn add(&mut self, chunk: Option<&Chunk>) {
        self.added += 1;
        if let Some(chunk) = chunk {
            *self.source(chunk) = true;
        }
    }

    pub(super) fn replace(&mut self, chunk: Option<&Chunk>) {
        self.replaced += 1;
        if let Some(chunk) = chunk {
            *self.source(chunk) = true;
        }
    }

    pub(super) fn keep(&mut self) {
        self.kept += 1;
    }

    pub(super) fn fail(&mut self, chunk: Option<&Chunk>, error: String) {
        let source = chunk.map(|chunk| chunk.source.to_string());
        self.failed.push(FailedChunk {
            id: chunk.map(|chunk| chunk.id.clone()).filter(|id| !id.is_empty()),
            row: None,
            source: source
                .filter(|source| !source.is_empty())
                .unwrap_or_else(|| self.database.clone()),
            error,
        });
    }

    /// Counts a chunk that is there under another id.
    pub(super) fn skip(&mut self, chunk: &Chunk, twin: &Twin, is_failure: bool) {
        let reason = format!(
            "{:?} is there already under the id {:?}",
            chunk.id,
            twin.existing.as_str()
        );
        if is_failure {
            return self.fail(Some(chunk), reason);
        }
        self.kept += 1;
        self.skipped.push(SkippedSource {
            source: chunk.source.to_string(),
            reason,
        });
    }

    /// How many chunks are in the palace for good.
    pub(super) fn durable(&self) -> u64 {
        self.added + self.kept + self.replaced
    }

    /// The report of all of it.
    pub(super) fn report(self, survey: Survey, took: Duration) -> Report {
        let sources_failed = failed_sources(&self.failed);
        let failed: BTreeSet<&str> = sources_failed.iter().map(|one| one.source.as_str()).collect();
        let sound = self
            .sources
            .iter()
            .filter(|(name, _)| !failed.contains(name.as_str()));
        let (mined, unchanged): (Vec<_>, Vec<_>) = sound.partition(|(_, changed)| **changed);
        let rows = survey.chunks.len() + survey.duplicates.len() + survey.unreadable.len();
        Report {
            sources_seen: (mined.len() + unchanged.len() + failed.len()) as u64,
            sources_mined: mined.len() as u64,
            sources_unchanged: unchanged.len() as u64,
            skipped: self.skipped,
            drawers_added: self.added,
            drawers_kept: self.kept,
            drawers_replaced: self.replaced,
            drawers_removed: 0,
            chunks_seen: rows as u64,
            chunks_failed: self.failed,
            duplicates_collapsed: survey.duplicates.len() as u64,
            duplicates: survey.duplicates,
            ghosts: survey.ghosts,
            held_sources: survey.held,
            notes: self.notes,
            without_vector: self.without_vector,
            lacking: self.lacking,
            seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
            is_damaged: survey.damage.is_some(),
            sources_failed,
        }
    }
}

/// One line for each source of which a chunk failed.
fn failed_sources(chunks: &[FailedChunk]) -> Vec<FailedSource> {
    let mut by_source: BTreeMap<&str, Vec<&FailedChunk>> = BTreeMap::new();
    for chunk in chunks {
        by_source.entry(&chunk.source).or_default().push(chunk);
    }
    let said = |(source, chunks): (&str, Vec<&FailedChunk>)| {
        let first = chunks.first().map(|one| named(one)).unwrap_or_default();
        let more = match chunks.len() {
            0 | 1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        FailedSource {
            source: source.to_owned(),
            error: format!("{first}{more}"),
        }
    };
    by_source.into_iter().map(said).collect()
}

fn named(chunk: &FailedChunk) -> String {
    match (&chunk.id, chunk.row) {
        (Some(id), _) => format!("chunk {id}: {}", chunk.error),
        (None, Some(row)) => format!("row {row}: {}", chunk.error),
        (None, None) => format!("a chunk without an id: {}", chunk.error),
    }
}

impl Report {
    /// Whether everything that is known to be there was filed.
    pub(super) fn is_whole(&self) -> bool {
        self.chunks_failed.is_empty() && !self.is_damaged
    }

    /// The same in words.
    pub(super) fn summary(&self, page: &mut Page) {
        let sources = counted(self.sources_seen, "source");
        page.plain(&format!(
            "{sources}: {} mined, {} unchanged, {} left out, {} failed",
            self.sources_mined,
            self.sources_unchanged,
            self.skipped.len(),
            self.sources_failed.len()
        ))
        .end();
        page.plain(&format!(
            "{} added, {} kept, {} replaced, {} collapsed, in {:.1} s",
            counted(self.drawers_added, "drawer"),
            self.drawers_kept,
            self.drawers_replaced,
            counted(self.duplicates_collapsed, "duplicate"),
            self.seconds
        ))
        .end();
        let skipped = self
            .skipped
            .iter()
            .map(|one| format!("{}: {}", one.source, one.reason));
        listed("left out", skipped.collect(), page);
        let duplicates = self.duplicates.iter();
        let duplicates = duplicates.map(|one| format!("{}: {} is {}", one.source, one.dropped, one.kept));
        listed("duplicates", duplicates.collect(), page);
        let held = self
            .held_sources
            .iter()
            .map(|(source, why)| format!("{source}: {why}"));
        listed("filed, but hidden by memtomem", held.collect(), page);
        drift("full text", self.ghosts.full_text.as_ref(), page);
        drift("vectors", self.ghosts.vectors.as_ref(), page);
        if self
            .ghosts
            .vectors
            .as_ref()
            .is_some_and(|vectors| vectors.entries > 0)
        {
            page.dim("memtomem's vectors are not carried over; the model of this palace makes its own")
                .end();
        }
    }
}

/// How far an index of memtomem has drifted, if it has.
fn drift(what: &str, sidecar: Option<&Sidecar>, page: &mut Page) {
    let Some(sidecar) = sidecar else { return };
    let (ghosts, lacking) = (sidecar.without_chunk.len(), sidecar.chunks_without.len());
    if ghosts + lacking > 0 {
        page.plain(&format!(
            "memtomem's {what}: {} without a chunk, {} not in it",
            counted(ghosts as u64, "ghost"),
            counted(lacking as u64, "chunk")
        ))
        .end();
    }
    if let Some(damage) = &sidecar.damage {
        page.plain(&format!("memtomem's {what} cannot be read to its end: {damage}"))
            .end();
    }
}
