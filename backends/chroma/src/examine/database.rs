//! What the database itself shows: lost pages, sequence numbers, rows that belong nowhere, keys without values.

use loci_core::{Finding, Result, Severity};

use super::{Examination, LISTED, MOVE};
use crate::catalogue::{Listed, number};
use crate::database::Reading;
use crate::palace::Loaded;
use crate::shelf::Shelf;

impl Examination {
    /// Findings of the database as a whole.
    pub(super) fn database(&mut self, loaded: &Loaded) -> Result<()> {
        self.losses(loaded);
        self.byte_numbers(loaded)?;
        self.orphan_rows(loaded)?;
        self.empty_values(loaded)
    }

    /// What a damaged database lost, one by one up to a limit.
    fn losses(&mut self, loaded: &Loaded) {
        let Reading::Salvaged { salvage, .. } = &loaded.database.reading else {
            return;
        };
        for loss in salvage.losses.iter().take(LISTED) {
            let message = match &loss.table {
                Some(table) => format!("{table}: {}", loss.message),
                None => loss.message.clone(),
            };
            self.find(Finding::new("pages_lost", Severity::Error, message).hint(MOVE));
        }
        if let Some(more) = salvage.losses.len().checked_sub(LISTED).filter(|more| *more > 0) {
            let message = format!("and {more} more places that could not be read");
            self.find(Finding::new("pages_lost", Severity::Error, message));
        }
        let saved: Vec<String> = salvage
            .saved
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(table, count)| format!("{count} of {table}"))
            .collect();
        let message = format!("rows saved page by page: {}", saved.join(", "));
        self.find(Finding::new("rows_saved", Severity::Note, message));
        let loose: u64 = salvage.loose.values().sum();
        if loose > 0 {
            let message =
                format!("{loose} of them lay on pages nothing leads to; some may have been deleted before");
            self.find(Finding::new("rows_loose", Severity::Warning, message));
        }
        if salvage.restored > 0 {
            let message = format!(
                "{} documents came back from the copy the full text keeps",
                salvage.restored
            );
            self.find(Finding::new("documents_restored", Severity::Note, message));
        }
    }

    /// Under Chroma 1.x numbers kept as bytes fail every call where they stand for positions, and some releases also
    /// where they stand in rows; before 1.0 all are kept so.
    fn byte_numbers(&mut self, loaded: &Loaded) -> Result<()> {
        if !loaded.schema.is_since_1() {
            return Ok(());
        }
        for (table, severity) in [("embeddings", Severity::Warning), ("max_seq_id", Severity::Error)] {
            if !loaded.schema.has(table) {
                continue;
            }
            let sql = format!("SELECT count(*) FROM {table} WHERE typeof(seq_id) = 'blob'");
            let count = number(&loaded.database.connection, table, &sql, &[])?.unwrap_or_default();
            if count > 0 {
                let message = format!(
                    "{count} sequence numbers in {table} are kept as bytes, as before 1.0; Chroma 1.x stumbles over them"
                );
                let hint = "`loci doctor PATH --fix seq-ids` turns them into numbers";
                self.find(Finding::new("blob_seq_ids", severity, message).hint(hint));
            }
        }
        Ok(())
    }

    fn orphan_rows(&mut self, loaded: &Loaded) -> Result<()> {
        if !loaded.schema.has("embeddings") || !loaded.schema.has("segments") {
            return Ok(());
        }
        let sql = "SELECT count(*) FROM embeddings WHERE segment_id NOT IN \
                   (SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection)";
        let sql = match loaded.schema.has("collections") {
            true => sql,
            false => "SELECT count(*) FROM embeddings",
        };
        let count = number(&loaded.database.connection, "the rows", sql, &[])?.unwrap_or_default();
        if count > 0 {
            let message = format!("{count} rows belong to collections that were dropped; nothing shows them");
            self.find(Finding::new("orphan_rows", Severity::Note, message));
        }
        Ok(())
    }

    fn empty_values(&mut self, loaded: &Loaded) -> Result<()> {
        if !loaded.schema.has("embedding_metadata") {
            return Ok(());
        }
        let truths = match loaded.schema.has_column("embedding_metadata", "bool_value") {
            true => " AND bool_value IS NULL",
            false => "",
        };
        let sql = format!(
            "SELECT count(*) FROM embedding_metadata WHERE string_value IS NULL AND int_value IS NULL \
             AND float_value IS NULL{truths}"
        );
        let count = number(&loaded.database.connection, "the metadata", &sql, &[])?.unwrap_or_default();
        if count > 0 {
            let message =
                format!("{count} keys of metadata have no value; they are read as absent, as Chroma does");
            self.find(Finding::new("null_metadata", Severity::Warning, message).hint(MOVE));
        }
        Ok(())
    }

    /// How far rows and graph of a collection have consumed the queue.
    pub(super) fn positions(&mut self, loaded: &Loaded, shelf: &Shelf) {
        let name = shelf.listed.name.as_str();
        let tally = &shelf.tally;
        for (reach, segment, what) in [
            (tally.rows_reach, &shelf.listed.metadata_segment, "rows"),
            (tally.graph_reach, &shelf.listed.vector_segment, "graph"),
        ] {
            if tally.is_absurd(reach) {
                let message = format!(
                    "the {what} of {name:?} claim to have consumed the queue up to {}, but no write ever had a number \
                     above {}; Chroma ignores every write until then",
                    reach.unwrap_or_default(),
                    tally.highest
                );
                let mut finding = Finding::new("absurd_max_seq_id", Severity::Error, message)
                    .hint("`loci doctor PATH --fix max-seq-id` sets it to what was really consumed")
                    .collection(name);
                finding.segment = segment.clone();
                self.find(finding);
            }
        }
        if tally.waiting > 0 {
            let message = format!(
                "{} writes to {name:?} are in the queue and not in its rows; they are read with them",
                tally.waiting
            );
            // Who writes right now has written to the queue first.
            let severity = match loaded.is_in_use() {
                true => Severity::Note,
                false => Severity::Warning,
            };
            self.find(Finding::new("metadata_backlog", severity, message).collection(name));
        }
        if tally.odd_writes > 0 {
            let message = format!(
                "{} writes to {name:?} in the queue are of no known kind",
                tally.odd_writes
            );
            self.find(Finding::new("odd_writes", Severity::Warning, message).collection(name));
        }
        if loaded.database.is_salvaged() && tally.brought_back > 0 {
            let message = format!(
                "{} records of {name:?} whose rows were lost came back from the queue",
                tally.brought_back
            );
            self.find(Finding::new("rows_brought_back", Severity::Note, message).collection(name));
        }
        if shelf.listed.metadata_segment.is_none() {
            let message =
                format!("{name:?} has no segment for its rows, so none of them can be told to be its own");
            self.find(Finding::new("segment_missing", Severity::Error, message).collection(name));
        }
    }
}

/// How many records of a collection have a text.
pub(super) fn documents(loaded: &Loaded, listed: &Listed) -> Result<u64> {
    let Some(segment) = &listed.metadata_segment else {
        return Ok(0);
    };
    if !loaded.schema.has("embedding_metadata") || !loaded.schema.has("embeddings") {
        return Ok(0);
    }
    let sql = "SELECT count(*) FROM embeddings e JOIN embedding_metadata m ON m.id = e.id \
               WHERE +e.segment_id = ?1 AND m.key = 'chroma:document' AND m.string_value IS NOT NULL";
    let count = number(&loaded.database.connection, "the texts", sql, &[segment])?;
    Ok(count.unwrap_or_default().unsigned_abs())
}
