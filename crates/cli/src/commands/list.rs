//! `loci list`: drawers in one of several orders, a page at a time.

use clap::builder::RangedU64ValueParser;
use loci_core::DrawerOrder;
use loci_engine::list::ListRequest;

use crate::errors::{Done, Exit};
use crate::render::{self, warn_of_damage};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// List drawers
///
/// A list that was cut says so: `next` is the cursor that continues it, with the same order. Exits with 1 if there is
/// none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci list --wing work --order said -n 20\n  \
    loci list --since 2026-05-01\n  loci list --cursor id.note-20")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The order: by id, newest filed first, newest said first, or by source and position in it
    #[arg(long, value_name = "ORDER", default_value = "id", value_parser = parse_order)]
    order: DrawerOrder,

    /// List this many at most
    #[arg(long, short = 'n', value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,

    /// Continue an earlier list: its `next`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Show their exact vectors, too, with --json
    #[arg(long)]
    embeddings: bool,
}

fn parse_order(name: &str) -> Result<DrawerOrder, String> {
    DrawerOrder::parse(name).map_err(|error| format!("{error}; use id, filed, said or source"))
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.list(&ListRequest {
        scope: args.scope.scope()?,
        order: args.order,
        cursor: args.cursor.clone(),
        limit: args.limit,
        embeddings: args.embeddings,
        total: false,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            report
                .drawers
                .iter()
                .for_each(|drawer| render::brief(drawer, page))
        })?;
        if let Some(next) = &report.next {
            out.flush()?;
            let shown = report.drawers.len();
            out.note(&format!("{shown} shown; there are more: --cursor {next}"));
        }
    }
    warn_of_damage(&report.drawers, out);
    out.warnings(&report.warnings);
    Ok(Exit::found(!report.drawers.is_empty()))
}
