//! The stage that files: embeds what waits with no lock held, and commits it, opening the collection when it must.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{
    Capability, Collection, CollectionExt, Error, ErrorKind, OpenOptions, Result, Revised, Revision, Write,
};

use super::group::{Ends, Waiting, Work};
use super::queue::JobTicket;
use crate::palace::{FilingSession, Palace};
use crate::switch::fill_after;

/// A source that was handed to the collection, and what became of it.
#[derive(Debug)]
pub(crate) struct FiledSource {
    /// Its name.
    pub(crate) source: String,
    /// The ticket of the found source it is of.
    pub(crate) ticket: JobTicket,
    /// The number of its drawers that stay as they are.
    pub(crate) kept: u64,
    /// The verdict on the found source.
    pub(crate) ends: Ends,
    /// The collection's answer.
    pub(crate) outcome: Result<Revised>,
}

/// The outcome of one commit.
#[derive(Debug)]
pub(crate) struct CommitOutcome {
    /// Its sources.
    pub(crate) filed: Vec<FiledSource>,
    /// The time embedding took.
    pub(crate) embedding: Duration,
    /// The collection's sequence number before drawers were filed that still lack their vectors.
    pub(crate) lacks_vectors_after: Option<u64>,
}

/// Commits sources to a collection.
pub(crate) struct Committer<'a> {
    palace: &'a Palace,
    /// The collection, once it exists.
    collection: Option<Arc<dyn Collection>>,
    filing: Option<FilingSession>,
    /// Why drawers get no vectors, where a model is recorded that should make them.
    lacking: Option<String>,
    /// The palace, where it was made for these sources.
    made_palace: Option<String>,
    /// The number of found sources that were filed.
    mined: u64,
}

impl<'a> Committer<'a> {
    /// Opens the collection if it exists; makes nothing.
    pub(crate) fn new(palace: &'a Palace) -> Result<Self> {
        let backend = palace.address()?.backend;
        backend.descriptor().require(&Capability::Sources)?;
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

    /// The collection, if it exists.
    pub(crate) fn collection(&self) -> Option<Arc<dyn Collection>> {
        self.collection.clone()
    }

    /// Why drawers were filed without vectors.
    pub(crate) fn lacking(&self) -> Option<String> {
        self.lacking.clone()
    }

    /// The palace, where it was made for these sources.
    pub(crate) fn made_palace(&self) -> Option<String> {
        self.made_palace.clone()
    }

    /// Files some sources in one commit.
    pub(crate) fn commit(&mut self, mut waiting: Vec<Waiting>) -> Result<CommitOutcome> {
        let filing = self.filing()?;
        let is_large = waiting.iter().any(Waiting::is_large);
        let lacks_vectors_after = if is_large {
            Some(filing.collection().info()?.seq.0)
        } else {
            None
        };
        let began = Instant::now();
        self.embed(&filing, &mut waiting)?;
        let embedding = began.elapsed();
        let mut done = commit(&filing, &waiting);
        if matches!(&done, Err(error) if error.kind() == ErrorKind::IdentityMismatch) {
            // Another process moved the collection to another model meanwhile: go on with that one.
            self.filing = None;
            let filing = self.filing()?;
            forget_vectors(&mut waiting);
            self.embed(&filing, &mut waiting)?;
            done = commit(&filing, &waiting);
        }
        let done = done.map_err(|error| error.with("sources_filed_before", self.mined))?;
        let filed = waiting.into_iter().zip(done).map(|(one, outcome)| FiledSource {
            source: one.source,
            ticket: one.ticket,
            kept: one.kept,
            ends: one.ends,
            outcome,
        });
        let filed: Vec<FiledSource> = filed.collect();
        let is_mined =
            |one: &&FiledSource| one.ends == Ends::Mined && matches!(one.outcome, Ok(Revised::Done { .. }));
        self.mined += filed.iter().filter(is_mined).count() as u64;
        Ok(CommitOutcome {
            filed,
            embedding,
            lacks_vectors_after,
        })
    }

    /// Embeds what waits. A model that fails does not keep words from being filed: they are found by keyword, and get
    /// their vectors when the model is well again.
    fn embed(&mut self, filing: &FilingSession, waiting: &mut [Waiting]) -> Result<()> {
        if self.lacking.is_some() {
            return Ok(());
        }
        match embed(filing, waiting) {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                forget_vectors(waiting);
                self.lacking = Some(error.to_string());
                Ok(())
            }
            embedded => embedded,
        }
    }

    /// The collection opened to be written, made if it is missing.
    fn filing(&mut self) -> Result<FilingSession> {
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

    /// Gives a vector to every drawer that has none and was filed after the collection's sequence number was `seq`;
    /// `tell` hears of every batch.
    pub(crate) fn fill_after(&mut self, seq: u64, tell: &mut dyn FnMut()) -> Result<()> {
        let filing = self.filing()?;
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
            // Another process moved the collection to another model meanwhile, and filled it.
            Err(error) if error.kind() == ErrorKind::IdentityMismatch => Ok(()),
            filled => filled,
        }
    }
}

/// Gives every new drawer of small sources a vector, many texts at once.
fn embed(filing: &FilingSession, waiting: &mut [Waiting]) -> Result<()> {
    let mut all = Vec::new();
    let mut counts = Vec::new();
    for one in waiting.iter_mut() {
        let writes = match &mut one.work {
            Work::Small(writes) => std::mem::take(writes),
            Work::Large(..) => Vec::new(),
        };
        counts.push(writes.len());
        all.extend(writes);
    }
    let embedded = filing.embed_new(&mut all);
    let mut all = all.into_iter();
    for (one, count) in waiting.iter_mut().zip(counts) {
        if let Work::Small(writes) = &mut one.work {
            *writes = all.by_ref().take(count).collect();
        }
    }
    embedded
}

/// Takes the vectors away again, so that another model makes them.
fn forget_vectors(waiting: &mut [Waiting]) {
    for one in waiting {
        let Work::Small(writes) = &mut one.work else {
            continue;
        };
        for write in writes {
            if let Write::Add(new) = write {
                new.embedding = None;
            }
        }
    }
}

/// Files what waits in one commit; where one source spoils it, one by one, so that only that one fails.
fn commit(filing: &FilingSession, waiting: &[Waiting]) -> Result<Vec<Result<Revised>>> {
    match revise(filing, waiting) {
        Ok(done) => Ok(done.into_iter().map(Ok).collect()),
        Err(error) if concerns_one_source(&error) => Ok(waiting
            .iter()
            .map(|one| {
                let done = revise(filing, std::slice::from_ref(one))?;
                done.into_iter().next().ok_or_else(missing_outcome)
            })
            .collect()),
        Err(error) => Err(error),
    }
}

fn revise(filing: &FilingSession, waiting: &[Waiting]) -> Result<Vec<Revised>> {
    let revisions = waiting.iter().map(|one| Revision {
        source: one.source.clone(),
        expects: one.expects,
        stamp: Some(one.stamp.clone()),
        parts: one.work.parts(),
    });
    filing.collection().require_sources()?.revise(revisions.collect())
}

/// Whether an error says that one source is wrong, so that the others can go on.
fn concerns_one_source(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid)
}

fn missing_outcome() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the backend did not say what became of a source",
    )
}
