//! `loci model list`: the models that are installed and those that can be.

use loci_core::Error;
use loci_embed::http::ServerConfig;
use loci_embed::models::{ListedModel, ModelState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// List installed models and those that can be installed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci model list --json")]
pub(crate) struct ModelListArgs {}

/// The models and servers of this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelList {
    /// Models first, then servers.
    models: Vec<ModelRow>,
    /// The folder of installed models.
    folder: String,
}

/// A model or server as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum ModelRow {
    /// A model.
    Model(ModelFields),
    /// A server that can be used.
    Server(ServerFields),
    /// A server whose file cannot be read; it is listed so that it can be removed.
    BrokenServer(BrokenServerFields),
}

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelFields {
    /// Its name.
    name: String,
    /// `builtin` or `package`.
    kind: &'static str,
    /// `absent`, `installed` or `damaged`.
    state: String,
    /// The damage.
    why: Option<String>,
    /// Its size in bytes; 0 for the built-in model.
    bytes: u64,
    /// Its licence.
    licence: String,
}

/// An embedding server.
#[derive(Debug, Serialize, JsonSchema)]
struct ServerFields {
    /// Its name.
    name: String,
    /// Always `server`.
    kind: &'static str,
    /// Always `installed`.
    state: &'static str,
    /// Its address.
    url: String,
    /// The name of the model on the server.
    model: String,
    /// Its API: openai or ollama.
    api: &'static str,
    /// The dimension of its vectors.
    dimension: usize,
    /// A fingerprint of its vectors.
    revision: Option<String>,
}

/// An embedding server whose file cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
struct BrokenServerFields {
    /// Its name.
    name: String,
    /// Always `server`.
    kind: &'static str,
    /// Always `damaged`.
    state: &'static str,
    /// The reason.
    why: String,
}

/// Lists the models and servers.
pub(crate) fn run(_: &ModelListArgs, session: &mut CommandSession) -> CommandResult {
    let models = session.embedders.models()?;
    let listed = models.list_models();
    let servers = models.list_servers()?;
    let folder = models.folder().display().to_string();
    let out = &mut session.out;
    if out.is_json() {
        let models = listed.iter().map(describe_listed);
        let servers = servers
            .iter()
            .map(|(name, config)| describe_server(name, config.as_ref()));
        out.write_json(&ModelList {
            models: models.chain(servers).collect(),
            folder,
        })?;
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

fn describe_listed(one: &ListedModel) -> ModelRow {
    let (state, why) = describe_state(one);
    ModelRow::Model(ModelFields {
        name: one.name.to_string(),
        // The built-in model is part of the program and takes no space of its own.
        kind: if one.size == 0 { "builtin" } else { "package" },
        state,
        why: why.map(str::to_owned),
        bytes: one.size,
        licence: one.licence.to_string(),
    })
}

fn describe_server(name: &str, config: std::result::Result<&ServerConfig, &Error>) -> ModelRow {
    let (name, kind) = (name.to_owned(), "server");
    match config {
        Ok(config) => ModelRow::Server(ServerFields {
            name,
            kind,
            state: "installed",
            url: config.url.clone(),
            model: config.model.clone(),
            api: config.api.name(),
            dimension: config.dimension,
            revision: config.revision.clone(),
        }),
        Err(error) => ModelRow::BrokenServer(BrokenServerFields {
            name,
            kind,
            state: "damaged",
            why: error.to_string(),
        }),
    }
}

fn describe_state(one: &ListedModel) -> (String, Option<&str>) {
    match &one.state {
        ModelState::Absent => ("absent".into(), None),
        ModelState::Installed => ("installed".into(), None),
        ModelState::Damaged(why) => ("damaged".into(), Some(why)),
    }
}

/// Describes a model in a few words.
pub(crate) fn describe_model(one: &ListedModel) -> String {
    match one.size {
        0 => "part of this program".to_owned(),
        // Megabytes as download pages count them.
        size => format!("{} MB, {}", size.div_ceil(1_000_000), one.licence),
    }
}
