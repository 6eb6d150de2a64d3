//! The lines that wait to be committed to one collection.

use std::collections::BTreeSet;

use loci_core::{DrawerId, NewDrawer, Result};

use crate::palace::{FilingSession, Palace};
use crate::seal::SealedSpan;

/// A pending drawer, and the number of its line.
#[derive(Debug)]
pub(super) struct PendingLine {
    pub(super) line: u64,
    pub(super) drawer: NewDrawer,
    /// The labels it brings.
    pub(super) spans: Vec<SealedSpan>,
}

/// One collection of an import.
#[derive(Debug, Default)]
pub(super) struct ImportShelf {
    pub(super) pending: Vec<PendingLine>,
    /// The approximate size of the pending drawers, in bytes.
    pub(super) bytes: usize,
    /// The dimension of its vectors, once settled.
    pub(super) dimension: Option<usize>,
    ids: BTreeSet<DrawerId>,
    filing: Option<FilingSession>,
    /// Whether it was opened to store vectors that lines bring.
    takes_vectors: bool,
}

impl ImportShelf {
    pub(super) fn has_pending(&self, id: &DrawerId) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn push(&mut self, one: PendingLine) {
        self.bytes += one.drawer.document.len() + one.drawer.embedding.as_ref().map_or(0, |v| v.len() * 4);
        self.ids.insert(one.drawer.id.clone());
        self.pending.push(one);
    }

    pub(super) fn take_pending(&mut self) -> Vec<PendingLine> {
        self.bytes = 0;
        self.ids.clear();
        std::mem::take(&mut self.pending)
    }

    /// Replaces the session in which the collection was opened.
    pub(super) fn replace_filing(&mut self, filing: FilingSession) {
        // Opened without a drawer that brings a vector, so the next one that does opens it again.
        self.takes_vectors = false;
        self.filing = Some(filing);
    }

    /// Opens the collection so that it can store `pending`.
    pub(super) fn open_filing(&mut self, palace: &Palace, pending: &[PendingLine]) -> Result<FilingSession> {
        let brings = pending
            .iter()
            .map(|one| &one.drawer)
            .find(|drawer| drawer.embedding.is_some());
        // A session is kept for the whole import, because opening costs more than a small batch. One that was opened
        // without vectors may have another model than the lines' vectors need, and is not reused for them.
        if let Some(filing) = &self.filing
            && (self.takes_vectors || brings.is_none())
        {
            return Ok(filing.clone());
        }
        let filing = palace.open_filing(brings)?;
        self.takes_vectors = brings.is_some();
        self.filing = Some(filing.clone());
        Ok(filing)
    }
}
