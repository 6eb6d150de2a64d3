//! The words of a rescue: findings, reasons and errors.

use std::path::Path;

use loci_core::{Error, ErrorKind, FindingSeverity, PalaceFinding};

use super::log::LogUse;

/// The reason for a drawer whose own page is damaged.
pub(super) const PAGE_DAMAGED: &str = "the page that holds it is damaged";
/// The reason for a drawer of which a part is on a damaged page.
pub(super) const TEXT_DAMAGED: &str = "a page that holds a part of it is damaged";
/// The reason for a drawer whose text does not match its hash.
pub(super) const TEXT_DIFFERS: &str = "its text is not the one that was stored: its hash differs";
/// The reason for drawers that only a counter knows.
pub(super) const ONLY_COUNTED: &str = "the collection counted them, but no readable page names them";
/// The reason for a drawer that may have been removed.
pub(super) const MAYBE_REMOVED: &str = "the pages that say whether it was removed or replaced are damaged";
/// The reason for a drawer of which a newer state is known to exist.
pub(super) const OLDER_STATE: &str =
    "this is an older state of it; no readable page holds the one that the index lists";
/// The reason for drawers that may be lost with a log of which nothing is known.
pub(super) const LOG_UNKNOWN: &str = "the file's record of its log (palace.db-wal) is damaged, and its log was not found; if there was one, drawers that it held are missing or older";
/// The reason for drawers that may be lost with the rest of a log.
pub(super) const LOG_UNFINISHED: &str = "a page in the log (palace.db-wal) is damaged, and so is the file's record of how many count; drawers that the pages after it held are missing or older";
/// The reason for drawers whose number cannot be known.
pub(super) const NOT_COUNTED: &str = "pages of drawers and the number of drawers in the collection are damaged, so how many are missing is not known";

/// Returns the error for a file without a single page of a palace.
pub(super) fn not_a_palace(path: &Path) -> Error {
    Error::new(
        ErrorKind::Format,
        format!("nothing in {} is part of a palace", path.display()),
    )
    .with_hint("nothing was written; name the folder of a palace, its palace.db, or a backup")
}

/// Returns the finding for a log that belongs to another file.
pub(super) fn foreign_log() -> PalaceFinding {
    PalaceFinding::new(
        "foreign_log",
        FindingSeverity::Warning,
        "the log beside the file (palace.db-wal) belongs to another palace or is an older copy; it was not read",
    )
}

/// Returns the finding for a file whose record of its log is unreadable.
pub(super) fn unreadable_mark(log: Option<LogUse>, may_lack_writes: bool) -> PalaceFinding {
    let decided = match log {
        Some(LogUse::Newer | LogUse::Mixed) if may_lack_writes => {
            "the log was read up to its first damaged page, because it continues this palace"
        }
        Some(LogUse::Newer | LogUse::Mixed) => {
            "the log was read, because its frames are sound and continue this palace"
        }
        Some(LogUse::Unneeded) => "the log was not read, because the file has newer writes",
        Some(LogUse::Foreign) => "the log was not read, because it belongs to another palace",
        None => "no log was found; if there was one, its writes are missing",
    };
    let severity = if may_lack_writes {
        FindingSeverity::Error
    } else {
        FindingSeverity::Warning
    };
    PalaceFinding::new(
        "log_mark_damaged",
        severity,
        format!("the file's record of its log is damaged; {decided}"),
    )
}

/// Returns the finding for a file that ends before its last page.
pub(super) fn cut_file(in_file: u32, count: u32) -> PalaceFinding {
    PalaceFinding::new(
        "file_cut",
        FindingSeverity::Warning,
        format!(
            "the file ends after page {in_file}, but the palace has {count} pages; those behind the end are missing unless \
             the log holds them"
        ),
    )
}

/// Describes writes that are missing with the log.
pub(super) fn describe_missing_log(promised: u32, found: u32, used: LogUse) -> String {
    let what = format!(
        "the log (palace.db-wal) held {promised} pages of the newest writes, of which {found} can be read; \
         drawers written or changed by the others are missing or older"
    );
    if used == LogUse::Mixed {
        format!("{what}; the log was cut while it was being copied into the file")
    } else {
        what
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_was_read_only_in_part_is_said_to_be() {
        for log in [LogUse::Newer, LogUse::Mixed] {
            assert!(
                unreadable_mark(Some(log), true)
                    .message
                    .contains("up to its first damaged page")
            );
            assert!(
                unreadable_mark(Some(log), false)
                    .message
                    .contains("its frames are sound")
            );
        }
    }
}
