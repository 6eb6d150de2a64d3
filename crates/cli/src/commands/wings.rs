//! `loci wings`: the wings, and the number of drawers in each.

use loci_engine::facets::WingsReport;

use crate::errors::{Done, Exit};
use crate::page::counted;
use crate::scope::ScopeArgs;
use crate::session::Session;

/// List the wings
///
/// Each with the number of its drawers and rooms, the one with the most drawers first. `-` stands for the drawers that
/// are in no wing. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci wings\n  loci wings --since 2026-05-01")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = count_wings(&args.scope, session)?;
    if !session.out.is_json() {
        session.out.page(|page| {
            for wing in &report.wings {
                let rooms = wing.rooms.iter().filter(|room| room.room.is_some()).count();
                page.plain(&format!("{:>8}  ", wing.drawers));
                page.plain(wing.wing.as_deref().unwrap_or("-")).plain("  ");
                page.dim(&counted(rooms as u64, "room")).end();
            }
        })?;
    }
    conclude(&report, &args.scope, session)
}

/// Counts drawers by wing and room, and prints the report where JSON was asked for.
pub(super) fn count_wings(scope: &ScopeArgs, session: &mut Session) -> Done<WingsReport> {
    let report = session.palace()?.wings(&scope.scope()?)?;
    if session.out.is_json() {
        session.out.json(&report)?;
    }
    Ok(report)
}

/// Says what a reader should know, and what to type where nothing is filed yet.
pub(super) fn conclude(report: &WingsReport, scope: &ScopeArgs, session: &mut Session) -> Done {
    let out = &mut session.out;
    out.flush()?;
    if report.wings.is_empty() && scope.scope()?.asks_nothing() {
        out.note("nothing is filed yet; file something with `loci mine PATH` or `loci add TEXT`");
    }
    out.warnings(&report.warnings);
    Ok(Exit::found(!report.wings.is_empty()))
}
