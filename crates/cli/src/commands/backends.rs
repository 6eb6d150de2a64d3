//! `loci backends`: which backends there are and what they can do.

use serde_json::json;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// List the backends and what they can do
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci backends --json")]
pub(crate) struct Args {}

/// Lists them.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let mut rows = Vec::new();
    for name in session.registry.names() {
        rows.push(session.registry.make(name)?.descriptor().clone());
    }
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({ "backends": rows }))?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
        for row in &rows {
            let capabilities: Vec<&str> = row.capabilities.iter().map(|one| one.name()).collect();
            let upkeep: Vec<&str> = row.maintenance.iter().map(|kind| kind.name()).collect();
            page.bold(&row.name).end();
            page.plain("    ")
                .dim("can       ")
                .plain(&capabilities.join(", "))
                .end();
            page.plain("    ")
                .dim("maintain  ")
                .plain(&upkeep.join(", "))
                .end();
        }
    })?;
    Ok(Exit::Done)
}
