//! `loci list`: drawers in one of several orders, a page at a time.

use clap::builder::RangedU64ValueParser;
use loci_core::DrawerOrder;
use loci_engine::list::ListRequest;

use crate::errors::{CommandResult, ExitStatus};
use crate::render::{self, warn_of_damage};
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// List drawers
///
/// If there are more, `next` is the cursor that continues the list in the same order. Exits with 1 if nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci list --wing work --order said -n 20\n  \
    loci list --since 2026-05-01\n  loci list --cursor id.note-20")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The order: id, filed (newest first), said (newest first), or source (by source and position)
    #[arg(long, value_name = "ORDER", default_value = "id", value_parser = parse_order)]
    order: DrawerOrder,

    /// List at most N drawers
    #[arg(long, short = 'n', value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,

    /// Continue an earlier list: its `next`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Include the exact vectors, with --json
    #[arg(long)]
    embeddings: bool,
}

fn parse_order(name: &str) -> Result<DrawerOrder, String> {
    DrawerOrder::parse(name).map_err(|error| format!("{error}; use id, filed, said or source"))
}

/// Lists them.
pub(crate) fn run(args: &ListArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.list(&ListRequest {
        scope: args.scope.build_scope()?,
        order: args.order,
        cursor: args.cursor.clone(),
        limit: args.limit,
        embeddings: args.embeddings,
        total: false,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            report
                .drawers
                .iter()
                .for_each(|drawer| render::write_brief(drawer, page))
        })?;
        if let Some(next) = &report.next {
            out.flush()?;
            let shown = report.drawers.len();
            out.note(&format!("{shown} shown; continue with --cursor {next}"));
        }
    }
    warn_of_damage(&report.drawers, out);
    out.warnings(&report.warnings);
    Ok(ExitStatus::from_found(!report.drawers.is_empty()))
}
