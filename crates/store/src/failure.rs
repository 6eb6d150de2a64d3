//! Turns failures of SQLite and the system into errors that name the next step.

use std::path::Path;

use loci_core::{Error, ErrorKind};
use rusqlite::ffi;

use crate::vfs;

/// The extended code of a page whose checksum does not match its bytes.
const IOERR_DATA: i32 = ffi::SQLITE_IOERR | (32 << 8);

/// Returns the error for a failure of SQLite; the palace is not known here.
pub(crate) fn sqlite_error(cause: rusqlite::Error) -> Error {
    let (kind, message, hint) = match extended_code(&cause) {
        Some(code) => describe_code(code),
        None => (
            ErrorKind::Internal,
            "the palace returned a value of an unexpected type",
            None,
        ),
    };
    let error = Error::new(kind, message).caused_by(cause);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns whether SQLite refused because another connection held the lock for too long.
pub(crate) fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(
        // The low byte is the primary code; the extended ones (BUSY_SNAPSHOT, BUSY_RECOVERY,
        // …) mean the same here.
        extended_code(cause).map(|code| code & 0xff),
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED)
    )
}

/// Returns the error for a failed file operation on `path`.
pub(crate) fn io_error(doing: &str, path: &Path, cause: std::io::Error) -> Error {
    let kind = match cause.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot {doing} {}", path.display())).caused_by(cause)
}

/// Returns the error for stored bytes that differ from what was written.
pub(crate) fn corrupt_error(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
        .with_hint("run `loci verify` to see what is damaged; nothing was changed")
}

fn extended_code(cause: &rusqlite::Error) -> Option<i32> {
    match cause {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        rusqlite::Error::SqlInputError { error, .. } => Some(error.extended_code),
        _ => None,
    }
}

type FailureDescription = (ErrorKind, &'static str, Option<&'static str>);

const DAMAGED: Option<&str> =
    Some("run `loci verify` to see what is damaged, and `loci export` to save everything readable");

/// Returns the description of a code that only the checking VFS gives.
fn describe_damage(code: i32) -> Option<FailureDescription> {
    let (message, hint) = match code {
        IOERR_DATA => ("a page of the palace file is damaged", DAMAGED),
        vfs::FOREIGN_LOG => (
            "the log beside the palace (palace.db-wal) is another palace's, or an older copy of its own",
            Some(
                "nothing was changed; move palace.db-wal to another place, put the right one back if you have it, then run `loci verify`",
            ),
        ),
        vfs::TORN_LOG => (
            "the log (palace.db-wal) was cut, damaged or deleted while it was being copied into the palace, which is not whole without it",
            Some(
                "nothing was changed; put the log back if you have it, or go back to a backup with `loci restore`",
            ),
        ),
        _ => return None,
    };
    Some((ErrorKind::Corrupt, message, hint))
}

fn describe_code(code: i32) -> FailureDescription {
    if let Some(damage) = describe_damage(code) {
        return damage;
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => (ErrorKind::Locked, "the palace is locked", None),
        // Only the clock of a call interrupts; see `ConnectionLease::watch_deadline`.
        ffi::SQLITE_INTERRUPT => {
            let timed_out = "the time given for this call is used up";
            (
                ErrorKind::TimedOut,
                timed_out,
                Some("nothing was written; ask for less, or give it more time"),
            )
        }
        ffi::SQLITE_FULL => (
            ErrorKind::Io,
            "no space is left on the disk",
            Some(
                "nothing of this batch was stored and nothing stored before is lost; free some space and try again",
            ),
        ),
        ffi::SQLITE_CORRUPT => (ErrorKind::Corrupt, "the palace file is damaged", DAMAGED),
        ffi::SQLITE_NOTADB => (
            ErrorKind::Format,
            "the file is not a palace, or its header is damaged",
            Some(
                "it was left untouched; name another folder with --palace, or go back to a backup with `loci restore`",
            ),
        ),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM => (
            ErrorKind::Io,
            "the palace is not writable here",
            Some("check the permissions of its folder"),
        ),
        ffi::SQLITE_CANTOPEN => (
            ErrorKind::Io,
            "the palace file cannot be opened",
            Some("check the permissions of its folder"),
        ),
        // A page that the file ends before means a truncated file, not a failing disk.
        ffi::SQLITE_IOERR if code == ffi::SQLITE_IOERR_SHORT_READ => {
            (ErrorKind::Corrupt, "the palace file is cut short", DAMAGED)
        }
        ffi::SQLITE_IOERR => (
            ErrorKind::Io,
            "reading or writing the palace file failed",
            Some("nothing stored before is lost; look at the disk, open the palace again and try again"),
        ),
        ffi::SQLITE_NOMEM => (
            ErrorKind::Io,
            "there is not enough memory",
            Some("nothing was changed; free some memory and try again"),
        ),
        ffi::SQLITE_TOOBIG => (
            ErrorKind::Invalid,
            "a text or vector is larger than a row can hold",
            None,
        ),
        _ => (ErrorKind::Internal, "the palace refused a statement", None),
    }
}
