//! `loci maintain`: runs one kind of upkeep.

use loci_core::{CollectionExt, Error, ErrorKind, MaintenanceKind, MaintenanceStatus, Switch};

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
    let palace = session.palace()?;
    let kinds = &palace.backend.descriptor().maintenance;
    let Some(kind) = kinds.iter().find(|kind| kind.name() == args.kind) else {
        let message = format!(
            "the backend {:?} has no upkeep called {:?}",
            palace.backend_name(),
            args.kind
        );
        let names: Vec<&str> = kinds.iter().map(MaintenanceKind::name).collect();
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(error.hint(format!("it has: {}", names.join(", "))).into());
    };
    if args.drop_retired && *kind != MaintenanceKind::COMPACT {
        let error = Error::invalid("--drop-retired belongs to `loci maintain compact`");
        return Err(error.hint("nothing was changed").into());
    }
    let collection = palace.open_writable(&session.collection(&palace)?)?;
    if args.drop_retired {
        let spaces = collection.require_spaces()?;
        let before = spaces.list_spaces()?.len();
        let dropped = before.saturating_sub(spaces.take_step(&Switch::DropRetired)?.len());
        session
            .out
            .note(&format!("{dropped} retired embedding space(s) dropped"));
    }
    let report = collection.require_upkeep()?.run(kind)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
        let status = match report.status {
            MaintenanceStatus::Ran => "done",
            MaintenanceStatus::AlreadyRunning => "already running elsewhere; nothing was done here",
            MaintenanceStatus::NothingToDo => "there was nothing to do",
        };
        page.bold(report.kind.name()).plain(": ").plain(status).end();
        for (name, figure) in &report.figures {
            page.plain("    ").dim(name).plain(&format!(" {figure}")).end();
        }
    })?;
    Ok(Exit::Done)
}
