//! Reads a folder through the contract and compares it with what its own release said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_chroma::ChromaBackend;
use loci_core::{
    Backend, CollectionName, Doctor, Drawer, DrawerFields, DrawerPosition, FindingSeverity, GetRequest,
    Metadata, OpenOptions, PalaceDiagnosis, PalaceRef,
};
use serde_json::Value as Json;

use super::folder::Folder;

/// The tolerated deviation of a value in a cosine graph from the written one.
const NEAR: f32 = 1e-6;
/// Small enough that every walk takes several pages.
const PAGE: usize = 137;

/// The parts that a damaged folder may lack.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lacks {
    /// Whether vectors that only the graph held may be gone.
    pub(crate) graph_vectors: bool,
    /// Ids whose vectors may be gone.
    pub(crate) vectors_of: BTreeSet<String>,
    /// Ids whose rows are gone.
    pub(crate) rows_of: BTreeSet<String>,
}

/// The drawers read from one collection, by id.
pub(crate) type Drawers = BTreeMap<String, Drawer>;

/// Every drawer of a collection, in pages, with everything.
pub(crate) fn walk(path: &Path, collection: &str) -> Drawers {
    let chroma = ChromaBackend::new();
    let name = CollectionName::new(collection).unwrap();
    let opened = chroma.open(&PalaceRef::local(path), &name, &OpenOptions::default());
    let opened = opened.unwrap_or_else(|error| panic!("{collection}: {error}"));
    let mut drawers = Drawers::new();
    let mut after: Option<DrawerPosition> = None;
    loop {
        let request = GetRequest {
            after: after.clone(),
            limit: Some(PAGE),
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        let page = opened.get(&request).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(DrawerPosition::Id(last.id.clone()));
        for drawer in page {
            let id = drawer.id.to_string();
            assert!(drawers.insert(id, drawer).is_none(), "a drawer came twice");
        }
    }
    assert_eq!(
        opened.count(&loci_core::DrawerCondition::default()).unwrap(),
        drawers.len() as u64
    );
    drawers
}

/// The doctor's diagnosis.
pub(crate) fn examine(folder: &Folder) -> PalaceDiagnosis {
    let examined = ChromaBackend::new().examine(folder.path());
    examined.unwrap_or_else(|error| panic!("{}: {error}", folder.name))
}

/// Asserts that the doctor finds `code`, and returns what is said of it.
pub(crate) fn finds(folder: &Folder, code: &str) -> String {
    let diagnosis = examine(folder);
    let found: Vec<String> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.code == code)
        .map(|finding| {
            format!(
                "{} {}",
                finding.message,
                finding.segment.clone().unwrap_or_default()
            )
        })
        .collect();
    assert!(
        !found.is_empty(),
        "{}: no {code} in {:#?}",
        folder.name,
        diagnosis.findings
    );
    found.join("\n")
}

/// Asserts that the doctor finds nothing to worry about.
pub(crate) fn is_healthy(folder: &Folder) {
    let diagnosis = examine(folder);
    let grave: Vec<_> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.severity > FindingSeverity::Note)
        .collect();
    assert!(
        grave.is_empty() && diagnosis.healthy,
        "{}: {grave:#?}",
        folder.name
    );
}

/// Compares everything in the folder with what was expected, and that nothing in it changed by being read.
pub(crate) fn is_whole(folder: &Folder) {
    is_there(folder, &Lacks::default());
}

/// Compares everything in the folder but for what it lacks, and that nothing in it changed by being read.
pub(crate) fn is_there(folder: &Folder, lacks: &Lacks) {
    let before = folder.look();
    let collections = folder.expected["collections"].as_array().unwrap();
    for collection in collections {
        let name = called(collection, collections);
        let drawers = walk(folder.path(), &name);
        compare(&format!("{} {name}", folder.name), collection, &drawers, lacks);
    }
    examine(folder);
    assert_eq!(
        before,
        folder.look(),
        "{}: reading changed the folder",
        folder.name
    );
}

/// The name of a collection here: qualified by its database if two databases share the name.
fn called(collection: &Json, all: &[Json]) -> String {
    let text = |key: &str| collection[key].as_str().unwrap_or_default().to_owned();
    let (name, database, tenant) = (text("name"), text("database"), text("tenant"));
    let namesakes = all
        .iter()
        .filter(|other| other["name"] == collection["name"])
        .count();
    match (namesakes, database.as_str(), tenant.as_str()) {
        (1, _, _) | (_, "" | "default_database", _) => name,
        (_, _, "default_tenant") => format!("{name}.{database}"),
        _ => format!("{name}.{tenant}.{database}"),
    }
}

fn compare(what: &str, collection: &Json, drawers: &Drawers, lacks: &Lacks) {
    let items = collection["items"].as_array().unwrap();
    let ids: BTreeSet<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    let expected: BTreeSet<&str> = ids
        .into_iter()
        .filter(|id| !lacks.rows_of.contains(*id))
        .collect();
    let found: BTreeSet<&str> = drawers.keys().map(String::as_str).collect();
    let differing: Vec<_> = expected.symmetric_difference(&found).take(5).collect();
    assert!(differing.is_empty(), "{what}: ids differ: {differing:?}");
    let cosine = collection["metadata"]["hnsw:space"] == "cosine";
    for item in items {
        let id = item["id"].as_str().unwrap();
        if let Some(drawer) = drawers.get(id) {
            let damaged = usize::from(lacks.vectors_of.contains(id) && drawer.embedding.is_none());
            compare_text(&format!("{what} {id:?}"), item, drawer, damaged);
            compare_vector(&format!("{what} {id:?}"), item, drawer, cosine, lacks);
        }
    }
}

fn compare_text(what: &str, item: &Json, drawer: &Drawer, damaged: usize) {
    assert_eq!(drawer.document.as_deref(), item["document"].as_str(), "{what}");
    let metadata = Metadata::from_json(&item["metadata"]).unwrap();
    assert_eq!(drawer.metadata.as_ref(), Some(&metadata), "{what}");
    // A vector that cannot be read is said of its drawer; one that is lost has nothing to read.
    assert!(drawer.damage.len() <= damaged, "{what}: {:?}", drawer.damage);
}

fn compare_vector(what: &str, item: &Json, drawer: &Drawer, cosine: bool, lacks: &Lacks) {
    let queued = item["queued"].as_bool().unwrap();
    let written = floats(&item["written_f32_b64"]).unwrap();
    let Some(vector) = &drawer.embedding else {
        let may_lack = lacks.graph_vectors && !queued || lacks.vectors_of.contains(drawer.id.as_str());
        assert!(may_lack, "{what}: the vector is gone");
        return;
    };
    if queued || !cosine {
        assert_eq!(
            bits(vector),
            bits(&written),
            "{what}: not the vector that was written"
        );
        return;
    }
    if let Some(returned) = floats(&item["embedding_f32_b64"]) {
        assert_eq!(
            bits(vector),
            bits(&returned),
            "{what}: not the vector Chroma returns"
        );
        return;
    }
    let near = vector.len() == written.len()
        && vector
            .iter()
            .zip(&written)
            .all(|(one, other)| (one - other).abs() <= NEAR);
    assert!(near, "{what}: {vector:?} is not near {written:?}");
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|value| value.to_bits()).collect()
}

/// The 32-bit floats in a text of base 64.
pub(crate) fn floats(json: &Json) -> Option<Vec<f32>> {
    let letters = json.as_str()?.bytes().filter(|letter| *letter != b'=');
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in letters {
        held = held << 6 | u32::from(sextet(letter));
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    let chunks = bytes.as_chunks::<4>().0;
    Some(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect())
}

fn sextet(letter: u8) -> u8 {
    match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is not a letter of base 64"),
    }
}
