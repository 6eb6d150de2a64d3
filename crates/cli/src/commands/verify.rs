//! `loci verify`: walks every drawer and says whether everything adds up.

use std::ffi::OsString;

use loci_core::{Finding, Severity};
use loci_migrate::{VerifyReport, VerifyStep, verify_palace};

use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::render::drawers;
use crate::session::Session;

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
    let other = match &args.against {
        Some(reference) => Some(session.palace_at(session.address_of(Some(reference), None)?)),
        None => None,
    };
    let mut checked = session.out.progress("drawers checked");
    let mut compared = session.out.progress("drawers compared");
    let report = verify_palace(&palace, args.sample, other.as_ref(), &mut |step| match step {
        VerifyStep::Checked(done, total) => checked.tick(done, Some(total)),
        VerifyStep::Compared(done) => compared.tick(done, None),
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| tell(&report, page))?;
    }
    Ok(Exit::found(report.ok))
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
