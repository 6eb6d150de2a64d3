//! Asking a server what it is before it is registered: its API, the length of its vectors, its model's digest.

use std::sync::Arc;

use loci_core::{Error, Result};

use super::client::{Client, Failure};
use super::config::{Api, MAX_DIMENSION, ServerConfig, check_model};
use super::retry::{Clock, GaveUp, Limits, SystemClock};
use super::wire;

/// What a user knows of a server before it was ever asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidate {
    /// What it is to be called.
    pub name: String,
    /// Its address.
    pub url: String,
    /// The model it is to be asked for.
    pub model: String,
    /// Which requests it understands, where the user says so; else it is found out.
    pub api: Option<Api>,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// Whether texts may leave this machine for it.
    pub allow_remote: bool,
    /// What the model wants before a question.
    pub query_prefix: String,
    /// What the model wants before a text that is stored.
    pub passage_prefix: String,
}

/// What is sent to see how long a vector is.
const SAMPLE: &str = "The harbour is quiet in the morning.";

/// Asks the server and returns what there is to store about it.
///
/// The revision is the digest of the model where the server lists one (Ollama does); else there is none, and vectors
/// are as good as the user's word that the model stays the same.
pub fn probe(candidate: &Candidate) -> Result<ServerConfig> {
    // Somebody waits for this answer: a server that does not run should be said so soon.
    let limits = Limits {
        attempts: 2,
        ..Limits::default()
    };
    probe_with_limits(candidate, limits, Arc::new(SystemClock::default()))
}

/// The same within other limits, by another clock.
pub fn probe_with_limits(
    candidate: &Candidate,
    limits: Limits,
    clock: Arc<dyn Clock>,
) -> Result<ServerConfig> {
    check_model(&candidate.name, &candidate.model)?;
    let client = Client::new(
        &candidate.name,
        &candidate.url,
        candidate.allow_remote,
        candidate.key_env.as_deref(),
        limits,
        clock,
    )?;
    let (api, revision) = recognise(candidate, &client)?;
    let dimension = dimension(candidate, &client, api)?;
    let config = ServerConfig {
        name: candidate.name.clone(),
        url: candidate.url.clone(),
        model: candidate.model.clone(),
        api,
        key_env: candidate.key_env.clone(),
        allow_remote: candidate.allow_remote,
        revision,
        dimension,
        query_prefix: candidate.query_prefix.clone(),
        passage_prefix: candidate.passage_prefix.clone(),
    };
    config.check()?;
    Ok(config)
}

/// Which API it has, and its model's digest: a server that lists models the way Ollama does is one.
fn recognise(candidate: &Candidate, client: &Client) -> Result<(Api, Option<String>)> {
    let told = candidate.api.or_else(|| client.address.hinted());
    if told == Some(Api::OpenAi) {
        return Ok((Api::OpenAi, None));
    }
    let listed = match client.get(&client.address.tags()) {
        Ok(list) => wire::digest(&list, &candidate.model),
        Err(failed) if failed.failure.answered => None,
        Err(failed) => return Err(failure(candidate, &failed)),
    };
    let api = told.unwrap_or(if listed.is_some() {
        Api::Ollama
    } else {
        Api::OpenAi
    });
    Ok((api, listed.flatten()))
}

fn dimension(candidate: &Candidate, client: &Client, api: Api) -> Result<usize> {
    let text = format!("{}{SAMPLE}", candidate.passage_prefix);
    let body = wire::question(&candidate.model, &[&text])?;
    let answer = client
        .post(&client.address.endpoint(api), &body)
        .map_err(|failed| failure(candidate, &failed))?;
    let vectors =
        wire::vectors(api, &answer, 0, 1, None).map_err(|what| wrong(candidate, &client.clean(&what)))?;
    let length = vectors.first().map_or(0, Vec::len);
    if length > MAX_DIMENSION {
        return Err(wrong(candidate, &format!("its vectors have {length} values")));
    }
    Ok(length)
}

fn failure(candidate: &Candidate, failed: &GaveUp<Failure>) -> Error {
    let Failure { kind, what, hint, .. } = &failed.failure;
    let hint = hint.replace("nothing was stored", "nothing was registered");
    Error::new(*kind, format!("{}: {what}", who(candidate))).hint(hint)
}

fn wrong(candidate: &Candidate, what: &str) -> Error {
    Error::new(
        loci_core::ErrorKind::Unavailable,
        format!("{}: {what}", who(candidate)),
    )
    .hint("nothing was registered; see that the address is an embedding server's and the model makes vectors")
}

fn who(candidate: &Candidate) -> String {
    format!(
        "the embedding server {:?} (model {:?}) cannot be registered",
        candidate.name, candidate.model
    )
}
