//! `loci verify`: walks every drawer and says whether everything adds up.

use std::ffi::OsString;

use loci_core::{Diagnosis, ErrorKind, Finding, Result, Severity};
use loci_engine::{VerifyReport, VerifyRequest, compare, verify};

use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::render::drawers;
use crate::session::{Palace, Session};

/// Check that everything stored is sound and found
///
/// Walks every drawer of every collection, compares counts, looks drawers up again by their id and their own
/// vector, and examines the files. `hash` is the same for palaces that hold the same drawers. Exits with 1 if
/// something is found.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci verify\n  loci verify --against ./copy --json\n  \
    loci verify --palace ./moved --against ~/.mempalace/palace"
)]
pub(crate) struct Args {
    /// Compare with this palace: every id, text, metadata value and vector
    #[arg(long, value_name = "REF")]
    against: Option<OsString>,

    /// How many drawers of each collection to look up again [default: 1000]; with --against, compare about so many
    /// drawers instead of all
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
}

/// Checks it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let palace = session.palace()?;
    if !palace.exists() {
        palace.collections()?;
    }
    let other = match &args.against {
        Some(reference) => Some(session.palace_at(Some(reference), None)?),
        None => None,
    };
    if let Some(other) = &other {
        other.collections()?;
        // Once its files were examined, whatever is damaged is no longer trusted when it is read.
        examine(other)?;
    }
    let diagnosis = examine(&palace)?;
    let usual = VerifyRequest::default();
    let request = VerifyRequest {
        sample: args.sample.unwrap_or(usual.sample),
    };
    let mut progress = session.out.progress("drawers checked");
    let mut report = verify(
        palace.backend(),
        &palace.reference,
        diagnosis.as_ref(),
        request,
        &mut |done, total| progress.tick(done, Some(total)),
    )?;
    if let Some(other) = &other {
        let mut progress = session.out.progress("drawers compared");
        report.compared(compare(
            (palace.backend(), &palace.reference),
            (other.backend(), &other.reference),
            args.sample,
            &mut |done| progress.tick(done, None),
        )?);
        report.add(damage_there(other)?);
    }
    let out = &mut session.out;
    match out.is_json() {
        true => out.json(&report)?,
        false => out.page(|page| tell(&report, page))?,
    }
    Ok(Exit::found(report.ok))
}

/// What the other palace says is damaged in it: equal to it is then not the same as whole.
fn damage_there(other: &Palace) -> Result<Vec<Finding>> {
    let warnings = other.collections()?.into_iter().flat_map(|info| info.warnings);
    let damage = warnings.filter(|warning| warning.severity == Severity::Error);
    let noted = damage.map(|warning| {
        let message = format!("the other palace: {}", warning.message);
        Finding::new("damaged_there", Severity::Note, message)
    });
    Ok(noted.collect())
}

/// What the doctor of a palace in files finds; that it cannot look because of damage is a finding.
pub(super) fn examine(palace: &Palace) -> Result<Option<Diagnosis>> {
    let (Some(doctor), Some(folder)) = (palace.backend.doctor(), &palace.reference.local_path) else {
        return Ok(None);
    };
    match doctor.examine(folder) {
        Ok(diagnosis) => Ok(Some(diagnosis)),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let finding = Finding::new("unreadable", Severity::Error, error.to_string());
            let finding = match error.hint_text() {
                Some(hint) => finding.hint(hint),
                None => finding,
            };
            Ok(Some(Diagnosis::of(palace.backend_name(), vec![finding])))
        }
        Err(error) => Err(error),
    }
}

fn tell(report: &VerifyReport, page: &mut Page) {
    findings(&report.findings, page);
    page.bold(if report.ok { "sound" } else { "not sound" });
    page.plain(&format!(": {}", drawers(report.drawers)))
        .dim(&format!("  {}", report.hash))
        .end();
    if let Some(against) = &report.against {
        let hash = against.hash.as_deref().unwrap_or("");
        page.plain(&format!("against: {}", drawers(against.drawers)))
            .dim(&format!("  {hash}"))
            .end();
    }
}

/// Sets down findings, a line each and their hints below.
pub(super) fn findings(findings: &[Finding], page: &mut Page) {
    for finding in findings {
        match finding.severity {
            Severity::Error => page.red("error"),
            Severity::Warning => page.yellow("warning"),
            Severity::Note => page.dim("note"),
        };
        page.plain(" ")
            .dim(&finding.code)
            .plain("  ")
            .plain(&finding.message)
            .end();
        if let Some(hint) = &finding.hint {
            page.plain("    ").plain(hint).end();
        }
    }
}
