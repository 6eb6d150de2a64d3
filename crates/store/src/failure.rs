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
        // PROTOCOL ends ten seconds of waiting for a writer before the index of the log, which a killed process left
        // half written, can be made anew.
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL)
    )
}

/// Returns whether SQLite failed because of other openers, which use the same files in another combination or hold on
/// to shared memory that was cut.
pub(crate) fn is_divided(error: &Error) -> bool {
    let code = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(extended_code);
    matches!(code, Some(vfs::DIVIDED_FAMILY | vfs::CUT_MEMORY))
}

/// Returns the error for files that these processes use in another combination.
pub(crate) fn divided_error(users: &[u32]) -> Error {
    let message = format!(
        "{} with another log or shared memory: palace.db-wal or palace.db-shm was removed, cut or exchanged, or palace.db has a second name",
        name_users(users, "uses this palace", "use this palace")
    );
    name_pids(Error::new(ErrorKind::Conflict, message), users)
        .with_hint("nothing was read or written; stop that process or let it work once more, and reach the palace by one name only")
}

/// Returns a sentence about processes, with their numbers if they are known.
pub(crate) fn name_users(users: &[u32], does: &str, many_do: &str) -> String {
    let numbers: Vec<String> = users.iter().map(u32::to_string).collect();
    match users.len() {
        0 => format!("another process {does}"),
        1 => format!("process {} {does}", numbers.join("")),
        _ => format!("processes {} {many_do}", numbers.join(", ")),
    }
}

/// Adds the pages of `file` that are known to be damaged to an error of kind `Corrupt`.
pub(crate) fn name_pages(error: Error, file: &Path) -> Error {
    let pages = if error.kind() == ErrorKind::Corrupt {
        vfs::damaged_pages(file)
    } else {
        Vec::new()
    };
    if pages.is_empty() {
        return error;
    }
    let pages: Vec<String> = pages.iter().map(u32::to_string).collect();
    error.with_context("pages", pages.join(", "))
}

/// Adds the numbers of processes to an error, for scripts.
pub(crate) fn name_pids(error: Error, users: &[u32]) -> Error {
    let numbers: Vec<String> = users.iter().map(u32::to_string).collect();
    if numbers.is_empty() {
        return error;
    }
    error.with_context("pid", numbers.join(", "))
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
        .with_hint("nothing was changed; see what is damaged with `loci verify`, and bring everything readable into a new palace with `loci rescue PATH --to NEW`")
}

fn extended_code(cause: &rusqlite::Error) -> Option<i32> {
    match cause {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        rusqlite::Error::SqlInputError { error, .. } => Some(error.extended_code),
        _ => None,
    }
}

type FailureDescription = (ErrorKind, &'static str, Option<&'static str>);

/// The next commands where the file itself is damaged.
pub(crate) const RESCUE_HINT: &str = "save what is readable with `loci rescue PATH --to REF`, or go back to a backup with `loci restore`; `loci verify` lists what is damaged";

const DAMAGED: Option<&str> = Some(RESCUE_HINT);

/// Another opener uses the file with another log or shared memory; see [`divided_error`].
const DIVIDED: FailureDescription = (
    ErrorKind::Conflict,
    "another process uses this palace with other files",
    None,
);

/// Shared memory was cut; see [`divided_error`].
const CUT: FailureDescription = (
    ErrorKind::Conflict,
    "the shared memory of the palace (palace.db-shm) was cut while other processes use it",
    None,
);

/// The files were exchanged under a write.
const EXCHANGED: FailureDescription = (
    ErrorKind::Conflict,
    "palace.db was overwritten while this process had it open",
    Some("nothing of this write was stored; run `loci verify`, then try again"),
);

/// Returns the description of a code that only the checking VFS gives.
fn describe_damage(code: i32) -> Option<FailureDescription> {
    let (message, hint) = match code {
        IOERR_DATA => ("a page of the palace file is damaged", DAMAGED),
        vfs::FOREIGN_JOURNAL => (
            "a journal lies beside the palace (palace.db-journal) that is not its own and would destroy it",
            Some("nothing was changed; move palace.db-journal to another place, then run `loci verify`"),
        ),
        vfs::FOREIGN_LOG => (
            "the log beside the palace (palace.db-wal) is another palace's, or an older copy of its own",
            Some(
                "nothing was changed; move palace.db-wal to another place, put the right one back if you have it, then run `loci verify`; `loci rescue PATH --to NEW` reads the palace without it",
            ),
        ),
        vfs::TORN_LOG => (
            "the log (palace.db-wal) was cut, damaged or deleted while it was being copied into the palace, which is not whole without it",
            Some(
                "nothing was changed; put the log back if you have it, or bring everything readable into a new palace with `loci rescue PATH --to NEW`",
            ),
        ),
        vfs::DIVIDED_FAMILY => return Some(DIVIDED),
        vfs::CUT_MEMORY => return Some(CUT),
        vfs::EXCHANGED_FILE => return Some(EXCHANGED),
        _ => return None,
    };
    Some((ErrorKind::Corrupt, message, hint))
}

fn describe_code(code: i32) -> FailureDescription {
    if let Some(damage) = describe_damage(code) {
        return damage;
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => {
            (ErrorKind::Locked, "the palace is locked", None)
        }
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
                "it was left untouched; name another folder with --palace, or bring the drawers of a damaged palace into a new one with `loci rescue PATH --to NEW`",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_count_as_busy() {
        let failed = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        for busy in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_BUSY_SNAPSHOT,
            ffi::SQLITE_LOCKED,
            ffi::SQLITE_PROTOCOL,
        ] {
            assert!(is_busy(&failed(busy)), "{busy}");
        }
        for other in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_CONSTRAINT,
        ] {
            assert!(!is_busy(&failed(other)), "{other}");
        }
        assert!(!is_busy(&rusqlite::Error::QueryReturnedNoRows));
    }
}
