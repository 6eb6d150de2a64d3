//! One reading operation: one collection at one moment, and the embedder for its questions.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionReader, Embedder, Error, ErrorKind, Finding, IdentityState, Result, Severity,
    Timestamp,
};

use super::{EmbedderCatalog, Palace};
use crate::mine::spelled;
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

    /// The palace.
    pub fn palace(&self) -> &'a Palace {
        self.palace
    }

    /// The collection, for its sub-traits; reads through it may see later states than [`PalaceSession::reader`].
    pub fn collection(&self) -> &'a dyn Collection {
        self.collection
    }

    /// The collection at this operation's moment.
    pub fn reader(&self) -> &'a dyn CollectionReader {
        self.reader
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.palace.now()
    }

    /// The embedders at hand.
    pub fn embedders(&self) -> &'a dyn EmbedderCatalog {
        self.palace.embedders()
    }

    /// A wing's name as the collection spells it.
    pub fn spell_wing(&self, wing: &str) -> Result<String> {
        spelled(self.reader, wing)
    }

    /// The findings of the collection itself: damage met so far, an unknown model. That it cannot tell is one, too.
    pub fn noticed(&self) -> Vec<Finding> {
        // Damage that was met may have ended the moment.
        match self.reader.info().or_else(|_| self.collection.info()) {
            Ok(info) => info.warnings,
            Err(error) => vec![
                Finding::new(
                    "unreadable",
                    Severity::Error,
                    format!("the collection cannot describe itself: {error}"),
                )
                .hint("look closer with `loci verify`"),
            ],
        }
    }

    /// A warning for each name in `scope` that no drawer has; asked where nothing was found.
    pub fn unknown_names(&self, scope: &DrawerScope) -> Result<Vec<Finding>> {
        let notes = scope.unknown_names(self.reader)?;
        Ok(notes.iter().map(ScopeNote::finding).collect())
    }

    /// The embedder for questions: the model that made the collection's vectors, or why there is none.
    pub fn question_embedder(&self) -> Result<Arc<dyn Embedder>> {
        question_embedder(&self.reader.info()?.identity, self.embedders())
    }
}

/// The embedder for questions to a collection whose vectors `identity` made.
pub(crate) fn question_embedder(
    identity: &IdentityState,
    embedders: &dyn EmbedderCatalog,
) -> Result<Arc<dyn Embedder>> {
    match identity {
        IdentityState::Known(identity) => embedders.find(identity),
        IdentityState::Unset => Err(Error::new(
            ErrorKind::Unsupported,
            "this collection has no model, so a text cannot be compared with its vectors",
        )
        .hint("search by keyword, or give it a model with `loci embedder switch builtin`")),
        IdentityState::Unknown => Err(Error::new(
            ErrorKind::IdentityMismatch,
            "the model that made this collection's vectors is not recorded",
        )
        .hint(
            "record it with `loci embedder set MODEL`, or make new vectors with `loci embedder switch MODEL`; a palace \
             that takes no writes is moved with `loci migrate` first",
        )),
    }
}
