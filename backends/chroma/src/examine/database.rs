//! Findings of the database: lost pages, sequence numbers, orphaned rows, keys without values.

use loci_core::{FindingSeverity, PalaceFinding, Result};

use super::{FolderExamination, MOST_LISTED, MOVE_HINT};
use crate::catalogue::{ListedCollection, query_number};
use crate::database::ReadingMode;
use crate::palace::LoadedFolder;
use crate::shelf::RecordShelf;

impl FolderExamination {
    /// Examines the database as a whole.
    pub(super) fn examine_database(&mut self, loaded: &LoadedFolder) -> Result<()> {
        self.report_losses(loaded);
        self.find_byte_numbers(loaded)?;
        self.find_orphan_rows(loaded)?;
        self.find_empty_values(loaded)
    }

    /// Reports the losses of a damaged database, one by one up to a limit.
    fn report_losses(&mut self, loaded: &LoadedFolder) {
        let ReadingMode::Salvaged { salvage, .. } = &loaded.database.reading else {
            return;
        };
        for loss in salvage.losses.iter().take(MOST_LISTED) {
            let message = match &loss.table {
                Some(table) => format!("{table}: {}", loss.message),
                None => loss.message.clone(),
            };
            self.add_finding(
                PalaceFinding::new("pages_lost", FindingSeverity::Error, message).with_hint(MOVE_HINT),
            );
        }
        // A wiped half of a database loses thousands of pages, which would bury every other finding.
        if let Some(more) = salvage
            .losses
            .len()
            .checked_sub(MOST_LISTED)
            .filter(|more| *more > 0)
        {
            let message = format!("{more} more places could not be read");
            self.add_finding(PalaceFinding::new("pages_lost", FindingSeverity::Error, message));
        }
        let saved: Vec<String> = salvage
            .saved_rows
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(table, count)| format!("{count} of {table}"))
            .collect();
        let message = format!("rows salvaged page by page: {}", saved.join(", "));
        self.add_finding(PalaceFinding::new("rows_saved", FindingSeverity::Note, message));
        let loose: u64 = salvage.loose_rows.values().sum();
        if loose > 0 {
            let message =
                format!("{loose} of them lay on unreferenced pages; some may have been deleted before");
            self.add_finding(PalaceFinding::new(
                "rows_loose",
                FindingSeverity::Warning,
                message,
            ));
        }
        if salvage.restored_documents > 0 {
            let message = format!(
                "{} documents were restored from the copy in the full text",
                salvage.restored_documents
            );
            self.add_finding(PalaceFinding::new(
                "documents_restored",
                FindingSeverity::Note,
                message,
            ));
        }
    }

    /// Finds sequence numbers stored as bytes. Under Chroma 1.x those in positions fail every call, while those in rows
    /// are read well, in every folder that 1.x upgraded; before 1.0 all are stored as bytes.
    fn find_byte_numbers(&mut self, loaded: &LoadedFolder) -> Result<()> {
        // Before 1.0 bytes are the only encoding, so they are expected there.
        if !loaded.schema.is_since_1() {
            return Ok(());
        }
        for (table, severity, effect) in [
            (
                "embeddings",
                FindingSeverity::Note,
                "Chroma 1.x reads them all the same",
            ),
            ("max_seq_id", FindingSeverity::Error, "Chroma 1.x fails on them"),
        ] {
            if !loaded.schema.has_table(table) {
                continue;
            }
            let sql = format!("SELECT count(*) FROM {table} WHERE typeof(seq_id) = 'blob'");
            let count = query_number(&loaded.database.connection, table, &sql, &[])?.unwrap_or_default();
            if count > 0 {
                let message = format!(
                    "{count} sequence numbers in {table} are stored as bytes, as before 1.0; {effect}"
                );
                let hint = "`loci doctor PATH --fix seq-ids` converts them to numbers";
                self.add_finding(PalaceFinding::new("blob_seq_ids", severity, message).with_hint(hint));
            }
        }
        Ok(())
    }

    fn find_orphan_rows(&mut self, loaded: &LoadedFolder) -> Result<()> {
        if !loaded.schema.has_table("embeddings") || !loaded.schema.has_table("segments") {
            return Ok(());
        }
        let sql = "SELECT count(*) FROM embeddings WHERE segment_id NOT IN \
                   (SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection)";
        let sql = if loaded.schema.has_table("collections") {
            sql
        } else {
            "SELECT count(*) FROM embeddings"
        };
        let count = query_number(&loaded.database.connection, "the rows", sql, &[])?.unwrap_or_default();
        if count > 0 {
            let message = format!("{count} rows belong to dropped collections and are never read");
            self.add_finding(PalaceFinding::new("orphan_rows", FindingSeverity::Note, message));
        }
        Ok(())
    }

    fn find_empty_values(&mut self, loaded: &LoadedFolder) -> Result<()> {
        if !loaded.schema.has_table("embedding_metadata") {
            return Ok(());
        }
        let truths = if loaded.schema.has_column("embedding_metadata", "bool_value") {
            " AND bool_value IS NULL"
        } else {
            ""
        };
        let sql = format!(
            "SELECT count(*) FROM embedding_metadata WHERE string_value IS NULL AND int_value IS NULL \
             AND float_value IS NULL{truths}"
        );
        let count = query_number(&loaded.database.connection, "the metadata", &sql, &[])?.unwrap_or_default();
        if count > 0 {
            let message =
                format!("{count} metadata keys have no value; they are read as absent, as Chroma does");
            self.add_finding(
                PalaceFinding::new("null_metadata", FindingSeverity::Warning, message).with_hint(MOVE_HINT),
            );
        }
        Ok(())
    }

    /// Examines how far the rows and the graph of a collection have consumed the queue.
    pub(super) fn examine_positions(&mut self, loaded: &LoadedFolder, shelf: &RecordShelf) {
        let name = shelf.listed.name.as_str();
        let tally = &shelf.tally;
        for (reach, segment, what) in [
            (tally.rows_reach, &shelf.listed.metadata_segment, "rows"),
            (tally.graph_reach, &shelf.listed.vector_segment, "graph"),
        ] {
            // A shim for byte numbers decoded them wrongly and left positions near 1.2e18 in real palaces.
            if tally.is_absurd(reach) {
                let message = format!(
                    "the {what} of {name:?} claim to have consumed the queue up to {}, but no write ever had a number \
                     above {}; Chroma ignores every write up to that position",
                    reach.unwrap_or_default(),
                    tally.highest
                );
                let mut finding = PalaceFinding::new("absurd_max_seq_id", FindingSeverity::Error, message)
                    .with_hint("`loci doctor PATH --fix max-seq-id` sets it to the position that was really consumed")
                    .in_collection(name);
                finding.segment = segment.clone();
                self.add_finding(finding);
            }
        }
        if tally.waiting > 0 {
            let message = format!(
                "{} writes to {name:?} are in the queue and not in its rows; they are read with them",
                tally.waiting
            );
            // Every write goes to the queue first, so a live writer leaves a backlog for a moment.
            let severity = if loaded.is_in_use() {
                FindingSeverity::Note
            } else {
                FindingSeverity::Warning
            };
            self.add_finding(PalaceFinding::new("metadata_backlog", severity, message).in_collection(name));
        }
        if tally.odd_writes > 0 {
            let message = format!(
                "{} writes to {name:?} in the queue have an unknown operation",
                tally.odd_writes
            );
            self.add_finding(
                PalaceFinding::new("odd_writes", FindingSeverity::Warning, message).in_collection(name),
            );
        }
        // In a sound database the same count only shows a backlog, which was reported above.
        if loaded.database.is_salvaged() && tally.brought_back > 0 {
            let message = format!(
                "{} records of {name:?} whose rows were lost were restored from the queue",
                tally.brought_back
            );
            self.add_finding(
                PalaceFinding::new("rows_brought_back", FindingSeverity::Note, message).in_collection(name),
            );
        }
    }
}

/// Counts the records of a collection that have a text.
pub(super) fn count_documents(loaded: &LoadedFolder, listed: &ListedCollection) -> Result<u64> {
    let Some(segment) = &listed.metadata_segment else {
        return Ok(0);
    };
    if !loaded.schema.has_table("embedding_metadata") || !loaded.schema.has_table("embeddings") {
        return Ok(0);
    }
    // The plus sign keeps SQLite from answering from an index, which may disagree with the rows. In the order of texts,
    // which an index has, every row would be on another page.
    let sql = "SELECT count(*) FROM embedding_metadata m NOT INDEXED CROSS JOIN embeddings e ON e.id = m.id \
               WHERE +e.segment_id = ?1 AND m.key = 'chroma:document' AND m.string_value IS NOT NULL";
    let count = query_number(&loaded.database.connection, "the texts", sql, &[segment])?;
    Ok(count.unwrap_or_default().unsigned_abs())
}
