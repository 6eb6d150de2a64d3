//! `loci model remove`: deletes a model from this machine, or forgets a server.

use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Remove a model from this machine, or forget a server
///
/// No palace changes. Palaces with vectors of this model are still searched by words, and by meaning again once it is
/// reinstalled. Exits with 1 if there is nothing to remove.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci model remove minilm")]
pub(crate) struct ModelRemoveArgs {
    /// The model or server
    #[arg(value_name = "NAME")]
    name: String,
}

/// The outcome of a removal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelRemoval {
    /// The model or server.
    name: String,
    /// Whether there was one to remove.
    removed: bool,
}

/// Removes the model or the server.
pub(crate) fn run(args: &ModelRemoveArgs, session: &mut CommandSession) -> CommandResult {
    // Palaces are not asked: they name their model, and take it again once it is back.
    let removed = session.embedders.models()?.remove_model(&args.name)?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&ModelRemoval {
            name: args.name.clone(),
            removed,
        })?;
    } else {
        out.write_page(|page| {
            page.plain(if removed { "removed" } else { "not installed:" })
                .plain(" ")
                .bold(&args.name)
                .end();
        })?;
    }
    Ok(ExitStatus::from_found(removed))
}
