//! `loci count`: the number of drawers.

use crate::errors::{Done, Exit};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Count drawers
///
/// Exits with 1 if no drawer has a name that is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci count\n  loci count --wing work --since 2026-05-01")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Counts them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let scope = args.scope.scope()?;
    let report = session.palace()?.count(&scope)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            page.plain(&report.count.to_string()).end();
        })?;
    }
    out.warnings(&report.warnings);
    Ok(Exit::of_warnings(&report.warnings))
}
