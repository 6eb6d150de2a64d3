//! How often a writer reopens a collection that changed under it.

use loci_core::{Error, ErrorKind};

/// The most times a writer embeds again because another process changed the model of the collection meanwhile.
pub(crate) const MODEL_CHANGES: usize = 64;

/// Returns how often reopening the collection may cure an error: its model changed, a commit failed, or its file was
/// replaced.
pub(super) fn patience_with(error: &Error) -> usize {
    match error.kind() {
        // Models may be switched back and forth, so the next attempt can meet another one.
        ErrorKind::IdentityMismatch => MODEL_CHANGES,
        // Once only: an operation that fails the same way on a fresh handle will not succeed by repetition.
        ErrorKind::Poisoned | ErrorKind::NotFound => 1,
        _ => 0,
    }
}

/// Tells a writer that met a new model in every attempt what to do: not to switch models itself.
pub(crate) fn model_changes_error(error: Error) -> Error {
    error.with_hint(
        "nothing was written; another process is switching the model of this collection: run the command again",
    )
}
