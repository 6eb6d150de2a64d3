//! The doctor of Chroma folders: diagnoses one from its rows, its queue and its graph files.
//!
//! Rows are compared with labels, never file times with file times. Anything merely unusual is a note, anything that
//! needs attention a warning, and damage or wrong answers are errors.

mod database;
pub(crate) mod full_text;
pub(crate) mod graphs;
mod survey;

use std::path::Path;
use std::time::Duration;

use loci_core::{
    CollectionDiagnosis, FindingSeverity, PalaceDiagnosis, PalaceFinding, Result, SegmentDiagnosis,
};
use serde_json::{Map, Value as Json, json};

use crate::ChromaBackend;
use crate::folder::{self, FolderFormat};
use crate::palace::{CollectionContent, LoadedFolder};
use crate::shelf::RecordShelf;

/// The minimum age of a graph, relative to the database, that is mentioned.
const STALE_AFTER: Duration = Duration::from_secs(3600);
/// The number of findings of one kind that are listed; the rest are counted.
const MOST_LISTED: usize = 20;

/// The hint for damage that no fix repairs.
const MOVE_HINT: &str = "move everything readable to a sound palace with `loci migrate --from PATH --to NEW`";

/// Examines the folder at `path`.
pub(crate) fn examine_path(backend: &ChromaBackend, path: &Path) -> Result<PalaceDiagnosis> {
    if folder::detect_format(path) == Some(FolderFormat::DuckDb) {
        return Ok(diagnose_duckdb());
    }
    let palace = backend.open_palace(path)?;
    // Pages come first: no query below is sure to touch a torn
    // one, and salvaging replaces everything that is read.
    palace.examine_pages()?;
    palace.with_loaded(|loaded, folder| FolderExamination::default().examine_folder(loaded, folder))
}

fn diagnose_duckdb() -> PalaceDiagnosis {
    let message = "this folder was written by ChromaDB before 0.4, which kept DuckDB and Parquet files";
    let finding = PalaceFinding::new("duckdb_folder", FindingSeverity::Error, message)
        .with_hint("bring it to 0.4 or newer with Chroma's own migration tool, then examine it again");
    PalaceDiagnosis::from_findings("chroma-duckdb", vec![finding])
}

/// A diagnosis in progress.
#[derive(Debug, Default)]
struct FolderExamination {
    findings: Vec<PalaceFinding>,
    collections: Vec<CollectionDiagnosis>,
    segments: Vec<SegmentDiagnosis>,
}

impl FolderExamination {
    fn examine_folder(mut self, loaded: &mut LoadedFolder, folder: &Path) -> Result<PalaceDiagnosis> {
        // What any reader is warned of comes first; the rest follows from the database outwards to the files.
        self.findings.extend(loaded.warnings());
        self.examine_database(loaded)?;
        self.examine_full_text(loaded)?;
        // Cloned because laying out a collection borrows the folder mutably.
        for listed in loaded.listed.clone() {
            // Counted in SQL before the collection is borrowed, and independently of the records read below.
            let documents = database::count_documents(loaded, &listed)?;
            if let CollectionContent::Shelf(loaded, shelf) = loaded.lay_out_content(folder, &listed.name)? {
                self.examine_positions(loaded, shelf);
                self.examine_graph(&loaded.database.connection, shelf, folder)?;
                self.examine_model(loaded, shelf);
                self.collections.push(collection_figures(shelf, documents));
            }
        }
        self.find_stray_folders(loaded, folder)?;
        self.findings
            .extend(graphs::judge_by_age(loaded, folder, STALE_AFTER)?);
        self.findings.extend(loaded.sidecars().findings());
        let mut diagnosis = PalaceDiagnosis::from_findings(ChromaBackend::NAME, self.findings);
        diagnosis.collections = self.collections;
        diagnosis.segments = self.segments;
        Ok(diagnosis)
    }

    fn add_finding(&mut self, finding: PalaceFinding) {
        self.findings.push(finding);
    }

    fn examine_model(&mut self, loaded: &LoadedFolder, shelf: &RecordShelf) {
        let whence = shelf.tally_vectors();
        let name = shelf.listed.name.as_str();
        if loaded.model_identity(shelf, whence.found_count()) == loci_core::IdentityState::Unknown {
            let message = format!("the model that made the vectors of {name:?} is not recorded");
            self.add_finding(
                PalaceFinding::new("embedder_unknown", FindingSeverity::Note, message).in_collection(name),
            );
        }
        if whence.aside > 0 {
            let message = format!(
                "the vectors of {} records of {name:?} are only in graphs that a repair set aside; Chroma no longer finds \
                 them, and they are read from there",
                whence.aside
            );
            self.add_finding(
                PalaceFinding::new("vectors_set_aside", FindingSeverity::Error, message)
                    .with_hint("`loci doctor PATH --fix quarantine` writes them back, so that Chroma finds them again")
                    .in_collection(name),
            );
        }
        if whence.nowhere > 0 {
            let message = format!(
                "{} of {} records of {name:?} no longer have a vector, neither in the queue nor in the graph; \
                 their texts are intact",
                whence.nowhere,
                shelf.records.len()
            );
            let hint = "`loci migrate --embed-missing` re-embeds their texts";
            self.add_finding(
                PalaceFinding::new(PalaceFinding::LOST_VECTORS, FindingSeverity::Error, message)
                    .with_hint(hint)
                    .in_collection(name),
            );
        }
    }
}

/// Returns the figures of one collection for scripts.
fn collection_figures(shelf: &RecordShelf, documents: u64) -> CollectionDiagnosis {
    let whence = shelf.tally_vectors();
    let elements = shelf.graph.as_ref().map_or(0, graphs::element_count);
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
        figures: into_object(figures),
    }
}

fn into_object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
