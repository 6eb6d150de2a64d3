//! `loci backends`: the backends of this build and their capabilities.

use loci_core::BackendDescriptor;
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// List the backends and their capabilities
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci backends --json")]
pub(crate) struct BackendsArgs {}

/// The backends of this build.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackendList {
    /// The backends.
    backends: Vec<BackendDescriptor>,
}

/// Lists them.
pub(crate) fn run(_: &BackendsArgs, session: &mut CommandSession) -> CommandResult {
    let mut backends = Vec::new();
    for name in session.registry.names() {
        backends.push(session.registry.make_backend(name)?.descriptor().clone());
    }
    let list = BackendList { backends };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&list)?;
        return Ok(ExitStatus::Done);
    }
    out.write_page(|page| {
        for row in &list.backends {
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
    Ok(ExitStatus::Done)
}
