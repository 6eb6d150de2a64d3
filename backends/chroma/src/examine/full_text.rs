//! Whether the full text agrees with the documents it was made of.

use loci_core::{Finding, Result, Severity};

use super::Examination;
use crate::catalogue::{number, rows, text};
use crate::palace::Loaded;

/// Chroma's full text; SQLite keeps it in five tables of its own.
pub(crate) const TABLE: &str = "embedding_fulltext_search";
/// What SQLite keeps it in.
pub(crate) const SHADOWS: [&str; 5] = ["_data", "_idx", "_content", "_docsize", "_config"];

const FIX: &str = "`loci doctor PATH --fix full-text` makes it anew from the documents";

impl Examination {
    /// Findings of the full text.
    pub(super) fn full_text(&mut self, loaded: &Loaded) -> Result<()> {
        // What could be saved of a damaged database holds no full text, and needs none.
        if loaded.database.is_salvaged() || !loaded.schema.has("embedding_metadata") {
            return Ok(());
        }
        let shadows: Vec<String> = SHADOWS.iter().map(|shadow| format!("{TABLE}{shadow}")).collect();
        let there = shadows.iter().filter(|shadow| loaded.schema.has(shadow)).count();
        // Releases before 0.4.16 called it otherwise.
        if !loaded.schema.has(TABLE) && there == 0 && loaded.schema.has("embedding_fulltext") {
            return Ok(());
        }
        match (loaded.schema.has(TABLE), there == shadows.len()) {
            (true, true) => self.full_text_content(loaded),
            (true, false) => {
                let missing: Vec<&str> = shadows
                    .iter()
                    .filter(|shadow| !loaded.schema.has(shadow))
                    .map(String::as_str)
                    .collect();
                self.malformed(&format!("tables behind it are missing: {}", missing.join(", ")));
                Ok(())
            }
            (false, _) => {
                let left = if there > 0 {
                    ", though tables behind it are left"
                } else {
                    ""
                };
                let message =
                    format!("the full text {TABLE} is missing{left}; every write and search of texts fails");
                self.find(Finding::new("full_text_missing", Severity::Error, message).hint(FIX));
                Ok(())
            }
        }
    }

    fn malformed(&mut self, why: &str) {
        let message = format!("the full text is malformed: {why}");
        self.find(Finding::new("full_text_malformed", Severity::Error, message).hint(FIX));
    }

    fn full_text_content(&mut self, loaded: &Loaded) -> Result<()> {
        let connection = &loaded.database.connection;
        if let Some(why) = shadow_damage(loaded).or_else(|| unreadable(loaded)) {
            self.malformed(&why);
            return Ok(());
        }
        let sql = format!(
            "SELECT count(*) FROM embedding_metadata m LEFT JOIN {TABLE}_docsize d ON d.id = m.id \
             LEFT JOIN {TABLE}_content c ON c.id = m.id WHERE m.key = 'chroma:document' \
             AND m.string_value IS NOT NULL AND (d.id IS NULL OR c.id IS NULL)"
        );
        let missing = number(connection, "the full text", &sql, &[])?.unwrap_or_default();
        if missing > 0 {
            let message = format!("{missing} documents are not in the full text");
            self.find(Finding::new("full_text_incomplete", Severity::Error, message).hint(FIX));
        }
        Ok(())
    }
}

/// What SQLite finds wrong with the tables behind the full text.
fn shadow_damage(loaded: &Loaded) -> Option<String> {
    SHADOWS.iter().find_map(|shadow| {
        let sql = format!("PRAGMA quick_check({TABLE}{shadow})");
        let mut wrong = None;
        let checked = rows(&loaded.database.connection, "the full text", &sql, &[], |row| {
            let line = text(row, 0)?.unwrap_or_default();
            wrong = wrong.take().or((line != "ok").then_some(line));
            Ok(())
        });
        wrong.or_else(|| checked.err().map(|error| error.to_string()))
    })
}

/// Why the index of the full text cannot be read from its first term to its last.
///
/// SQLite's own check is not asked: it also compares each text with its terms, and releases cut some texts differently.
fn unreadable(loaded: &Loaded) -> Option<String> {
    let connection = &loaded.database.connection;
    let made = connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.loci_terms USING fts5vocab(main, {TABLE}, row)"
    ));
    let read = made.and_then(|()| {
        let sql = "SELECT coalesce(sum(doc), 0) FROM temp.loci_terms";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0))
    });
    read.err().map(|error| error.to_string())
}
