//! `loci doctor`: examines a palace of any backend, and repairs it in named steps.

mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    Backend, Doctor, Error, ErrorKind, FindingSeverity, FixMode, FixReport, FixRequest, PalaceDiagnosis,
    PalaceFinding, Result,
};
use loci_postgres::PostgresBackend;
use loci_store::EmbeddedBackend;
use schemars::JsonSchema;
use serde::Serialize;

use super::verify::print_findings;
use crate::errors::{CommandResult, ExitStatus};
use crate::input::is_sqlite_file;
use crate::page::{TextPage, format_count};
use crate::palace::PalacePlace;
use crate::session::CommandSession;

/// The code of the findings of the rule of age, which are never more than notes.
const AGED: &str = "stale_mtime";
/// The age from which graphs are noted if none is given.
const USUAL_STALE: Duration = Duration::from_secs(3600);
/// The step whose outcome is compared with the rule of age.
const QUARANTINE: &str = "quarantine";

/// Examine a palace
///
/// In files, or in Postgres: there also the server, the rights of the role and row-level security. Only reads, unless a step is named with --fix and confirmed with --yes. Exits with 1 if it finds more than notes, or
/// if a step would change something.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Steps for folders of ChromaDB:
  quarantine  sets graphs aside that are damaged or disagree with the rows, so that Chroma rebuilds them; no vector
              is lost; with --stale-seconds also those that are older
  seq-ids     turns sequence numbers that are stored as bytes into numbers, which Chroma 1.x needs
  max-seq-id  resets impossible positions in the write queue to the last write that was consumed
  full-text   rebuilds the full text from the documents

Examples:
  loci doctor
  loci doctor work --json
  loci doctor ~/backups/palace-20260501T093000.000000Z.db
  loci doctor 'postgres://db.example.net/memory?palace=team'
  loci doctor ./chroma --fix quarantine
  loci doctor ./chroma --fix quarantine --yes
  loci doctor ./chroma --fix quarantine --stale-seconds 3600 --yes")]
pub(crate) struct DoctorArgs {
    /// The palace: a name, a folder, a database file, backend:path, or a URL [default: the palace of --palace]
    #[arg(value_name = "REF")]
    reference: Option<OsString>,

    /// Show what this step would change
    #[arg(long, value_name = "STEP")]
    fix: Option<String>,

    /// Take the step
    ///
    /// The database is copied beside itself first, and the copy read back.
    #[arg(long, requires = "fix")]
    yes: bool,

    /// Undo the newest application of the step
    ///
    /// Refused if the palace was written to since.
    #[arg(long, requires = "fix", conflicts_with = "yes")]
    undo: bool,

    /// Note graphs that are older than their rows by more than this many seconds [default: 3600]
    ///
    /// An old graph may be sound, and each note says whether it is. Given together with --fix quarantine, such graphs
    /// are set aside as well, sound or not.
    #[arg(long, value_name = "N")]
    stale_seconds: Option<u64>,
}

/// Examines the palace, or takes a step.
pub(crate) fn run(args: &DoctorArgs, session: &mut CommandSession) -> CommandResult {
    let (backend, path) = find_palace(args, session)?;
    let doctor = backend.doctor().ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            "a backend recognised a folder that it cannot examine",
        )
    })?;
    let patient = ExaminedPalace {
        doctor,
        path: &path,
        stale: args.stale_seconds.map_or(USUAL_STALE, Duration::from_secs),
    };
    if let Some(step) = &args.fix {
        return take_step(&patient, args, step, session);
    }
    let progress = session.out.progress("examining the palace");
    let diagnosis = patient.examine()?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&diagnosis)?;
    } else {
        out.write_page(|page| print_diagnosis(&diagnosis, page))?;
    }
    Ok(ExitStatus::from_found(diagnosis.healthy))
}

/// The palace that is meant, and the backend that holds it.
fn find_palace(args: &DoctorArgs, session: &CommandSession) -> Result<(Arc<dyn Backend>, PathBuf)> {
    // Examining one palace while the user thinks of another could end in a repair of the wrong one.
    if args.reference.is_some() && session.globals.palace.is_some() {
        return Err(
            Error::invalid("the palace is named twice, as REF and by --palace")
                .with_hint("nothing was changed; leave one of them out"),
        );
    }
    let reference = args.reference.as_deref().or(session.globals.palace.as_deref());
    let located = session.locate(reference)?;
    let path = match &located.place {
        PalacePlace::Folder(folder) => folder.clone(),
        // The doctor of a server takes the URL in place of a path; the backend keeps its password.
        PalacePlace::Server(url) => {
            let address = session.registry.find_server_palace(url.as_given())?;
            return Ok((address.backend, PathBuf::from(address.reference.id)));
        }
    };
    if !path.exists() {
        let message = format!("no palace exists at {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, message)
            .with_context("palace", path.display())
            .with_hint("name a palace, a folder or a database file; `loci palaces` lists the palaces"));
    }
    // A backend that is named is not second-guessed: its doctor says what is wrong with the files.
    if let Some(name) = &located.backend {
        let backend = session.registry.make_backend(name)?;
        let recognises = |path: &Path| backend.doctor().is_some_and(|doctor| doctor.recognises(path));
        let folder = path
            .parent()
            .filter(|folder| path.is_file() && !recognises(&path) && recognises(folder));
        let path = folder.map_or_else(|| path.clone(), Path::to_owned);
        return Ok((backend, path));
    }
    let (path, name) = recognise(path, session)?;
    Ok((session.registry.make_backend(name)?, path))
}

/// The backend of a folder or a file, with the path its doctor takes.
fn recognise(path: PathBuf, session: &CommandSession) -> Result<(PathBuf, &'static str)> {
    let registry = &session.registry;
    if let Some(name) = registry.recognise(&path) {
        return Ok((path, name));
    }
    // A database file stands for the folder it is in, where the other files of the palace are. A file that lost its
    // header is known by its name alone.
    let folder = path.parent().filter(|_| is_database(&path));
    if let Some(folder) = folder
        && let Some(name) = registry.recognise(folder)
    {
        return Ok((folder.to_owned(), name));
    }
    let message = format!("{} does not hold a palace of a known kind", path.display());
    let hint = format!("known kinds: {}", registry.names().join(", "));
    Err(Error::new(ErrorKind::Format, message).with_hint(hint))
}

fn is_database(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name == EmbeddedBackend::FILE);
    path.is_file() && (is_named || is_sqlite_file(path))
}

/// A palace and the doctor of its backend.
struct ExaminedPalace<'a> {
    doctor: &'a dyn Doctor,
    path: &'a Path,
    /// The age from which the rule of age notes a graph.
    stale: Duration,
}

impl ExaminedPalace<'_> {
    /// The doctor's verdict, with the graphs that are older than asked for.
    fn examine(&self) -> Result<PalaceDiagnosis> {
        let mut diagnosis = self.doctor.examine(self.path)?;
        // The doctor judges by its own age; the user's replaces it. A folder that could not be read has no graphs.
        if !diagnosis.collections.is_empty() {
            diagnosis.findings.retain(|finding| finding.code != AGED);
            diagnosis.findings.extend(self.judge_by_age()?);
        }
        Ok(diagnosis)
    }

    fn judge_by_age(&self) -> Result<Vec<PalaceFinding>> {
        self.doctor.judge_by_age(self.path, self.stale)
    }
}

fn print_diagnosis(diagnosis: &PalaceDiagnosis, page: &mut TextPage) {
    print_findings(&diagnosis.findings, page);
    table::print_collections(&diagnosis.collections, page);
    page.bold(if diagnosis.healthy {
        "healthy"
    } else {
        "not healthy"
    });
    page.plain(": ").plain(&diagnosis.kind);
    // Only files have segments.
    if diagnosis.kind != PostgresBackend::NAME {
        let segments = format_count(diagnosis.segments.len() as u64, "segment");
        page.plain(&format!(", {segments}"));
    }
    page.end();
}

/// A step that was taken or previewed, and the verdict afterwards.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FixOutcome {
    #[serde(flatten)]
    report: FixReport,
    /// The graphs that a rule of age would set aside or miss; only for the step that sets graphs aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_by_age: Option<Vec<PalaceFinding>>,
    /// The verdict afterwards, if the step was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<PalaceDiagnosis>,
}

fn take_step(
    patient: &ExaminedPalace<'_>,
    args: &DoctorArgs,
    step: &str,
    session: &mut CommandSession,
) -> CommandResult {
    let doctor = patient.doctor;
    if !doctor.fixes().iter().any(|fix| fix.step == step) {
        return Err(unknown_step(doctor, step).into());
    }
    // Without a confirmation a step is only described.
    let how = match (args.yes, args.undo) {
        (_, true) => FixMode::Undo,
        (true, _) => FixMode::Apply,
        _ => FixMode::DryRun,
    };
    let mut progress = session.out.progress("examining the palace");
    // Compared before the step is taken: afterwards there is no graph left to compare.
    let judged_by_age = if step == QUARANTINE && how != FixMode::Undo {
        Some(compare_with_age(patient)?)
    } else {
        None
    };
    progress.begin_phase("taking the step");
    let request = FixRequest {
        step,
        mode: how,
        older_than: args.stale_seconds.map(Duration::from_secs),
    };
    let report = doctor.fix(patient.path, &request)?;
    progress.begin_phase("examining the palace again");
    let diagnosis = match how {
        FixMode::Apply => Some(patient.examine()?),
        _ => None,
    };
    drop(progress);
    let outcome = FixOutcome {
        report,
        judged_by_age,
        diagnosis,
    };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&outcome)?;
    } else {
        out.write_page(|page| print_outcome(&outcome, how, page))?;
    }
    Ok(match (how, &outcome.diagnosis) {
        (FixMode::Apply, Some(diagnosis)) => ExitStatus::from_found(diagnosis.healthy),
        // Without an undo line there is nothing the step would change.
        (FixMode::DryRun, _) => ExitStatus::from_found(outcome.report.undo.is_none()),
        _ => ExitStatus::Done,
    })
}

fn unknown_step(doctor: &dyn Doctor, step: &str) -> Error {
    let steps: Vec<String> = doctor
        .fixes()
        .iter()
        .map(|fix| format!("{} ({})", fix.step, fix.changes))
        .collect();
    let hint = if steps.is_empty() {
        "nothing was changed; this kind of palace has no steps".to_owned()
    } else {
        format!("nothing was changed; steps: {}", steps.join("; "))
    };
    let message = format!("unknown step {step:?}");
    Error::new(ErrorKind::Unsupported, message).with_hint(hint)
}

/// The graphs that the rule of age would set aside, and the unsound ones that it would miss.
fn compare_with_age(patient: &ExaminedPalace<'_>) -> Result<Vec<PalaceFinding>> {
    let diagnosis = patient.doctor.examine(patient.path)?;
    if diagnosis.collections.is_empty() {
        return Ok(Vec::new());
    }
    let mut compared = patient.judge_by_age()?;
    // The rule of age misses a graph that was damaged after it was last written.
    let unsound = diagnosis.segments.iter().filter(|segment| !segment.sound);
    let missed: Vec<PalaceFinding> = unsound
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
            PalaceFinding::new("missed_by_age", FindingSeverity::Note, message).in_segment(&segment.name)
        })
        .collect();
    compared.extend(missed);
    Ok(compared)
}

fn print_outcome(outcome: &FixOutcome, how: FixMode, page: &mut TextPage) {
    let report = &outcome.report;
    let state = match (how, report.applied, &report.undo) {
        (FixMode::Undo, ..) => ": undone",
        (_, true, _) => ": done",
        (_, false, Some(_)) => ": would change",
        (_, false, None) => ": nothing to do",
    };
    page.bold(&report.step).plain(state).end();
    for change in &report.changes {
        page.plain("    ").plain(change).end();
    }
    for renamed in &report.renamed {
        page.dim("renamed  ").plain(&renamed.from).end();
        page.dim("     to  ").plain(&renamed.to).end();
    }
    if let Some(judged) = &outcome.judged_by_age {
        print_findings(judged, page);
    }
    // A step that changes nothing has nothing to undo.
    if let Some(undo) = &report.undo {
        let (word, line) = if report.applied {
            ("undo  ", undo.as_str())
        } else {
            ("nothing was changed; ", "take the step with --yes")
        };
        page.dim(word).plain(line).end();
    }
    if let Some(diagnosis) = &outcome.diagnosis {
        print_diagnosis(diagnosis, page);
    }
}
