//! `loci model list`: the models that are installed and those that can be.

use loci_embed::models::{ListedModel, ModelState};
use serde_json::{Value as Json, json};

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// List installed models and those that can be installed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci model list --json")]
pub(crate) struct ModelListArgs {}

/// Lists the models and servers.
pub(crate) fn run(_: &ModelListArgs, session: &mut CommandSession) -> CommandResult {
    let models = session.embedders.models()?;
    let listed = models.list_models();
    let servers = models.list_servers()?;
    let folder = models.folder().display().to_string();
    let out = &mut session.out;
    if out.is_json() {
        let mut rows: Vec<Json> = listed.iter().map(model_to_json).collect();
        // A server whose file cannot be read is listed, so that it can be removed.
        rows.extend(servers.iter().map(|(name, config)| match config {
            Ok(config) => json!({
                "name": name, "kind": "server", "state": "installed", "url": config.url, "model": config.model,
                "api": config.api.name(), "dimension": config.dimension, "revision": config.revision,
            }),
            Err(error) => json!({
                "name": name, "kind": "server", "state": "damaged", "why": error.to_string(),
            }),
        }));
        out.write_json(&json!({ "models": rows, "folder": folder }))?;
        return Ok(ExitStatus::Done);
    }
    out.write_page(|page| {
        for one in &listed {
            page.bold(&one.name).plain("  ").plain(&describe_state(one).0);
            page.dim(&format!("  {}", describe_model(one))).end();
        }
        for (name, config) in &servers {
            page.bold(name).plain("  ");
            match config {
                Ok(config) => page.plain(&format!("{} at {}", config.model, config.url)),
                Err(error) => page.red(&error.to_string()),
            };
            page.end();
        }
    })?;
    Ok(ExitStatus::Done)
}

fn model_to_json(one: &ListedModel) -> Json {
    let (state, why) = describe_state(one);
    // The built-in model is part of the program and takes no space of its own.
    let kind = if one.size == 0 { "builtin" } else { "package" };
    json!({
        "name": one.name, "kind": kind, "state": state, "why": why, "bytes": one.size, "licence": one.licence,
    })
}

fn describe_state(one: &ListedModel) -> (String, Option<&str>) {
    match &one.state {
        ModelState::Absent => ("absent".into(), None),
        ModelState::Installed => ("installed".into(), None),
        ModelState::Damaged(why) => ("damaged".into(), Some(why)),
    }
}

fn describe_model(one: &ListedModel) -> String {
    match one.size {
        0 => "part of this program".to_owned(),
        // Megabytes as download pages count them.
        size => format!("{} MB, {}", size.div_ceil(1_000_000), one.licence),
    }
}
