//! `loci embedder show`: the active model, whether it is installed, and every embedding space.

use loci_core::IdentityState;

use super::describe_space;
use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Show the model behind a collection's vectors
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci embedder show --json")]
pub(crate) struct EmbedderShowArgs {}

/// Shows the model.
pub(crate) fn run(_: &EmbedderShowArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.show_embedder()?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
        return Ok(ExitStatus::Done);
    }
    out.write_page(|page| {
        match &report.identity {
            IdentityState::Known(identity) => page.bold(&identity.to_string()),
            IdentityState::Unset => page
                .bold("none")
                .dim("  search by words, or by vectors that you bring"),
            IdentityState::Unknown => page.bold("unknown").dim("  no model is recorded for the vectors"),
        };
        page.end();
        for space in &report.spaces {
            let (name, reach) = describe_space(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })?;
    // A model that is not installed does not stop anything but search by meaning.
    if let Some(why) = &report.why {
        out.warn(why);
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::Done)
}
