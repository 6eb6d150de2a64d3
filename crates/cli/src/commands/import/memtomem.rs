//! `loci import memtomem`: the chunks of a memtomem database into drawers.

mod report;

use std::path::Path;

use loci_core::{NewDrawer, Result};
use loci_engine::OnConflict;
use loci_engine::import::{FailedPiece, ForeignMemory, ForeignPiece};
use loci_memtomem::{Database, Survey};

use crate::commands::add::without_vector;
use crate::errors::{Done, Exit};
use crate::session::Session;
use report::MemtomemReport;

/// A surveyed database, as an import reads it.
#[derive(Debug)]
struct MemtomemMemory {
    name: String,
    database: Database,
    survey: Survey,
    pieces: Vec<ForeignPiece>,
}

impl MemtomemMemory {
    fn open(path: &Path) -> Result<Self> {
        let database = Database::open(path)?;
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

    fn pieces(&self) -> &[ForeignPiece] {
        &self.pieces
    }

    fn read_piece(&self, number: usize) -> Result<NewDrawer> {
        match self.survey.chunks.get(number) {
            Some(chunk) => self.database.drawer(chunk),
            None => Err(loci_core::Error::invalid(format!("there is no chunk {number}"))),
        }
    }

    fn broken_pieces(&self) -> Vec<FailedPiece> {
        let rows = self.survey.unreadable.iter().map(|row| FailedPiece {
            id: row.id.clone(),
            row: Some(row.row),
            source: row.source.clone().unwrap_or_else(|| self.name.clone()),
            error: row.error.clone(),
        });
        rows.collect()
    }
}

/// Files the chunks of the database at `path`.
pub(super) fn run(path: &Path, on_conflict: OnConflict, session: &mut Session) -> Done {
    let memory = MemtomemMemory::open(path)?;
    let total = memory.pieces.len() as u64;
    let mut progress = session.out.progress("chunks read");
    let filed = session
        .palace()?
        .import_foreign(&memory, on_conflict, &mut |done| progress.tick(done, Some(total)))?;
    show(&MemtomemReport::new(filed, memory), session)
}

fn show(report: &MemtomemReport, session: &mut Session) -> Done {
    let out = &mut session.out;
    let filed = &report.filed;
    out.note_made(filed.made_palace.as_deref());
    if out.is_json() {
        out.json(report)?;
    } else {
        out.page(|page| report.summary(page))?;
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
    Ok(Exit::found(report.is_whole()))
}
