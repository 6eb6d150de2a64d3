//! The commit stage: embeds waiting sources with no lock held, then commits them, opening the collection on
//! demand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{
    Capability, Collection, CollectionExt, Error, ErrorKind, OpenOptions, Result, RevisionOutcome,
    SourceRevision, Write,
};

use super::OlderDrawers;
use super::group::{SourceVerdict, SourceWork, WaitingSource};
use super::queue::JobTicket;
use crate::palace::{FilingSession, MODEL_CHANGES, Palace, model_changes_error};
use crate::switch::fill_after;

/// A source that was handed to the collection, and its outcome.
#[derive(Debug)]
pub(crate) struct FiledSource {
    /// Its name.
    pub(crate) source: String,
    /// The ticket of the found source it belongs to.
    pub(crate) ticket: JobTicket,
    /// The number of its drawers that did not change.
    pub(crate) kept: u64,
    /// The drawers of an older filing of it.
    pub(crate) recognised: OlderDrawers,
    /// The verdict on the found source once this is filed.
    pub(crate) verdict: SourceVerdict,
    /// The collection's answer.
    pub(crate) outcome: Result<RevisionOutcome>,
}

/// The outcome of one commit.
#[derive(Debug)]
pub(crate) struct CommitOutcome {
    /// Its sources.
    pub(crate) filed: Vec<FiledSource>,
    /// The time spent embedding.
    pub(crate) embedding: Duration,
    /// The collection's sequence number before drawers were filed that still lack vectors, if any were.
    pub(crate) lacks_vectors_after: Option<u64>,
}

/// Commits sources to a collection.
pub(crate) struct SourceCommitter<'a> {
    palace: &'a Palace,
    /// The collection, once it exists.
    collection: Option<Arc<dyn Collection>>,
    filing: Option<FilingSession>,
    /// The reason drawers get no vectors although a model is recorded.
    lacking: Option<String>,
    /// The palace, if it was created for these sources.
    made_palace: Option<String>,
    /// The number of found sources filed so far.
    mined: u64,
}

impl<'a> SourceCommitter<'a> {
    /// Opens the collection if it exists; creates nothing.
    pub(crate) fn new(palace: &'a Palace) -> Result<Self> {
        let backend = palace.address()?.backend;
        backend.descriptor().require_capability(&Capability::Sources)?;
        // Opened for reading: a run that finds nothing to file must not create a palace or load a model.
        let collection = match palace.open(&OpenOptions::default()) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        Ok(Self {
            palace,
            collection,
            filing: None,
            lacking: None,
            made_palace: None,
            mined: 0,
        })
    }

    /// Returns the collection, if it exists.
    pub(crate) fn collection(&self) -> Option<Arc<dyn Collection>> {
        self.collection.clone()
    }

    /// Returns the reason drawers were filed without vectors.
    pub(crate) fn lacking(&self) -> Option<String> {
        self.lacking.clone()
    }

    /// Returns the palace, if it was created for these sources.
    pub(crate) fn made_palace(&self) -> Option<String> {
        self.made_palace.clone()
    }

    /// Files sources in one commit.
    pub(crate) fn commit_sources(&mut self, mut waiting: Vec<WaitingSource>) -> Result<CommitOutcome> {
        let filing = self.open_filing()?;
        // Read before the commit: every drawer of this batch gets a higher number, so filling after it finds
        // them all.
        let is_large = waiting.iter().any(WaitingSource::is_large);
        let lacks_vectors_after = if is_large {
            Some(filing.collection().info()?.seq.0)
        } else {
            None
        };
        let began = Instant::now();
        self.embed_or_postpone(&filing, &mut waiting)?;
        let embedding = began.elapsed();
        let mut done = commit_or_isolate(&filing, &waiting);
        for _ in 0..MODEL_CHANGES {
            if !matches!(&done, Err(error) if error.kind() == ErrorKind::IdentityMismatch) {
                break;
            }
            // Another process switched the collection to another model in the meantime: continue with that one.
            self.filing = None;
            let filing = self.open_filing()?;
            forget_vectors(&mut waiting);
            self.embed_or_postpone(&filing, &mut waiting)?;
            done = commit_or_isolate(&filing, &waiting);
        }
        let done = done.map_err(|error| match error.kind() {
            ErrorKind::IdentityMismatch => model_changes_error(error),
            _ => error,
        });
        let done = done.map_err(|error| error.with_context("sources_filed_before", self.mined))?;
        let filed = waiting.into_iter().zip(done).map(|(one, outcome)| FiledSource {
            source: one.source,
            ticket: one.ticket,
            kept: one.kept,
            recognised: one.recognised,
            verdict: one.verdict,
            outcome,
        });
        let filed: Vec<FiledSource> = filed.collect();
        let is_mined = |one: &&FiledSource| {
            one.verdict == SourceVerdict::Mined && matches!(one.outcome, Ok(RevisionOutcome::Done { .. }))
        };
        self.mined += filed.iter().filter(is_mined).count() as u64;
        Ok(CommitOutcome {
            filed,
            embedding,
            lacks_vectors_after,
        })
    }

    /// Embeds waiting sources. A failing model does not keep words from being filed: they are found by keyword,
    /// and are embedded once the model works again.
    fn embed_or_postpone(&mut self, filing: &FilingSession, waiting: &mut [WaitingSource]) -> Result<()> {
        if self.lacking.is_some() {
            return Ok(());
        }
        match embed_small_sources(filing, waiting) {
            // Some texts may have been embedded before the failure; a source gets all of its vectors or none.
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                forget_vectors(waiting);
                self.lacking = Some(error.to_string());
                Ok(())
            }
            embedded => embedded,
        }
    }

    /// Returns the collection opened for writing, created if it does not exist.
    fn open_filing(&mut self) -> Result<FilingSession> {
        if let Some(filing) = &self.filing {
            return Ok(filing.clone());
        }
        let filing = self.palace.open_filing(None)?;
        self.lacking = filing.lacking().map(str::to_owned);
        self.made_palace = self.made_palace.take().or_else(|| filing.made_palace());
        self.collection = Some(filing.collection().clone());
        self.filing = Some(filing.clone());
        Ok(filing)
    }

    /// Counts the drawers of the collection that have no vector.
    pub(crate) fn count_without_vector(&self) -> Result<u64> {
        let Some(collection) = &self.collection else {
            return Ok(0);
        };
        let info = collection.info()?;
        Ok(info.drawers.saturating_sub(info.coverage.nearest))
    }

    /// Embeds every drawer without a vector that was filed after the sequence number `seq`; `tell` is called
    /// after every batch.
    pub(crate) fn fill_after(&mut self, seq: u64, tell: &mut dyn FnMut()) -> Result<()> {
        let filing = self.open_filing()?;
        let able = self.lacking.is_none() && filing.collection().spaces().is_some();
        let Some(embedder) = filing.embedder().filter(|_| able) else {
            return Ok(());
        };
        let filled = fill_after(filing.collection().as_ref(), embedder, seq, &mut |_| {
            tell();
            true
        });
        match filled {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                self.lacking = Some(error.to_string());
                Ok(())
            }
            // Another process switched the collection to another model in the meantime, which filled the gaps
            // as well.
            Err(error) if error.kind() == ErrorKind::IdentityMismatch => Ok(()),
            filled => filled,
        }
    }
}

/// Embeds every new drawer of small sources, many texts in one call.
fn embed_small_sources(filing: &FilingSession, waiting: &mut [WaitingSource]) -> Result<()> {
    // The writes of all sources are joined for the embedder and dealt out again by their counts: a model is
    // much faster on one large batch than on many small ones.
    let mut all = Vec::new();
    let mut counts = Vec::new();
    for one in waiting.iter_mut() {
        let writes = match &mut one.work {
            SourceWork::Small(writes) => std::mem::take(writes),
            SourceWork::Large(..) => Vec::new(),
        };
        counts.push(writes.len());
        all.extend(writes);
    }
    let embedded = filing.embed_new(&mut all);
    // Dealt out even after an error, since the sources still have to be filed without vectors.
    let mut all = all.into_iter();
    for (one, count) in waiting.iter_mut().zip(counts) {
        if let SourceWork::Small(writes) = &mut one.work {
            *writes = all.by_ref().take(count).collect();
        }
    }
    embedded
}

/// Removes the vectors again, so that another model can make them.
fn forget_vectors(waiting: &mut [WaitingSource]) {
    for one in waiting {
        let SourceWork::Small(writes) = &mut one.work else {
            continue;
        };
        for write in writes {
            if let Write::Add(new) = write {
                new.embedding = None;
            }
        }
    }
}

/// Files waiting sources in one commit. If one source spoils the commit, they are filed one by one, so that
/// only that one fails.
fn commit_or_isolate(
    filing: &FilingSession,
    waiting: &[WaitingSource],
) -> Result<Vec<Result<RevisionOutcome>>> {
    match revise_sources(filing, waiting) {
        Ok(done) => Ok(done.into_iter().map(Ok).collect()),
        Err(error) if concerns_one_source(&error) => Ok(waiting
            .iter()
            .map(|one| {
                let done = revise_sources(filing, std::slice::from_ref(one))?;
                done.into_iter().next().ok_or_else(missing_outcome)
            })
            .collect()),
        Err(error) => Err(error),
    }
}

fn revise_sources(filing: &FilingSession, waiting: &[WaitingSource]) -> Result<Vec<RevisionOutcome>> {
    let revisions = waiting.iter().map(|one| SourceRevision {
        source: one.source.clone(),
        expects: one.expects,
        stamp: Some(one.stamp.clone()),
        parts: one.work.write_parts(),
    });
    // Behind the sources, so that the outcomes of those come first. One that was overtaken concerns a newer deletion.
    let restores = waiting.iter().flat_map(|one| &one.restores);
    let restored = restores.map(|(record, revision)| SourceRevision {
        source: record.clone(),
        expects: Some(*revision),
        stamp: None,
        parts: Box::new(std::iter::empty()),
    });
    let mut done = filing
        .collection()
        .require_sources()?
        .revise(revisions.chain(restored).collect())?;
    done.truncate(waiting.len());
    Ok(done)
}

/// Returns whether an error concerns one source only, so that the others can still be filed.
fn concerns_one_source(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid)
}

fn missing_outcome() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the backend did not report the outcome of a source",
    )
}
