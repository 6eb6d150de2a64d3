//! `loci embedder show`: the model that answers, whether it is here, and every space there is.

use loci_core::{IdentityState, Space};
use loci_engine::Embedders as _;
use loci_engine::status::embedder;
use serde_json::json;

use super::{SpaceJson, describe};
use crate::errors::{Done, Exit};
use crate::session::Session;

/// Show the model behind a collection's vectors
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci embedder show --json")]
pub(crate) struct Args {}

/// Shows it.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.read()?;
    let info = collection.info()?;
    let spaces: Vec<Space> = match collection.spaces() {
        Some(spaces) => spaces.list_spaces()?,
        None => Vec::new(),
    };
    let found = match &info.identity {
        IdentityState::Known(identity) => Some(session.embedders.find(identity)),
        IdentityState::Unset | IdentityState::Unknown => None,
    };
    let shown = embedder(&info.identity, info.dimension);
    let why = found
        .as_ref()
        .and_then(|found| found.as_ref().err())
        .map(ToString::to_string);
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({
            "model": shown.model,
            "revision": shown.revision,
            "dimension": shown.dimension,
            "state": shown.state,
            "available": found.as_ref().is_some_and(Result::is_ok),
            "why": why,
            "weight": found.and_then(Result::ok).map(|found| found.weight()),
            "spaces": spaces.iter().map(SpaceJson::of).collect::<Vec<_>>(),
            "warnings": info.warnings,
        }))?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
        match &info.identity {
            IdentityState::Known(identity) => page.bold(&identity.to_string()),
            IdentityState::Unset => page
                .bold("none")
                .dim("  keywords only, or vectors as they are given"),
            IdentityState::Unknown => page
                .bold("unknown")
                .dim("  nobody recorded which model made the vectors"),
        };
        page.end();
        for space in &spaces {
            let (name, reach) = describe(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })?;
    if let Some(why) = why {
        out.warn(&why);
    }
    out.warnings(&info.warnings);
    Ok(Exit::Done)
}
