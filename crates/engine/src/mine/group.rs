//! Small sources wait for each other, so that one commit makes many of them durable. Each is still old or new.

use std::time::Duration;

use loci_core::Write;

use super::compare::Change;
use super::draft::Draft;
use super::queue::JobTicket;

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
    /// The ticket of the source it came from.
    pub(crate) ticket: JobTicket,
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

    /// The writes, part by part.
    pub(crate) fn parts(&self) -> loci_core::Parts<'_> {
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
    /// Adds a source; gives everything that waits once it is time to commit.
    pub(crate) fn push(&mut self, waiting: Waiting) -> Option<Vec<Waiting>> {
        if let Work::Small(writes) = &waiting.work {
            self.drawers += writes.len().max(1);
            self.bytes += writes.iter().map(size_of).sum::<usize>();
        }
        let large = waiting.work.is_large();
        self.waiting.push(waiting);
        let is_full = large || self.drawers >= self.most || self.bytes >= MOST_BYTES;
        is_full.then(|| self.take())
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
