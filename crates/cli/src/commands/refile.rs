//! `loci move`: drawers to another wing or room.

use loci_core::DrawerId;
use loci_engine::refile::MoveRequest;

use crate::errors::{Done, Exit};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Move drawers to another wing or room
///
/// Their ids, texts and vectors stay as they are. New drawers of a source go where its drawers are. Nothing is moved
/// without --yes: the answer says how many would be. Exits with 1 if none matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci move note-1 --to-room plans --yes\n  \
    loci move --source notes.md --to-wing home --yes\n  loci move --wing tmp --to-wing work --to-room inbox")]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", conflicts_with = "ScopeArgs")]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// The wing they go to
    #[arg(long, value_name = "WING", required_unless_present = "to_room")]
    to_wing: Option<String>,

    /// The room they go to
    #[arg(long, value_name = "ROOM")]
    to_room: Option<String>,

    /// Move them
    #[arg(long)]
    yes: bool,
}

/// Moves them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.move_drawers(&MoveRequest {
        ids: args.ids.clone(),
        scope: args.scope.scope()?,
        to_wing: args.to_wing.clone(),
        to_room: args.to_room.clone(),
        dry_run: !args.yes,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            if args.yes {
                let settled = report.matched.saturating_sub(report.moved);
                page.plain(&format!("{} moved, {settled} were there already", report.moved));
            } else {
                page.plain(&format!("{} would be moved", report.matched));
            }
            page.end();
        })?;
        if !args.yes && report.matched > 0 {
            out.note("nothing was moved; add --yes to move them");
        }
        for id in &report.missing {
            out.warn(&format!("there is no drawer {:?}", id.as_str()));
        }
    }
    out.warnings(&report.warnings);
    Ok(Exit::found(report.matched > 0))
}
