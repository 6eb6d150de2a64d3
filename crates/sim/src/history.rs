//! The history of a run: every batch with its outcome, every read with what it saw, every copy that was acknowledged.

use std::collections::BTreeMap;

use loci_core::{Drawer, DrawerId, PalaceFinding, Write};

use crate::content::ModelledContent;

/// The collections of the simulated palace.
pub(crate) const COLLECTIONS: [&str; 2] = ["drawers", "notes"];

/// The outcome of a batch, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchFate {
    /// Unknown: the call has not returned, failed while it committed, or its process died.
    Pending,
    /// It was not there when its process looked. A commit that was cut off after its last frame may still come back
    /// when the log is recovered, unless another commit took its place.
    Absent,
    /// The call returned an error that promises that nothing was written.
    Refused,
    /// It is in the palace, with this sequence number.
    Applied(u64),
}

/// One batch or revision of a source.
#[derive(Debug, Clone)]
pub(crate) struct BatchEntry {
    pub(crate) process: usize,
    pub(crate) collection: usize,
    /// The number that its counter shows once it is applied.
    pub(crate) number: u64,
    pub(crate) writes: Vec<Write>,
    /// The source and its new stamp, for a revision.
    pub(crate) stamp: Option<(String, String)>,
    pub(crate) keyed: bool,
    pub(crate) began: u64,
    /// The moment of its acknowledgement.
    pub(crate) acknowledged: Option<u64>,
    pub(crate) fate: BatchFate,
}

/// One read of a whole collection at one moment.
#[derive(Debug, Clone)]
pub(crate) struct ReadEntry {
    pub(crate) collection: usize,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) seq: u64,
    pub(crate) drawers: BTreeMap<DrawerId, Drawer>,
    pub(crate) through: &'static str,
}

/// A copy of the palace that was acknowledged, and its drawers by collection.
#[derive(Debug, Clone)]
pub(crate) struct CopyEntry {
    pub(crate) name: String,
    pub(crate) contents: Vec<(usize, BTreeMap<DrawerId, Drawer>)>,
}

/// A collection at the beginning of a life of the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollectionBase {
    /// Whether it must exist: its creation was acknowledged.
    pub(crate) exists: bool,
    pub(crate) content: ModelledContent,
    pub(crate) seq: u64,
}

/// Everything that happened in one life of the machine, and the state it began with.
#[derive(Debug, Default)]
pub(crate) struct HistoryBook {
    pub(crate) bases: [CollectionBase; COLLECTIONS.len()],
    pub(crate) batches: Vec<BatchEntry>,
    pub(crate) reads: Vec<ReadEntry>,
    /// Copies of all lives: a copy stays.
    pub(crate) copies: Vec<CopyEntry>,
    /// The numbers of batches and versions given out so far, in all lives.
    pub(crate) numbers: u64,
    pub(crate) violations: Vec<String>,
    /// The moment of the last exchange of files in this life.
    pub(crate) exchanged: Option<u64>,
    /// Whether a process has opened the palace in this life, so that its file counts all of its log.
    pub(crate) opened: bool,
    /// The number of palaces whose files were put in the place of this one's.
    pub(crate) replaced: u64,
    /// Whether the palace is known to have lost something, which ends the run.
    pub(crate) damaged: bool,
    /// Whether a call of the file layer has failed, in this life or an earlier one.
    pub(crate) faulted: bool,
    /// Operations by name and outcome.
    pub(crate) tally: BTreeMap<String, u64>,
}

impl HistoryBook {
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Goes on with another palace, whose file was put in the place of this one's. What this one held is no longer
    /// expected; a batch that is acknowledged from now on is.
    pub(crate) fn begin_other_palace(&mut self, base: &CollectionBase) {
        self.replaced += 1;
        self.bases = Default::default();
        self.bases[0] = base.clone();
        self.batches
            .iter_mut()
            .filter(|batch| matches!(batch.fate, BatchFate::Applied(_)))
            .for_each(|batch| batch.fate = BatchFate::Absent);
        self.reads.clear();
    }

    /// Returns whether the finding is the mark that a failed write may leave: a torn copy of a record, which costs
    /// nothing.
    pub(crate) fn is_scar(&self, finding: &PalaceFinding) -> bool {
        self.faulted && finding.code == "page_mended"
    }

    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.tally.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }
}
