//! `loci delete`: removes drawers, and only says what it would do unless told otherwise.

use loci_core::{Collection, CollectionExt, DrawerId, Error, Get, Include, Result, Selection, Write};
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::input::Where;
use crate::session::Session;

/// Remove drawers by id or filter
///
/// Nothing is removed without --yes: the answer says how many would be. Exits with 1 if none matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci delete note-1 note-2\n  \
    loci delete --where '{\"wing\":\"old\"}' --yes")]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "wing", "room"])]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    where_: Where,

    /// Remove them
    #[arg(long)]
    yes: bool,
}

/// Counts what matches, and removes it if told to.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let selection = selection(args)?;
    let (_, collection) = session.write()?;
    let matched = matched(collection.as_ref(), &selection)?;
    let mut deleted = 0;
    if args.yes && matched > 0 {
        deleted = collection.apply_batch(&[Write::Delete(selection)])?.deleted.len() as u64;
    }
    // Others may have filed or removed some in between; what was removed was there.
    let matched = matched.max(deleted);
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({ "matched": matched, "deleted": deleted }))?;
    } else if args.yes {
        out.page(|page| {
            page.plain(&format!("{deleted} removed")).end();
        })?;
    } else {
        out.page(|page| {
            page.plain(&format!("{matched} would be removed")).end();
        })?;
        if matched > 0 {
            out.note("nothing was removed; add --yes to remove them");
        }
    }
    Ok(Exit::found(matched > 0))
}

fn selection(args: &Args) -> Result<Selection> {
    if !args.ids.is_empty() {
        let mut ids = args.ids.clone();
        ids.sort();
        ids.dedup();
        return Ok(Selection::Ids(ids));
    }
    let filter = args.where_.filter()?;
    if filter.asks_nothing() {
        let error = Error::invalid("nothing says which drawers to remove; nothing was removed");
        return Err(error.hint("name ids, or give a filter like --where '{\"wing\":\"old\"}'"));
    }
    Ok(Selection::Matching(filter.into()))
}

fn matched(collection: &dyn Collection, selection: &Selection) -> Result<u64> {
    match selection {
        Selection::Matching(condition) => collection.count(condition),
        Selection::Ids(ids) => {
            let found = collection.get(&Get {
                include: Include::NOTHING,
                ..Get::ids(ids.iter().cloned())
            })?;
            Ok(found.len() as u64)
        }
    }
}
