//! Grouping: small sources wait for each other, so that one commit makes many of them durable. Each source is
//! still old or new.

use std::time::Duration;

use loci_core::Write;

use super::OlderDrawers;
use super::compare::SourceChange;
use super::draft::{PieceSeals, SourceDraft};
use super::queue::JobTicket;

/// The fewest and the most drawers that wait for one commit.
const DRAWERS: (usize, usize) = (16, 1024);

/// The time embedding should take before one commit; an interrupted run must repeat that work.
const PATIENCE: Duration = Duration::from_secs(4);

/// The most bytes of text that wait for one commit.
const MOST_BYTES: usize = 2 << 20;

/// A source with more new drawers than this is filed alone and without vectors, which follow in short
/// transactions, so that neither memory nor the time other processes wait grows with it.
const LARGE: usize = 4096;

/// The number of drawers of a large source that are built at once.
const PART: usize = 512;

/// A compared source that waits to be filed.
#[derive(Debug)]
pub(crate) struct WaitingSource {
    /// Its name.
    pub(crate) source: String,
    /// The ticket of the found source it came from.
    pub(crate) ticket: JobTicket,
    /// The revision of its record.
    pub(crate) expects: Option<u64>,
    /// The stamp to record for it.
    pub(crate) stamp: String,
    /// The writes to apply.
    pub(crate) work: SourceWork,
    /// Records of the list of deletions to remove, with their revisions.
    pub(crate) restores: Vec<(String, u64)>,
    /// The labels in its drawers.
    pub(crate) seals: Vec<PieceSeals>,
    /// The number of drawers that do not change.
    pub(crate) kept: u64,
    /// The drawers of an older filing of it.
    pub(crate) recognised: OlderDrawers,
    /// The verdict on the found source once this is filed.
    pub(crate) verdict: SourceVerdict,
}

impl WaitingSource {
    /// Returns whether its drawers are filed without vectors first.
    pub(crate) fn is_large(&self) -> bool {
        self.work.is_large()
    }
}

/// The verdict on a found source once a part of it is filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceVerdict {
    /// None yet; more of it follows.
    Unfinished,
    /// It was new or had changed.
    Mined,
    /// Its look had changed, but not its content.
    Unchanged,
}

/// The writes for a source.
#[derive(Debug)]
pub(crate) enum SourceWork {
    /// All writes at once.
    Small(Vec<Write>),
    /// The changes first, then the new drawers in parts.
    Large(Vec<Write>, Box<SourceDraft>, Vec<usize>),
}

impl SourceWork {
    /// Returns the writes of a change.
    pub(crate) fn from_change(mut change: SourceChange, draft: SourceDraft) -> Self {
        let mut writes = change.take_first_part();
        if change.adds.len() > LARGE {
            return Self::Large(writes, Box::new(draft), change.adds);
        }
        let adds = change.adds.iter().filter_map(|n| draft.make_drawer(*n));
        writes.extend(adds.map(Write::Add));
        Self::Small(writes)
    }

    /// Returns no writes; only the stamp is recorded.
    pub(crate) fn stamp_only() -> Self {
        Self::Small(Vec::new())
    }

    fn is_large(&self) -> bool {
        matches!(self, Self::Large(..))
    }

    /// Returns the writes in parts.
    pub(crate) fn write_parts(&self) -> loci_core::RevisionParts<'_> {
        match self {
            Self::Small(writes) => Box::new(std::iter::once_with(|| writes.clone())),
            Self::Large(writes, draft, adds) => {
                let first = std::iter::once_with(|| writes.clone());
                // Built lazily inside the transaction: the store drops each part before it asks for the next.
                let rest = adds.chunks(PART).map(|some| {
                    let drawers = some.iter().filter_map(|n| draft.make_drawer(*n));
                    drawers.map(Write::Add).collect()
                });
                Box::new(first.chain(rest))
            }
        }
    }
}

/// The sources that wait for the next commit.
#[derive(Debug)]
pub(crate) struct CommitGroup {
    waiting: Vec<WaitingSource>,
    drawers: usize,
    bytes: usize,
    /// The number of drawers at which they are committed.
    most: usize,
}

impl Default for CommitGroup {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            drawers: 0,
            bytes: 0,
            most: DRAWERS.1,
        }
    }
}

impl CommitGroup {
    /// Adds a source; returns all waiting sources once it is time to commit.
    pub(crate) fn push_source(&mut self, waiting: WaitingSource) -> Option<Vec<WaitingSource>> {
        if let SourceWork::Small(writes) = &waiting.work {
            // A source without writes still has a stamp to commit, and counts as one.
            self.drawers += writes.len().max(1);
            self.bytes += writes.iter().map(write_size).sum::<usize>();
        }
        let large = waiting.work.is_large();
        self.waiting.push(waiting);
        let is_full = large || self.drawers >= self.most || self.bytes >= MOST_BYTES;
        is_full.then(|| self.take_waiting())
    }

    /// Takes all waiting sources.
    pub(crate) fn take_waiting(&mut self) -> Vec<WaitingSource> {
        (self.drawers, self.bytes) = (0, 0);
        std::mem::take(&mut self.waiting)
    }

    /// Adapts the size of commits to the speed of the model.
    pub(crate) fn adapt_size(&mut self, took: Duration) {
        // Doubling below a quarter of the limit keeps the next commit below half of it, so that sizes settle.
        if took > PATIENCE {
            self.most = (self.most / 2).max(DRAWERS.0);
        } else if took * 4 < PATIENCE {
            self.most = (self.most * 2).min(DRAWERS.1);
        }
    }

    /// Returns whether no source waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn write_size(write: &Write) -> usize {
    match write {
        Write::Add(new) | Write::Upsert(new) => new.document.len(),
        // A rough constant: patches carry no text here.
        Write::Update(_) | Write::Delete(_) => 64,
    }
}
