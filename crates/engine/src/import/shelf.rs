//! The lines that wait to be committed to one collection.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{DrawerId, EmbedderIdentity, Error, ErrorKind, Metric, NewDrawer, Result};

use crate::line::ExportHeader;
use crate::palace::{FilingSession, Palace};
use crate::seal::SealedSpan;

/// A pending drawer, and the number of its line.
#[derive(Debug)]
pub(super) struct PendingLine {
    pub(super) line: u64,
    pub(super) drawer: NewDrawer,
    /// The labels it brings.
    pub(super) spans: Vec<SealedSpan>,
    /// The header before it, if it comes from an export.
    pub(super) header: Option<Arc<ExportHeader>>,
}

impl PendingLine {
    /// Creates a line without labels and without a header.
    pub(super) fn new(line: u64, drawer: NewDrawer) -> Self {
        Self {
            line,
            drawer,
            spans: Vec::new(),
            header: None,
        }
    }
}

/// One collection of an import.
#[derive(Debug, Default)]
pub(super) struct ImportShelf {
    pub(super) pending: Vec<PendingLine>,
    /// The approximate size of the pending drawers, in bytes.
    pub(super) bytes: usize,
    /// The metric of its vectors; the usual one if it is still to be created.
    pub(super) metric: Metric,
    /// The dimension of its vectors, once settled.
    pub(super) dimension: Option<usize>,
    /// The model of a header for which the collection was made ready.
    pub(super) prepared: Option<EmbedderIdentity>,
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

    /// Opens the collection again, because its model changed.
    pub(super) fn reopen_filing(
        &mut self,
        palace: &Palace,
        pending: &[PendingLine],
    ) -> Result<FilingSession> {
        self.filing = None;
        self.open_filing(palace, pending)
    }

    /// Opens the collection so that it can store `pending`.
    pub(super) fn open_filing(&mut self, palace: &Palace, pending: &[PendingLine]) -> Result<FilingSession> {
        let brings = pending.iter().find(|one| one.drawer.embedding.is_some());
        // A session is kept for the whole import, because opening costs more than a small batch. One that was opened
        // without vectors may have another model than the lines' vectors need, and is not reused for them.
        if let Some(filing) = &self.filing
            && (self.takes_vectors || brings.is_none())
        {
            return Ok(filing.clone());
        }
        let filing = palace.open_filing(brings.map(|one| &one.drawer));
        let filing = filing.map_err(|error| name_line(error, brings))?;
        self.takes_vectors = brings.is_some();
        self.filing = Some(filing.clone());
        Ok(filing)
    }
}

/// Adds the number of the line whose vector was refused to the error.
fn name_line(error: Error, brings: Option<&PendingLine>) -> Error {
    match brings {
        Some(one) if error.kind() == ErrorKind::IdentityMismatch => {
            let hint = error.hint_text().map(str::to_owned);
            let named = Error::new(error.kind(), format!("line {}: {error}", one.line));
            hint.into_iter().fold(named, Error::with_hint)
        }
        _ => error,
    }
}
