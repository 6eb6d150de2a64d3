//! The import of a memtomem database: each chunk becomes a drawer.

mod report;

use std::path::Path;

use loci_core::{NewDrawer, Result};
use loci_engine::OnConflict;
use loci_engine::import::{FailedPiece, ForeignMemory, ForeignPiece};
use loci_memtomem::{MemtomemDatabase, MemtomemSurvey};

use crate::commands::add::without_vector;
use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;
pub(crate) use report::MemtomemReport;

/// A memtomem database that was surveyed, and its chunks as the import reads them.
#[derive(Debug)]
pub(super) struct MemtomemMemory {
    name: String,
    database: MemtomemDatabase,
    survey: MemtomemSurvey,
    pieces: Vec<ForeignPiece>,
}

impl MemtomemMemory {
    /// Reads which chunks the database at `path` holds.
    pub(super) fn survey_database(database: MemtomemDatabase, path: &Path) -> Result<Self> {
        let survey = database.survey()?;
        let pieces = survey.chunks.iter().map(|chunk| ForeignPiece {
            id: chunk.id.clone(),
            source: chunk.source.to_string(),
        });
        Ok(Self {
            name: path.display().to_string(),
            pieces: pieces.collect(),
            database,
            survey,
        })
    }
}

impl ForeignMemory for MemtomemMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn list_pieces(&self) -> &[ForeignPiece] {
        &self.pieces
    }

    fn read_piece(&self, number: usize) -> Result<NewDrawer> {
        match self.survey.chunks.get(number) {
            // Read one at a time: a database may hold more text than memory.
            Some(chunk) => self.database.read_drawer(chunk),
            None => Err(loci_core::Error::invalid(format!(
                "chunk {number} does not exist"
            ))),
        }
    }

    fn broken_pieces(&self) -> Vec<FailedPiece> {
        // A row whose file is unknown is listed under the database.
        let rows = self.survey.unreadable.iter().map(|row| FailedPiece {
            id: row.id.clone(),
            row: Some(row.row),
            source: row.source.clone().unwrap_or_else(|| self.name.clone()),
            error: row.error.clone(),
        });
        rows.collect()
    }
}

/// Files the chunks of a database.
pub(super) fn run(
    memory: MemtomemMemory,
    on_conflict: OnConflict,
    session: &mut CommandSession,
) -> CommandResult {
    let total = memory.pieces.len() as u64;
    let mut progress = session.out.progress("chunks read");
    let filed = session
        .open_palace()?
        .import_foreign(&memory, on_conflict, &mut |done| progress.tick(done, Some(total)))?;
    drop(progress);
    // The memory is handed over whole: its report says whether the database changed while it was read.
    print_report(&MemtomemReport::new(filed, memory), session)
}

fn print_report(report: &MemtomemReport, session: &mut CommandSession) -> CommandResult {
    let out = &mut session.out;
    let filed = &report.filed;
    out.note_made(filed.made_palace.as_deref());
    if out.is_json() {
        out.write_json(report)?;
    } else {
        out.write_page(|page| report.print_summary(page))?;
        out.flush()?;
        for failed in &filed.sources_failed {
            out.warn(&format!("{}: {}", failed.source, failed.error));
        }
        for note in &report.notes {
            out.warn(note);
        }
    }
    if filed.without_vector > 0 {
        let what = format!("{} stored", filed.without_vector);
        out.note(&without_vector(&what, filed.lacking.as_deref()));
    }
    // Duplicates and drifted indexes are listed and cost nothing; chunks that are missing do.
    Ok(ExitStatus::from_found(report.is_whole()))
}
