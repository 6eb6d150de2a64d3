//! `loci model remove`: takes a model off this machine, or forgets a server.

use serde_json::json;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Remove a model from this machine, or forget a server
///
/// No palace changes. Palaces whose vectors it made go on answering by keyword, and by meaning once it is
/// installed again. Exits with 1 if there was nothing to remove.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci model remove minilm")]
pub(crate) struct Args {
    /// The model or server
    #[arg(value_name = "NAME")]
    name: String,
}

/// Removes it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let removed = session.embedders.models()?.remove(&args.name)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({ "name": args.name, "removed": removed }))?;
    } else {
        out.page(|page| {
            page.plain(if removed { "removed" } else { "was not here:" })
                .plain(" ")
                .bold(&args.name)
                .end();
        })?;
    }
    Ok(Exit::found(removed))
}
