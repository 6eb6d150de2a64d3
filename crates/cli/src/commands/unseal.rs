//! `loci unseal`: drawers with their secrets.

use loci_core::DrawerId;

use super::show::{tell_missing, write_drawer};
use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Show drawers with their secrets
///
/// Prints each drawer as `loci show` does, with the secrets in place of their labels. Needs the palace's key on this
/// machine, see `loci key`. An id may be shortened to a unique prefix of at least 6 characters. Exits with 1 if none of
/// the drawers exists.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci unseal 533da3\n  loci unseal note-1 --json")]
pub(crate) struct UnsealArgs {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DrawerId>,
}

/// Shows the drawers.
pub(crate) fn run(args: &UnsealArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.unseal(&args.ids)?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            for (number, drawer) in report.drawers.iter().enumerate() {
                if number > 0 {
                    page.end();
                }
                write_drawer(drawer, page);
            }
        })?;
        out.flush()?;
        for id in &report.missing {
            tell_missing(id, out);
        }
        if report.unsealed == 0 && !report.drawers.is_empty() {
            out.note("nothing in it is sealed");
        }
    }
    Ok(ExitStatus::from_found(!report.drawers.is_empty()))
}
