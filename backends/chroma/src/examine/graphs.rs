//! Whether graph files can be true, and whether they agree with the rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use loci_core::{Finding, Metric, Result, SegmentDiagnosis, Severity};
use serde_json::json;

use super::{Examination, LISTED, MOVE, object};
use crate::failure;
use crate::folder;
use crate::graph::Graph;
use crate::palace::{Content, Loaded};
use crate::shelf::{Shelf, VectorAt};

/// After how many writes Chroma saves a graph unless it is told otherwise.
const USUAL_THRESHOLD: u64 = 1000;
/// How far from one the length of a vector may be that was made to have it.
const UNIT: f64 = 1e-3;

/// What to type where a graph is broken.
const FIX: &str =
    "`loci doctor PATH --fix quarantine` sets it aside so that Chroma makes it anew, and loses no vector";

/// How many elements the header counts, or can be read where there is none.
pub(super) fn elements(graph: &Graph) -> u64 {
    graph.layout.map_or(0, |layout| layout.elements)
}

/// Why the graph of a collection should not be used: it cannot be true, or disagrees with the rows.
///
/// That it lags behind the queue is no reason; Chroma makes up for that by itself.
pub(crate) fn quarrels(shelf: &Shelf) -> Vec<Finding> {
    let Some(graph) = &shelf.graph else {
        return Vec::new();
    };
    let mut quarrels = Vec::new();
    let mut add = |code: &str, message: String| {
        let finding = Finding::new(code, Severity::Error, message)
            .hint(FIX)
            .collection(shelf.listed.name.as_str());
        quarrels.push(finding.segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
    };
    header_and_elements(graph, &mut add);
    pickle(graph, &mut add);
    links(graph, &mut add);
    let tally = &shelf.tally;
    // Where labels could not be read, elements without one are not gone, only nameless.
    let whole = graph.known().is_some_and(|labels| labels.broken.is_none());
    let orphans = tally.orphans + graph.unclaimed;
    if orphans > 0 && whole {
        let named = match &tally.orphan_id {
            Some(id) => format!(", among them {id:?}"),
            None => String::new(),
        };
        add(
            "orphan_labels",
            format!("the graph holds {orphans} elements whose records are gone{named}"),
        );
    }
    if tally.misplaced + graph.repeated > 0 {
        let message = format!(
            "{} records have a label that no element of the graph carries, and {} labels stand in more than one",
            tally.misplaced, graph.repeated
        );
        add("label_mismatch", message);
    }
    quarrels
}

fn header_and_elements(graph: &Graph, add: &mut dyn FnMut(&str, String)) {
    match (&graph.header_problem, graph.facts.header) {
        (Some(_), None) => add("header_missing", "header.bin is missing".to_owned()),
        (Some(problem), Some(_)) => add("header_invalid", format!("header.bin cannot be used: {problem}")),
        (None, _) => {}
    }
    let Some(layout) = graph.layout.filter(|_| graph.header_problem.is_none()) else {
        if graph.facts.level0.is_none() {
            add("level0_missing", "data_level0.bin is missing".to_owned());
        }
        return;
    };
    match graph.facts.level0 {
        None if layout.elements > 0 => {
            let message = format!("data_level0.bin is missing, with {} elements", layout.elements);
            add("level0_missing", message);
        }
        Some(file) if graph.readable() < layout.elements => add(
            "level0_truncated",
            format!(
                "data_level0.bin has {} bytes, room for {} of {} elements",
                file.length,
                graph.readable(),
                layout.elements
            ),
        ),
        _ => {}
    }
}

fn pickle(graph: &Graph, add: &mut dyn FnMut(&str, String)) {
    match &graph.labels {
        None if elements(graph) > 0 => {
            let message = format!(
                "index_metadata.pickle is missing: nobody can tell which of {} elements is whose",
                elements(graph)
            );
            add("pickle_missing", message);
        }
        Some(Err(problem)) => add(
            "pickle_unreadable",
            format!("index_metadata.pickle cannot be read: {problem}"),
        ),
        Some(Ok(labels)) => {
            if let Some(problem) = &labels.broken {
                let message = format!(
                    "index_metadata.pickle is not whole ({problem}); {} labels could be read",
                    labels.by_id.len()
                );
                add("pickle_partial", message);
            }
            if labels.odd > 0 {
                add(
                    "pickle_partial",
                    format!("{} entries of index_metadata.pickle are no labels", labels.odd),
                );
            }
        }
        None => {}
    }
}

/// Links are never followed here, but a file of them that cannot be true ends Chroma, or fills the disk.
fn links(graph: &Graph, add: &mut dyn FnMut(&str, String)) {
    let (Some(file), Some(layout)) = (graph.facts.links, graph.layout) else {
        return;
    };
    // Four bytes for each element, and for one in sixteen of them a list a little over half as long as on level 0.
    let most = layout
        .elements
        .saturating_mul(4 + layout.vector)
        .saturating_add(4096);
    if file.length <= most {
        return;
    }
    let (code, how) = match file.on_disk < file.length / 2 {
        true => (
            "link_lists_sparse",
            format!(", of which {} are on the disk", file.on_disk),
        ),
        false => ("link_lists_oversized", String::new()),
    };
    let message = format!(
        "link_lists.bin has {} bytes{how}, where {} elements need at most {most}",
        file.length, layout.elements
    );
    add(code, message);
}

impl Examination {
    /// Findings and figures of a collection's graph.
    pub(super) fn graph(&mut self, shelf: &Shelf, folder: &Path) -> Result<()> {
        let quarrels = quarrels(shelf);
        let sound = quarrels.is_empty();
        for quarrel in quarrels {
            self.find(quarrel);
        }
        self.lag(shelf);
        self.bad_vectors(shelf)?;
        let Some(segment) = &shelf.listed.vector_segment else {
            return Ok(());
        };
        let name = shelf.listed.name.as_str();
        if shelf.graph.is_none()
            && shelf.tally.graph_reach.is_some_and(|reach| reach > 0)
            && !folder.join(segment).exists()
        {
            let message = format!("the graph of {name:?} is gone, though it had consumed writes");
            let finding = Finding::new("graph_missing", Severity::Warning, message).hint(MOVE);
            self.find(finding.collection(name).segment(segment));
        }
        let figures = match &shelf.graph {
            Some(graph) => json!({
                "collection": name,
                "there": true,
                "elements": elements(graph),
                "labels": graph.known().map(|labels| labels.by_id.len()),
                "orphans": shelf.tally.orphans + graph.unclaimed,
                "level0_bytes": graph.facts.level0.map(|file| file.length),
                "link_lists_bytes": graph.facts.links.map(|file| file.length),
            }),
            None => json!({"collection": name, "there": false}),
        };
        self.segments.push(SegmentDiagnosis {
            name: segment.clone(),
            sound,
            figures: object(figures),
        });
        Ok(())
    }

    fn lag(&mut self, shelf: &Shelf) {
        let behind = shelf.tally.behind;
        let threshold = shelf
            .listed
            .threshold
            .unwrap_or(USUAL_THRESHOLD)
            .max(USUAL_THRESHOLD);
        if behind == 0 {
            return;
        }
        let name = shelf.listed.name.as_str();
        let (code, severity, message) = match behind > 2 * threshold {
            true => (
                "graph_behind",
                Severity::Warning,
                format!(
                    "the graph of {name:?} is {behind} writes behind, though it is saved every {threshold}; their vectors are in the queue"
                ),
            ),
            false => (
                "queue_backlog",
                Severity::Note,
                format!(
                    "{behind} writes to {name:?} are in the queue and not yet in its graph, which is as it should be"
                ),
            ),
        };
        self.find(Finding::new(code, severity, message).collection(name));
    }

    /// Vectors in the graph that nobody can have stored.
    fn bad_vectors(&mut self, shelf: &Shelf) -> Result<()> {
        let Some(graph) = &shelf.graph else { return Ok(()) };
        let name = shelf.listed.name.as_str();
        let mut bad = 0;
        for record in &shelf.records {
            let VectorAt::Graph(element) = record.vector else {
                continue;
            };
            let read = graph
                .stored_vector(element)
                .map_err(|cause| failure::io("read", &graph.folder, cause))?;
            if is_vector(read.as_deref(), shelf.listed.metric) {
                continue;
            }
            bad += 1;
            if bad <= LISTED {
                let message = format!("the vector of {:?} in the graph is damaged", record.own_id());
                let finding = Finding::new("bad_vector", Severity::Error, message)
                    .hint(MOVE)
                    .collection(name);
                self.find(finding.segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
            }
        }
        if bad > LISTED {
            let message = format!("and {} more vectors are damaged", bad - LISTED);
            self.find(Finding::new("bad_vector", Severity::Error, message).collection(name));
        }
        Ok(())
    }

    /// Folders that belong to no collection, and those that somebody set aside.
    pub(super) fn folders(&mut self, loaded: &Loaded, folder: &Path) -> Result<()> {
        let names = folder::segment_folders(folder).map_err(|cause| failure::io("read", folder, cause))?;
        let live: BTreeSet<&str> = loaded
            .listed
            .iter()
            .filter_map(|listed| listed.vector_segment.as_deref())
            .collect();
        for name in names.iter().filter(|name| !live.contains(name.as_str())) {
            let (code, message) = match folder::is_set_aside(name) {
                true => ("set_aside_folder", format!("{name} was set aside by a repair")),
                false => (
                    "orphan_folder",
                    format!("the folder {name} belongs to no collection; a dropped one left it"),
                ),
            };
            self.find(Finding::new(code, Severity::Note, message).segment(name));
        }
        Ok(())
    }
}

/// Whether a vector can have been stored: in a cosine space every one has the length one.
fn is_vector(vector: Option<&[f32]>, metric: Metric) -> bool {
    let Some(vector) = vector else { return false };
    let length: f64 = vector
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum();
    metric != Metric::Cosine || length == 0.0 || (length.sqrt() - 1.0).abs() < UNIT
}

/// What the rule of age would set aside, and whether that would be wrong.
pub(super) fn judged_by_age(loaded: &mut Loaded, folder: &Path, age: Duration) -> Result<Vec<Finding>> {
    let written = fs::metadata(folder::database(folder))
        .and_then(|found| found.modified())
        .ok();
    let mut findings = Vec::new();
    for listed in loaded.listed.clone() {
        let Content::Shelf(_, shelf) = loaded.content(folder, &listed.name)? else {
            continue;
        };
        let saved = shelf
            .graph
            .as_ref()
            .and_then(|graph| graph.facts.level0?.modified);
        let (Some(written), Some(saved)) = (written, saved) else {
            continue;
        };
        let Some(gap) = written.duration_since(saved).ok().filter(|gap| *gap > age) else {
            continue;
        };
        let verdict = match quarrels(shelf).is_empty() {
            true => "but rows and labels agree, so setting it aside for its age would be wrong",
            false => "and rows and labels disagree as well",
        };
        let message = format!(
            "the graph of {:?} was saved {} s before the database was last written, more than {} s; {verdict}",
            listed.name.as_str(),
            gap.as_secs(),
            age.as_secs()
        );
        let finding = Finding::new("stale_mtime", Severity::Note, message).collection(listed.name.as_str());
        findings.push(finding.segment(listed.vector_segment.unwrap_or_default()));
    }
    Ok(findings)
}
