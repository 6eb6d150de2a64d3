//! Checks graph files for impossible values, and compares them with the rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use loci_core::{FindingSeverity, PalaceFinding, Result, SegmentDiagnosis};
use rusqlite::Connection;
use serde_json::json;

use super::{FolderExamination, MOST_LISTED, MOVE_HINT, into_object, survey};
use crate::drawer::{are_nearly_equal, have_same_direction, read_queued_vector};
use crate::failure;
use crate::folder;
use crate::graph::SegmentGraph;
use crate::palace::{CollectionContent, LoadedFolder};
use crate::shelf::{LiveRecord, RecordShelf, VectorLocation};

/// The number of writes after which Chroma saves a graph by default.
const USUAL_THRESHOLD: u64 = 1000;

/// The hint for a broken graph.
const QUARANTINE_HINT: &str =
    "`loci doctor PATH --fix quarantine` sets it aside so that Chroma rebuilds it, and loses no vector";

/// The hint for a damaged vector.
const BAD_VECTOR_HINT: &str = "`loci doctor PATH --fix quarantine` rebuilds the graph without it; then upsert the record again in \
     Chroma, or move everything with `loci migrate --from PATH --to NEW`";

/// Returns the number of elements by the header, or the number of readable ones without a header.
pub(super) fn element_count(graph: &SegmentGraph) -> u64 {
    graph.layout.map_or(0, |layout| layout.elements)
}

/// Returns the reasons not to use the graph of a collection: impossible values, or disagreement with the rows.
///
/// A graph that lags behind the queue is fine; Chroma catches up by itself.
pub(crate) fn find_disagreements(shelf: &RecordShelf) -> Result<Vec<PalaceFinding>> {
    let Some(graph) = &shelf.graph else {
        return Ok(Vec::new());
    };
    let mut quarrels = Vec::new();
    let mut add = |code: &str, message: String| {
        let finding = PalaceFinding::new(code, FindingSeverity::Error, message)
            .with_hint(QUARANTINE_HINT)
            .in_collection(shelf.listed.name.as_str());
        quarrels.push(finding.in_segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
    };
    check_header_and_elements(graph, &mut add);
    check_pickle(graph, &mut add);
    check_links(graph, &mut add);
    survey::check_walk(graph, shelf.listed.metric, &mut add)?;
    let tally = &shelf.tally;
    // With an incomplete pickle, elements without a label may belong to live records.
    let whole = graph
        .readable_labels()
        .is_some_and(|labels| labels.broken.is_none());
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
            "{} records have a label that no element of the graph carries, and {} labels occur in more than one element",
            tally.misplaced, graph.repeated
        );
        add("label_mismatch", message);
    }
    Ok(quarrels)
}

/// Returns the ids of the records whose vector in the graph is damaged.
pub(crate) fn find_damaged(shelf: &RecordShelf) -> Result<Vec<&str>> {
    let Some(graph) = &shelf.graph else {
        return Ok(Vec::new());
    };
    let walked = survey::walk_graph(graph)?;
    let is_damaged = |vector: VectorLocation| match vector {
        VectorLocation::Graph(element) => walked.bad_vectors.contains(element),
        _ => false,
    };
    let records = shelf.records.iter();
    Ok(records
        .filter(|record| is_damaged(record.vector))
        .map(LiveRecord::own_id)
        .collect())
}

/// Returns whether the length of a vector in a cosine graph is not that of the write it was made from.
///
/// Only a write that is left in the queue tells: any length is possible.
pub(crate) fn has_wrong_length(
    connection: &Connection,
    shelf: &RecordShelf,
    record: &LiveRecord,
) -> Result<bool> {
    let graph = shelf.graph.as_ref().filter(|graph| graph.normalised);
    let (Some(graph), VectorLocation::Graph(element), Some(write)) = (graph, record.vector, record.written)
    else {
        return Ok(false);
    };
    let stored = graph
        .read_vector(element)
        .map_err(|cause| failure::io_error("read", &graph.folder, cause))?;
    let (Some(stored), Some(written)) = (stored, read_queued_vector(connection, write)?) else {
        return Ok(false);
    };
    Ok(!are_nearly_equal(&stored, &written) && have_same_direction(&stored, &written))
}

/// Returns the reasons not to use the graph of a collection, also those that only the queue tells.
pub(crate) fn find_all_disagreements(
    connection: &Connection,
    shelf: &RecordShelf,
) -> Result<Vec<PalaceFinding>> {
    let mut quarrels = find_disagreements(shelf)?;
    if quarrels
        .iter()
        .any(|quarrel| quarrel.code.starts_with("lengths_"))
    {
        return Ok(quarrels);
    }
    let mut wrong = 0;
    for record in &shelf.records {
        wrong += u64::from(has_wrong_length(connection, shelf, record)?);
    }
    if wrong > 0 {
        let message = format!(
            "the lengths of {wrong} vectors in length.bin are not those of the writes they were made from; Chroma returns \
             wrong vectors for them"
        );
        let finding = PalaceFinding::new("lengths_invalid", FindingSeverity::Error, message)
            .with_hint(QUARANTINE_HINT)
            .in_collection(shelf.listed.name.as_str());
        quarrels.push(finding.in_segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
    }
    Ok(quarrels)
}

fn check_header_and_elements(graph: &SegmentGraph, add: &mut dyn FnMut(&str, String)) {
    match (&graph.header_problem, graph.facts.header) {
        (Some(_), None) => add("header_missing", "header.bin is missing".to_owned()),
        (Some(problem), Some(_)) => add("header_invalid", format!("header.bin cannot be used: {problem}")),
        (None, _) => {}
    }
    if let Some(Err(problem)) = &graph.links {
        add(
            "header_invalid",
            format!("header.bin cannot be used: {problem}; Chroma fails or crashes"),
        );
    }
    // A layout that was inferred in place of a broken header
    // says nothing about how many elements there should be.
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
        Some(file) if graph.readable_elements() < layout.elements => add(
            "level0_truncated",
            format!(
                "data_level0.bin has {} bytes, room for {} of {} elements",
                file.length,
                graph.readable_elements(),
                layout.elements
            ),
        ),
        _ => {}
    }
}

fn check_pickle(graph: &SegmentGraph, add: &mut dyn FnMut(&str, String)) {
    match &graph.labels {
        None if element_count(graph) > 0 => {
            let message = format!(
                "index_metadata.pickle is missing, so {} elements cannot be matched with records",
                element_count(graph)
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
                    "index_metadata.pickle is incomplete ({problem}); {} labels are readable",
                    labels.by_id.len()
                );
                add("pickle_partial", message);
            }
            if labels.odd > 0 {
                add(
                    "pickle_partial",
                    format!("{} entries of index_metadata.pickle are not labels", labels.odd),
                );
            }
        }
        None => {}
    }
}

/// Checks the size of the link file: an oversized one crashes Chroma or fills the disk.
fn check_links(graph: &SegmentGraph, add: &mut dyn FnMut(&str, String)) {
    let (Some(file), Some(layout)) = (graph.facts.links, graph.layout) else {
        return;
    };
    // Four bytes for each element, and for one in sixteen a list a little over half as long as on level 0.
    // The offset of the vector is the length of the links on level 0, so this bound is generous.
    let most = layout
        .elements
        .saturating_mul(4 + layout.vector)
        .saturating_add(4096);
    if file.length <= most {
        return;
    }
    let (code, how) = if file.on_disk < file.length / 2 {
        (
            "link_lists_sparse",
            format!(", of which {} are on disk", file.on_disk),
        )
    } else {
        ("link_lists_oversized", String::new())
    };
    let message = format!(
        "link_lists.bin has {} bytes{how}, where {} elements need at most {most}",
        file.length, layout.elements
    );
    add(code, message);
}

impl FolderExamination {
    /// Examines the graph of a collection.
    pub(super) fn examine_graph(
        &mut self,
        connection: &Connection,
        shelf: &RecordShelf,
        folder: &Path,
    ) -> Result<()> {
        let quarrels = find_all_disagreements(connection, shelf)?;
        let sound = quarrels.is_empty() && find_damaged(shelf)?.is_empty();
        for quarrel in quarrels {
            self.add_finding(quarrel);
        }
        self.report_lag(shelf);
        self.note_walk(shelf)?;
        self.find_bad_vectors(shelf)?;
        let Some(segment) = &shelf.listed.vector_segment else {
            return Ok(());
        };
        let name = shelf.listed.name.as_str();
        // A collection that was never saved has no folder, and that is healthy.
        if shelf.graph.is_none()
            && shelf.tally.graph_reach.is_some_and(|reach| reach > 0)
            && !folder.join(segment).exists()
        {
            let message = format!("the graph of {name:?} is missing, though it had consumed writes");
            let finding =
                PalaceFinding::new("graph_missing", FindingSeverity::Warning, message).with_hint(MOVE_HINT);
            self.add_finding(finding.in_collection(name).in_segment(segment));
        }
        let figures = match &shelf.graph {
            Some(graph) => json!({
                "collection": name,
                "there": true,
                "elements": element_count(graph),
                "labels": graph.readable_labels().map(|labels| labels.by_id.len()),
                "orphans": shelf.tally.orphans + graph.unclaimed,
                "level0_bytes": graph.facts.level0.map(|file| file.length),
                "link_lists_bytes": graph.facts.links.map(|file| file.length),
            }),
            None => json!({"collection": name, "there": false}),
        };
        self.segments.push(SegmentDiagnosis {
            name: segment.clone(),
            sound,
            figures: into_object(figures),
        });
        Ok(())
    }

    fn report_lag(&mut self, shelf: &RecordShelf) {
        let behind = shelf.tally.behind;
        let threshold = shelf
            .listed
            .threshold
            .unwrap_or(USUAL_THRESHOLD)
            // Thresholds below the default save more often but do not make a small backlog a problem.
            .max(USUAL_THRESHOLD);
        if behind == 0 {
            return;
        }
        let name = shelf.listed.name.as_str();
        // Up to one threshold of writes waits at any time; more than two show that saving has stopped.
        let (code, severity, message) = if behind > 2 * threshold {
            (
                "graph_behind",
                FindingSeverity::Warning,
                format!(
                    "the graph of {name:?} is {behind} writes behind, though it is saved every {threshold}; their vectors are in the queue"
                ),
            )
        } else {
            (
                "queue_backlog",
                FindingSeverity::Note,
                format!(
                    "{behind} writes to {name:?} are in the queue and not yet in its graph, which is normal"
                ),
            )
        };
        self.add_finding(PalaceFinding::new(code, severity, message).in_collection(name));
    }

    /// Reports vectors in the graph that cannot have been stored.
    fn find_bad_vectors(&mut self, shelf: &RecordShelf) -> Result<()> {
        let name = shelf.listed.name.as_str();
        let damaged = find_damaged(shelf)?;
        for id in damaged.iter().take(MOST_LISTED) {
            let message = format!("the vector of {id:?} in the graph is damaged; Chroma ranks it wrongly");
            let finding = PalaceFinding::new("bad_vector", FindingSeverity::Error, message)
                .with_hint(BAD_VECTOR_HINT)
                .in_collection(name);
            self.add_finding(finding.in_segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
        }
        if damaged.len() > MOST_LISTED {
            let message = format!("{} more vectors are damaged", damaged.len() - MOST_LISTED);
            self.add_finding(
                PalaceFinding::new("bad_vector", FindingSeverity::Error, message).in_collection(name),
            );
        }
        Ok(())
    }

    /// Reports folders without a collection and folders that were set aside.
    pub(super) fn find_stray_folders(&mut self, loaded: &LoadedFolder, folder: &Path) -> Result<()> {
        let names =
            folder::segment_folders(folder).map_err(|cause| failure::io_error("read", folder, cause))?;
        let live: BTreeSet<&str> = loaded
            .listed
            .iter()
            .filter_map(|listed| listed.vector_segment.as_deref())
            .collect();
        for name in names.iter().filter(|name| !live.contains(name.as_str())) {
            let (code, message) = if folder::is_set_aside(name) {
                ("set_aside_folder", format!("{name} was set aside by a repair"))
            } else {
                (
                    "orphan_folder",
                    format!("the folder {name} is left over from a dropped collection"),
                )
            };
            self.add_finding(PalaceFinding::new(code, FindingSeverity::Note, message).in_segment(name));
        }
        Ok(())
    }
}

/// Returns how long before the last write to the database a graph was saved.
pub(crate) fn measure_age(shelf: &RecordShelf, folder: &Path) -> Option<Duration> {
    let saved = shelf.graph.as_ref()?.facts.level0?.modified?;
    let written = fs::metadata(folder::database_path(folder))
        .ok()?
        .modified()
        .ok()?;
    written.duration_since(saved).ok()
}

/// Returns the graphs that a rule of age would set aside, and whether it would be wrong to do so.
pub(crate) fn judge_by_age(
    loaded: &mut LoadedFolder,
    folder: &Path,
    age: Duration,
) -> Result<Vec<PalaceFinding>> {
    let mut findings = Vec::new();
    for listed in loaded.listed.clone() {
        let CollectionContent::Shelf(_, shelf) = loaded.lay_out_content(folder, &listed.name)? else {
            continue;
        };
        let Some(gap) = measure_age(shelf, folder).filter(|gap| *gap > age) else {
            continue;
        };
        // An idle palace is healthy however old its graph is, so age alone never decides.
        let verdict = if find_disagreements(shelf)?.is_empty() {
            "but rows and labels agree, so setting it aside for its age would be wrong"
        } else {
            "and rows and labels disagree as well"
        };
        let message = format!(
            "the graph of {:?} was saved {} s before the database was last written, more than {} s; {verdict}",
            listed.name.as_str(),
            gap.as_secs(),
            age.as_secs()
        );
        let finding = PalaceFinding::new("stale_mtime", FindingSeverity::Note, message)
            .in_collection(listed.name.as_str());
        findings.push(finding.in_segment(listed.vector_segment.unwrap_or_default()));
    }
    Ok(findings)
}
