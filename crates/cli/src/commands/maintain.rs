//! `loci maintain`: runs one kind of maintenance.

use loci_core::MaintenanceStatus;
use loci_engine::maintain::MaintainRequest;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::format_count;
use crate::session::CommandSession;

/// Run maintenance: analyze, compact or reindex
///
/// `analyze` refreshes the statistics of the query planner, `compact` returns free space, `reindex` rebuilds every index
/// from the drawers and swaps it in atomically. `loci backends` lists the kinds each backend supports.
///
/// `approximate` and `exact` choose how a palace in Postgres answers by meaning: `approximate` builds an index with which
/// large palaces answer faster and may miss a drawer, `exact` drops it. See docs/postgres.md.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci maintain compact\n  loci maintain compact --drop-retired")]
pub(crate) struct MaintainArgs {
    /// The kind of maintenance
    #[arg(value_name = "KIND")]
    kind: String,

    /// With `compact`: permanently drop the vectors of retired models
    #[arg(long)]
    drop_retired: bool,
}

/// Runs the maintenance.
pub(crate) fn run(args: &MaintainArgs, session: &mut CommandSession) -> CommandResult {
    let progress = session.out.progress(&args.kind);
    let report = session.open_palace()?.maintain(&MaintainRequest {
        kind: args.kind.clone(),
        drop_retired: args.drop_retired,
    })?;
    drop(progress);
    let out = &mut session.out;
    if let Some(dropped) = report.dropped_spaces {
        let spaces = format_count(dropped as u64, "retired embedding space");
        out.note(&format!("{spaces} dropped"));
    }
    if out.is_json() {
        out.write_json(&report)?;
        return Ok(ExitStatus::Done);
    }
    let done = &report.report;
    out.write_page(|page| {
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
    Ok(ExitStatus::Done)
}
