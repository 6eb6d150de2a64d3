//! Embedders, their identities, and the rule that vectors of two models are never mixed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Turns text into vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Returns the identity; equal identities give interchangeable vectors.
    fn identity(&self) -> &EmbedderIdentity;

    /// Embeds texts that are to be stored; returns one vector per text, in order.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Embeds a query.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>>;

    /// Returns the weight of this model's nearness against keywords in hybrid search; it depends only on the
    /// identity.
    fn nearness_weight(&self) -> f32 {
        1.0
    }

    /// Returns the share of a query, from 0 to 1, that consists of words this model has learned. The less it knows, the
    /// less its nearness says: a table of English words knows little of a Finnish question.
    fn known_share(&self, _query: &str) -> f32 {
        1.0
    }

    /// Reports whether the identity pins everything that determines a vector. A model that another party runs may
    /// change under the same name, so its answers are compared with vectors it made before.
    fn is_pinned(&self) -> bool {
        true
    }
}

/// The identity of the model that made a vector. Equal identities are interchangeable; any other is another space.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct EmbedderIdentity {
    /// The model's name.
    pub model: String,
    /// A string that pins its weights, tokeniser and pooling.
    pub revision: String,
    /// The number of values in its vectors.
    pub dimension: usize,
}

impl fmt::Display for EmbedderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}, {} dimensions)",
            self.model, self.revision, self.dimension
        )
    }
}

/// A writer's declaration about the vectors it will write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredEmbedder {
    /// The model that made them, if the writer knows it.
    pub embedder: Option<EmbedderIdentity>,
    /// True if they are moved with a whole palace whose model was never recorded.
    pub carries_unknown: bool,
}

/// The model of a collection's vectors, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityState {
    /// No vectors are stored and no model was named.
    Unset,
    /// The vectors were made by this model.
    Known(EmbedderIdentity),
    /// Vectors are stored, but their model was never recorded.
    Unknown,
}

impl IdentityState {
    /// Applies the rule for opening: a declared model that is known not to be the stored one is refused.
    pub fn check_open(&self, declared: Option<&EmbedderIdentity>) -> Result<()> {
        match (self, declared) {
            // Only a certain mismatch is refused: a palace of an unknown model must stay readable, by
            // keyword at least.
            (Self::Known(stored), Some(declared)) if stored != declared => {
                Err(identity_mismatch(stored, declared))
            }
            _ => Ok(()),
        }
    }

    /// Applies the rule for writing vectors: a known space accepts only vectors declared to be of the same model,
    /// an empty one accepts any, and an unknown one accepts none until its model is confirmed, except those that a
    /// writer without a model moves with a whole palace.
    pub fn check_write(&self, declared: &DeclaredEmbedder) -> Result<()> {
        match (self, declared.embedder.as_ref()) {
            // The first vectors settle the model, or make it unknown where the writer declares none.
            (Self::Unset, _) => Ok(()),
            // A move keeps unknown vectors with their equals; a writer that names a model would mix two
            // spaces.
            (Self::Unknown, None) if declared.carries_unknown => Ok(()),
            (Self::Known(stored), Some(declared)) if stored == declared => Ok(()),
            // A writer was accepted when it opened the collection, so the model has changed since.
            (Self::Known(stored), Some(declared)) => Err(identity_mismatch(stored, declared).with_hint(
                "nothing was written; another process switched the model of this collection: run the command again",
            )),
            (Self::Known(stored), None) => Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("this collection's vectors were made by {stored}; the writer did not name the model of its vectors"),
            )
            .with_hint("nothing was written; open the collection with the embedder's identity")),
            (Self::Unknown, _) => Err(Error::new(
                ErrorKind::IdentityMismatch,
                "this collection holds vectors of an unknown model, so no vectors may be added to it yet",
            )
            .with_hint("nothing was written; name the model that made them with `loci embedder set MODEL`")),
        }
    }
}

fn identity_mismatch(stored: &EmbedderIdentity, declared: &EmbedderIdentity) -> Error {
    Error::new(
        ErrorKind::IdentityMismatch,
        format!("this collection's vectors were made by {stored}, not by {declared}"),
    )
    .with_hint(format!(
        "nothing was changed; use the embedder {:?}, or move the palace with `loci embedder switch {}`",
        stored.model, declared.model
    ))
}

/// The reason for changing a collection's recorded model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityChange {
    /// The caller confirms the model that made the vectors; refused if another model is recorded.
    Confirm,
    /// The caller overrides the recorded model; the backend keeps a note of it.
    Force,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> EmbedderIdentity {
        EmbedderIdentity {
            model: name.into(),
            revision: "1".into(),
            dimension: 4,
        }
    }

    #[test]
    fn the_three_states_decide_what_may_be_written() {
        let (a, b) = (model("a"), model("b"));
        let known = IdentityState::Known(a.clone());
        let declares = |embedder: Option<&EmbedderIdentity>, carries_unknown| DeclaredEmbedder {
            embedder: embedder.cloned(),
            carries_unknown,
        };
        assert!(IdentityState::Unset.check_write(&declares(None, false)).is_ok());
        assert!(known.check_write(&declares(Some(&a), false)).is_ok());
        assert!(known.check_write(&declares(None, false)).is_err());
        assert!(known.check_write(&declares(None, true)).is_err());
        let unknown = IdentityState::Unknown;
        assert!(unknown.check_write(&declares(Some(&a), false)).is_err());
        assert!(unknown.check_write(&declares(Some(&a), true)).is_err());
        assert!(unknown.check_write(&declares(None, false)).is_err());
        assert!(unknown.check_write(&declares(None, true)).is_ok());
        let error = known.check_open(Some(&b)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IdentityMismatch);
        assert!(
            error.message().contains("a (1,") && error.message().contains("b (1,"),
            "{error}"
        );
        assert!(
            IdentityState::Unknown.check_open(Some(&b)).is_ok(),
            "unknown reads go on"
        );
    }
}
