//! `loci changes`: what was filed, changed or removed since a cursor.

use clap::builder::RangedU64ValueParser;
use loci_core::{ChangeKind, Cursor};

use crate::errors::{Done, Exit};
use crate::session::Session;

/// List what was filed, changed or removed
///
/// Oldest first. `next` is the cursor to ask with the next time; the list is complete when it is empty.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci changes\n  loci changes --since 1200 --limit 50 --json")]
pub(crate) struct Args {
    /// Only changes after this cursor
    #[arg(long, value_name = "CURSOR", default_value = "0")]
    since: u64,

    /// List this many at most
    #[arg(long, short = 'n', value_name = "N", default_value = "1000",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let changes = session.palace()?.changes(Cursor(args.since), args.limit)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&changes)?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
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
        out.note(&format!("there may be more: --since {}", changes.next.0));
    }
    Ok(Exit::Done)
}
