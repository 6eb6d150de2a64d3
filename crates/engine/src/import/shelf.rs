//! What waits to be committed to one collection.

use std::collections::BTreeSet;

use loci_core::{DrawerId, NewDrawer, Result};

use crate::palace::{FilingSession, Palace};

/// A drawer that waits, and the line it came from.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) line: u64,
    pub(super) drawer: NewDrawer,
}

/// One collection of an import.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) pending: Vec<Pending>,
    /// Roughly how much waits, in bytes.
    pub(super) bytes: usize,
    /// How many values its vectors have, once that is settled.
    pub(super) dimension: Option<usize>,
    ids: BTreeSet<DrawerId>,
    filing: Option<FilingSession>,
    /// Whether it was opened to take vectors that lines bring.
    takes_vectors: bool,
}

impl Shelf {
    pub(super) fn holds(&self, id: &DrawerId) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn push(&mut self, one: Pending) {
        self.bytes += one.drawer.document.len() + one.drawer.embedding.as_ref().map_or(0, |v| v.len() * 4);
        self.ids.insert(one.drawer.id.clone());
        self.pending.push(one);
    }

    pub(super) fn take(&mut self) -> Vec<Pending> {
        self.bytes = 0;
        self.ids.clear();
        std::mem::take(&mut self.pending)
    }

    /// Takes the place of how the collection was opened before.
    pub(super) fn go_on_with(&mut self, filing: FilingSession) {
        self.takes_vectors = false;
        self.filing = Some(filing);
    }

    /// The collection, opened so that it takes `pending`.
    pub(super) fn open(&mut self, palace: &Palace, pending: &[Pending]) -> Result<FilingSession> {
        let brings = pending
            .iter()
            .map(|one| &one.drawer)
            .find(|drawer| drawer.embedding.is_some());
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
