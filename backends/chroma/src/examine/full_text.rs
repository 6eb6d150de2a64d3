//! Compares the full text with the documents it was built from.

use loci_core::{FindingSeverity, PalaceFinding, Result};

use super::FolderExamination;
use crate::catalogue::{for_each_row, query_number, read_text};
use crate::palace::LoadedFolder;

/// Chroma's full-text table, which SQLite stores in five shadow tables.
pub(crate) const TABLE: &str = "embedding_fulltext_search";
/// The suffixes of its shadow tables.
pub(crate) const SHADOWS: [&str; 5] = ["_data", "_idx", "_content", "_docsize", "_config"];

const FULL_TEXT_HINT: &str = "`loci doctor PATH --fix full-text` rebuilds it from the documents";

impl FolderExamination {
    /// Examines the full text.
    pub(super) fn examine_full_text(&mut self, loaded: &LoadedFolder) -> Result<()> {
        // A salvaged database has no full-text index and needs none: searches here read every text.
        if loaded.database.is_salvaged() || !loaded.schema.has_table("embedding_metadata") {
            return Ok(());
        }
        let shadows: Vec<String> = SHADOWS.iter().map(|shadow| format!("{TABLE}{shadow}")).collect();
        let there = shadows
            .iter()
            .filter(|shadow| loaded.schema.has_table(shadow))
            .count();
        // Releases before 0.4.16 used another name.
        if !loaded.schema.has_table(TABLE) && there == 0 && loaded.schema.has_table("embedding_fulltext") {
            return Ok(());
        }
        match (loaded.schema.has_table(TABLE), there == shadows.len()) {
            (true, true) => self.compare_full_text(loaded),
            (true, false) => {
                let missing: Vec<&str> = shadows
                    .iter()
                    .filter(|shadow| !loaded.schema.has_table(shadow))
                    .map(String::as_str)
                    .collect();
                self.report_malformed(&format!("shadow tables are missing: {}", missing.join(", ")));
                Ok(())
            }
            (false, _) => {
                let left = if there > 0 {
                    ", though shadow tables remain"
                } else {
                    ""
                };
                let message = format!(
                    "the full text {TABLE} is missing{left}; every write and every text search fails"
                );
                self.add_finding(
                    PalaceFinding::new("full_text_missing", FindingSeverity::Error, message)
                        .with_hint(FULL_TEXT_HINT),
                );
                Ok(())
            }
        }
    }

    fn report_malformed(&mut self, why: &str) {
        let message = format!("the full text is malformed: {why}");
        self.add_finding(
            PalaceFinding::new("full_text_malformed", FindingSeverity::Error, message)
                .with_hint(FULL_TEXT_HINT),
        );
    }

    fn compare_full_text(&mut self, loaded: &LoadedFolder) -> Result<()> {
        let connection = &loaded.database.connection;
        if let Some(why) = find_shadow_damage(loaded).or_else(|| find_index_damage(loaded)) {
            self.report_malformed(&why);
            return Ok(());
        }
        // In the order of rows, not in that of texts, in which every row would be on another page.
        let sql = format!(
            "SELECT count(*) FROM embedding_metadata m NOT INDEXED LEFT JOIN {TABLE}_docsize d ON d.id = m.id \
             LEFT JOIN {TABLE}_content c ON c.id = m.id WHERE m.key = 'chroma:document' \
             AND m.string_value IS NOT NULL AND (d.id IS NULL OR c.id IS NULL)"
        );
        let missing = query_number(connection, "the full text", &sql, &[])?.unwrap_or_default();
        if missing > 0 {
            let message = format!("{missing} documents are missing from the full text");
            self.add_finding(
                PalaceFinding::new("full_text_incomplete", FindingSeverity::Error, message)
                    .with_hint(FULL_TEXT_HINT),
            );
        }
        Ok(())
    }
}

/// Returns the damage that SQLite finds in the shadow tables.
fn find_shadow_damage(loaded: &LoadedFolder) -> Option<String> {
    SHADOWS.iter().find_map(|shadow| {
        // A search needs both: the index for its candidates,
        // and the copy in `_content` to verify a LIKE pattern.
        let sql = format!("PRAGMA quick_check({TABLE}{shadow})");
        let mut wrong = None;
        let checked = for_each_row(&loaded.database.connection, "the full text", &sql, &[], |row| {
            let line = read_text(row, 0)?.unwrap_or_default();
            wrong = wrong.take().or((line != "ok").then_some(line));
            Ok(())
        });
        wrong.or_else(|| checked.err().map(|error| error.to_string()))
    })
}

/// Returns the reason why the index of the full text cannot be read from its first term to its last.
///
/// SQLite's own integrity check is too strict: it also compares each text with its terms, and releases tokenise some
/// texts differently.
fn find_index_damage(loaded: &LoadedFolder) -> Option<String> {
    let connection = &loaded.database.connection;
    // A table in `temp` needs no write to the folder, and its sum reads every term of the index.
    let made = connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.loci_terms USING fts5vocab(main, {TABLE}, row)"
    ));
    let read = made.and_then(|()| {
        let sql = "SELECT coalesce(sum(doc), 0) FROM temp.loci_terms";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0))
    });
    read.err().map(|error| error.to_string())
}
