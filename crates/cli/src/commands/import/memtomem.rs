//! `loci import memtomem`: the chunks of a memtomem database into drawers.

mod filer;
mod report;

use std::path::Path;
use std::time::Instant;

use loci_memtomem::Database;

use super::Conflict;
use crate::commands::add::without_vector;
use crate::errors::{Done, Exit};
use crate::session::Session;
use filer::Filer;
use report::{Report, Tally};

/// Files the chunks of the database at `path`.
pub(super) fn run(path: &Path, on_conflict: Conflict, session: &mut Session) -> Done {
    let began = Instant::now();
    let database = Database::open(path)?;
    let survey = database.survey()?;
    let palace = session.palace()?;
    let is_new = !palace.exists();
    let mut tally = Tally::new(path, &survey);
    Filer::new(&database, &survey, &palace, session, on_conflict)?.run(&mut tally)?;
    if !database.is_unchanged() {
        tally.note("the database was written to while it was read; stop memtomem and run this again".into());
    }
    let report = tally.report(survey, began.elapsed());
    if is_new && palace.exists() {
        session
            .out
            .note(&format!("made a new palace at {}", palace.reference.id));
    }
    show(&report, session)
}

fn show(report: &Report, session: &mut Session) -> Done {
    let out = &mut session.out;
    if out.is_json() {
        out.json(report)?;
    } else {
        out.page(|page| report.summary(page))?;
        out.flush()?;
        for failed in &report.sources_failed {
            out.warn(&format!("{}: {}", failed.source, failed.error));
        }
        for note in &report.notes {
            out.warn(note);
        }
    }
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        out.note(&without_vector(&what, report.lacking.as_deref()));
    }
    Ok(Exit::found(report.is_whole()))
}
