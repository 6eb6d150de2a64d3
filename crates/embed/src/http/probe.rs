//! Probing a server before it is registered: its API, the length of its vectors, its model's digest.

use std::sync::Arc;

use loci_core::{Error, Result};

use super::client::{EmbeddingClient, RequestFailure};
use super::config::{EmbeddingApi, MAX_DIMENSION, ServerConfig, check_model};
use super::retry::{RequestLimits, RetryClock, RetryFailure, SystemClock};
use super::wire;

/// A server as the user describes it, before it was ever asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerCandidate {
    /// The name to register it under.
    pub name: String,
    /// Its address.
    pub url: String,
    /// The model to request from it.
    pub model: String,
    /// Its API, if the user names it; otherwise it is detected.
    pub api: Option<EmbeddingApi>,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// True if texts may leave this machine for it.
    pub allow_remote: bool,
    /// The text that the model expects before a query.
    pub query_prefix: String,
    /// The text that the model expects before a stored text.
    pub passage_prefix: String,
}

/// The text sent to learn the length of a vector.
const SAMPLE: &str = "The harbour is quiet in the morning.";

/// Asks the server and returns the configuration to store.
///
/// The revision is the digest of the model if the server lists one, as Ollama does. Otherwise there is none, and
/// the vectors rely on the user's word that the model stays the same.
pub fn probe_server(candidate: &ServerCandidate) -> Result<ServerConfig> {
    // The user is waiting: a server that is not running should be reported soon.
    let limits = RequestLimits {
        attempts: 2,
        ..RequestLimits::default()
    };
    probe_with_limits(candidate, limits, Arc::new(SystemClock::default()))
}

/// Does the same with other limits and another clock.
pub fn probe_with_limits(
    candidate: &ServerCandidate,
    limits: RequestLimits,
    clock: Arc<dyn RetryClock>,
) -> Result<ServerConfig> {
    check_model(&candidate.name, &candidate.model)?;
    let client = EmbeddingClient::new(
        &candidate.name,
        &candidate.url,
        candidate.allow_remote,
        candidate.key_env.as_deref(),
        limits,
        clock,
    )?;
    let (api, revision) = recognise_api(candidate, &client)?;
    let dimension = probe_dimension(candidate, &client, api)?;
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
    config.check_values()?;
    Ok(config)
}

/// Detects the API and the model's digest: a server that lists models as Ollama does is taken for one.
fn recognise_api(
    candidate: &ServerCandidate,
    client: &EmbeddingClient,
) -> Result<(EmbeddingApi, Option<String>)> {
    let told = candidate.api.or_else(|| client.address.hinted_api());
    if told == Some(EmbeddingApi::OpenAi) {
        return Ok((EmbeddingApi::OpenAi, None));
    }
    let listed = match client.get(&client.address.tags_url()) {
        Ok(list) => wire::find_digest(&list, &candidate.model),
        // An OpenAI-like server answers 404 here; one that does not answer at all is not worth a second
        // request.
        Err(failed) if failed.failure.answered => None,
        Err(failed) => return Err(request_error(candidate, &failed)),
    };
    let api = told.unwrap_or(if listed.is_some() {
        EmbeddingApi::Ollama
    } else {
        EmbeddingApi::OpenAi
    });
    Ok((api, listed.flatten()))
}

fn probe_dimension(
    candidate: &ServerCandidate,
    client: &EmbeddingClient,
    api: EmbeddingApi,
) -> Result<usize> {
    let text = format!("{}{SAMPLE}", candidate.passage_prefix);
    let body = wire::encode_question(&candidate.model, &[&text])?;
    let answer = client
        .post(&client.address.endpoint_url(api), &body, &client.limits)
        .map_err(|failed| request_error(candidate, &failed))?;
    let vectors = wire::decode_vectors(api, &answer, 0, 1, None)
        .map_err(|what| wrong_answer_error(candidate, &client.clean_text(&what)))?;
    let length = vectors.first().map_or(0, Vec::len);
    if length > MAX_DIMENSION {
        return Err(wrong_answer_error(
            candidate,
            &format!("its vectors have {length} values"),
        ));
    }
    Ok(length)
}

fn request_error(candidate: &ServerCandidate, failed: &RetryFailure<RequestFailure>) -> Error {
    let RequestFailure { kind, what, hint, .. } = &failed.failure;
    let hint = hint.replace("nothing was stored", "nothing was registered");
    Error::new(*kind, format!("{}: {what}", describe_candidate(candidate))).with_hint(hint)
}

fn wrong_answer_error(candidate: &ServerCandidate, what: &str) -> Error {
    Error::new(
        loci_core::ErrorKind::Unavailable,
        format!("{}: {what}", describe_candidate(candidate)),
    )
    .with_hint("nothing was registered; check that an embedding server is at this address and that the model makes vectors")
}

fn describe_candidate(candidate: &ServerCandidate) -> String {
    format!(
        "the embedding server {:?} (model {:?}) cannot be registered",
        candidate.name, candidate.model
    )
}
