//! `quarantine`: sets graphs aside that are damaged or disagree with the rows, without losing a vector.

use std::path::Path;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::FixSession;
use super::write_back::{QueueNumbers, WriteBack};
use super::{FixPlan, FolderChange, StepFiles, positions, sidecar};
use crate::examine::graphs::{find_all_disagreements, find_damaged, measure_age};
use crate::shelf::RecordShelf;

/// The step's name.
pub(super) const STEP: &str = "quarantine";

/// The number of damaged vectors whose records are named.
const MOST_NAMED: usize = 5;

/// A collection whose graph is to be rebuilt.
#[derive(Debug)]
struct QuarantineCase {
    shelf: RecordShelf,
    segment: String,
    /// The reasons to set the graph aside, one sentence each.
    why: Vec<String>,
    /// The reasons to write vectors back, apart from those.
    asides: Option<String>,
    write_back: WriteBack,
    /// The elements that cannot be matched with a record, with their labels.
    unnamed: Vec<(u32, u64)>,
}

struct QuarantineCases(Vec<QuarantineCase>);

/// Plans which graphs to set aside, and where their vectors are kept.
///
/// Sound graphs are set aside only if they are older than the database by more than `older_than`.
pub(super) fn plan(book: &FixSession, older_than: Option<Duration>) -> Result<FixPlan> {
    let mut cases = Vec::new();
    // Shared by all collections: they draw from one sequence, and no number may be assigned twice.
    let mut numbers = QueueNumbers::read(book)?;
    for listed in &book.listed {
        let shelf = book.read_shelf(listed)?;
        let mut why: Vec<String> = find_all_disagreements(book.connection(), &shelf)?
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        why.extend(explain_damaged(&shelf)?);
        why.extend(older_than.and_then(|most| explain_age(book, &shelf, most)));
        if !why.is_empty() || shelf.tally_vectors().aside > 0 {
            cases.extend(QuarantineCase::plan_case(book, shelf, why, &mut numbers)?);
        }
    }
    Ok(if cases.is_empty() {
        FixPlan::without_change("every graph agrees with its rows")
    } else {
        FixPlan::with_change(QuarantineCases(cases))
    })
}

/// Returns the reason to set a graph aside for its age, if it is too old.
fn explain_age(book: &FixSession, shelf: &RecordShelf, most: Duration) -> Option<String> {
    let age = measure_age(shelf, &book.folder).filter(|age| *age > most)?;
    Some(format!(
        "it was saved {} s before the database was last written, more than {} s",
        age.as_secs(),
        most.as_secs()
    ))
}

/// Returns the reason to set a graph aside for its vectors, if some are damaged.
///
/// A damaged vector spoils more than its own record: Chroma ranks it before others in answers that it does not belong to.
fn explain_damaged(shelf: &RecordShelf) -> Result<Option<String>> {
    let damaged = find_damaged(shelf)?.len();
    Ok((damaged > 0).then(|| format!("{damaged} of its vectors are damaged, and Chroma ranks them wrongly")))
}

/// Lists the first ids.
fn name_some(ids: &[String]) -> String {
    let mut named: Vec<String> = ids.iter().take(MOST_NAMED).map(|id| format!("{id:?}")).collect();
    if ids.len() > MOST_NAMED {
        named.push("…".to_owned());
    }
    named.join(", ")
}

impl QuarantineCase {
    fn plan_case(
        book: &FixSession,
        shelf: RecordShelf,
        why: Vec<String>,
        numbers: &mut QueueNumbers,
    ) -> Result<Option<Self>> {
        let Some(segment) = shelf.listed.vector_segment.clone() else {
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
        let unnamed = match &shelf.graph {
            Some(graph) => sidecar::find_unnamed(graph)?,
            None => Vec::new(),
        };
        let back = WriteBack::plan(book, &shelf, &segment, numbers)?;
        let aside = shelf.tally_vectors().aside;
        let asides = (aside > 0).then(|| {
            format!("the vectors of {aside} records are only in graphs that a repair set aside before")
        });
        Ok(Some(Self {
            shelf,
            segment,
            why,
            asides,
            write_back: back,
            unnamed,
        }))
    }

    fn describe_case(&self) -> Vec<String> {
        let segment = &self.segment;
        let name = self.shelf.listed.name.as_str();
        let why: Vec<&str> = self.why.iter().chain(&self.asides).map(String::as_str).collect();
        let why = why.join("; ");
        let mut lines = vec![if self.shelf.graph.is_some() {
            format!("rename the folder {segment} of {name:?} to {segment}.drift-…: {why}")
        } else {
            format!("have Chroma rebuild the graph of {name:?}, whose folder {segment} does not exist: {why}")
        }];
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                lines.push(format!("{segment}: {count} {what}"));
            }
        };
        add(
            self.write_back.vector_count() as u64,
            "vectors of which it or a folder set aside before holds the only copy are written back into the write queue first",
        );
        add(
            self.write_back.shortened,
            "of them with length 1, because their original length is lost; a cosine search finds the same",
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
        add(
            self.write_back.stranded,
            "vectors for which the queue has no place stay in the folders that were set aside before",
        );
        add(
            self.shelf.tally_vectors().nowhere,
            "records have no vector; Chroma does not find them by vector search, and fails if asked for their vectors",
        );
        let damaged = &self.write_back.damaged;
        if !damaged.is_empty() {
            lines.push(format!(
                "{segment}: {} vectors are damaged and not written back ({}); Chroma does not find these records by vector \
                 search, and fails if asked for their vectors, until they are upserted again",
                damaged.len(),
                name_some(damaged)
            ));
        }
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
        let with_folder = self.0.iter().filter(|case| case.shelf.graph.is_some());
        with_folder.map(|case| case.segment.clone()).collect()
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
