//! `loci delete`: removes drawers, and only counts them unless told otherwise.

use loci_core::DrawerId;
use loci_engine::delete::DeleteRequest;

use crate::errors::{Done, Exit};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Remove drawers by id or scope
///
/// Nothing is removed without --yes: the answer says how many would be. The beginning of an id will do, from 6
/// characters on, where no other id begins so. Exits with 1 if none matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci delete note-1 note-2\n  loci delete --wing old --yes")]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", conflicts_with = "ScopeArgs")]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Remove them
    #[arg(long)]
    yes: bool,
}

/// Counts them, and removes them if told to.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.delete(&DeleteRequest {
        ids: args.ids.clone(),
        scope: args.scope.scope()?,
        expected: None,
        dry_run: !args.yes,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else if args.yes {
        out.page(|page| {
            page.plain(&format!("{} removed", report.deleted)).end();
        })?;
    } else {
        out.page(|page| {
            page.plain(&format!("{} would be removed", report.matched)).end();
        })?;
        if report.matched > 0 {
            out.note("nothing was removed; add --yes to remove them");
        }
    }
    out.warnings(&report.warnings);
    Ok(Exit::found(report.matched > 0))
}
