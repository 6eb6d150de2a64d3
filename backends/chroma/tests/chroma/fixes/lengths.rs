//! Lengths in a cosine graph that are wrong but possible: only the writes that are left in the queue tell.

use std::fs;
use std::path::{Path, PathBuf};

use loci_chroma::ChromaBackend;
use loci_core::{Doctor, FixMode};
use rusqlite::Connection;
use serde_json::Value as Json;

use super::fix;
use super::real::python;
use crate::scene::folder::both_kinds;
use crate::scene::graph::LENGTHS;
use crate::scene::reading::walk;

const WRITER: &str = "import sys, chromadb
settings = {'hnsw:space': 'cosine', 'hnsw:batch_size': 10, 'hnsw:sync_threshold': 20}
notes = chromadb.PersistentClient(sys.argv[1]).create_collection('notes', metadata=settings, embedding_function=None)
for at in range(0, 60, 10):
    some = range(at, at + 10)
    notes.add(ids=[f'n{n}' for n in some], embeddings=[[n + 1, 2, -n, 0.25] for n in some], documents=['x'] * 10)
";

const READER: &str = "import json, sys, chromadb
got = chromadb.PersistentClient(sys.argv[1]).get_collection('notes').get(include=['embeddings'])
print(json.dumps({id: [float(value) for value in vector] for id, vector in zip(got['ids'], got['embeddings'])}))
";

fn vector_of(n: usize) -> [f32; 4] {
    [n as f32 + 1.0, 2.0, -(n as f32), 0.25]
}

/// A folder with a saved cosine graph whose queue has kept every write, and that graph.
fn with_queue(release: &str, path: &Path) -> PathBuf {
    python(release, &["-c", WRITER, path.to_str().unwrap()]);
    let connection = Connection::open(path.join("chroma.sqlite3")).unwrap();
    for n in 0..60 {
        let bytes: Vec<u8> = vector_of(n).into_iter().flat_map(f32::to_le_bytes).collect();
        // Rows and writes of a new folder have the same numbers.
        let sql = "INSERT OR IGNORE INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                   SELECT row.id, 0, (SELECT topic FROM embeddings_queue LIMIT 1), row.embedding_id, ?2, 'FLOAT32' \
                   FROM embeddings AS row WHERE row.embedding_id = ?1";
        connection.execute(sql, (format!("n{n}"), bytes)).unwrap();
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut graphs = entries.filter(|path| path.join(LENGTHS).exists());
    graphs.next().expect("the graph was saved")
}

fn codes(path: &Path) -> Vec<String> {
    let findings = ChromaBackend::new().examine(path).unwrap().findings.into_iter();
    findings.map(|finding| finding.code).collect()
}

#[test]
fn a_length_that_is_not_that_of_its_write_is_named_and_mended() {
    for release in both_kinds() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("chroma");
        let lengths = with_queue(release, &path).join(LENGTHS);
        assert!(!codes(&path).contains(&"lengths_invalid".to_owned()), "{release}");
        let mut bytes = fs::read(&lengths).unwrap();
        for wrong in [3, 7] {
            let length = &mut bytes[wrong * 4..wrong * 4 + 4];
            let doubled = 2.0 * f32::from_le_bytes((&*length).try_into().unwrap());
            length.copy_from_slice(&doubled.to_le_bytes());
        }
        fs::write(&lengths, bytes).unwrap();
        let diagnosis = ChromaBackend::new().examine(&path).unwrap();
        let mut findings = diagnosis.findings.iter();
        let named = findings
            .find(|finding| finding.code == "lengths_invalid")
            .unwrap();
        assert!(named.message.contains("of 2 vectors"), "{release}: {named:?}");
        let read = walk(&path, "notes");
        for n in 0..60 {
            let drawer = &read[&format!("n{n}")];
            assert_eq!(
                drawer.embedding.as_deref(),
                Some(&vector_of(n)[..]),
                "{release} n{n}"
            );
        }
        assert!(fix(&path, "quarantine", FixMode::Apply).unwrap().applied);
        assert!(!codes(&path).contains(&"lengths_invalid".to_owned()), "{release}");
        let said = python(release, &["-c", READER, path.to_str().unwrap()]);
        let said: Json = serde_json::from_str(&said).unwrap();
        for n in 0..60 {
            let given = said[format!("n{n}")].as_array().unwrap().iter();
            let near = |(given, told): (&Json, f32)| (given.as_f64().unwrap() - f64::from(told)).abs() < 1e-4;
            assert!(given.zip(vector_of(n)).all(near), "{release} n{n}: {said}");
        }
    }
}
