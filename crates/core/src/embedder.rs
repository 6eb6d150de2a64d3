//! What turns text into vectors, who it is, and the rule that vectors of two models are never mixed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Turns text into vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Who it is; equal identities give interchangeable vectors.
    fn identity(&self) -> &EmbedderIdentity;

    /// One vector for each text that is to be stored, in order.
    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// The vector of a question.
    fn query(&self, text: &str) -> Result<Vec<f32>>;

    /// How much nearness by this model counts against keywords where both are asked; it goes with the identity.
    fn weight(&self) -> f32 {
        1.0
    }

    /// Whether the identity pins everything that decides a vector. What somebody else runs may change under its
    /// name, so its answers are compared with vectors it made before.
    fn is_pinned(&self) -> bool {
        true
    }
}

/// Who made a vector. Equal identities are interchangeable; anything else is another space.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EmbedderIdentity {
    /// The model's name.
    pub model: String,
    /// What pins its weights, tokeniser and pooling.
    pub revision: String,
    /// How many values its vectors have.
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

/// What a writer says of the vectors it will write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// What made them, where the writer knows.
    pub embedder: Option<EmbedderIdentity>,
    /// They are carried over with a whole palace, and nobody recorded what made them.
    pub carries_unknown: bool,
}

/// What a collection knows of the model that made its vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityState {
    /// It holds no vectors and no model was named.
    Unset,
    /// Its vectors were made by this model.
    Known(EmbedderIdentity),
    /// It holds vectors and nobody recorded what made them.
    Unknown,
}

impl IdentityState {
    /// The rule for opening: a declared model that is known not to be the stored one is refused.
    pub fn check_open(&self, declared: Option<&EmbedderIdentity>) -> Result<()> {
        match (self, declared) {
            (Self::Known(stored), Some(declared)) if stored != declared => Err(mismatch(stored, declared)),
            _ => Ok(()),
        }
    }

    /// The rule for writing vectors: into a known space only what declares itself the same, into an empty one
    /// anything, into an unknown one nothing until its model is confirmed, but for what a writer without a model
    /// carries over with a whole palace.
    pub fn check_write(&self, declared: &Declared) -> Result<()> {
        match (self, declared.embedder.as_ref()) {
            (Self::Unset, _) => Ok(()),
            (Self::Unknown, None) if declared.carries_unknown => Ok(()),
            (Self::Known(stored), Some(declared)) if stored == declared => Ok(()),
            (Self::Known(stored), Some(declared)) => Err(mismatch(stored, declared)),
            (Self::Known(stored), None) => Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("this collection's vectors are made by {stored}; the writer does not say what made its vectors"),
            )
            .hint("nothing was written; open the collection with the embedder's identity")),
            (Self::Unknown, _) => Err(Error::new(
                ErrorKind::IdentityMismatch,
                "this collection holds vectors of an unknown model, so no vectors may be added to it yet",
            )
            .hint("nothing was written; say which model made them with `loci embedder set MODEL`")),
        }
    }
}

fn mismatch(stored: &EmbedderIdentity, declared: &EmbedderIdentity) -> Error {
    Error::new(
        ErrorKind::IdentityMismatch,
        format!("this collection's vectors are made by {stored}, not by {declared}"),
    )
    .hint(format!(
        "nothing was changed; use the embedder {:?}, or move the palace with `loci embedder switch {}`",
        stored.model, declared.model
    ))
}

/// Why a collection's recorded model changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityChange {
    /// Somebody who knows says what made the vectors; refused where another model is recorded.
    Confirm,
    /// Somebody insists, against what is recorded; the backend keeps a note of it.
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
        let declares = |embedder: Option<&EmbedderIdentity>, carries_unknown| Declared {
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
