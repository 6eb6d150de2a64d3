//! `full-text`: rebuilds the full text from the documents.

use std::path::Path;

use loci_core::{Doctor, Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{FixSession, write_error};
use super::{FixPlan, FolderChange};
use crate::ChromaBackend;
use crate::catalogue::{for_each_row, query_number, read_text};
use crate::examine::full_text::{SHADOWS, TABLE};

/// The step's name.
pub(super) const STEP: &str = "full-text";

/// The statement with which every release creates it.
const CREATE: &str =
    "CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram')";

/// The rows it is built from.
const DOCUMENTS: &str = "FROM embedding_metadata WHERE key = 'chroma:document' AND string_value IS NOT NULL";

/// The faults of the full text.
pub(super) struct FullTextFaults {
    /// The messages of the doctor.
    findings: Vec<String>,
    /// The shadow tables with damaged pages. A transaction that reads one of them can no longer write.
    broken: Vec<String>,
}

struct FullTextRebuild {
    wrong: Vec<String>,
    broken: Vec<String>,
    create: String,
    documents: i64,
    bytes: u64,
}

/// Finds the faults on separate connections, which are closed before anything is written.
pub(super) fn find_faults(doctor: &ChromaBackend, path: &Path) -> Result<FullTextFaults> {
    let found = doctor.examine(path)?.findings.into_iter();
    let findings: Vec<String> = found
        .filter(|finding| finding.code.starts_with("full_text_"))
        .map(|finding| finding.message)
        .collect();
    let mut broken = Vec::new();
    if !findings.is_empty() {
        let book = FixSession::open_read_only(path)?;
        let shadows = SHADOWS.iter().map(|shadow| format!("{TABLE}{shadow}"));
        broken.extend(
            shadows.filter(|shadow| book.schema.has_table(shadow) && !is_sound(book.connection(), shadow)),
        );
    }
    Ok(FullTextFaults { findings, broken })
}

fn is_sound(connection: &Connection, table: &str) -> bool {
    let sql = format!("PRAGMA quick_check({table})");
    let mut sound = true;
    let checked = for_each_row(connection, table, &sql, &[], |row| {
        sound &= read_text(row, 0)?.as_deref() == Some("ok");
        Ok(())
    });
    checked.is_ok() && sound
}

/// Plans the rebuild if there are faults.
pub(super) fn plan(book: &FixSession, wrong: &FullTextFaults) -> Result<FixPlan> {
    if wrong.findings.is_empty() {
        return Ok(FixPlan::without_change("the full text agrees with the documents"));
    }
    let connection = book.connection();
    let count = |what: &str| {
        query_number(
            connection,
            "the documents",
            &format!("SELECT {what} {DOCUMENTS}"),
            &[],
        )
    };
    Ok(FixPlan::with_change(FullTextRebuild {
        wrong: wrong.findings.clone(),
        broken: wrong.broken.clone(),
        create: create_statement(connection)?,
        documents: count("count(*)")?.unwrap_or_default(),
        bytes: count("sum(length(string_value))")?
            .unwrap_or_default()
            .unsigned_abs(),
    }))
}

/// Returns the statement that created the full text, if the schema still has it.
fn create_statement(connection: &Connection) -> Result<String> {
    // Reused where it survives, so that the rebuild does not change how texts are tokenised.
    let mut found = None;
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    for_each_row(connection, "the schema", sql, &[&TABLE], |row| {
        found =
            read_text(row, 0)?.filter(|sql| sql.starts_with("CREATE VIRTUAL TABLE") && sql.contains("fts5"));
        Ok(())
    })?;
    Ok(found.unwrap_or_else(|| CREATE.to_owned()))
}

impl FolderChange for FullTextRebuild {
    fn describe(&self) -> Vec<String> {
        let mut lines = self.wrong.clone();
        lines.push(format!("rebuild the full text from {} documents", self.documents));
        lines
    }

    fn estimate_growth(&self) -> u64 {
        // Each character starts a trigram, so the index is several
        // times as large as its texts; `_content` copies them.
        self.bytes.saturating_mul(8)
    }

    fn write_change(&self, connection: &Connection) -> Result<()> {
        let made = || -> rusqlite::Result<()> {
            self.remove_tables(connection)?;
            connection.execute_batch(&self.create)?;
            let fill =
                format!("INSERT INTO {TABLE} (rowid, string_value) SELECT id, string_value {DOCUMENTS}");
            connection.execute(&fill, [])?;
            // An index that this SQLite built itself must pass its full check.
            let check = format!("INSERT INTO {TABLE} ({TABLE}) VALUES ('integrity-check')");
            connection.execute(&check, []).map(drop)
        };
        made().map_err(|cause| write_error("the full text", cause))?;
        let sql = format!("SELECT count(*) FROM {TABLE}_docsize");
        let filled = query_number(connection, "the full text", &sql, &[])?;
        if filled == Some(self.documents) {
            Ok(())
        } else {
            let message = format!("the full text holds {filled:?} of {} documents", self.documents);
            Err(Error::new(ErrorKind::Corrupt, message).with_hint(super::DAMAGED_HINT))
        }
    }
}

impl FullTextRebuild {
    /// Removes the table and its shadow tables, in whatever state they are.
    ///
    /// The virtual table is not dropped but deleted from the schema: DROP would read its shadow tables. Pages of
    /// broken tables stay unused.
    fn remove_tables(&self, connection: &Connection) -> rusqlite::Result<()> {
        let version: i64 = connection.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
        connection.execute_batch("PRAGMA writable_schema = ON")?;
        for name in self.broken.iter().map(String::as_str).chain([TABLE]) {
            connection.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?1", [name])?;
        }
        // Reload the schema here, and make every other connection reload it through the new version.
        connection.execute_batch("PRAGMA writable_schema = RESET")?;
        connection.execute_batch(&format!("PRAGMA schema_version = {}", version + 1))?;
        for shadow in SHADOWS {
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {TABLE}{shadow}"))?;
        }
        Ok(())
    }
}
