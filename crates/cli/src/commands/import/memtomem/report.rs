//! The report of an import of a memtomem database, with what is wrong with the database itself.

use std::collections::BTreeMap;

use loci_engine::import::ForeignImportReport;
use loci_memtomem::{Duplicate, Ghosts, Sidecar};
use serde::Serialize;

use super::MemtomemMemory;
use crate::commands::mine::listed;
use crate::page::{Page, counted};

/// The outcome of an import, and the state of the database.
#[derive(Debug, Serialize)]
pub(super) struct MemtomemReport {
    /// The outcome.
    #[serde(flatten)]
    pub(super) filed: ForeignImportReport,
    chunks_seen: u64,
    duplicates_collapsed: u64,
    duplicates: Vec<Duplicate>,
    ghosts: Ghosts,
    held_sources: BTreeMap<String, String>,
    /// Damage of the database, and changes while it was read.
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    is_damaged: bool,
}

impl MemtomemReport {
    /// The report of what was filed of a database.
    pub(super) fn new(filed: ForeignImportReport, memory: MemtomemMemory) -> Self {
        let mut notes = Vec::new();
        if let Some(damage) = &memory.survey.damage {
            notes.push(format!(
                "{}: pages are damaged ({damage}); what can be read was read, rows that nothing tells of may be lost",
                memory.name
            ));
        }
        if !memory.database.is_unchanged() {
            let note = "the database was written to while it was read; stop memtomem and run this again";
            notes.push(note.to_owned());
        }
        let survey = memory.survey;
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

    /// Whether everything that is known to be there was filed.
    pub(super) fn is_whole(&self) -> bool {
        self.filed.chunks_failed.is_empty() && !self.is_damaged
    }

    /// The same in words.
    pub(super) fn summary(&self, page: &mut Page) {
        let filed = &self.filed;
        let sources = counted(filed.sources_seen, "source");
        page.plain(&format!(
            "{sources}: {} mined, {} unchanged, {} left out, {} failed",
            filed.sources_mined,
            filed.sources_unchanged,
            filed.skipped.len(),
            filed.sources_failed.len()
        ))
        .end();
        page.plain(&format!(
            "{} added, {} kept, {} replaced, {} collapsed, in {:.1} s",
            counted(filed.drawers_added, "drawer"),
            filed.drawers_kept,
            filed.drawers_replaced,
            counted(self.duplicates_collapsed, "duplicate"),
            filed.seconds
        ))
        .end();
        let skipped = filed
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
