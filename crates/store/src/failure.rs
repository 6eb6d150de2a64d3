//! Turns SQLite's and the system's failures into errors that name the palace and the next step.

use std::path::Path;

use loci_core::{Error, ErrorKind};
use rusqlite::ffi;

/// The extended code of a page whose checksum does not match its bytes.
const IOERR_DATA: i32 = ffi::SQLITE_IOERR | (32 << 8);

/// The error for what SQLite said, without knowing which palace it was about.
pub(crate) fn sqlite(cause: rusqlite::Error) -> Error {
    let (kind, message, hint) = match extended_code(&cause) {
        Some(code) => describe(code),
        None => (
            ErrorKind::Internal,
            "the palace answered in an unexpected shape",
            None,
        ),
    };
    let error = Error::new(kind, message).caused_by(cause);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Whether SQLite refused because another connection held the lock for too long.
pub(crate) fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(
        extended_code(cause).map(|code| code & 0xff),
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED)
    )
}

/// The error for a failed file operation on `path`.
pub(crate) fn io(doing: &str, path: &Path, cause: std::io::Error) -> Error {
    let kind = match cause.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot {doing} {}", path.display())).caused_by(cause)
}

/// The error for stored bytes that are not what was written.
pub(crate) fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what).hint("run `loci verify` to see what is damaged; nothing was changed")
}

fn extended_code(cause: &rusqlite::Error) -> Option<i32> {
    match cause {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        rusqlite::Error::SqlInputError { error, .. } => Some(error.extended_code),
        _ => None,
    }
}

fn describe(code: i32) -> (ErrorKind, &'static str, Option<&'static str>) {
    const DAMAGED: Option<&str> =
        Some("run `loci verify` to see what is damaged, and `loci export` to save everything readable");
    if code == IOERR_DATA {
        return (
            ErrorKind::Corrupt,
            "a page of the palace file is damaged",
            DAMAGED,
        );
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => (ErrorKind::Locked, "the palace is locked", None),
        ffi::SQLITE_FULL => (
            ErrorKind::Io,
            "there is no room left on the disk",
            Some(
                "nothing of this batch was stored and nothing stored before is lost; free some space and try again",
            ),
        ),
        ffi::SQLITE_CORRUPT => (ErrorKind::Corrupt, "the palace file is damaged", DAMAGED),
        ffi::SQLITE_NOTADB => (ErrorKind::Format, "the file is not a palace", None),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM => (
            ErrorKind::Io,
            "the palace may not be written here",
            Some("check the permissions of its folder"),
        ),
        ffi::SQLITE_CANTOPEN => (
            ErrorKind::Io,
            "the palace file cannot be opened",
            Some("check the permissions of its folder"),
        ),
        ffi::SQLITE_IOERR => (ErrorKind::Io, "reading or writing the palace file failed", None),
        ffi::SQLITE_NOMEM => (ErrorKind::Io, "there is not enough memory", None),
        ffi::SQLITE_TOOBIG => (
            ErrorKind::Invalid,
            "a text or vector is larger than a row can hold",
            None,
        ),
        _ => (ErrorKind::Internal, "the palace refused a statement", None),
    }
}
