//! Random histories that real releases wrote, read as those releases read them.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed. `LOCI_RELEASES` names other
//! releases, separated by spaces, each with its environment in the folder that `LOCI_TEST_CHROMA` names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_chroma::ChromaBackend;
use loci_core::{Doctor, FixMode, FixRequest, Metadata};
use loci_testkit::{campaign_rounds, campaign_seed};
use serde_json::Value as Json;

use crate::fixes::real::python;
use crate::scene::folder::{both_kinds, entries};
use crate::scene::reading::{floats, walk};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scripts/chroma/campaigns/history.py"
);

/// The tolerated deviation of a value in a cosine graph from the written one.
const NEAR: f32 = 1e-6;

/// What was compared, and what was different.
#[derive(Debug, Default)]
struct Comparison {
    records: u64,
    without_vector: u64,
    different: Vec<String>,
}

fn campaign_releases() -> Vec<String> {
    match std::env::var("LOCI_RELEASES") {
        Ok(named) => named.split_whitespace().map(str::to_owned).collect(),
        Err(_) => both_kinds().into_iter().map(str::to_owned).collect(),
    }
}

/// Has a release write histories, and passes each folder with its release's own answers to `each`.
fn for_each_history(rounds: u64, mut each: impl FnMut(&str, &Path, &Json)) {
    let seed = campaign_seed();
    for release in campaign_releases() {
        let place = tempfile::tempdir().unwrap();
        let destination = place.path().to_str().unwrap();
        println!("chromadb {release}, seed {seed}, {rounds} histories");
        python(
            &release,
            &[SCRIPT, destination, &seed.to_string(), &rounds.to_string()],
        );
        for path in entries(place.path()) {
            let expected = fs::read_to_string(path.join("expected.json")).unwrap();
            each(
                &release,
                &path.join("db"),
                &serde_json::from_str(&expected).unwrap(),
            );
        }
    }
}

impl Comparison {
    fn compare_record(&mut self, what: &str, cosine: bool, expected: &Json, found: &FoundRecord) {
        self.records += 1;
        let metadata = Metadata::from_json(&expected["metadata"]).unwrap();
        if found.document.as_deref() != expected["document"].as_str() || found.metadata != metadata {
            self.different.push(format!("{what}: its text or metadata"));
        }
        let Some(vector) = floats(&expected["embedding_f32_b64"]) else {
            // Chroma has lost it. The queue may have kept it, so any answer will do.
            self.without_vector += 1;
            return;
        };
        let same = found.vector.as_ref().is_some_and(|found| {
            let near = |(one, other): (&f32, &f32)| {
                one.to_bits() == other.to_bits() || cosine && (one - other).abs() <= NEAR
            };
            found.len() == vector.len() && found.iter().zip(&vector).all(near)
        });
        if !same {
            self.different
                .push(format!("{what}: {:?} instead of {vector:?}", found.vector));
        }
    }

    #[track_caller]
    fn is_without_difference(&self) {
        println!(
            "{} records, {} of them without a vector in Chroma, {} different",
            self.records,
            self.without_vector,
            self.different.len()
        );
        let first = self.different.iter().take(5).collect::<Vec<_>>();
        assert!(self.records > 0 && first.is_empty(), "{first:#?}");
    }
}

/// A record as it was read, by Loci or by Chroma.
#[derive(Debug)]
struct FoundRecord {
    document: Option<String>,
    metadata: Metadata,
    vector: Option<Vec<f32>>,
}

/// Compares every collection with what `read` returns of it.
fn compare_folder(
    release: &str,
    expected: &Json,
    comparison: &mut Comparison,
    read: impl Fn(&str) -> BTreeMap<String, FoundRecord>,
) {
    for collection in expected["collections"].as_array().unwrap() {
        let name = collection["name"].as_str().unwrap();
        let what = format!("{release}, history {}, {name}", expected["seed"]);
        let mut found = read(name);
        for item in collection["items"].as_array().unwrap() {
            let id = item["id"].as_str().unwrap();
            let record = found
                .remove(id)
                .unwrap_or_else(|| panic!("{what}: {id} is missing"));
            let cosine = collection["metadata"]["hnsw:space"] == "cosine";
            comparison.compare_record(&format!("{what}, {id}"), cosine, item, &record);
        }
        assert!(found.is_empty(), "{what}: {:?} are too many", found.keys());
    }
}

fn read_with_loci(path: &Path, collection: &str) -> BTreeMap<String, FoundRecord> {
    let drawers = walk(path, collection).into_iter();
    drawers
        .map(|(id, drawer)| {
            let record = FoundRecord {
                document: drawer.document,
                metadata: drawer.metadata.unwrap(),
                vector: drawer.embedding,
            };
            (id, record)
        })
        .collect()
}

fn read_with_chroma(told: &Json, collection: &str) -> BTreeMap<String, FoundRecord> {
    let mut collections = told["collections"].as_array().unwrap().iter();
    let found = collections.find(|one| one["name"] == collection).unwrap();
    let items = found["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            let record = FoundRecord {
                document: item["document"].as_str().map(str::to_owned),
                metadata: Metadata::from_json(&item["metadata"]).unwrap(),
                vector: floats(&item["embedding_f32_b64"]),
            };
            (item["id"].as_str().unwrap().to_owned(), record)
        })
        .collect()
}

#[test]
fn every_record_is_the_one_that_its_release_returns() {
    let mut comparison = Comparison::default();
    for_each_history(campaign_rounds(2), |release, path, expected| {
        compare_folder(release, expected, &mut comparison, |name| {
            read_with_loci(path, name)
        });
    });
    comparison.is_without_difference();
}

#[test]
fn setting_graphs_aside_changes_no_answer_of_chroma() {
    let mut comparison = Comparison::default();
    for_each_history(campaign_rounds(1), |release, path, expected| {
        // Graphs that Chroma would refuse for their size alone: every vector in them is sound.
        let graphs = entries(path)
            .into_iter()
            .map(|graph| graph.join("link_lists.bin"));
        for links in graphs.filter(|links| links.exists()) {
            let file = fs::OpenOptions::new().write(true).open(links).unwrap();
            file.set_len(1 << 36).unwrap();
        }
        let request = FixRequest {
            step: "quarantine",
            mode: FixMode::Apply,
            older_than: None,
        };
        ChromaBackend::new().fix(path, &request).unwrap();
        let told = python(release, &[SCRIPT, path.to_str().unwrap()]);
        let told: Json = serde_json::from_str(&told).unwrap();
        compare_folder(release, expected, &mut comparison, |name| {
            read_with_chroma(&told, name)
        });
    });
    comparison.is_without_difference();
}
