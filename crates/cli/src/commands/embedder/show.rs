//! `loci embedder show`: the model that answers, whether it is here, and every space there is.

use loci_core::IdentityState;

use super::describe;
use crate::errors::{Done, Exit};
use crate::session::Session;

/// Show the model behind a collection's vectors
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci embedder show --json")]
pub(crate) struct Args {}

/// Shows it.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.show_embedder()?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
        match &report.identity {
            IdentityState::Known(identity) => page.bold(&identity.to_string()),
            IdentityState::Unset => page
                .bold("none")
                .dim("  keywords only, or vectors as they are given"),
            IdentityState::Unknown => page
                .bold("unknown")
                .dim("  nobody recorded which model made the vectors"),
        };
        page.end();
        for space in &report.spaces {
            let (name, reach) = describe(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })?;
    if let Some(why) = &report.why {
        out.warn(why);
    }
    out.warnings(&report.warnings);
    Ok(Exit::Done)
}
