//! Saves vectors to a file beside the database, for which Chroma has no place any more.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use loci_core::Result;
use serde::Serialize;

use super::StepFiles;
use super::names::{self, UtcSecond};
use super::write_back::VectorSource;
use crate::failure;
use crate::graph::SegmentGraph;

/// A line of the file.
#[derive(Debug, Serialize)]
struct VectorLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    embedding: Vec<f32>,
}

/// Returns the elements that match no record and are not marked deleted, with their labels.
pub(super) fn find_unnamed(graph: &SegmentGraph) -> Result<Vec<(u32, u64)>> {
    let (Some(file), Some(layout)) = (&graph.file, &graph.layout) else {
        return Ok(Vec::new());
    };
    let known = graph
        .readable_labels()
        .map(|labels| labels.by_id.values().copied());
    // Without a pickle no label is named, and every element
    // counts as unnamed: nothing may be lost by guessing.
    let named: HashSet<u64> = known.into_iter().flatten().collect();
    let mut unnamed = Vec::new();
    file.for_each_label(layout, &mut |element, label, deleted| {
        if !deleted && !named.contains(&label) {
            unnamed.push((element, label));
        }
    })
    .map_err(|cause| failure::io_error("read", &graph.folder, cause))?;
    Ok(unnamed)
}

/// Writes the vectors of `unnamed` and `homeless` in a segment's graph, and returns the name of the file.
pub(super) fn write_vectors(
    folder: &Path,
    segment: &str,
    graph: &SegmentGraph,
    unnamed: &[(u32, u64)],
    homeless: &[(String, VectorSource)],
    made: &mut StepFiles,
) -> Result<String> {
    let name = |moment: &str| format!("{segment}.vectors-{moment}.jsonl");
    let name = name(&names::first_free_moment(folder, UtcSecond::now(), |text| {
        [name(text)]
    })?);
    let path = made.track_file(folder.join(&name));
    let refused = |cause| failure::io_error("write", &path, cause);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(refused)?;
    let mut file = BufWriter::new(file);
    let mut put = |label, id, element| -> Result<()> {
        let read = graph.read_vector(element);
        let read = read.map_err(|cause| failure::io_error("read", &graph.folder, cause))?;
        let Some(embedding) = read else { return Ok(()) };
        let line = VectorLine { label, id, embedding };
        serde_json::to_writer(&mut file, &line).map_err(|cause| refused(cause.into()))?;
        file.write_all(b"\n").map_err(refused)
    };
    for (element, label) in unnamed {
        put(Some(*label), None, *element)?;
    }
    for (id, source) in homeless {
        // Vectors in the queue stay there, so only those of the graph need the file.
        if let VectorSource::Graph(element) = source {
            let label = graph
                .readable_labels()
                .and_then(|labels| labels.by_id.get(id.as_str()).copied());
            put(label, Some(id), *element)?;
        }
    }
    let file = file.into_inner().map_err(|cause| refused(cause.into_error()))?;
    file.sync_all().map_err(refused)?;
    Ok(name)
}
