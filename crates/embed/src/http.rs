//! An embedder that asks a registered server over HTTP; texts leave the machine only with permission.
//!
//! It starts no thread and connects on first use. A request that fails for a possibly temporary reason is retried
//! within [`RequestLimits`], a query for a few seconds only; a batch that is too large for the server is halved, down to single texts. Positions of texts
//! in messages count from 0, as in [`CheckedEmbedder`](crate::CheckedEmbedder).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use loci_core::{Embedder, EmbedderIdentity, Error, Result};

mod address;
mod client;
pub mod config;
mod known;
pub mod probe;
pub mod retry;
mod wire;

pub use config::{EmbeddingApi, MAX_DIMENSION, ServerConfig, UNPINNED};
pub use probe::{ServerCandidate, probe_server};
pub use retry::{RequestLimits, RetryClock, SystemClock};

use client::{EmbeddingClient, RequestFailure};
use retry::RetryFailure;

/// An embedding server.
#[derive(Debug)]
pub struct EmbeddingServer {
    config: ServerConfig,
    identity: EmbedderIdentity,
    client: EmbeddingClient,
}

/// The texts a request concerns, for messages, and its limits.
struct BatchPlace<'a> {
    batch: usize,
    batches: usize,
    texts: usize,
    /// The limits of each request.
    limits: &'a RequestLimits,
}

impl EmbeddingServer {
    /// Checks a configuration and prepares the client; opens no connection and resolves no name.
    ///
    /// Refuses an address that is not http or https or contains a password, another machine without `allow_remote`,
    /// and a key that would travel unencrypted.
    pub fn new(config: ServerConfig) -> Result<Self> {
        Self::with_limits(config, RequestLimits::default(), Arc::new(SystemClock::default()))
    }

    /// Does the same with other limits and another clock.
    pub fn with_limits(
        config: ServerConfig,
        limits: RequestLimits,
        clock: Arc<dyn RetryClock>,
    ) -> Result<Self> {
        config.check_values()?;
        let client = EmbeddingClient::new(
            &config.name,
            &config.url,
            config.allow_remote,
            config.key_env.as_deref(),
            limits,
            clock,
        )?;
        let identity = EmbedderIdentity {
            model: config.model.clone(),
            revision: config.revision.clone().unwrap_or_else(|| UNPINNED.to_owned()),
            dimension: config.dimension,
        };
        Ok(Self {
            config,
            identity,
            client,
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn embed_texts(&self, prefix: &str, texts: &[&str], limits: &RequestLimits) -> Result<Vec<Vec<f32>>> {
        let ranges = split_batches(prefix.len(), texts, limits);
        let mut vectors = Vec::with_capacity(texts.len());
        for (at, range) in ranges.iter().enumerate() {
            let place = BatchPlace {
                batch: at + 1,
                batches: ranges.len(),
                texts: texts.len(),
                limits,
            };
            self.embed_range(prefix, texts, range.clone(), &place, &mut vectors)?;
        }
        Ok(vectors)
    }

    /// Appends the vectors of the texts in `range`, in halves if they are too much at once.
    fn embed_range(
        &self,
        prefix: &str,
        texts: &[&str],
        range: Range<usize>,
        place: &BatchPlace<'_>,
        vectors: &mut Vec<Vec<f32>>,
    ) -> Result<()> {
        let some = texts.get(range.clone()).unwrap_or_default();
        let prefixed: Vec<_> = some.iter().map(|text| with_prefix(prefix, text)).collect();
        let input: Vec<&str> = prefixed.iter().map(AsRef::as_ref).collect();
        let body = wire::encode_question(&self.config.model, &input)?;
        let api = self.config.api;
        let url = self.client.address.endpoint_url(api);
        let failed = match self.client.post(&url, &body, place.limits) {
            Ok(answer) => {
                let found =
                    wire::decode_vectors(api, &answer, range.start, some.len(), Some(self.config.dimension));
                vectors.extend(found.map_err(|what| self.wrong_answer_error(&range, place, &what))?);
                return Ok(());
            }
            Err(failed) => failed,
        };
        // Only a refusal for size is worth halving; any other failure would repeat for each half.
        if !failed.failure.too_much {
            return Err(self.failed_request_error(&range, place, &failed));
        }
        if some.len() <= 1 {
            let length = input.first().map_or(0, |text| text.len());
            return Err(self.too_long_error(range.start, length, place, &failed.failure));
        }
        // Halves, and not single texts at once: most refusals are for a batch only a little too large.
        let middle = range.start + some.len() / 2;
        self.embed_range(prefix, texts, range.start..middle, place, vectors)?;
        self.embed_range(prefix, texts, middle..range.end, place, vectors)
    }

    fn wrong_answer_error(&self, range: &Range<usize>, place: &BatchPlace<'_>, what: &str) -> Error {
        let what = format!(
            "{}: {}",
            self.describe_place(range, place),
            self.client.clean_text(what)
        );
        Error::new(loci_core::ErrorKind::Unavailable, what)
            .with_hint("nothing was stored; check that the server still has the model it was registered with")
    }

    fn failed_request_error(
        &self,
        range: &Range<usize>,
        place: &BatchPlace<'_>,
        failed: &RetryFailure<RequestFailure>,
    ) -> Error {
        let RequestFailure { kind, what, hint, .. } = &failed.failure;
        let tries = match failed.attempts {
            1 => String::new(),
            attempts => format!(", after {attempts} attempts"),
        };
        Error::new(
            *kind,
            format!("{}: {what}{tries}", self.describe_place(range, place)),
        )
        .with_hint(hint.clone())
    }

    fn too_long_error(
        &self,
        at: usize,
        length: usize,
        place: &BatchPlace<'_>,
        failure: &RequestFailure,
    ) -> Error {
        let what = format!(
            "text {at} of {} with {length} bytes is too long for {}: {}",
            place.texts,
            self.describe_server(),
            failure.what
        );
        Error::invalid(what).with_context("text", at).with_hint(
            "nothing was stored; cut the text into smaller pieces, or use a model that takes longer ones",
        )
    }

    fn describe_place(&self, range: &Range<usize>, place: &BatchPlace<'_>) -> String {
        format!(
            "{} failed in batch {} of {} (texts {}..{} of {})",
            self.describe_server(),
            place.batch,
            place.batches,
            range.start,
            range.end,
            place.texts
        )
    }

    fn describe_server(&self) -> String {
        format!(
            "the embedding server {:?} (model {:?})",
            self.config.name, self.config.model
        )
    }
}

impl Embedder for EmbeddingServer {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed_texts(&self.config.passage_prefix, texts, &self.client.limits)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let limits = self.client.limits.for_query();
        let mut vectors = self.embed_texts(&self.config.query_prefix, &[text], &limits)?;
        vectors
            .pop()
            .ok_or_else(|| Error::new(loci_core::ErrorKind::Internal, "one text gave no vector"))
    }

    fn is_pinned(&self) -> bool {
        // Even with a recorded digest: a server may exchange the model under its name at any time.
        false
    }
}

fn with_prefix<'a>(prefix: &str, text: &'a str) -> Cow<'a, str> {
    match prefix {
        "" => Cow::Borrowed(text),
        prefix => Cow::Owned(format!("{prefix}{text}")),
    }
}

/// Groups texts into batches that are sent together; no text is ever cut.
fn split_batches(prefix: usize, texts: &[&str], limits: &RequestLimits) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (at, text) in texts.iter().enumerate() {
        let size = prefix + text.len();
        match ranges.last_mut() {
            // By bytes too: 64 long texts would exceed the request limits of most servers.
            Some(last) if last.len() < limits.batch_texts && bytes + size <= limits.batch_bytes => {
                last.end = at + 1;
                bytes += size;
            }
            _ => {
                ranges.push(at..at + 1);
                bytes = size;
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_as_much_as_they_may() {
        let limits = RequestLimits {
            batch_texts: 3,
            batch_bytes: 10,
            ..RequestLimits::default()
        };
        let check = |prefix: usize, texts: &[&str], expect: &[usize]| {
            let ranges = split_batches(prefix, texts, &limits);
            let lengths: Vec<_> = ranges.iter().map(ExactSizeIterator::len).collect();
            assert_eq!(lengths, expect, "{texts:?}");
            assert!(ranges.into_iter().flatten().eq(0..texts.len()), "{texts:?}");
        };
        check(0, &[], &[]);
        check(0, &["a"; 3], &[3]);
        check(0, &["a"; 7], &[3, 3, 1]);
        check(0, &["aaaaa", "aaaaa", "a"], &[2, 1]);
        check(0, &["a", "aaaaaaaaaaaaaaaaaaaa", "a"], &[1, 1, 1]);
        check(0, &["", "", "", ""], &[3, 1]);
        check(4, &["a"; 3], &[2, 1]);
    }
}
