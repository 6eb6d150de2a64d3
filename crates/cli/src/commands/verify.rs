//! `loci verify`: checks every drawer and every index of a palace.

use std::ffi::OsString;

use loci_core::{FindingSeverity, PalaceFinding};
use loci_migrate::{VerifyReport, VerifyStep, verify_palace};

use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Check that every drawer is sound and can be found
///
/// Reads every drawer of every collection, compares counts, looks drawers up again by their id and by their own vector,
/// and examines the files. Palaces with the same drawers have the same `hash`. Exits with 1 if something is wrong.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci verify\n  loci verify --against ./copy --json\n  \
    loci verify --palace ./moved --against ~/.mempalace/palace"
)]
pub(crate) struct VerifyArgs {
    /// Compare with this palace: every id, text, metadata value and vector
    #[arg(long, value_name = "REF")]
    against: Option<OsString>,

    /// Look up this many drawers of each collection again [default: 1000]; with --against, compare about this many
    /// drawers instead of all
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
}

/// Checks the palace, and compares it with another if one is named.
pub(crate) fn run(args: &VerifyArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    let other = match &args.against {
        Some(reference) => Some(session.palace_at(session.find_address(Some(reference), None)?)),
        None => None,
    };
    // The doctor reports no steps, so that the first phase shows only its clock.
    let mut progress = session.out.progress("examining the files");
    let report = verify_palace(&palace, args.sample, other.as_ref(), &mut |step| {
        let (phase, done, total) = match step {
            VerifyStep::Checked(done, total) => ("drawers checked", done, total),
            VerifyStep::Compared(done, total) => ("drawers compared", done, total),
        };
        progress.begin_phase(phase);
        progress.tick(done, Some(total));
        Ok(())
    })?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, page))?;
    }
    out.note_listed(&report.findings);
    Ok(ExitStatus::from_found(report.ok))
}

fn print_report(report: &VerifyReport, page: &mut TextPage) {
    print_findings(&report.findings, page);
    page.bold(if report.ok { "sound" } else { "not sound" });
    page.plain(&format!(": {}", count_drawers(report.drawers)))
        .dim(&format!("  {}", report.hash))
        .end();
    if let Some(against) = &report.against {
        // A sample of a palace has no hash that another could be compared with.
        let hash = against.hash.as_deref().unwrap_or("");
        page.plain(&format!("against: {}", count_drawers(against.drawers)))
            .dim(&format!("  {hash}"))
            .end();
    }
}

/// Prints findings, one line each, with their hints below.
pub(super) fn print_findings(findings: &[PalaceFinding], page: &mut TextPage) {
    for finding in findings {
        // The word, not the color alone, says how grave it is: color may be off.
        match finding.severity {
            FindingSeverity::Error => page.red("error"),
            FindingSeverity::Warning => page.yellow("warning"),
            FindingSeverity::Note => page.dim("note"),
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
