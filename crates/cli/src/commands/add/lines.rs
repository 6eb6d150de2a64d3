//! `loci add --jsonl`: files lines of JSON, answering each batch the moment it is durable.

use std::path::Path;

use loci_core::{Error, ErrorKind, FilingDoor, OriginKind, Provenance};
use loci_engine::{CommittedBatch, ImportRequest, LineImporter, OnBadLine, OnConflict, OnProvenance};

use crate::errors::{CommandResult, ExitStatus};
use crate::input::InputLines;
use crate::output::TerminalOutput;
use crate::session::CommandSession;

/// Files the lines of `path` in batches; a line that cannot be filed stops it.
pub(super) fn run(path: &Path, batch: usize, upsert: bool, session: &mut CommandSession) -> CommandResult {
    let mut lines = InputLines::open(path)?;
    let palace = session.open_palace()?;
    let request = ImportRequest {
        on_conflict: if upsert {
            OnConflict::Replace
        } else {
            OnConflict::Keep
        },
        on_bad_line: OnBadLine::Stop,
        batch,
        into: session.globals.collection.clone(),
        provenance: Provenance::new(FilingDoor::Terminal, OriginKind::Hand),
        // Lines that were filed somewhere before do not become the owner's by passing through here.
        on_provenance: OnProvenance::Ignore,
    };
    let mut importer = palace.import(request);
    let mut made = None;
    let mut at = 0;
    loop {
        let committed = match lines.next()? {
            Some((number, line)) => {
                at = number;
                importer.push(number, line).map(|committed| (committed, true))
            }
            None => importer.finish().map(|committed| {
                let more = committed.is_some();
                (committed, more)
            }),
        };
        let (committed, more) = committed.map_err(|error| explain_stop(error, &lines.name, at, &importer))?;
        if let Some(committed) = committed {
            if made.is_none() {
                made = importer.report().made_palace.clone();
                session.out.note_made(made.as_deref());
            }
            write_batch(&committed, &mut session.out)?;
        }
        if !more {
            break;
        }
    }
    let report = importer.report();
    if let Some(secrets) = report.secrets.describe() {
        session.out.note(&secrets);
    }
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        let message = super::without_vector(&what, report.lacking.as_deref());
        session.out.note(&message);
    }
    Ok(ExitStatus::Done)
}

fn write_batch(committed: &CommittedBatch, out: &mut TerminalOutput) -> CommandResult<()> {
    let receipt = &committed.receipt;
    if out.is_json() {
        out.write_json(committed)?;
    } else {
        out.write_page(|page| {
            page.plain(&format!("batch {}: ", committed.batch));
            page.plain(&format!(
                "{} added, {} kept, {} replaced",
                receipt.added.len(),
                receipt.kept.len() + receipt.twins.len(),
                receipt.replaced.len()
            ));
            let (checked, brought) = (committed.vectors_checked, committed.vectors_brought);
            page.plain(&super::describe_checked(checked, brought));
            page.end();
        })?;
    }
    out.flush()
}

/// The error that stopped the run, with where it stood and what is durable.
fn explain_stop(error: Error, name: &str, at: u64, importer: &LineImporter<'_>) -> Error {
    let (message, next) = match error.kind() {
        ErrorKind::Invalid | ErrorKind::DimensionMismatch => {
            (format!("{name}:{at}: {error}"), "fix the line and run it again")
        }
        _ => (error.to_string(), "run it again"),
    };
    let durable = match importer.batches() {
        0 => "nothing was stored".to_owned(),
        batches => format!("{batches} batch(es) before it are durable, the lines after them are not stored"),
    };
    let hint = match error.hint_text() {
        // The contract speaks of one batch; this run may have stored others before it.
        Some(hint) => format!("{durable}; {}", hint.trim_start_matches("nothing was written; ")),
        None => format!("{durable}; {next}; drawers that are already stored are kept"),
    };
    let told = Error::new(error.kind(), message)
        .with_context("file", name)
        .with_context("line", at)
        .with_context("durable_batches", importer.batches());
    told.with_hint(hint)
}
