//! `quarantine`: sets graphs aside that disagree with the rows, without losing a vector.

use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::FixSession;
use super::write_back::{QueueNumbers, WriteBack};
use super::{FixPlan, FolderChange, StepFiles, positions, sidecar};
use crate::examine::graphs::find_disagreements;
use crate::shelf::RecordShelf;

/// The step's name.
pub(super) const STEP: &str = "quarantine";

/// A graph to set aside.
#[derive(Debug)]
struct QuarantineCase {
    shelf: RecordShelf,
    segment: String,
    /// The reasons, one sentence each.
    why: Vec<String>,
    write_back: WriteBack,
    /// The elements that cannot be matched with a record, with their labels.
    unnamed: Vec<(u32, u64)>,
}

struct QuarantineCases(Vec<QuarantineCase>);

/// Plans which graphs to set aside, and where their vectors are kept.
pub(super) fn plan(book: &FixSession) -> Result<FixPlan> {
    let mut cases = Vec::new();
    // Shared by all collections: they draw from one sequence, and no number may be assigned twice.
    let mut numbers = QueueNumbers::read(book)?;
    for listed in &book.listed {
        let shelf = book.read_shelf(listed)?;
        let why: Vec<String> = find_disagreements(&shelf)
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        if !why.is_empty() {
            cases.extend(QuarantineCase::plan_case(book, shelf, why, &mut numbers)?);
        }
    }
    if cases.is_empty() {
        return Ok(FixPlan::without_change("every graph agrees with its rows"));
    }
    Ok(FixPlan::with_change(QuarantineCases(cases)))
}

impl QuarantineCase {
    fn plan_case(
        book: &FixSession,
        shelf: RecordShelf,
        why: Vec<String>,
        numbers: &mut QueueNumbers,
    ) -> Result<Option<Self>> {
        let (Some(segment), Some(graph)) = (shelf.listed.vector_segment.clone(), &shelf.graph) else {
            return Ok(None);
        };
        // The vectors go back under numbers that the rows have
        // passed, and such a position hides which ones those are.
        if shelf.tally.is_absurd(shelf.tally.rows_reach) {
            let message = format!(
                "the rows of {:?} have an absurd position in the write queue, so nothing can be written to it safely",
                shelf.listed.name.as_str()
            );
            let hint = format!(
                "nothing was changed; run `loci doctor PATH --fix {}` first",
                positions::STEP
            );
            return Err(Error::new(ErrorKind::Conflict, message).with_hint(hint));
        }
        let unnamed = sidecar::find_unnamed(graph)?;
        let back = WriteBack::plan(book, &shelf, &segment, numbers)?;
        Ok(Some(Self {
            shelf,
            segment,
            why,
            write_back: back,
            unnamed,
        }))
    }

    fn describe_case(&self) -> Vec<String> {
        let segment = &self.segment;
        let name = self.shelf.listed.name.as_str();
        let mut lines = vec![format!(
            "rename the folder {segment} of {name:?} to {segment}.drift-…: {}",
            self.why.join("; ")
        )];
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                lines.push(format!("{segment}: {count} {what}"));
            }
        };
        add(
            self.write_back.vector_count() as u64,
            "vectors of which it holds the only copy are written back into the write queue first",
        );
        add(
            self.write_back.gone_count() as u64,
            "deleted records are kept from coming back with the queue",
        );
        add(
            self.unnamed.len() as u64,
            "vectors that cannot be matched with a record are saved in a file beside it",
        );
        add(
            self.write_back.homeless.len() as u64,
            "vectors for which the queue has no place are saved in a file beside it",
        );
        let whence = self.shelf.tally_vectors();
        add(
            // Vectors in graphs that were set aside before are not written
            // back: Chroma does not find those records now, either.
            whence.nowhere + whence.aside + self.write_back.unreadable,
            "records have no readable vector; Chroma will not find them by vector search",
        );
        lines
    }
}

impl FolderChange for QuarantineCases {
    fn describe(&self) -> Vec<String> {
        self.0.iter().flat_map(QuarantineCase::describe_case).collect()
    }

    fn estimate_growth(&self) -> u64 {
        let of = |case: &QuarantineCase| {
            // Four bytes for each value, and room for id, topic and the row itself.
            let bytes = case.shelf.dimension.unwrap_or_default() as u64 * 4 + 400;
            // As JSON text a value takes about four times as many bytes as in the queue.
            let written =
                case.write_back.vector_count() + 4 * (case.unnamed.len() + case.write_back.homeless.len());
            bytes.saturating_mul(written as u64)
        };
        self.0.iter().map(of).fold(0, u64::saturating_add)
    }

    fn renamed_segments(&self) -> Vec<String> {
        self.0.iter().map(|case| case.segment.clone()).collect()
    }

    fn save_beside(&self, folder: &Path, made: &mut StepFiles) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for case in &self.0 {
            let Some(graph) = &case.shelf.graph else { continue };
            let (unnamed, homeless) = (&case.unnamed, &case.write_back.homeless);
            if !unnamed.is_empty() || !homeless.is_empty() {
                files.push(sidecar::write_vectors(
                    folder,
                    &case.segment,
                    graph,
                    unnamed,
                    homeless,
                    made,
                )?);
            }
        }
        Ok(files)
    }

    fn write_change(&self, connection: &Connection) -> Result<()> {
        for case in &self.0 {
            case.write_back.write_queue(connection, &case.shelf)?;
        }
        Ok(())
    }
}
