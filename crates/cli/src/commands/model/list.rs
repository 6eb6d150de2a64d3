//! `loci model list`: what can be used, and what could be installed.

use loci_embed::models::{Listed, State};
use serde_json::{Value as Json, json};

use crate::errors::{Done, Exit};
use crate::session::Session;

/// List the models that are here and those that can be installed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci model list --json")]
pub(crate) struct Args {}

/// Lists them.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let models = session.embedders.models()?;
    let listed = models.list();
    let servers = models.servers()?;
    let folder = models.folder().display().to_string();
    let out = &mut session.out;
    if out.is_json() {
        let mut rows: Vec<Json> = listed.iter().map(row).collect();
        rows.extend(servers.iter().map(|(name, config)| match config {
            Ok(config) => json!({
                "name": name, "kind": "server", "state": "installed", "url": config.url, "model": config.model,
                "api": config.api.name(), "dimension": config.dimension, "revision": config.revision,
            }),
            Err(error) => json!({
                "name": name, "kind": "server", "state": "damaged", "why": error.to_string(),
            }),
        }));
        out.json(&json!({ "models": rows, "folder": folder }))?;
        return Ok(Exit::Done);
    }
    out.page(|page| {
        for one in &listed {
            page.bold(&one.name).plain("  ").plain(&state(one).0);
            page.dim(&format!("  {}", about(one))).end();
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
    Ok(Exit::Done)
}

fn row(one: &Listed) -> Json {
    let (state, why) = state(one);
    let kind = if one.size == 0 { "builtin" } else { "package" };
    json!({
        "name": one.name, "kind": kind, "state": state, "why": why, "bytes": one.size, "licence": one.licence,
    })
}

fn state(one: &Listed) -> (String, Option<&str>) {
    match &one.state {
        State::Absent => ("absent".into(), None),
        State::Installed => ("installed".into(), None),
        State::Damaged(why) => ("damaged".into(), Some(why)),
    }
}

fn about(one: &Listed) -> String {
    match one.size {
        0 => "part of this program".to_owned(),
        size => format!("{} MB, {}", size.div_ceil(1_000_000), one.licence),
    }
}
