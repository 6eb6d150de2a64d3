//! Vectors in a file beside the database, for those that Chroma has no place for any more.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use loci_core::Result;
use serde::Serialize;

use super::Made;
use super::names::{self, Moment};
use super::write_back::Source;
use crate::failure;
use crate::graph::Graph;

/// A line of the file.
#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    embedding: Vec<f32>,
}

/// The elements that no record can be named for and that are not marked deleted, with their labels.
pub(super) fn unnamed(graph: &Graph) -> Result<Vec<(u32, u64)>> {
    let (Some(file), Some(layout)) = (&graph.file, &graph.layout) else {
        return Ok(Vec::new());
    };
    let known = graph.known().map(|labels| labels.by_id.values().copied());
    let named: HashSet<u64> = known.into_iter().flatten().collect();
    let mut unnamed = Vec::new();
    file.labels(layout, &mut |element, label, deleted| {
        if !deleted && !named.contains(&label) {
            unnamed.push((element, label));
        }
    })
    .map_err(|cause| failure::io("read", &graph.folder, cause))?;
    Ok(unnamed)
}

/// Writes the vectors of `unnamed` and `homeless` of a segment's graph, and says how the file is called.
pub(super) fn write(
    folder: &Path,
    segment: &str,
    graph: &Graph,
    unnamed: &[(u32, u64)],
    homeless: &[(String, Source)],
    made: &mut Made,
) -> Result<String> {
    let name = |moment: &str| format!("{segment}.vectors-{moment}.jsonl");
    let name = name(&names::free(folder, Moment::now(), |text| [name(text)])?);
    let path = made.add(folder.join(&name));
    let refused = |cause| failure::io("write", &path, cause);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(refused)?;
    let mut file = BufWriter::new(file);
    let mut put = |label, id, element| -> Result<()> {
        let read = graph.vector(element);
        let read = read.map_err(|cause| failure::io("read", &graph.folder, cause))?;
        let Some(embedding) = read else { return Ok(()) };
        let line = Line { label, id, embedding };
        serde_json::to_writer(&mut file, &line).map_err(|cause| refused(cause.into()))?;
        file.write_all(b"\n").map_err(refused)
    };
    for (element, label) in unnamed {
        put(Some(*label), None, *element)?;
    }
    for (id, source) in homeless {
        // What stands in the queue stays there.
        if let Source::Graph(element) = source {
            let label = graph
                .known()
                .and_then(|labels| labels.by_id.get(id.as_str()).copied());
            put(label, Some(id), *element)?;
        }
    }
    let file = file.into_inner().map_err(|cause| refused(cause.into_error()))?;
    file.sync_all().map_err(refused)?;
    Ok(name)
}
