//! The doctor of `sqlite_exact` palaces: diagnoses one from its pages, its rows and its full-text table.

use std::path::Path;

use loci_core::{
    CollectionDiagnosis, Error, ErrorKind, FindingSeverity, IdentityState, PalaceDiagnosis, PalaceFinding,
    Result,
};
use rusqlite::types::ValueRef;
use serde_json::{Map, Value as Json, json};

use crate::ExactBackend;
use crate::database::{ExactDatabase, read_text};
use crate::drawer::{ReadMetadata, decode_vector};
use crate::palace::{DAMAGED, LoadedExact, MOVE_HINT};
use crate::shelf::ExactShelf;

/// Examines the palace at `path`.
pub(crate) fn examine_path(backend: &ExactBackend, path: &Path) -> Result<PalaceDiagnosis> {
    let palace = backend.open_palace(path)?;
    let examined = palace.with_loaded(|loaded| {
        loaded.damage = loaded.database.check_pages(path)?;
        examine_palace(loaded)
    });
    match examined {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(diagnose_unreadable(&error)),
        examined => examined,
    }
}

/// Returns the diagnosis of a file of which nothing can be read.
fn diagnose_unreadable(error: &Error) -> PalaceDiagnosis {
    let message = format!("the database cannot be read: {error}");
    let finding = PalaceFinding::new(DAMAGED, FindingSeverity::Error, message)
        .with_hint("restore it from a backup, or mine its sources again");
    PalaceDiagnosis::from_findings(ExactBackend::NAME, vec![finding])
}

/// What is wrong with the values of a collection.
#[derive(Debug, Default)]
struct ValueTally {
    bad_vectors: u64,
    without_vector: u64,
    odd_metadata: u64,
    /// The first record of each of these.
    examples: [Option<String>; 2],
}

fn examine_palace(loaded: &mut LoadedExact) -> Result<PalaceDiagnosis> {
    let mut findings = Vec::new();
    let mut collections = Vec::new();
    if loaded.database.has_log() {
        let message = "writes in the log beside the database are read with it; the folder stays unchanged";
        findings.push(PalaceFinding::new("wal_pending", FindingSeverity::Note, message));
    }
    for listed in loaded.listed.clone() {
        let (database, shelf) = loaded.lay_out_shelf(&listed.name)?;
        let tally = tally_values(database, shelf)?;
        findings.extend(describe_values(&tally, shelf));
        findings.extend(examine_full_text(database, shelf));
        let figures = json!({
            "documents": shelf.records.len(),
            "rows_without_vector": tally.without_vector + tally.bad_vectors,
            "metric": "cosine",
            "dimension": shelf.listed.dimension,
        });
        collections.push(CollectionDiagnosis {
            name: listed.name.to_string(),
            rows: shelf.records.len() as u64,
            figures: into_object(figures),
        });
        let name = listed.name.as_str();
        if loaded.collection_info(&listed.name)?.identity == IdentityState::Unknown {
            let message = format!("the model that made the vectors of {name:?} is not recorded");
            findings.push(
                PalaceFinding::new("embedder_unknown", FindingSeverity::Note, message).in_collection(name),
            );
        }
    }
    findings.extend(count_orphans(&loaded.database));
    findings.extend(loaded.list_damage());
    findings.extend(loaded.sidecars().findings());
    let mut diagnosis = PalaceDiagnosis::from_findings(ExactBackend::NAME, findings);
    diagnosis.collections = collections;
    Ok(diagnosis)
}

fn tally_values(database: &ExactDatabase, shelf: &ExactShelf) -> Result<ValueTally> {
    let mut tally = ValueTally::default();
    let sql = "SELECT metadata_json, embedding FROM documents NOT INDEXED WHERE rowid = ?1";
    for record in &shelf.records {
        let id = || Some(record.id.as_str().to_owned());
        let read = database.for_each_row("a row", sql, &[&record.row], &mut |row| {
            let metadata = ReadMetadata::parse(&read_text(row, 0)?.unwrap_or_default());
            let [bad_vector, odd_metadata] = &mut tally.examples;
            if !metadata.oddities.is_empty() {
                tally.odd_metadata += 1;
                *odd_metadata = odd_metadata.take().or_else(id);
            }
            match row.get_ref(1)? {
                ValueRef::Blob([]) | ValueRef::Null => tally.without_vector += 1,
                ValueRef::Blob(bytes) if decode_vector(bytes, shelf.listed.dimension).is_some() => {}
                _ => {
                    tally.bad_vectors += 1;
                    *bad_vector = bad_vector.take().or_else(id);
                }
            }
            Ok(())
        });
        match read {
            // The pages were checked before; whatever of the row is readable is carried.
            Err(error) if error.kind() == ErrorKind::Corrupt => tally.without_vector += 1,
            read => read?,
        }
    }
    Ok(tally)
}

fn describe_values(tally: &ValueTally, shelf: &ExactShelf) -> Vec<PalaceFinding> {
    let name = shelf.listed.name.as_str();
    let mut findings = Vec::new();
    let [bad_vector, odd_metadata] = &tally.examples;
    if let Some(example) = bad_vector {
        let message = format!(
            "{} of {name:?} have a vector that no program can have stored, like {example:?}; their texts are intact",
            loci_core::format_count(tally.bad_vectors, "record")
        );
        findings.push(
            PalaceFinding::new("bad_vector", FindingSeverity::Error, message)
                .with_hint("`loci migrate --embed-missing` re-embeds their texts")
                .in_collection(name),
        );
    }
    if tally.without_vector > 0 {
        let message = format!(
            "{} of {name:?} have no vector; their texts are intact",
            loci_core::format_count(tally.without_vector, "record")
        );
        findings.push(
            PalaceFinding::new("rows_without_vector", FindingSeverity::Error, message)
                .with_hint("`loci migrate --embed-missing` re-embeds their texts")
                .in_collection(name),
        );
    }
    if let Some(example) = odd_metadata {
        let message = format!(
            "{} of {name:?} have metadata that MemPalace does not write, like {example:?}; it is carried as text",
            loci_core::format_count(tally.odd_metadata, "record")
        );
        findings.push(
            PalaceFinding::new("odd_metadata", FindingSeverity::Warning, message)
                .with_hint(MOVE_HINT)
                .in_collection(name),
        );
    }
    findings
}

/// Returns the finding for documents that MemPalace's own keyword search misses.
fn examine_full_text(database: &ExactDatabase, shelf: &ExactShelf) -> Option<PalaceFinding> {
    // The plain table behind the index is read: asking the index itself would run its module on damaged pages.
    let sql = "SELECT count(*) FROM docs_fts_content WHERE c0 = ?1";
    let mut held: Option<i64> = None;
    let read = database.for_each_row("the full text", sql, &[&shelf.listed.number], &mut |row| {
        held = row.get(0)?;
        Ok(())
    });
    let (held, rows) = (read.ok().and(held)?, shelf.records.len() as i64);
    let name = shelf.listed.name.as_str();
    let message =
        format!("the full-text table holds {held} of {rows} documents of {name:?}; it is not used here");
    let finding = PalaceFinding::new("full_text_incomplete", FindingSeverity::Warning, message);
    (held < rows).then(|| finding.with_hint(MOVE_HINT).in_collection(name))
}

/// Returns a note about rows of collections that were dropped.
fn count_orphans(database: &ExactDatabase) -> Option<PalaceFinding> {
    let sql =
        "SELECT count(*) FROM documents NOT INDEXED WHERE collection_id NOT IN (SELECT id FROM collections)";
    let mut orphans = 0_i64;
    let read = database.for_each_row("the rows", sql, &[], &mut |row| {
        orphans = row.get(0)?;
        Ok(())
    });
    let message = format!(
        "{} belong to collections that were dropped; they are not carried",
        loci_core::format_count(orphans.unsigned_abs(), "row")
    );
    (read.is_ok() && orphans > 0).then(|| PalaceFinding::new("orphan_rows", FindingSeverity::Note, message))
}

fn into_object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
