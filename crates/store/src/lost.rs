//! Commits that were lost with the log: noted in the palace, and said until somebody clears the note.

use loci_core::{Error, ErrorKind, Finding, Result, Severity, Timestamp};
use rusqlite::Connection;

use crate::connection::begin_write;
use crate::failure::sqlite;
use crate::vfs::{self, LostLog};
use crate::{clock, schema};

/// The code of the finding.
pub(crate) const CODE: &str = "log_lost";

/// How a note of a loss begins.
const NOTE: &str = "lost log: ";

/// Writes a loss that was found when the file was opened into the palace's notes. The file itself keeps it on
/// record until that commit is on disk, so whoever opens the palace next tries again where this fails.
pub(crate) fn note(connection: &mut Connection) -> Result<()> {
    if vfs::lost_log(connection)?.is_none() {
        return Ok(());
    }
    let transaction = begin_write(connection).map_err(sqlite)?;
    // Another process may have written the note while this one waited.
    if let Some(loss) = vfs::lost_log(&transaction)? {
        schema::note(&transaction, clock::now(), &format!("{NOTE}{}", describe(&loss)))?;
        vfs::note_loss(&transaction)?;
    }
    transaction.commit().map_err(sqlite)
}

/// Every loss on record: those in the notes, and one that is not there yet.
pub(crate) fn findings(connection: &Connection) -> Result<Vec<Finding>> {
    let mut statement = connection
        .prepare("SELECT at, text FROM notes WHERE substr(text, 1, length(?1)) = ?1 ORDER BY note")
        .map_err(sqlite)?;
    let mut rows = statement.query([NOTE]).map_err(sqlite)?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (at, text): (i64, String) = (row.get(0).map_err(sqlite)?, row.get(1).map_err(sqlite)?);
        let when = Timestamp::from_micros(at).map_or_else(|_| at.to_string(), |at| at.to_string());
        findings.push(finding(&format!(
            "found {when}: {}",
            text.trim_start_matches(NOTE)
        )));
    }
    let pending = vfs::lost_log(connection)?.map(|loss| finding(&format!("found now: {}", describe(&loss))));
    findings.extend(pending);
    Ok(findings)
}

/// The error for a palace of which nothing is left but the bare file.
pub(crate) fn nothing_left() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "all that the palace held was in its log (palace.db-wal), and that is gone or damaged",
    )
    .hint("put the log back if you have it, or go back to a backup with `loci restore`; move palace.db away to begin anew")
}

fn finding(what: &str) -> Finding {
    Finding::new(
        CODE,
        Severity::Error,
        format!("acknowledged writes were lost, {what}"),
    )
    .hint("go back to a backup with `loci restore`, or import the same sources again")
}

fn describe(loss: &LostLog) -> String {
    let mut text = match loss.pages {
        Some((promised, 0)) => {
            format!("the log palace.db-wal with {promised} pages of the newest writes was gone or unreadable")
        }
        Some((promised, found)) => {
            format!(
                "of {promised} pages of the newest writes in the log palace.db-wal only {found} were sound"
            )
        }
        None => "the log palace.db-wal was cut, damaged or gone".to_owned(),
    };
    if let Some(kept) = &loss.kept {
        text.push_str(&format!("; it was kept as {}", kept.display()));
    }
    text
}
