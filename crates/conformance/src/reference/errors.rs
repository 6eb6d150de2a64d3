//! The errors of the reference.

use loci_core::{BackendDescriptor, CollectionName, Error, ErrorKind, PalaceRef};

/// Returns the error of a call after it was closed.
pub(super) fn closed_error(words: &str) -> Error {
    Error::new(ErrorKind::Closed, words).with_hint("open it again")
}

/// Returns the error for a palace or collection that does not exist.
pub(super) fn missing_error(what: &str, called: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the {what} {called:?} does not exist"),
    )
}

/// Returns the refusal to create a collection that exists.
pub(super) fn exists_error(collection: &CollectionName) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the collection {:?} exists already", collection.as_str()),
    )
    .with_hint("nothing was changed; give another name, or open it")
}

/// Returns the refusal of a write to a backend that advertises `read_only`.
pub(super) fn read_only_error(descriptor: &BackendDescriptor) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the backend {:?} is read_only and refuses writes",
            descriptor.name
        ),
    )
    .with_hint("nothing was changed")
}

/// Returns the error for another palace in the place of one that was used before.
pub(super) fn another_error(palace: &PalaceRef) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("another palace is in the place of {:?}", palace.id),
    )
    .with_hint("nothing was changed; put the right one back, or use a new instance")
}
