//! An embedder that asks a server the user names, over HTTP; texts leave the machine only with leave.
//!
//! It has no thread of its own and connects when it is first asked. A request that fails in a way that may pass is
//! repeated within [`Limits`]; a batch that is too much for the server is halved down to single texts. Places of
//! texts in messages count from 0, as in [`Checked`](crate::Checked).

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

pub use config::{Api, MAX_DIMENSION, ServerConfig, UNPINNED};
pub use probe::{Candidate, probe};
pub use retry::{Clock, Limits, SystemClock};

use client::{Client, Failure};
use retry::GaveUp;

/// An embedding server.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    identity: EmbedderIdentity,
    client: Client,
}

/// Which texts a request is about, for messages.
struct Place {
    batch: usize,
    batches: usize,
    texts: usize,
}

impl Server {
    /// Checks a configuration and makes ready to ask; connects to nothing and looks no name up.
    ///
    /// Refused: what is not an http or https address, an address with a password in it, one that is not this
    /// machine without `allow_remote`, and a key that would travel unencrypted.
    pub fn new(config: ServerConfig) -> Result<Self> {
        Self::with_limits(config, Limits::default(), Arc::new(SystemClock::default()))
    }

    /// The same within other limits, by another clock.
    pub fn with_limits(config: ServerConfig, limits: Limits, clock: Arc<dyn Clock>) -> Result<Self> {
        config.check()?;
        let client = Client::new(
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

    /// What the user said of it.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn embed(&self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let ranges = batches(prefix.len(), texts, &self.client.limits);
        let mut vectors = Vec::with_capacity(texts.len());
        for (at, range) in ranges.iter().enumerate() {
            let place = Place {
                batch: at + 1,
                batches: ranges.len(),
                texts: texts.len(),
            };
            self.ask(prefix, texts, range.clone(), &place, &mut vectors)?;
        }
        Ok(vectors)
    }

    /// Appends the vectors of the texts in `range`, in halves where they are too much at once.
    fn ask(
        &self,
        prefix: &str,
        texts: &[&str],
        range: Range<usize>,
        place: &Place,
        vectors: &mut Vec<Vec<f32>>,
    ) -> Result<()> {
        let some = texts.get(range.clone()).unwrap_or_default();
        let prefixed: Vec<_> = some.iter().map(|text| with_prefix(prefix, text)).collect();
        let input: Vec<&str> = prefixed.iter().map(AsRef::as_ref).collect();
        let body = wire::question(&self.config.model, &input)?;
        let api = self.config.api;
        let failed = match self.client.post(&self.client.address.endpoint(api), &body) {
            Ok(answer) => {
                let found = wire::vectors(api, &answer, range.start, some.len(), Some(self.config.dimension));
                vectors.extend(found.map_err(|what| self.misled(&range, place, &what))?);
                return Ok(());
            }
            Err(failed) => failed,
        };
        if !failed.failure.too_much {
            return Err(self.failed(&range, place, &failed));
        }
        if some.len() <= 1 {
            let length = input.first().map_or(0, |text| text.len());
            return Err(self.too_long(range.start, length, place, &failed.failure));
        }
        let middle = range.start + some.len() / 2;
        self.ask(prefix, texts, range.start..middle, place, vectors)?;
        self.ask(prefix, texts, middle..range.end, place, vectors)
    }

    fn misled(&self, range: &Range<usize>, place: &Place, what: &str) -> Error {
        let what = format!("{}: {}", self.at(range, place), self.client.clean(what));
        Error::new(loci_core::ErrorKind::Unavailable, what)
            .hint("nothing was stored; see that the server still has the model it was registered with")
    }

    fn failed(&self, range: &Range<usize>, place: &Place, failed: &GaveUp<Failure>) -> Error {
        let Failure { kind, what, hint, .. } = &failed.failure;
        let tries = match failed.attempts {
            1 => String::new(),
            attempts => format!(", after {attempts} attempts"),
        };
        Error::new(*kind, format!("{}: {what}{tries}", self.at(range, place))).hint(hint.clone())
    }

    fn too_long(&self, at: usize, length: usize, place: &Place, failure: &Failure) -> Error {
        let what = format!(
            "text {at} of {} with {length} bytes is too long for {}: {}",
            place.texts,
            self.who(),
            failure.what
        );
        Error::invalid(what).with("text", at).hint(
            "nothing was stored; cut the text into smaller pieces, or use a model that takes longer ones",
        )
    }

    fn at(&self, range: &Range<usize>, place: &Place) -> String {
        format!(
            "{} failed in batch {} of {} (texts {}..{} of {})",
            self.who(),
            place.batch,
            place.batches,
            range.start,
            range.end,
            place.texts
        )
    }

    fn who(&self) -> String {
        format!(
            "the embedding server {:?} (model {:?})",
            self.config.name, self.config.model
        )
    }
}

impl Embedder for Server {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed(&self.config.passage_prefix, texts)
    }

    fn query(&self, text: &str) -> Result<Vec<f32>> {
        let mut vectors = self.embed(&self.config.query_prefix, &[text])?;
        vectors
            .pop()
            .ok_or_else(|| Error::new(loci_core::ErrorKind::Internal, "one text gave no vector"))
    }

    fn is_pinned(&self) -> bool {
        false
    }
}

fn with_prefix<'a>(prefix: &str, text: &'a str) -> Cow<'a, str> {
    match prefix {
        "" => Cow::Borrowed(text),
        prefix => Cow::Owned(format!("{prefix}{text}")),
    }
}

/// Cuts texts into the runs that are sent together; no text is ever cut.
fn batches(prefix: usize, texts: &[&str], limits: &Limits) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (at, text) in texts.iter().enumerate() {
        let size = prefix + text.len();
        match ranges.last_mut() {
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
        let limits = Limits {
            batch_texts: 3,
            batch_bytes: 10,
            ..Limits::default()
        };
        let check = |prefix: usize, texts: &[&str], expect: &[usize]| {
            let ranges = batches(prefix, texts, &limits);
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
