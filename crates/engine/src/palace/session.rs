//! One reading operation: one collection at one moment, and the embedder for its queries.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionReader, Embedder, Error, ErrorKind, FindingSeverity, IdentityState, PalaceFinding,
    Result, Timestamp,
};

use super::{EmbedderCatalog, Palace};
use crate::mine::spell_wing;
use crate::view::{DrawerScope, ScopeNote};

/// A palace as one operation reads it.
#[derive(Debug, Clone, Copy)]
pub struct PalaceSession<'a> {
    palace: &'a Palace,
    collection: &'a dyn Collection,
    reader: &'a dyn CollectionReader,
}

impl<'a> PalaceSession<'a> {
    pub(super) fn new(
        palace: &'a Palace,
        collection: &'a dyn Collection,
        reader: &'a dyn CollectionReader,
    ) -> Self {
        Self {
            palace,
            collection,
            reader,
        }
    }

    /// Returns the palace.
    pub fn palace(&self) -> &'a Palace {
        self.palace
    }

    /// Returns the collection, for its sub-traits; reads through it may see later states than
    /// [`PalaceSession::reader`].
    pub fn collection(&self) -> &'a dyn Collection {
        self.collection
    }

    /// Returns the collection as of this operation's moment.
    pub fn reader(&self) -> &'a dyn CollectionReader {
        self.reader
    }

    /// Returns the current time by the palace's clock.
    pub fn now(&self) -> Timestamp {
        self.palace.now()
    }

    /// Returns the available embedders.
    pub fn embedders(&self) -> &'a dyn EmbedderCatalog {
        self.palace.embedders()
    }

    /// Returns a wing's name in the collection's own spelling.
    pub fn spell_wing(&self, wing: &str) -> Result<String> {
        spell_wing(self.reader, wing)
    }

    /// Returns the findings of the collection itself, such as damage met so far or an unknown model. A
    /// collection that cannot be described yields a finding, too.
    pub fn collect_findings(&self) -> Vec<PalaceFinding> {
        // Damage may have ended the moment; the collection itself can still list what it met.
        match self.reader.info().or_else(|_| self.collection.info()) {
            Ok(info) => info.warnings,
            Err(error) => vec![
                PalaceFinding::new(
                    "unreadable",
                    FindingSeverity::Error,
                    format!("the collection cannot describe itself: {error}"),
                )
                .with_hint("inspect it with `loci verify`"),
            ],
        }
    }

    /// Returns a warning for each name in `scope` that no drawer has. Called only when nothing was found, since
    /// it may read every name.
    pub fn unknown_names(&self, scope: &DrawerScope) -> Result<Vec<PalaceFinding>> {
        let notes = scope.find_unknown_names(self.reader)?;
        Ok(notes.iter().map(ScopeNote::to_finding).collect())
    }

    /// Returns the embedder for queries, which is the model that made the collection's vectors or that the caller
    /// names, or an error that explains why it is not available.
    pub fn question_embedder(&self) -> Result<Arc<dyn Embedder>> {
        question_embedder(&self.reader.info()?.identity, self.embedders())
    }
}

/// Returns the embedder for queries to a collection whose vectors `identity` made.
pub(crate) fn question_embedder(
    identity: &IdentityState,
    embedders: &dyn EmbedderCatalog,
) -> Result<Arc<dyn Embedder>> {
    if let Some(named) = embedders.named_embedder()
        && *identity != IdentityState::Unset
    {
        return Ok(named);
    }
    match identity {
        IdentityState::Known(identity) => embedders.find_embedder(identity),
        IdentityState::Unset => Err(Error::new(
            ErrorKind::Unsupported,
            "this collection has no model, so a text cannot be compared with its vectors",
        )
        .with_hint("search by keyword, or give it a model with `loci embedder switch builtin`")),
        IdentityState::Unknown => Err(Error::new(
            ErrorKind::IdentityMismatch,
            "the model that made this collection's vectors is not recorded",
        )
        .with_hint(
            "make new vectors with `loci embedder switch builtin`; if MemPalace made them before 3.11, keep them with \
             `loci model install minilm && loci embedder set minilm`; in a palace that cannot be written, name it for \
             this search with `--embedder minilm`, or move the palace with `loci migrate`",
        )),
    }
}
