//! `loci delete`: removes drawers; a dry run unless confirmed.

use loci_core::DrawerId;
use loci_engine::delete::DeleteRequest;

use crate::errors::{CommandResult, ExitStatus};
use crate::render::count_drawers;
use crate::scope::{SCOPE_OPTIONS, ScopeArgs};
use crate::session::CommandSession;

/// Remove drawers by id or scope
///
/// A dry run that counts the matching drawers, unless --yes is given. An id may be shortened to a unique prefix of at
/// least 6 characters. Exits with 1 if nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci delete note-1 note-2\n  loci delete --wing old --yes")]
pub(crate) struct DeleteArgs {
    /// The ids
    #[arg(value_name = "ID", conflicts_with_all = SCOPE_OPTIONS)]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Remove the drawers
    #[arg(long)]
    yes: bool,
}

/// Counts the drawers, and removes them if confirmed.
pub(crate) fn run(args: &DeleteArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.delete(&DeleteRequest {
        ids: args.ids.clone(),
        whole_ids: false,
        scope: args.scope.build_scope()?,
        expected: None,
        dry_run: !args.yes,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else if args.yes {
        out.write_page(|page| {
            page.plain(&format!("{} removed", count_drawers(report.deleted)))
                .end();
        })?;
    } else {
        out.write_page(|page| {
            page.plain(&format!("{} would be removed", count_drawers(report.matched)))
                .end();
        })?;
        if report.matched > 0 {
            out.note("dry run: nothing was removed; add --yes to remove them");
        }
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::from_found(report.matched > 0))
}
