//! `loci count`: the number of drawers.

use crate::errors::{CommandResult, ExitStatus};
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// Count drawers
///
/// Exits with 1 if a wing, room, source, speaker or kind that was named does not exist.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci count\n  loci count --wing work --since 2026-05-01")]
pub(crate) struct CountArgs {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Counts them.
pub(crate) fn run(args: &CountArgs, session: &mut CommandSession) -> CommandResult {
    let scope = args.scope.build_scope()?;
    let report = session.open_palace()?.count(&scope)?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            page.plain(&report.count.to_string()).end();
        })?;
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::of_warnings(&report.warnings))
}
