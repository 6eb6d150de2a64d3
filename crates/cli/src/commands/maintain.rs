//! `loci maintain`: runs one kind of upkeep.

use loci_core::MaintenanceStatus;
use loci_engine::maintain::MaintainRequest;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Run one kind of upkeep
///
/// `analyze` refreshes the statistics that plan queries, `compact` gives space back, `reindex` rebuilds every
/// index from the drawers beside the old one and swaps. `loci backends` says which kinds a backend has.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci maintain compact\n  loci maintain compact --drop-retired")]
pub(crate) struct Args {
    /// The kind
    #[arg(value_name = "KIND")]
    kind: String,

    /// With `compact`: drop the vectors of models that no longer answer, for good
    #[arg(long)]
    drop_retired: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.maintain(&MaintainRequest {
        kind: args.kind.clone(),
        drop_retired: args.drop_retired,
    })?;
    let out = &mut session.out;
    if let Some(dropped) = report.dropped_spaces {
        out.note(&format!("{dropped} retired embedding space(s) dropped"));
    }
    if out.is_json() {
        out.json(&report)?;
        return Ok(Exit::Done);
    }
    let done = &report.report;
    out.page(|page| {
        let status = match done.status {
            MaintenanceStatus::Ran => "done",
            MaintenanceStatus::AlreadyRunning => "already running elsewhere; nothing was done here",
            MaintenanceStatus::NothingToDo => "there was nothing to do",
        };
        page.bold(done.kind.name()).plain(": ").plain(status).end();
        for (name, figure) in &done.figures {
            page.plain("    ").dim(name).plain(&format!(" {figure}")).end();
        }
    })?;
    Ok(Exit::Done)
}
