//! The word lossless and the exit status of `loci migrate`, one test for each row of the table in docs/chroma.md.

use std::fs;
use std::path::{Path, PathBuf};

use loci_testkit::{chroma_folder, chroma_python};
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

/// Writes a collection by a metric with two vectors of zeros, one of which gets into the saved graph.
const ZEROS: &str = r#"
import sys, chromadb
folder, space = sys.argv[1:]
client = chromadb.PersistentClient(folder)
settings = {"hnsw:space": space, "hnsw:batch_size": 10, "hnsw:sync_threshold": 20}
notes = client.create_collection("notes", metadata=settings, embedding_function=None)
for at in range(0, 50, 10):
    vectors = [[0.0] * 4 if n in (5, 45) else [n, 1.0, -n, 0.5] for n in range(at, at + 10)]
    notes.add(ids=[f"n{n}" for n in range(at, at + 10)], embeddings=vectors, documents=["a note"] * 10)
"#;

/// A home with a folder that a release wrote with two vectors of zeros.
fn with_zeros(release: &str, space: &str) -> TempHome {
    let home = new_home();
    let mut python = chroma_python(release);
    python.args(["-c", ZEROS]).arg(home.path("chroma")).arg(space);
    let output = python.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "chromadb {release}: {error}");
    home
}

#[test]
fn vectors_of_zeros_are_carried_where_they_have_a_distance() {
    for release in ["0.6.3", "1.5.9"] {
        for space in ["l2", "ip"] {
            let home = with_zeros(release, space);
            let report = expect(&home, &[], true, 0, None);
            let carried = &report["collections"][0];
            assert_eq!(
                (&carried["with_vector"], &carried["without_vector"]),
                (&50.into(), &0.into()),
                "{report}"
            );
            expect_as_announced(&home);
            let found = |palace: &str| {
                let args = ["search", "--vector", "[0,0,0,0]", "-n", "50", "--palace", palace];
                home.json(0, &args)["hits"].clone()
            };
            let (here, there) = (found("./chroma"), found("./new"));
            assert_eq!(here, there, "{release} {space}");
            let nearest: Vec<&Json> = here.as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
            assert_eq!(nearest.len(), 50);
            // Nothing is nearer to zero than zero; every product with it is the same.
            assert!(space == "ip" || nearest[..2] == ["n45", "n5"], "{nearest:?}");
        }
    }
}

#[test]
fn vectors_of_zeros_are_a_loss_by_cosine() {
    for release in ["0.6.3", "1.5.9"] {
        let home = with_zeros(release, "cosine");
        let report = expect(&home, &[], false, 1, Some("unsound_vector"));
        assert_eq!(report["collections"][0]["without_vector"], 2, "{report}");
        assert_eq!(
            report["record"]["collections"][0]["unsound_vector"]["count"], 2,
            "{report}"
        );
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
