//! `loci changes`: the drawers filed, changed or removed since a cursor.

use clap::builder::RangedU64ValueParser;
use loci_core::{ChangeKind, Cursor};

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// List drawers that were filed, changed or removed
///
/// Oldest first. Pass `next` as --since to continue; an empty list means there is nothing new.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci changes\n  loci changes --since 1200 --limit 50 --json")]
pub(crate) struct ChangesArgs {
    /// Only changes after this cursor
    #[arg(long, value_name = "CURSOR", default_value = "0")]
    since: u64,

    /// List at most N changes
    #[arg(long, short = 'n', value_name = "N", default_value = "1000",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,
}

/// Lists them.
pub(crate) fn run(args: &ChangesArgs, session: &mut CommandSession) -> CommandResult {
    let changes = session
        .open_palace()?
        .list_changes(Cursor(args.since), args.limit)?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&changes)?;
        return Ok(ExitStatus::Done);
    }
    out.write_page(|page| {
        for change in &changes.changes {
            let op = match change.op {
                ChangeKind::Put => "put",
                ChangeKind::Delete => "delete",
            };
            page.plain(&format!("{:>8}  {op:<6}  ", change.seq))
                .bold(change.id.as_str())
                .end();
        }
    })?;
    if changes.changes.len() == args.limit {
        out.flush()?;
        out.note(&format!(
            "there may be more; continue with --since {}",
            changes.next.0
        ));
    }
    Ok(ExitStatus::Done)
}
