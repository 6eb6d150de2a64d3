//! Commits that were lost with the log: noted in the palace, and reported for as long as the note exists.

use loci_core::{Error, ErrorKind, FindingSeverity, PalaceFinding, Result, Timestamp};
use rusqlite::Connection;

use crate::connection::begin_write;
use crate::failure::sqlite_error;
use crate::vfs::{self, LostLog};
use crate::{clock, schema};

/// The prefix of a note about a loss.
const NOTE: &str = "lost log: ";

/// Writes a loss that was found when the file was opened into the palace's notes. The file itself keeps the loss on
/// record until that commit is on disk, so the next opening tries again if this one fails.
pub(crate) fn record_loss(connection: &mut Connection) -> Result<()> {
    if vfs::lost_log(connection)?.is_none() {
        return Ok(());
    }
    let transaction = begin_write(connection).map_err(sqlite_error)?;
    // Another process may have written the note while this one waited.
    if let Some(loss) = vfs::lost_log(&transaction)? {
        schema::add_note(
            &transaction,
            clock::now(),
            &format!("{NOTE}{}", describe_loss(&loss)),
        )?;
        // Announced inside the transaction: the flag in the file may fall only with the commit that carries the
        // note, or a crash between the two would forget the loss.
        vfs::note_loss(&transaction)?;
    }
    transaction.commit().map_err(sqlite_error)
}

/// Returns every loss on record: those in the notes, and one that has not been noted yet.
pub(crate) fn loss_findings(connection: &Connection) -> Result<Vec<PalaceFinding>> {
    let mut statement = connection
        .prepare("SELECT at, text FROM notes WHERE substr(text, 1, length(?1)) = ?1 ORDER BY note")
        .map_err(sqlite_error)?;
    let mut rows = statement.query([NOTE]).map_err(sqlite_error)?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        let (at, text): (i64, String) = (
            row.get(0).map_err(sqlite_error)?,
            row.get(1).map_err(sqlite_error)?,
        );
        let when = Timestamp::from_micros(at).map_or_else(|_| at.to_string(), |at| at.to_string());
        findings.push(loss_finding(&format!(
            "found {when}: {}",
            text.trim_start_matches(NOTE)
        )));
    }
    let pending =
        vfs::lost_log(connection)?.map(|loss| loss_finding(&format!("found now: {}", describe_loss(&loss))));
    findings.extend(pending);
    Ok(findings)
}

/// Returns the error for a palace of which only the bare file is left.
pub(crate) fn nothing_left_error() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "the whole content of the palace was in its log (palace.db-wal), which is missing or damaged",
    )
    .with_hint("put the log back if you have it, bring what is left into a new palace with `loci rescue PATH --to NEW`, or go back to a backup with `loci restore`")
}

fn loss_finding(what: &str) -> PalaceFinding {
    PalaceFinding::new(
        PalaceFinding::LOST_WRITES,
        FindingSeverity::Error,
        format!("acknowledged writes were lost, {what}"),
    )
    .with_hint("go back to a backup with `loci restore`, or import the same sources again")
}

fn describe_loss(loss: &LostLog) -> String {
    let mut text = match loss.pages {
        Some((promised, 0)) => {
            format!("the log palace.db-wal with {promised} pages of the newest writes was gone or unreadable")
        }
        Some((promised, found)) => {
            format!(
                "only {found} of {promised} pages of the newest writes in the log palace.db-wal were sound"
            )
        }
        None => "the log palace.db-wal was cut, damaged or gone".to_owned(),
    };
    if let Some(kept) = &loss.kept {
        text.push_str(&format!("; it was kept as {}", kept.display()));
    }
    text
}
