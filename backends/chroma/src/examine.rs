//! The doctor of Chroma folders: what is true of one, from its rows, its queue and its graph files.
//!
//! Rows are compared with labels, never file times with file times. What is only unusual is a note, what needs
//! attention a warning, and what is damaged or may answer wrongly an error.

mod database;
pub(crate) mod full_text;
pub(crate) mod graphs;

use std::path::Path;
use std::time::Duration;

use loci_core::{
    CollectionDiagnosis, Diagnosis, Doctor, Finding, FixInfo, FixMode, FixReport, Result, SegmentDiagnosis,
    Severity,
};
use serde_json::{Map, Value as Json, json};

use crate::Chroma;
use crate::folder::{self, Format};
use crate::palace::{Content, Loaded};
use crate::shelf::Shelf;

/// How much older than the database a graph must be for that to be mentioned.
const STALE: Duration = Duration::from_secs(3600);
/// How many findings of one kind are listed by name; the rest are counted.
const LISTED: usize = 20;

/// The hint that leads out.
const MOVE: &str =
    "everything that is readable moves to a sound palace with `loci migrate --from PATH --to NEW`";

impl Doctor for Chroma {
    fn recognises(&self, path: &Path) -> bool {
        folder::format(path).is_some()
    }

    fn examine(&self, path: &Path) -> Result<Diagnosis> {
        if folder::format(path) == Some(Format::DuckDb) {
            return Ok(too_old());
        }
        let palace = self.palace(path)?;
        palace.examine_pages()?;
        palace.with(|loaded, folder| Examination::default().run(loaded, folder))
    }

    fn judged_by_age(&self, path: &Path, age: Duration) -> Result<Vec<Finding>> {
        self.palace(path)?
            .with(|loaded, folder| graphs::judged_by_age(loaded, folder, age))
    }

    fn fixes(&self) -> &[FixInfo] {
        crate::fix::STEPS
    }

    fn fix(&self, path: &Path, step: &str, how: FixMode) -> Result<FixReport> {
        crate::fix::run(self, path, step, how)
    }
}

fn too_old() -> Diagnosis {
    let message = "this folder was written by ChromaDB before 0.4, which kept DuckDB and Parquet files";
    let finding = Finding::new("duckdb_folder", Severity::Error, message)
        .hint("bring it to 0.4 or newer with Chroma's own migration tool, then examine it again");
    Diagnosis::of("chroma-duckdb", vec![finding])
}

/// A diagnosis being made.
#[derive(Debug, Default)]
struct Examination {
    findings: Vec<Finding>,
    collections: Vec<CollectionDiagnosis>,
    segments: Vec<SegmentDiagnosis>,
}

impl Examination {
    fn run(mut self, loaded: &mut Loaded, folder: &Path) -> Result<Diagnosis> {
        self.findings.extend(loaded.warnings());
        self.database(loaded)?;
        self.full_text(loaded)?;
        for listed in loaded.listed.clone() {
            let documents = database::documents(loaded, &listed)?;
            if let Content::Shelf(loaded, shelf) = loaded.content(folder, &listed.name)? {
                self.positions(loaded, shelf);
                self.graph(shelf, folder)?;
                self.model(loaded, shelf);
                self.collections.push(figures(shelf, documents));
            }
        }
        self.folders(loaded, folder)?;
        self.findings
            .extend(graphs::judged_by_age(loaded, folder, STALE)?);
        self.sidecars(loaded);
        let mut diagnosis = Diagnosis::of(Chroma::NAME, self.findings);
        diagnosis.collections = self.collections;
        diagnosis.segments = self.segments;
        Ok(diagnosis)
    }

    fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn model(&mut self, loaded: &Loaded, shelf: &Shelf) {
        let whence = shelf.vectors();
        let name = shelf.listed.name.as_str();
        if loaded.identity(shelf, whence.found()) == loci_core::IdentityState::Unknown {
            let message = format!("nobody recorded which model made the vectors of {name:?}");
            self.find(Finding::new("embedder_unknown", Severity::Note, message).collection(name));
        }
        if whence.aside > 0 {
            let message = format!(
                "the vectors of {} records of {name:?} are only in graphs that a repair set aside; Chroma no longer finds \
                 them, and they are read from there",
                whence.aside
            );
            self.find(
                Finding::new("vectors_set_aside", Severity::Error, message)
                    .hint(MOVE)
                    .collection(name),
            );
        }
        if whence.nowhere > 0 {
            let message = format!(
                "{} of {} records of {name:?} have no vector any more, neither in the queue nor in the graph; \
                 their texts are whole",
                whence.nowhere,
                shelf.records.len()
            );
            let hint = "after `loci migrate` their texts can be embedded again with --embed-missing";
            self.find(
                Finding::new("rows_without_vector", Severity::Error, message)
                    .hint(hint)
                    .collection(name),
            );
        }
    }

    fn sidecars(&mut self, loaded: &Loaded) {
        for (file, why) in &loaded.sidecars().unread {
            let message = format!("{file} beside the database cannot be read: {why}");
            self.find(Finding::new("sidecar_unread", Severity::Warning, message));
        }
    }
}

/// The figures of one collection, as scripts read them.
fn figures(shelf: &Shelf, documents: u64) -> CollectionDiagnosis {
    let whence = shelf.vectors();
    let elements = shelf.graph.as_ref().map_or(0, graphs::elements);
    let unclaimed = shelf.graph.as_ref().map_or(0, |graph| graph.unclaimed);
    let figures = json!({
        "documents": documents,
        "vectors_from_graph": whence.graph,
        "vectors_from_queue": whence.queue,
        "vectors_from_set_aside": whence.aside,
        "rows_without_vector": whence.nowhere,
        "graph_elements": elements,
        "graph_orphans": shelf.tally.orphans + unclaimed,
        "queue_backlog": shelf.tally.behind,
        "metric": shelf.listed.metric.name(),
        "dimension": shelf.dimension,
    });
    CollectionDiagnosis {
        name: shelf.listed.name.to_string(),
        rows: shelf.records.len() as u64,
        figures: object(figures),
    }
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
