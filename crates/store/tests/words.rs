//! The index of words where part of it is sealed: damage of meaning, what compacting gives back, and what is in scope.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it measured"
)]

mod scene {
    pub(crate) mod raw;
    pub(crate) mod truth;
}

use std::path::Path;
use std::sync::OnceLock;

use loci_core::*;
use loci_store::Embedded;
use scene::raw;
use scene::truth;

const DIMENSION: usize = 4;

fn examined(folder: &Path) -> Vec<Finding> {
    Embedded::new().examine(folder).unwrap().findings
}

/// A palace whose words are sealed in part: segments, a tail and rows that are gone.
fn sealed_words() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let backend = Embedded::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
        let bare = |n: usize| NewDrawer {
            embedding: None,
            ..truth::drawer(n, 0, DIMENSION)
        };
        for batch in (0..2400).collect::<Vec<_>>().chunks(800) {
            let adds: Vec<Write> = batch.iter().map(|n| Write::Add(bare(*n))).collect();
            collection.apply(&adds).unwrap();
        }
        let gone = (3..2400).step_by(97).map(truth::id).collect();
        collection.apply(&[Write::Delete(Selection::Ids(gone))]).unwrap();
        backend.close();
        assert_eq!(
            raw::number(folder.path(), "SELECT count(*) FROM words_1_segments"),
            1
        );
        assert!(raw::number(folder.path(), "SELECT count(*) FROM words_1_gone") > 20);
        std::fs::read(raw::file(folder.path())).unwrap()
    })
}

/// The hits of some words with their scores.
fn matches(folder: &Path) -> Vec<Vec<(DrawerId, u32)>> {
    let backend = Embedded::new();
    let collection = truth::open(&backend, folder, DIMENSION, false).unwrap();
    let asked = [10, 700, 2300].map(|n| truth::text(n, 0));
    let found = asked.map(|words| {
        let hits = collection.lexical(&Lexical::words(words, 40)).unwrap();
        hits.into_iter()
            .map(|hit| (hit.drawer.id, hit.score.to_bits()))
            .collect()
    });
    backend.close();
    found.to_vec()
}

/// Damage to the index of words that a reader can see, or that only an examination can; a rebuild mends both.
#[test]
fn words_that_differ_from_the_rows_are_named_and_change_no_answer_where_a_reader_can_tell() {
    let cases = [
        ("DELETE FROM words_1_segments", true),
        ("DELETE FROM words_1", true),
        ("UPDATE words_1 SET data = zeroblob(length(data))", true),
        (
            "UPDATE words_1 SET data = CAST(x'ffffffff' || data AS BLOB) WHERE block % 3 = 0",
            true,
        ),
        (
            "UPDATE words_1_segments SET lengths = CAST(x'00' || lengths AS BLOB)",
            true,
        ),
        ("UPDATE words_1_segments SET rows = x'00'", true),
        ("UPDATE words_1_segments SET last = last - 1", true),
        ("UPDATE words_1_segments SET drawers = drawers - 1", true),
        ("UPDATE words_1_segments SET terms = substr(terms, 40)", false),
        (
            "UPDATE words_1_segments SET lengths = CAST(x'05' || substr(lengths, 2) AS BLOB)",
            false,
        ),
        ("DELETE FROM words_1_gone WHERE row < 400", true),
        ("INSERT INTO words_1_gone VALUES (10), (700)", true),
        (
            "INSERT INTO words_1_gone VALUES (999999); INSERT INTO words_1_tail VALUES (999999, x'00')",
            false,
        ),
        ("DELETE FROM words_1_tail WHERE row > 2200", true),
        ("UPDATE words_1_tail SET words = x'ff'", true),
        ("DROP TABLE words_1_tail", true),
    ];
    let sound = matches(raw::folder_with(sealed_words()).path());
    assert!(sound.iter().all(|hits| hits.len() == 40));
    for (sql, seen) in cases {
        let folder = raw::folder_with(sealed_words());
        raw::execute(folder.path(), sql);
        if seen {
            assert_eq!(matches(folder.path()), sound, "{sql}");
        }
        let codes: Vec<String> = examined(folder.path())
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert!(
            codes.iter().any(|code| code.starts_with("full_text_")),
            "{sql}: {codes:?}"
        );
        let collection = truth::open(&Embedded::new(), folder.path(), DIMENSION, false).unwrap();
        collection.maintain(&MaintenanceKind::REINDEX).unwrap();
        drop(collection);
        assert_eq!(examined(folder.path()), Vec::new(), "{sql}");
        assert_eq!(matches(folder.path()), sound, "{sql}");
    }
}
