//! The word lossless and the exit status of `loci migrate`, one test for each row of the table in docs/chroma.md.

use std::fs;
use std::path::{Path, PathBuf};

use loci_testkit::chroma_folder;
use rusqlite::Connection;
use serde_json::Value as Json;

use super::doctoring::copy_all;
use super::{TempHome, new_home};

/// A home with a copy of a folder that the newest release wrote.
fn with_folder(name: &str) -> TempHome {
    let home = new_home();
    let from = chroma_folder().join("1.5.9").join(name).join("db");
    copy_all(&from, &home.path("chroma"));
    home
}

fn sql(home: &TempHome, statements: &str) {
    let connection = Connection::open(home.path("chroma/chroma.sqlite3")).unwrap();
    connection.execute_batch(statements).unwrap();
}

/// The folder of the graph of a collection.
fn graph_of(home: &TempHome, collection: &str) -> PathBuf {
    let connection = Connection::open(home.path("chroma/chroma.sqlite3")).unwrap();
    let sql = "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection \
               WHERE c.name = ?1 AND s.scope = 'VECTOR'";
    let segment: String = connection.query_row(sql, [collection], |row| row.get(0)).unwrap();
    home.path("chroma").join(segment)
}

fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Migrates the folder, and expects the word, the exit status and a finding of this code.
#[track_caller]
fn expect(home: &TempHome, more: &[&str], lossless: bool, code: i32, finding: Option<&str>) -> Json {
    let args = [&["migrate", "--from", "chroma", "--to", "./new"], more].concat();
    let report = home.json(code, &args);
    assert_eq!(report["lossless"], lossless, "{report}");
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert!(
        finding.is_none_or(|finding| codes.contains(&finding)),
        "{finding:?} is not among {codes:?}"
    );
    report
}

/// Expects that a comparison explains every difference by the record of the migration.
#[track_caller]
fn expect_as_announced(home: &TempHome) {
    let compared = home.json(0, &["verify", "--palace", "./new", "--against", "chroma"]);
    assert_eq!(compared["ok"], true, "{compared}");
}

#[test]
fn a_whole_folder_is_lossless() {
    let home = with_folder("flushed");
    expect(&home, &[], true, 0, None);
    expect_as_announced(&home);
}

#[test]
fn records_without_a_text_are_lossless() {
    let home = with_folder("small");
    expect(&home, &[], true, 0, Some("without_document"));
    expect_as_announced(&home);
}

#[test]
fn a_requested_change_is_not_lossless_and_succeeds() {
    let home = with_folder("kept");
    let more = ["--embedder", "builtin", "--force-model-swap"];
    expect(&home, &more, false, 0, None);
}

#[test]
fn a_damaged_vector_is_a_loss() {
    let home = with_folder("metrics");
    let graph = graph_of(&home, "by-cosine");
    let header = fs::read(graph.join("header.bin")).unwrap();
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap()) as usize;
    let (size, vector) = (number(28), number(44));
    change(&graph.join("data_level0.bin"), |bytes| {
        let place = &mut bytes[size * 7 + vector..][..32];
        for value in place.as_chunks_mut::<4>().0 {
            *value = (f32::from_le_bytes(*value) * 1e30).to_le_bytes();
        }
    });
    let diagnosis = home.json(1, &["doctor", "chroma"]);
    assert!(diagnosis.to_string().contains("bad_vector"), "{diagnosis}");
    let report = expect(&home, &[], false, 1, Some("damaged"));
    let found = report["collections"].as_array().unwrap().iter();
    let without: u64 = found.map(|one| one["without_vector"].as_u64().unwrap()).sum();
    assert_eq!(without, 1, "{report}");
    expect_as_announced(&home);
}

#[test]
fn vectors_that_a_cut_graph_lost_are_a_loss() {
    let home = with_folder("flushed");
    change(&graph_of(&home, "flushed").join("data_level0.bin"), |bytes| {
        bytes.truncate(bytes.len() / 3);
    });
    let report = expect(&home, &[], false, 1, Some("rows_without_vector"));
    assert!(
        report["collections"][0]["without_vector"].as_u64() > Some(0),
        "{report}"
    );
}

#[test]
fn rows_that_no_segment_names_are_a_loss() {
    let home = with_folder("flushed");
    sql(
        &home,
        "PRAGMA foreign_keys = OFF; DELETE FROM segments WHERE scope = 'METADATA'",
    );
    expect(&home, &[], false, 1, Some("segment_missing"));
    let told = home.run(&["count", "--palace", "chroma"]).expect_code(1);
    assert!(told.err.contains("no metadata segment"), "{}", told.err);
}

#[test]
fn a_vector_of_zeros_is_a_loss() {
    for space in ["flushed", "metrics"] {
        let home = with_folder(space);
        sql(
            &home,
            "UPDATE embeddings_queue SET vector = zeroblob(length(vector)) \
             WHERE seq_id = (SELECT max(seq_id) FROM embeddings_queue WHERE vector IS NOT NULL)",
        );
        expect(&home, &[], false, 1, Some("unsound_vector"));
        expect_as_announced(&home);
    }
}

#[test]
fn half_a_database_is_a_loss_and_every_answer_says_so() {
    let home = with_folder("flushed");
    change(&home.path("chroma/chroma.sqlite3"), |bytes| {
        bytes.truncate(bytes.len() / 8192 * 4096);
    });
    for args in [
        ["count", "--palace", "chroma"].as_slice(),
        &["export", "--palace", "chroma", "--format", "jsonl"],
    ] {
        let told = home.run(args).expect_code(1);
        assert!(
            told.err.contains("the database is damaged"),
            "{args:?}: {}",
            told.err
        );
    }
    expect(&home, &[], false, 1, Some("database_damaged"));
}

#[test]
fn values_that_no_palace_stores_are_a_loss_that_a_comparison_explains() {
    let home = with_folder("flushed");
    sql(
        &home,
        "UPDATE embeddings SET embedding_id = replace(hex(zeroblob(1000)), '0', 'x') WHERE id = \
             (SELECT min(id) FROM embeddings); \
         UPDATE embedding_metadata SET float_value = 9e999 WHERE key = 'half' AND id = \
             (SELECT max(id) FROM embeddings);",
    );
    let report = expect(&home, &[], false, 1, Some("damaged"));
    assert_eq!(
        report["record"]["collections"][0]["damaged"]["count"], 2,
        "{report}"
    );
    expect_as_announced(&home);
}
