//! Converts errors of SQLite and of the file system.

use std::fmt::Display;
use std::io;
use std::path::Path;

use loci_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// Converts an error of SQLite while it read `what`.
pub(crate) fn sqlite_error(what: impl Display, cause: rusqlite::Error) -> Error {
    let kind = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
            ErrorKind::Io
        }
        // A column of another type or a missing table is damage too, since Chroma created them all: the
        // database is then salvaged page by page.
        _ => ErrorKind::Corrupt,
    };
    let error = Error::new(kind, format!("cannot read {what}: {cause}")).caused_by(cause);
    match kind {
        ErrorKind::Locked => error.with_hint(
            "nothing was changed; another process is writing to it: try again when it has finished",
        ),
        _ => error,
    }
}

/// Converts an error of the file system while it tried to do `what`.
pub(crate) fn io_error(what: impl Display, path: &Path, cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot {what} {}: {cause}", path.display())).caused_by(cause)
}
