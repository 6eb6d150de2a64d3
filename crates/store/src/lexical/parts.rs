//! All parts of a collection: what the index has, and from the rows what it has lost.

use loci_core::{ErrorKind, Finding, Include, Result, Severity};
use loci_index::bm25::Statistics;
use loci_index::postings::Bag;
use loci_index::rows::Rows;
use loci_index::tokenise::Indexer;
use rusqlite::Connection;

use super::best::Best;
use super::live_rows;
use super::part::{Gathering, Part};
use crate::deadline::Deadline;
use crate::failure::sqlite;
use crate::palace::Palace;
use crate::shelf::Shelf;
use crate::words::{self, Entry};
use crate::{row, ties};

/// A search for terms, which are in byte order.
pub(super) struct Search<'a> {
    pub(super) connection: &'a Connection,
    pub(super) palace: &'a Palace,
    pub(super) shelf: &'a Shelf,
    pub(super) deadline: Deadline,
    pub(super) terms: Vec<&'a [u8]>,
}

/// Why the parts could not be ranked: the one at which it ended, and how.
struct Damaged {
    part: usize,
    error: loci_core::Error,
}

impl Search<'_> {
    /// The `k` rows of `scope` that match best, with their scores.
    pub(super) fn best(&self, scope: Rows, k: usize) -> Result<Vec<(i64, f32)>> {
        let mut parts = self.parts(scope)?;
        loop {
            match self.rank(&parts, k) {
                Ok(mut best) => {
                    ties::order_by_id(
                        self.connection,
                        &mut best,
                        |a, b| b.1.total_cmp(&a.1),
                        |(row, _)| *row,
                    )?;
                    best.truncate(k);
                    return Ok(best);
                }
                Err(Damaged { part, error }) if error.kind() == ErrorKind::Corrupt => {
                    // A list is only known to be sound when all of it has been read.
                    self.palace.warn(damaged(self.shelf, &error));
                    if let Some(part) = parts.get_mut(part) {
                        let rows: Vec<i64> = part.rows_in_scope().collect();
                        *part = self.listed_rows(&rows)?;
                    }
                }
                Err(Damaged { error, .. }) => return Err(error),
            }
        }
    }

    /// The `k` best and those that are exactly as good as the last of them.
    fn rank(&self, parts: &[Part], k: usize) -> std::result::Result<Vec<(i64, f32)>, Damaged> {
        let mut statistics = Statistics::default();
        let mut holding = vec![0; self.terms.len()];
        for (at, part) in parts.iter().enumerate() {
            part.count(&mut statistics);
            part.count_holding(&mut holding)
                .map_err(|error| Damaged { part: at, error })?;
        }
        let rarities: Vec<f32> = holding
            .iter()
            .map(|holding| statistics.rarity(*holding))
            .collect();
        let mut best = Best::new(k);
        let mut slots = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            self.deadline
                .check()
                .map_err(|error| Damaged { part: at, error })?;
            part.score(&statistics, &rarities, &mut slots, &mut best)
                .map_err(|error| Damaged { part: at, error })?;
        }
        Ok(best.finish())
    }

    /// Every part with a drawer in scope.
    fn parts(&self, scope: Rows) -> Result<Vec<Part>> {
        let projection = self.shelf.projection;
        if !words::are_there(self.connection, projection)? {
            return Ok(vec![self.all_rows(&scope)?]);
        }
        match self.indexed(scope.clone()) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.palace.warn(damaged(self.shelf, &error));
                Ok(vec![self.all_rows(&scope)?])
            }
            parts => parts,
        }
    }

    fn indexed(&self, scope: Rows) -> Result<Vec<Part>> {
        let projection = self.shelf.projection;
        let gone = words::gone(self.connection, projection)?;
        let segments = words::list(self.connection, projection)?;
        let sealed: i64 = segments.iter().map(|entry| entry.drawers).sum();
        let standing = sealed - gone.len() as i64;
        let standing_scope = scope.clone().and(Rows::of(gone).not());
        let (new, count) = self.new_drawers(&scope)?;
        if standing + count != self.shelf.drawers {
            self.palace.warn(incomplete(self.shelf));
            return self.mended(&segments, scope, &standing_scope);
        }
        let (mut parts, whole) = self.segments(&segments, &standing_scope)?;
        if !whole {
            return self.mended(&segments, scope, &standing_scope);
        }
        parts.push(new);
        Ok(parts)
    }

    /// The drawers that are in no segment, and how many they are in scope or not.
    fn new_drawers(&self, scope: &Rows) -> Result<(Part, i64)> {
        let mut gathering = Gathering::new(&self.terms);
        let mut count = 0;
        words::each_new(self.connection, self.shelf.projection, |row, words| {
            count += 1;
            match scope.contains(row) {
                true => gathering.add(row, words),
                false => Ok(()),
            }
        })?;
        Ok((gathering.finish(), count))
    }

    /// The segments that can be read, and whether these are all.
    fn segments(&self, segments: &[Entry], scope: &Rows) -> Result<(Vec<Part>, bool)> {
        let (connection, projection) = (self.connection, self.shelf.projection);
        let mut parts = Vec::with_capacity(segments.len() + 1);
        let mut whole = true;
        for entry in segments {
            self.deadline.check()?;
            match Part::read(connection, projection, entry, &self.terms, scope) {
                Ok(part) => parts.extend(part),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(damaged(self.shelf, &error));
                    whole = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok((parts, whole))
    }

    /// The parts where the index has not all drawers of the collection, or others too: these are left out, and what
    /// it lacks is read from the rows.
    fn mended(&self, segments: &[Entry], scope: Rows, standing_scope: &Rows) -> Result<Vec<Part>> {
        let live = Rows::of(self.live_rows()?);
        let (mut parts, _) = self.segments(segments, &standing_scope.clone().and(live.clone()))?;
        let scope = scope.and(live);
        parts.push(self.new_drawers(&scope)?.0);
        let covered = parts.iter().flat_map(Part::rows_in_scope).collect();
        let lacking = scope.and(Rows::of(covered).not());
        parts.push(self.listed_rows(lacking.listed().unwrap_or_default())?);
        Ok(parts)
    }

    /// Every drawer in scope, read from the rows.
    fn all_rows(&self, scope: &Rows) -> Result<Part> {
        let rows = self.live_rows()?;
        self.listed_rows(&among(&rows, scope))
    }

    /// Every row of the collection; where the table cannot be walked, as the index of ids knows them. Only for reading:
    /// a damaged page ends a transaction that writes.
    fn live_rows(&self) -> Result<Vec<i64>> {
        match live_rows(self.connection, self.shelf, i64::MIN, i64::MAX) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            done => return done,
        }
        let mut rows: Vec<i64> = self
            .connection
            .prepare_cached("SELECT row FROM main.drawers INDEXED BY drawers_id WHERE collection = ?1")
            .and_then(|mut statement| {
                let found = statement.query_map([self.shelf.collection], |row| row.get(0));
                found?.collect()
            })
            .map_err(sqlite)?;
        rows.sort_unstable();
        Ok(rows)
    }

    fn listed_rows(&self, rows: &[i64]) -> Result<Part> {
        let include = Include {
            document: true,
            context: true,
            ..Include::NOTHING
        };
        let mut indexer = Indexer::default();
        let mut gathering = Gathering::new(&self.terms);
        for row in rows {
            match row::by_row(self.connection, *row, include) {
                Ok(Some(stored)) => {
                    gathering.add(*row, Bag::new(&words::of(&mut indexer, &stored.drawer)))?;
                }
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(unreadable(self.shelf, *row, &error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(gathering.finish())
    }
}

/// Those of some ascending rows that are in scope.
pub(crate) fn among(rows: &[i64], scope: &Rows) -> Vec<i64> {
    let marked = rows.iter().zip(scope.marks(rows));
    marked.filter_map(|(row, mark)| mark.then_some(*row)).collect()
}

pub(super) fn damaged(shelf: &Shelf, error: &loci_core::Error) -> Finding {
    let message = format!("the index of words cannot be used ({error}); its drawers were read one by one");
    finding("full_text_damaged", Severity::Warning, shelf, message)
}

fn incomplete(shelf: &Shelf) -> Finding {
    let message =
        "the index of words has not the drawers of its collection; those it lacks were read one by one";
    finding("full_text_differs", Severity::Warning, shelf, message.to_owned())
}

fn unreadable(shelf: &Shelf, row: i64, error: &loci_core::Error) -> Finding {
    let message = format!("the words of row {row} cannot be read, and so not be matched: {error}");
    finding("drawer_damaged", Severity::Error, shelf, message)
}

fn finding(code: &str, severity: Severity, shelf: &Shelf, message: String) -> Finding {
    Finding::new(code, severity, message)
        .hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
        .collection(shelf.name.as_str())
}
