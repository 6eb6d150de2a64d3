//! Palaces as MemPalace leaves them: sound, in use, and damaged.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

#[path = "../conformance/writer.rs"]
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_core::{
    Backend, CollectionInfo, CollectionName, Cursor, Doctor, Drawer, DrawerFields, DrawerId, FindingSeverity,
    GetRequest, IdentityState, IndexCoverage, LexicalRequest, Metadata, Metric, OpenOptions, PalaceDiagnosis,
    PalaceRef, Result,
};
use loci_mempalace::ExactBackend;
use rusqlite::Connection;
use tempfile::TempDir;

const COUNT: usize = 300;
const FILE: &str = "sqlite_exact.sqlite3";

fn new_backend() -> ExactBackend {
    ExactBackend::with_installation(Default::default())
}

fn name() -> CollectionName {
    CollectionName::new("mempalace_drawers").unwrap()
}

/// Vectors whose bits a detour through text or doubles would change.
fn vector(at: usize) -> Vec<f32> {
    let value = |n: usize| f32::from_bits(0x3f00_0000 + (at * 8 + n) as u32 * 7919);
    (0..8).map(value).collect()
}

fn drawers() -> Vec<Drawer> {
    (0..COUNT)
        .map(|at| Drawer {
            document: Some(format!("drawer {at}: the cyclone lifted the house, Ünïcode 猫")),
            metadata: Some(
                Metadata::new()
                    .with_entry("wing", "kansas")
                    .with_entry("source_file", format!("/oz/ch{}.txt", at % 5))
                    .with_entry("chunk_index", at as i64)
                    .with_entry("weight", at as f64 / 3.0)
                    .with_entry("filed_at", "2026-05-01T10:00:00"),
            ),
            embedding: Some(vector(at)),
            ..Drawer::with_id_only(DrawerId::new(format!("drawer_kansas_{at:04}")).unwrap())
        })
        .collect()
}

fn palace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let info = CollectionInfo {
        name: name(),
        metric: Metric::Cosine,
        dimension: Some(8),
        identity: IdentityState::Unset,
        drawers: 0,
        coverage: IndexCoverage::default(),
        approximate: false,
        seq: Cursor(0),
        warnings: Vec::new(),
    };
    writer::write_exact(folder.path(), 1, &[(info, drawers())]);
    folder
}

fn read(folder: &Path) -> Result<BTreeMap<String, Drawer>> {
    let backend = new_backend();
    let palace = PalaceRef::local(folder);
    let collection = backend.open(&palace, &name(), &OpenOptions::default())?;
    let found = collection.get(&GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    })?;
    Ok(found
        .into_iter()
        .map(|drawer| (drawer.id.as_str().to_owned(), drawer))
        .collect())
}

fn examine(folder: &Path) -> PalaceDiagnosis {
    new_backend().examine(folder).unwrap()
}

fn codes(diagnosis: &PalaceDiagnosis) -> Vec<&str> {
    diagnosis
        .findings
        .iter()
        .map(|found| found.code.as_str())
        .collect()
}

fn run(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join(FILE)).unwrap();
    // As in MemPalace, whose SQLite does not check them.
    connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

#[test]
fn every_text_value_and_vector_comes_back_and_the_folder_stays_as_it_is() {
    let folder = palace();
    let before = fs::read(folder.path().join(FILE)).unwrap();
    let found = read(folder.path()).unwrap();
    assert_eq!(found.len(), COUNT);
    for (at, expected) in drawers().into_iter().enumerate() {
        let drawer = &found[expected.id.as_str()];
        assert_eq!(drawer.document, expected.document);
        assert_eq!(drawer.metadata, expected.metadata);
        let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(drawer.embedding.as_deref().unwrap()), bits(&vector(at)));
        assert_eq!(drawer.place.wing.as_deref(), Some("kansas"));
        assert_eq!(drawer.filed_at, "2026-05-01T10:00:00".parse().ok());
    }
    let diagnosis = examine(folder.path());
    assert!(diagnosis.healthy, "{diagnosis:?}");
    assert_eq!(codes(&diagnosis), ["embedder_unknown"]);
    assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), before);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn words_are_found_and_the_recorded_model_is_told() {
    let folder = palace();
    run(
        folder.path(),
        "INSERT INTO meta VALUES ('embedder_model:mempalace_drawers', 'minilm')",
    );
    let backend = new_backend();
    let collection = backend
        .open(&PalaceRef::local(folder.path()), &name(), &OpenOptions::default())
        .unwrap();
    let hits = collection
        .lexical(&LexicalRequest::for_words("drawer 17 cyclone", 3))
        .unwrap();
    assert_eq!(hits[0].drawer.id.as_str(), "drawer_kansas_0017");
    let IdentityState::Known(model) = collection.model() else {
        panic!("{:?}", collection.model());
    };
    assert_eq!((model.model.as_str(), model.dimension), ("minilm", 8));
}

#[test]
fn a_palace_in_use_is_read_with_its_log_and_later_writes_are_seen() {
    let folder = palace();
    let writer = Connection::open(folder.path().join(FILE)).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    let backend = new_backend();
    let collection = backend
        .open(&PalaceRef::local(folder.path()), &name(), &OpenOptions::default())
        .unwrap();
    let count = || collection.count(&Default::default()).unwrap();
    for round in 1..=3 {
        let sql = "INSERT INTO documents(collection_id, id, document, metadata_json, embedding, dim, created_at, \
                   updated_at) VALUES (1, ?1, 'new', '{}', x'', 0, '', '')";
        writer.execute(sql, [format!("new {round}")]).unwrap();
        assert_eq!(count(), (COUNT + round) as u64);
    }
    assert!(codes(&examine(folder.path())).contains(&"wal_pending"));
}

#[test]
fn a_log_that_no_process_maintains_is_read_from_a_copy() {
    let (folder, copy) = (palace(), tempfile::tempdir().unwrap());
    let writer = Connection::open(folder.path().join(FILE)).unwrap();
    writer
        .execute_batch("DELETE FROM documents WHERE rowid > 10")
        .unwrap();
    for name in [FILE.to_owned(), format!("{FILE}-wal")] {
        fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    assert_eq!(read(copy.path()).unwrap().len(), 10);
    assert!(new_backend().recognises(copy.path()));
}

#[test]
fn vectors_and_metadata_that_mempalace_cannot_have_written_are_findings_and_cost_no_text() {
    let folder = palace();
    run(
        folder.path(),
        "UPDATE documents SET embedding = x'0000c07f0000c07f0000c07f0000c07f0000c07f0000c07f0000c07f0000c07f' WHERE rowid = 1;
         UPDATE documents SET embedding = x'00112233445566' WHERE rowid = 2;
         UPDATE documents SET metadata_json = '{\"wing\": NaN}' WHERE rowid = 3;
         UPDATE documents SET id = printf('%.*c', 2000, 'x') WHERE rowid = 4;
         DELETE FROM docs_fts_content WHERE id = 9;
         INSERT INTO documents(collection_id, id, document, metadata_json, embedding, dim, created_at, updated_at)
         VALUES (99, 'orphan', '', '{}', x'', 0, '', '')",
    );
    let diagnosis = examine(folder.path());
    for code in [
        "bad_vector",
        "odd_metadata",
        "full_text_incomplete",
        "orphan_rows",
    ] {
        assert!(codes(&diagnosis).contains(&code), "{code}: {diagnosis:?}");
    }
    let found = read(folder.path()).unwrap();
    assert_eq!(found.len(), COUNT);
    assert!(found.values().all(|drawer| drawer.document.is_some()));
    let damaged = found.values().filter(|drawer| !drawer.damage.is_empty()).count();
    assert_eq!(damaged, 4);
    let raw = found["drawer_kansas_0002"].metadata.as_ref().unwrap();
    assert_eq!(
        raw.get("sqlite_exact:metadata_json")
            .and_then(|raw| raw.as_text()),
        Some("{\"wing\": NaN}")
    );
}

#[test]
fn rows_around_a_damaged_page_are_read_and_the_loss_is_told() {
    let folder = palace();
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes
        .windows(13)
        .position(|text| text == b"drawer 150: t")
        .unwrap()
        / 4096
        * 4096;
    bytes[page..page + 4096].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let diagnosis = examine(folder.path());
    let damaged = diagnosis
        .findings
        .iter()
        .find(|found| found.code == "database_damaged");
    assert_eq!(
        damaged.map(|found| found.severity),
        Some(FindingSeverity::Error),
        "{diagnosis:?}"
    );
    let found = read(folder.path()).unwrap();
    assert!(found.len() > COUNT - 40 && found.len() < COUNT, "{}", found.len());
    assert!(found.contains_key("drawer_kansas_0000") && found.contains_key("drawer_kansas_0299"));
    let backend = new_backend();
    let palace = PalaceRef::local(folder.path());
    backend.collections(&palace).unwrap();
    assert!(!backend.list_damage(&palace).is_empty());
}

#[test]
fn no_damage_is_a_crash_and_none_is_silent() {
    let folder = palace();
    let path = folder.path().join(FILE);
    let sound = fs::read(&path).unwrap();
    for page in 0..sound.len() / 4096 {
        for (at, length) in [(0, 4096), (0, 8), (8, 32), (2000, 64)] {
            let mut bytes = sound.clone();
            let start = page * 4096 + at;
            bytes[start..start + length].fill(0xff);
            fs::write(&path, bytes).unwrap();
            let diagnosis = examine(folder.path());
            let found = read(folder.path()).map_or(0, |found| found.len());
            assert!(
                found == COUNT || !diagnosis.healthy,
                "page {page} at {at}: {found} of {COUNT}"
            );
        }
    }
    for length in [0, 1, 100, 4096, sound.len() / 2, sound.len() - 1] {
        fs::write(&path, &sound[..length]).unwrap();
        let recognised = new_backend().recognises(folder.path());
        assert!(recognised || length < 4096, "{length}");
        assert!(!recognised || !examine(folder.path()).healthy, "{length}");
        let _ = read(folder.path());
    }
}

#[test]
fn a_file_of_another_program_under_this_name_is_not_a_palace() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!new_backend().recognises(folder.path()));
    run(
        folder.path(),
        "CREATE TABLE collections(id); CREATE TABLE other(id);",
    );
    assert!(!new_backend().recognises(folder.path()));
}
