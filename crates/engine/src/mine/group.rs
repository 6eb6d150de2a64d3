//! Small sources wait for each other, so that one commit makes many of them durable. Each is still old or new.

use std::time::Duration;

use loci_core::{Error, ErrorKind, Result, Revised, Revision, Write};

use super::compare::Change;
use super::draft::Draft;
use crate::filing::Filing;

/// How many drawers wait for one commit, at the least and at the most.
const DRAWERS: (usize, usize) = (16, 1024);

/// About how long embedding may take before one commit: what is stopped meanwhile must be done again.
const PATIENCE: Duration = Duration::from_secs(4);

/// How many bytes of text wait for one commit.
const MOST_BYTES: usize = 2 << 20;

/// A source with more new drawers than this is filed alone and without vectors, which come afterwards; so neither
/// memory nor the time others wait grows with it.
const LARGE: usize = 4096;

/// How many drawers of a large source are made at once.
const PART: usize = 512;

/// A source that is compared and waits to be filed.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Its name.
    pub(crate) source: String,
    /// Which found thing it came from.
    pub(crate) ticket: usize,
    /// The revision of its record.
    pub(crate) expects: Option<u64>,
    /// What to remember of it.
    pub(crate) stamp: String,
    /// What is to be done.
    pub(crate) work: Work,
    /// How many drawers stay as they are.
    pub(crate) kept: u64,
    /// What is said of the found thing once this is filed.
    pub(crate) ends: Ends,
}

impl Waiting {
    /// Whether its drawers are filed without vectors first.
    pub(crate) fn is_large(&self) -> bool {
        self.work.is_large()
    }
}

/// What is said of a found thing once a source of it is filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Nothing yet; more of it follows.
    No,
    /// It was new or had changed.
    Mined,
    /// It had not changed after all.
    Unchanged,
}

/// What is to be done for a source.
#[derive(Debug)]
pub(crate) enum Work {
    /// These writes, all at once.
    Small(Vec<Write>),
    /// First the changes, then the new drawers, part by part.
    Large(Vec<Write>, Box<Draft>, Vec<usize>),
}

impl Work {
    /// What a change takes.
    pub(crate) fn of(mut change: Change, draft: Draft) -> Self {
        let mut writes = change.first_part();
        if change.adds.len() > LARGE {
            return Self::Large(writes, Box::new(draft), change.adds);
        }
        let adds = change.adds.iter().filter_map(|n| draft.drawer(*n));
        writes.extend(adds.map(Write::Add));
        Self::Small(writes)
    }

    /// Nothing but remembering the stamp.
    pub(crate) fn none() -> Self {
        Self::Small(Vec::new())
    }

    fn is_large(&self) -> bool {
        matches!(self, Self::Large(..))
    }

    fn parts(&self) -> loci_core::Parts<'_> {
        match self {
            Self::Small(writes) => Box::new(std::iter::once_with(|| writes.clone())),
            Self::Large(writes, draft, adds) => {
                let first = std::iter::once_with(|| writes.clone());
                let rest = adds.chunks(PART).map(|some| {
                    let drawers = some.iter().filter_map(|n| draft.drawer(*n));
                    drawers.map(Write::Add).collect()
                });
                Box::new(first.chain(rest))
            }
        }
    }
}

/// What waits for the next commit.
#[derive(Debug)]
pub(crate) struct Group {
    waiting: Vec<Waiting>,
    drawers: usize,
    bytes: usize,
    /// How many drawers wait at the most.
    most: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            drawers: 0,
            bytes: 0,
            most: DRAWERS.1,
        }
    }
}

impl Group {
    /// Adds a source; `true` if it is time to commit.
    pub(crate) fn push(&mut self, waiting: Waiting) -> bool {
        if let Work::Small(writes) = &waiting.work {
            self.drawers += writes.len().max(1);
            self.bytes += writes.iter().map(size_of).sum::<usize>();
        }
        let large = waiting.work.is_large();
        self.waiting.push(waiting);
        large || self.drawers >= self.most || self.bytes >= MOST_BYTES
    }

    /// What waits; nothing does afterwards.
    pub(crate) fn take(&mut self) -> Vec<Waiting> {
        (self.drawers, self.bytes) = (0, 0);
        std::mem::take(&mut self.waiting)
    }

    /// Waits for fewer drawers with a slow model, and for more with a quick one.
    pub(crate) fn pace(&mut self, took: Duration) {
        if took > PATIENCE {
            self.most = (self.most / 2).max(DRAWERS.0);
        } else if took * 4 < PATIENCE {
            self.most = (self.most * 2).min(DRAWERS.1);
        }
    }

    /// Whether anything waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn size_of(write: &Write) -> usize {
    match write {
        Write::Add(new) | Write::Upsert(new) => new.document.len(),
        Write::Update(_) | Write::Delete(_) => 64,
    }
}

/// Gives every new drawer of small sources a vector, many texts at once.
pub(crate) fn embed(filing: &Filing, waiting: &mut [Waiting]) -> Result<()> {
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
pub(crate) fn forget_vectors(waiting: &mut [Waiting]) {
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
pub(crate) fn commit(filing: &Filing, waiting: &[Waiting]) -> Result<Vec<Result<Revised>>> {
    match revise(filing, waiting) {
        Ok(done) => Ok(done.into_iter().map(Ok).collect()),
        Err(error) if is_of_the_source(&error) => Ok(waiting
            .iter()
            .map(|one| {
                let done = revise(filing, std::slice::from_ref(one))?;
                done.into_iter().next().ok_or_else(nothing_said)
            })
            .collect()),
        Err(error) => Err(error),
    }
}

fn revise(filing: &Filing, waiting: &[Waiting]) -> Result<Vec<Revised>> {
    let revisions = waiting.iter().map(|one| Revision {
        source: one.source.clone(),
        expects: one.expects,
        stamp: Some(one.stamp.clone()),
        parts: one.work.parts(),
    });
    filing.collection().revise(revisions.collect())
}

/// Whether an error says that one source is wrong, so that the others can go on.
pub(crate) fn is_of_the_source(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid)
}

fn nothing_said() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the backend did not say what became of a source",
    )
}
