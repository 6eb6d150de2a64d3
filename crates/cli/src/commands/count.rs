//! `loci count`: how many drawers there are.

use loci_core::DrawerCondition;
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::input::{Contains, Where};
use crate::session::Session;

/// Count drawers
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci count\n  loci count --where '{\"wing\":\"work\"}'")]
pub(crate) struct Args {
    #[command(flatten)]
    where_: Where,

    #[command(flatten)]
    contains: Contains,
}

/// Counts them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let document = args.contains.filter()?;
    args.where_.filter()?;
    let (_, collection) = session.read()?;
    let filter = args.where_.within(collection.as_ref())?;
    let count = collection.count(&DrawerCondition { filter, document })?;
    if session.out.is_json() {
        session.out.json(&json!({ "count": count }))?;
    } else {
        session.out.page(|page| {
            page.plain(&count.to_string()).end();
        })?;
    }
    Ok(Exit::Done)
}
