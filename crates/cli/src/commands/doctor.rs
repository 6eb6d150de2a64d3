//! `loci doctor`: examines palaces in files, of every kind a backend knows, and mends them in named steps.

mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    Backend, Diagnosis, Doctor, Error, ErrorKind, Finding, FixMode, FixReport, Result, Severity,
};
use serde::Serialize;

use super::verify::findings;
use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::session::Session;

/// What the rule of age says of a segment, which is never more than a note.
const AGED: &str = "stale_mtime";
/// The step that the rule of age is compared with.
const QUARANTINE: &str = "quarantine";

/// Examine a palace in files
///
/// Looks only, and never writes, unless a step is named with --fix and confirmed with --yes. Exits with 1 if
/// something graver than a note is found, or if a step would change something.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Steps for folders of ChromaDB:
  quarantine  sets graphs aside that disagree with the rows, so that Chroma makes them anew; no vector is lost
  seq-ids     turns sequence numbers that are kept as bytes into numbers, which Chroma 1.x needs
  max-seq-id  sets absurd positions in the write queue to what was really consumed
  full-text   makes the full text anew from the documents

Examples:
  loci doctor ./notes
  loci doctor ./notes --json
  loci doctor ./chroma --fix quarantine
  loci doctor ./chroma --fix quarantine --yes")]
pub(crate) struct Args {
    /// The palace's folder
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Say what this step would change
    #[arg(long, value_name = "STEP")]
    fix: Option<String>,

    /// Take the step
    ///
    /// The database is copied beside itself first, and the copy read back.
    #[arg(long, requires = "fix")]
    yes: bool,

    /// Take the newest application of the step back
    ///
    /// Refused once something was written to the palace since.
    #[arg(long, requires = "fix", conflicts_with = "yes")]
    undo: bool,

    /// Mention graphs that are older than their rows by more than this
    ///
    /// For comparison only: what is old need not be wrong, and each is said to be either.
    #[arg(long, value_name = "N", default_value = "3600")]
    stale_seconds: u64,
}

/// Examines or mends it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let backend = recognised(&args.path, session)?;
    let doctor = backend
        .doctor()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a backend knew a folder it cannot examine"))?;
    if let Some(step) = &args.fix {
        return fix(doctor, args, step, session);
    }
    let diagnosis = examined(doctor, args)?;
    let out = &mut session.out;
    match out.is_json() {
        true => out.json(&diagnosis)?,
        false => out.page(|page| tell(&diagnosis, page))?,
    }
    Ok(Exit::found(diagnosis.healthy))
}

/// The backend whose palace lies at `path`.
fn recognised(path: &Path, session: &Session) -> Result<Arc<dyn Backend>> {
    if !path.exists() {
        let message = format!("there is nothing at {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    if let Some(name) = session.registry.recognise(path) {
        return session.registry.make(name);
    }
    let names = session.registry.names();
    let message = format!("{} holds no palace of a kind this build knows", path.display());
    Err(Error::new(ErrorKind::Format, message).hint(format!("known kinds: {}", names.join(", "))))
}

/// The doctor's verdict, with what is old by the seconds asked for.
fn examined(doctor: &dyn Doctor, args: &Args) -> Result<Diagnosis> {
    let mut diagnosis = doctor.examine(&args.path)?;
    if !diagnosis.collections.is_empty() {
        diagnosis.findings.retain(|finding| finding.code != AGED);
        diagnosis.findings.extend(aged(doctor, args)?);
    }
    Ok(diagnosis)
}

fn aged(doctor: &dyn Doctor, args: &Args) -> Result<Vec<Finding>> {
    doctor.judged_by_age(&args.path, Duration::from_secs(args.stale_seconds))
}

fn tell(diagnosis: &Diagnosis, page: &mut Page) {
    findings(&diagnosis.findings, page);
    table::collections(&diagnosis.collections, page);
    page.bold(if diagnosis.healthy {
        "healthy"
    } else {
        "not healthy"
    });
    page.plain(": ").plain(&diagnosis.kind);
    page.plain(&format!(", {} segments", diagnosis.segments.len()))
        .end();
}

/// A step that was taken or described, and the verdict afterwards.
#[derive(Debug, Serialize)]
struct Mended {
    #[serde(flatten)]
    report: FixReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_by_age: Option<Vec<Finding>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<Diagnosis>,
}

fn fix(doctor: &dyn Doctor, args: &Args, step: &str, session: &mut Session) -> Done {
    if !doctor.fixes().iter().any(|fix| fix.step == step) {
        return Err(unknown(doctor, step).into());
    }
    let how = match (args.yes, args.undo) {
        (_, true) => FixMode::Undo,
        (true, _) => FixMode::Apply,
        _ => FixMode::DryRun,
    };
    let judged_by_age = match step == QUARANTINE && how != FixMode::Undo {
        true => Some(compared(doctor, args)?),
        false => None,
    };
    let report = doctor.fix(&args.path, step, how)?;
    let diagnosis = match how {
        FixMode::Apply => Some(examined(doctor, args)?),
        _ => None,
    };
    let mended = Mended {
        report,
        judged_by_age,
        diagnosis,
    };
    let out = &mut session.out;
    match out.is_json() {
        true => out.json(&mended)?,
        false => out.page(|page| tell_mended(&mended, how, page))?,
    }
    Ok(match (how, &mended.diagnosis) {
        (FixMode::Apply, Some(diagnosis)) => Exit::found(diagnosis.healthy),
        (FixMode::DryRun, _) => Exit::found(mended.report.undo.is_none()),
        _ => Exit::Done,
    })
}

fn unknown(doctor: &dyn Doctor, step: &str) -> Error {
    let steps: Vec<String> = doctor
        .fixes()
        .iter()
        .map(|fix| format!("{} ({})", fix.step, fix.changes))
        .collect();
    let hint = match steps.is_empty() {
        true => "this kind of palace has no steps".to_owned(),
        false => format!("steps: {}", steps.join("; ")),
    };
    let message = format!("there is no step called {step:?}");
    Error::new(ErrorKind::Unsupported, message).hint(hint)
}

/// What the rule of age would set aside, where that would be wrong, and what it would have left.
fn compared(doctor: &dyn Doctor, args: &Args) -> Result<Vec<Finding>> {
    let diagnosis = doctor.examine(&args.path)?;
    if diagnosis.collections.is_empty() {
        return Ok(Vec::new());
    }
    let mut compared = aged(doctor, args)?;
    let unsound = diagnosis.segments.iter().filter(|segment| !segment.sound);
    let missed: Vec<Finding> = unsound
        .filter(|segment| {
            !compared
                .iter()
                .any(|found| found.segment.as_ref() == Some(&segment.name))
        })
        .map(|segment| {
            let message = format!(
                "the rule of age would leave {} where it is, though it disagrees with the rows",
                segment.name
            );
            Finding::new("missed_by_age", Severity::Note, message).segment(&segment.name)
        })
        .collect();
    compared.extend(missed);
    Ok(compared)
}

fn tell_mended(mended: &Mended, how: FixMode, page: &mut Page) {
    let report = &mended.report;
    let state = match (how, report.applied, &report.undo) {
        (FixMode::Undo, ..) => ": taken back",
        (_, true, _) => ": done",
        (_, false, Some(_)) => ": would change",
        (_, false, None) => ": nothing to do",
    };
    page.bold(&report.step).plain(state).end();
    for change in &report.changes {
        page.plain("    ").plain(change).end();
    }
    if let Some(judged) = &mended.judged_by_age {
        findings(judged, page);
    }
    if let Some(undo) = &report.undo {
        let (word, line) = match report.applied {
            true => ("undo  ", undo.as_str()),
            false => ("nothing was changed; ", "--yes takes the step"),
        };
        page.dim(word).plain(line).end();
    }
    if let Some(diagnosis) = &mended.diagnosis {
        tell(diagnosis, page);
    }
}
