//! `loci count`: how many drawers there are.

use loci_core::Include;
use loci_engine::Walk;
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
    let count = match document.is_all() {
        true => collection.count(&filter)?,
        false => {
            let mut walk = Walk::matching(collection.as_ref(), Include::NOTHING, filter, document);
            let count = walk.try_fold(0, |count, drawer| drawer.map(|_| count + 1))?;
            for left in walk.left_out() {
                session.out.warn(&left.message);
            }
            count
        }
    };
    if session.out.is_json() {
        session.out.json(&json!({ "count": count }))?;
    } else {
        session.out.page(|page| {
            page.plain(&count.to_string()).end();
        })?;
    }
    Ok(Exit::Done)
}
