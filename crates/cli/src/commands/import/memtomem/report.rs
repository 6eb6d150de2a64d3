//! The report of an import from memtomem, with the defects of the database itself.

use std::collections::BTreeMap;

use loci_engine::import::ForeignImportReport;
use loci_memtomem::{DuplicateChunk, GhostReport, IndexDrift};
use schemars::JsonSchema;
use serde::Serialize;

use super::MemtomemMemory;
use crate::commands::mine::print_list;
use crate::page::{TextPage, format_count};

/// The outcome of an import, and the state of the database.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemtomemReport {
    /// The outcome.
    #[serde(flatten)]
    pub(super) filed: ForeignImportReport,
    /// The number of chunks in the database.
    chunks_seen: u64,
    /// The number of copies of other chunks, which are not filed.
    duplicates_collapsed: u64,
    /// These copies.
    duplicates: Vec<DuplicateChunk>,
    /// The drift of the database's own indexes.
    ghosts: GhostReport,
    /// The sources whose chunks memtomem keeps but hides, with the reason.
    held_sources: BTreeMap<String, String>,
    /// Damage of the database, and changes while it was read.
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    is_damaged: bool,
}

impl MemtomemReport {
    /// Combines the outcome of the import with the defects of the database.
    pub(super) fn new(filed: ForeignImportReport, memory: MemtomemMemory) -> Self {
        let mut notes = Vec::new();
        if let Some(damage) = &memory.survey.damage {
            notes.push(format!(
                "{}: pages are damaged ({damage}); every readable row was read, and others may be lost",
                memory.name
            ));
        }
        // Rows from before and after a write may be mixed, so this is a note even if nothing failed.
        if !memory.database.is_unchanged() {
            let note = "the database was written to while it was read; stop memtomem and run this again";
            notes.push(note.to_owned());
        }
        let survey = memory.survey;
        // Every row is counted once: as a chunk, as a duplicate of one, or as unreadable.
        let rows = survey.chunks.len() + survey.duplicates.len() + survey.unreadable.len();
        Self {
            filed,
            chunks_seen: rows as u64,
            duplicates_collapsed: survey.duplicates.len() as u64,
            duplicates: survey.duplicates,
            ghosts: survey.ghosts,
            held_sources: survey.held,
            notes,
            is_damaged: survey.damage.is_some(),
        }
    }

    /// Whether every chunk that is known to exist was filed.
    pub(super) fn is_whole(&self) -> bool {
        self.filed.chunks_failed.is_empty() && !self.is_damaged
    }

    /// Prints the report for people.
    pub(super) fn print_summary(&self, page: &mut TextPage) {
        let filed = &self.filed;
        let sources = format_count(filed.sources_seen, "source");
        page.plain(&format!(
            "{sources}: {} mined, {} unchanged, {} skipped, {} failed",
            filed.sources_mined,
            filed.sources_unchanged,
            filed.skipped.len(),
            filed.sources_failed.len()
        ))
        .end();
        page.plain(&format!(
            "{} added, {} kept, {} replaced, {} collapsed, in {:.1} s",
            format_count(filed.drawers_added, "drawer"),
            filed.drawers_kept,
            filed.drawers_replaced,
            format_count(self.duplicates_collapsed, "duplicate"),
            filed.seconds
        ))
        .end();
        let skipped = filed
            .skipped
            .iter()
            .map(|one| format!("{}: {}", one.source, one.reason));
        print_list("skipped", skipped.collect(), page);
        let duplicates = self.duplicates.iter();
        let duplicates = duplicates.map(|one| format!("{}: {} is {}", one.source, one.dropped, one.kept));
        print_list("duplicates", duplicates.collect(), page);
        // memtomem hides chunks of sources it holds back; here they are found like all others.
        let held = self
            .held_sources
            .iter()
            .map(|(source, why)| format!("{source}: {why}"));
        print_list("filed, but hidden by memtomem", held.collect(), page);
        print_drift("full text", self.ghosts.full_text.as_ref(), page);
        print_drift("vectors", self.ghosts.vectors.as_ref(), page);
        if self
            .ghosts
            .vectors
            .as_ref()
            .is_some_and(|vectors| vectors.entries > 0)
        {
            page.dim("memtomem's vectors are not imported; the model of this palace makes its own")
                .end();
        }
    }
}

/// Prints how far an index of memtomem has drifted from its chunks, if it has.
fn print_drift(what: &str, sidecar: Option<&IndexDrift>, page: &mut TextPage) {
    let Some(sidecar) = sidecar else { return };
    // A drifted index of memtomem costs nothing here: the chunks themselves are read.
    let (ghosts, lacking) = (sidecar.without_chunk.len(), sidecar.chunks_without.len());
    if ghosts + lacking > 0 {
        page.plain(&format!(
            "memtomem's {what}: {} without a chunk, {} not in it",
            format_count(ghosts as u64, "ghost"),
            format_count(lacking as u64, "chunk")
        ))
        .end();
    }
    if let Some(damage) = &sidecar.damage {
        page.plain(&format!("memtomem's {what} cannot be read to its end: {damage}"))
            .end();
    }
}
