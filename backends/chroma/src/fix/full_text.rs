//! `full-text`: the full text is made anew from the documents.

use std::path::Path;

use loci_core::{Doctor, Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{Book, unwritten};
use super::{Change, Plan};
use crate::Chroma;
use crate::catalogue::{number, rows, text};
use crate::examine::full_text::{SHADOWS, TABLE};

/// The step's name.
pub(super) const STEP: &str = "full-text";

/// How every release makes it.
const CREATE: &str =
    "CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram')";

/// Which rows it is made of.
const DOCUMENTS: &str = "FROM embedding_metadata WHERE key = 'chroma:document' AND string_value IS NOT NULL";

/// What is wrong with the full text.
pub(super) struct Wrong {
    /// What the doctor says of it.
    findings: Vec<String>,
    /// Tables behind it with damaged pages. Whoever so much as looks at one in a transaction can write nothing more.
    broken: Vec<String>,
}

struct FullText {
    wrong: Vec<String>,
    broken: Vec<String>,
    create: String,
    documents: i64,
    bytes: u64,
}

/// Finds out what is wrong; on connections of its own, which end before anything is written.
pub(super) fn wrong(doctor: &Chroma, path: &Path) -> Result<Wrong> {
    let found = doctor.examine(path)?.findings.into_iter();
    let findings: Vec<String> = found
        .filter(|finding| finding.code.starts_with("full_text_"))
        .map(|finding| finding.message)
        .collect();
    let mut broken = Vec::new();
    if !findings.is_empty() {
        let book = Book::look(path)?;
        let shadows = SHADOWS.iter().map(|shadow| format!("{TABLE}{shadow}"));
        broken
            .extend(shadows.filter(|shadow| book.schema.has(shadow) && !is_sound(book.connection(), shadow)));
    }
    Ok(Wrong { findings, broken })
}

fn is_sound(connection: &Connection, table: &str) -> bool {
    let sql = format!("PRAGMA quick_check({table})");
    let mut sound = true;
    let checked = rows(connection, table, &sql, &[], |row| {
        sound &= text(row, 0)?.as_deref() == Some("ok");
        Ok(())
    });
    checked.is_ok() && sound
}

/// What would be made anew, where something is `wrong`.
pub(super) fn plan(book: &Book, wrong: &Wrong) -> Result<Plan> {
    if wrong.findings.is_empty() {
        return Ok(Plan::nothing("the full text agrees with the documents"));
    }
    let connection = book.connection();
    let count = |what: &str| {
        number(
            connection,
            "the documents",
            &format!("SELECT {what} {DOCUMENTS}"),
            &[],
        )
    };
    Ok(Plan::of(FullText {
        wrong: wrong.findings.clone(),
        broken: wrong.broken.clone(),
        create: create(connection)?,
        documents: count("count(*)")?.unwrap_or_default(),
        bytes: count("sum(length(string_value))")?
            .unwrap_or_default()
            .unsigned_abs(),
    }))
}

/// The statement that made it, where that is still there.
fn create(connection: &Connection) -> Result<String> {
    let mut found = None;
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    rows(connection, "the schema", sql, &[&TABLE], |row| {
        found = text(row, 0)?.filter(|sql| sql.starts_with("CREATE VIRTUAL TABLE") && sql.contains("fts5"));
        Ok(())
    })?;
    Ok(found.unwrap_or_else(|| CREATE.to_owned()))
}

impl Change for FullText {
    fn lines(&self) -> Vec<String> {
        let mut lines = self.wrong.clone();
        lines.push(format!("the full text anew from {} documents", self.documents));
        lines
    }

    fn growth(&self) -> u64 {
        self.bytes.saturating_mul(8)
    }

    fn make(&self, connection: &Connection) -> Result<()> {
        let made = || -> rusqlite::Result<()> {
            self.remove(connection)?;
            connection.execute_batch(&self.create)?;
            let fill =
                format!("INSERT INTO {TABLE} (rowid, string_value) SELECT id, string_value {DOCUMENTS}");
            connection.execute(&fill, [])?;
            let check = format!("INSERT INTO {TABLE} ({TABLE}) VALUES ('integrity-check')");
            connection.execute(&check, []).map(drop)
        };
        made().map_err(|cause| unwritten("the full text", cause))?;
        let sql = format!("SELECT count(*) FROM {TABLE}_docsize");
        let filled = number(connection, "the full text", &sql, &[])?;
        match filled == Some(self.documents) {
            true => Ok(()),
            false => {
                let message = format!("the full text holds {filled:?} of {} documents", self.documents);
                Err(Error::new(ErrorKind::Corrupt, message).hint(super::MOVE))
            }
        }
    }
}

impl FullText {
    /// Removes the table and what SQLite keeps it in, whatever is left of them.
    ///
    /// The table itself is never dropped: that would read what is behind it. Pages of broken tables stay unused.
    fn remove(&self, connection: &Connection) -> rusqlite::Result<()> {
        let version: i64 = connection.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
        connection.execute_batch("PRAGMA writable_schema = ON")?;
        for name in self.broken.iter().map(String::as_str).chain([TABLE]) {
            connection.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?1", [name])?;
        }
        // Read again what the schema is now, and let everybody else do so too.
        connection.execute_batch("PRAGMA writable_schema = RESET")?;
        connection.execute_batch(&format!("PRAGMA schema_version = {}", version + 1))?;
        for shadow in SHADOWS {
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {TABLE}{shadow}"))?;
        }
        Ok(())
    }
}
