//! `loci move`: moves drawers to another wing or room.

use loci_core::DrawerId;
use loci_engine::refile::MoveRequest;

use crate::errors::{CommandResult, ExitStatus};
use crate::render::count_drawers;
use crate::scope::{SCOPE_OPTIONS, ScopeArgs};
use crate::session::CommandSession;

/// Move drawers to another wing or room
///
/// Ids, texts and vectors do not change. Drawers mined later from the same source follow. A dry run that counts the
/// matching drawers, unless --yes is given. Exits with 1 if nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci move note-1 --to-room plans --yes\n  \
    loci move --source notes.md --to-wing home --yes\n  loci move --wing tmp --to-wing work --to-room inbox")]
pub(crate) struct MoveArgs {
    /// The ids
    #[arg(value_name = "ID", conflicts_with_all = SCOPE_OPTIONS)]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// The wing to move them to
    #[arg(long, value_name = "WING", required_unless_present = "to_room")]
    to_wing: Option<String>,

    /// The room to move them to
    #[arg(long, value_name = "ROOM")]
    to_room: Option<String>,

    /// Move the drawers
    #[arg(long)]
    yes: bool,
}

/// Moves the drawers.
pub(crate) fn run(args: &MoveArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.move_drawers(&MoveRequest {
        ids: args.ids.clone(),
        whole_ids: false,
        scope: args.scope.build_scope()?,
        to_wing: args.to_wing.clone(),
        to_room: args.to_room.clone(),
        expected: None,
        dry_run: !args.yes,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            if args.yes {
                let settled = report.matched.saturating_sub(report.moved);
                page.plain(&format!(
                    "{} moved, {settled} already there",
                    count_drawers(report.moved)
                ));
            } else {
                page.plain(&format!("{} would be moved", count_drawers(report.matched)));
            }
            page.end();
        })?;
        if !args.yes && report.matched > 0 {
            out.note("dry run: nothing was moved; add --yes to move them");
        }
        for id in &report.missing {
            out.warn(&format!("drawer {:?} does not exist", id.as_str()));
        }
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::from_found(report.matched > 0))
}
