//! Errors of SQLite and of the file system as the house names them.

use std::fmt::Display;
use std::io;
use std::path::Path;

use loci_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// What SQLite refused while reading `what`.
pub(crate) fn sqlite(what: impl Display, cause: rusqlite::Error) -> Error {
    let kind = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
            ErrorKind::Io
        }
        // A column of another type, or a table that is not there, is damage too: Chroma made them all.
        _ => ErrorKind::Corrupt,
    };
    let error = Error::new(kind, format!("cannot read {what}: {cause}")).caused_by(cause);
    match kind {
        ErrorKind::Locked => {
            error.hint("nothing was changed; another process is writing to it, try again when it has ended")
        }
        _ => error,
    }
}

/// What the file system refused.
pub(crate) fn io(what: impl Display, path: &Path, cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot {what} {}: {cause}", path.display())).caused_by(cause)
}
