//! `quarantine`: graphs that disagree with the rows are set aside, and no vector with them.

use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::Book;
use super::write_back::{Numbers, WriteBack};
use super::{Change, Made, Plan, positions, sidecar};
use crate::examine::graphs::quarrels;
use crate::shelf::Shelf;

/// The step's name.
pub(super) const STEP: &str = "quarantine";

/// One graph to set aside.
#[derive(Debug)]
struct Case {
    shelf: Shelf,
    segment: String,
    /// Why, a sentence each.
    why: Vec<String>,
    back: WriteBack,
    /// Elements that no record can be named for, with their labels.
    unnamed: Vec<(u32, u64)>,
}

struct Cases(Vec<Case>);

/// Which graphs would be set aside, and what of them would be kept where.
pub(super) fn plan(book: &Book) -> Result<Plan> {
    let mut cases = Vec::new();
    let mut numbers = Numbers::read(book)?;
    for listed in &book.listed {
        let shelf = book.shelf(listed)?;
        let why: Vec<String> = quarrels(&shelf)
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        if !why.is_empty() {
            cases.extend(Case::plan(book, shelf, why, &mut numbers)?);
        }
    }
    Ok(match cases.is_empty() {
        true => Plan::nothing("every graph agrees with its rows"),
        false => Plan::of(Cases(cases)),
    })
}

impl Case {
    fn plan(book: &Book, shelf: Shelf, why: Vec<String>, numbers: &mut Numbers) -> Result<Option<Self>> {
        let (Some(segment), Some(graph)) = (shelf.listed.vector_segment.clone(), &shelf.graph) else {
            return Ok(None);
        };
        if shelf.tally.is_absurd(shelf.tally.rows_reach) {
            let message = format!(
                "the rows of {:?} have an absurd position in the write queue, so nothing can be put into it safely",
                shelf.listed.name.as_str()
            );
            let hint = format!(
                "nothing was changed; first `loci doctor PATH --fix {}`",
                positions::STEP
            );
            return Err(Error::new(ErrorKind::Conflict, message).hint(hint));
        }
        let unnamed = sidecar::unnamed(graph)?;
        let back = WriteBack::plan(book, &shelf, &segment, numbers)?;
        Ok(Some(Self {
            shelf,
            segment,
            why,
            back,
            unnamed,
        }))
    }

    fn lines(&self) -> Vec<String> {
        let segment = &self.segment;
        let name = self.shelf.listed.name.as_str();
        let mut lines = vec![format!(
            "the folder {segment} of {name:?} to {segment}.drift-…: {}",
            self.why.join("; ")
        )];
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                lines.push(format!("{segment}: {count} {what}"));
            }
        };
        add(
            self.back.count() as u64,
            "vectors of which it holds the only copy go back into the write queue first",
        );
        add(
            self.back.gone() as u64,
            "records that are gone are kept from coming back with the queue",
        );
        add(
            self.unnamed.len() as u64,
            "vectors of records that nobody can name are saved in a file beside it",
        );
        add(
            self.back.homeless.len() as u64,
            "vectors for which the queue has no place are saved in a file beside it",
        );
        let whence = self.shelf.vectors();
        add(
            whence.nowhere + whence.aside + self.back.unreadable,
            "records have no vector that can be read; Chroma will not find them by meaning",
        );
        lines
    }
}

impl Change for Cases {
    fn lines(&self) -> Vec<String> {
        self.0.iter().flat_map(Case::lines).collect()
    }

    fn growth(&self) -> u64 {
        let of = |case: &Case| {
            let bytes = case.shelf.dimension.unwrap_or_default() as u64 * 4 + 400;
            let written = case.back.count() + 4 * (case.unnamed.len() + case.back.homeless.len());
            bytes.saturating_mul(written as u64)
        };
        self.0.iter().map(of).fold(0, u64::saturating_add)
    }

    fn segments(&self) -> Vec<String> {
        self.0.iter().map(|case| case.segment.clone()).collect()
    }

    fn save(&self, folder: &Path, made: &mut Made) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for case in &self.0 {
            let Some(graph) = &case.shelf.graph else { continue };
            let (unnamed, homeless) = (&case.unnamed, &case.back.homeless);
            if !unnamed.is_empty() || !homeless.is_empty() {
                files.push(sidecar::write(
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

    fn make(&self, connection: &Connection) -> Result<()> {
        for case in &self.0 {
            case.back.make(connection, &case.shelf)?;
        }
        Ok(())
    }
}
