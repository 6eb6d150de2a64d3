//! All parts of a collection: those the word index covers, and the rest from the rows.

use std::sync::Arc;

use loci_core::{DrawerFields, ErrorKind, FindingSeverity, PalaceFinding, Result};
use loci_index::bm25::LexicalStatistics;
use loci_index::postings::WordBag;
use loci_index::rows::RowSet;
use loci_index::tokenise::TextIndexer;
use rusqlite::Connection;

use super::best::BestRows;
use super::live_rows;
use super::part::{LexicalPart, LexicalPartBuilder};
use crate::deadline::BudgetDeadline;
use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;
use crate::words::{self, WordSegment, WordSegmentEntry};
use crate::{row, ties};

/// A search for terms, which must be in byte order.
pub(super) struct LexicalSearch<'a> {
    pub(super) connection: &'a Connection,
    pub(super) palace: &'a PalaceFile,
    pub(super) shelf: &'a CollectionShelf,
    pub(super) deadline: BudgetDeadline,
    pub(super) terms: Vec<&'a [u8]>,
}

/// The part at which ranking failed, and the error.
struct DamagedPart {
    part: usize,
    error: loci_core::Error,
}

impl LexicalSearch<'_> {
    /// Returns the `k` rows of `scope` that match best, with their scores.
    pub(super) fn find_best(&self, scope: RowSet, k: usize) -> Result<Vec<(i64, f32)>> {
        let mut parts = self.gather_parts(scope)?;
        loop {
            match self.rank_parts(&parts, k) {
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
                Err(DamagedPart { part, error }) if error.kind() == ErrorKind::Corrupt => {
                    // A list is known to be sound only once all of it has been read, so damage may show up this
                    // late. The part is read from its rows, and ranking starts over with it.
                    self.palace.warn(damaged_finding(self.shelf, &error));
                    if let Some(part) = parts.get_mut(part) {
                        let rows: Vec<i64> = part.rows_in_scope().collect();
                        *part = self.listed_rows(&rows)?;
                    }
                }
                Err(DamagedPart { error, .. }) => return Err(error),
            }
        }
    }

    /// Returns the `k` best rows and all that score exactly as much as the last of them.
    fn rank_parts(
        &self,
        parts: &[LexicalPart],
        k: usize,
    ) -> std::result::Result<Vec<(i64, f32)>, DamagedPart> {
        let mut statistics = LexicalStatistics::default();
        let mut holding = vec![0; self.terms.len()];
        for (at, part) in parts.iter().enumerate() {
            part.add_statistics(&mut statistics);
            part.count_holding(&mut holding)
                .map_err(|error| DamagedPart { part: at, error })?;
        }
        let rarities: Vec<f32> = holding
            .iter()
            .map(|holding| statistics.term_rarity(*holding))
            .collect();
        // Two passes: how rare a term is must be known over all parts before any drawer can be scored.
        let mut best = BestRows::new(k);
        let mut slots = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            self.deadline
                .check()
                .map_err(|error| DamagedPart { part: at, error })?;
            part.score(&statistics, &rarities, &mut slots, &mut best)
                .map_err(|error| DamagedPart { part: at, error })?;
        }
        Ok(best.finish())
    }

    /// Returns every part with a drawer in scope.
    fn gather_parts(&self, scope: RowSet) -> Result<Vec<LexicalPart>> {
        let projection = self.shelf.projection;
        if !words::tables_exist(self.connection, projection)? {
            return Ok(vec![self.all_rows(&scope)?]);
        }
        // Damage does not fail a search: what the index cannot give is read from the rows.
        match self.indexed_parts(scope.clone()) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.palace.warn(damaged_finding(self.shelf, &error));
                Ok(vec![self.all_rows(&scope)?])
            }
            parts => parts,
        }
    }

    fn indexed_parts(&self, scope: RowSet) -> Result<Vec<LexicalPart>> {
        let projection = self.shelf.projection;
        let gone = words::list_gone(self.connection, projection)?;
        let segments = words::list_word_segments(self.connection, projection)?;
        let sealed: i64 = segments.iter().map(|entry| entry.drawers).sum();
        let standing = sealed - gone.len() as i64;
        let standing_scope = scope.clone().and(RowSet::from_rows(gone).not());
        let (new, count) = self.new_drawers(&scope)?;
        // The count is the check that the index covers the collection; it was written in the same transactions.
        if standing + count != self.shelf.drawers {
            self.palace.warn(incomplete_finding(self.shelf));
            return self.mended_parts(&segments, scope, &standing_scope);
        }
        let (mut parts, whole) = self.segment_parts(&segments, &standing_scope)?;
        if !whole {
            return self.mended_parts(&segments, scope, &standing_scope);
        }
        parts.push(new);
        Ok(parts)
    }

    /// Returns the drawers that are not in a segment, and their number, in scope or not.
    fn new_drawers(&self, scope: &RowSet) -> Result<(LexicalPart, i64)> {
        let mut gathering = LexicalPartBuilder::new(&self.terms);
        let mut count = 0;
        words::each_unsealed(self.connection, self.shelf.projection, |row, words| {
            count += 1;
            if scope.contains(row) {
                gathering.add(row, words)
            } else {
                Ok(())
            }
        })?;
        Ok((gathering.finish(), count))
    }

    /// Returns the segments that can be read, and whether that is all of them.
    fn segment_parts(
        &self,
        segments: &[WordSegmentEntry],
        scope: &RowSet,
    ) -> Result<(Vec<LexicalPart>, bool)> {
        let projection = self.shelf.projection;
        let mut parts = Vec::with_capacity(segments.len() + 1);
        let mut whole = true;
        let mut read = Vec::new();
        let known = self.palace.known_word_segments(projection, segments);
        for (entry, known) in segments.iter().zip(known) {
            self.deadline.check()?;
            match self.segment_part(entry, known, scope, &mut read) {
                Ok(part) => parts.extend(part),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(damaged_finding(self.shelf, &error));
                    whole = false;
                }
                Err(error) => return Err(error),
            }
        }
        self.palace.remember_word_segments(projection, segments, read);
        Ok((parts, whole))
    }

    /// Returns the part of a segment, unless none of its drawers is in scope. A segment that was not known is read, and
    /// added to `read`.
    fn segment_part(
        &self,
        entry: &WordSegmentEntry,
        known: Option<Arc<WordSegment>>,
        scope: &RowSet,
        read: &mut Vec<Arc<WordSegment>>,
    ) -> Result<Option<LexicalPart>> {
        let (connection, projection) = (self.connection, self.shelf.projection);
        // Decided from the range of rows alone where possible: a search in a small wing skips
        // most segments unread.
        let all = scope.membership_between(entry.first, entry.last);
        if all == Some(false) {
            return Ok(None);
        }
        let segment = match known {
            Some(known) => known,
            None => {
                let segment = Arc::new(WordSegment::read(connection, projection, entry)?);
                read.push(Arc::clone(&segment));
                segment
            }
        };
        LexicalPart::read(connection, projection, segment, &self.terms, (scope, all))
    }

    /// Returns the parts if the index lacks drawers of the collection, or holds others: those are left out, and the
    /// missing ones are read from the rows.
    fn mended_parts(
        &self,
        segments: &[WordSegmentEntry],
        scope: RowSet,
        standing_scope: &RowSet,
    ) -> Result<Vec<LexicalPart>> {
        let live = RowSet::from_rows(self.live_rows()?);
        let (mut parts, _) = self.segment_parts(segments, &standing_scope.clone().and(live.clone()))?;
        let scope = scope.and(live);
        parts.push(self.new_drawers(&scope)?.0);
        // Each drawer must be counted exactly once, or the statistics would be wrong for every score.
        let covered = parts.iter().flat_map(LexicalPart::rows_in_scope).collect();
        let lacking = scope.and(RowSet::from_rows(covered).not());
        parts.push(self.listed_rows(lacking.listed_rows().unwrap_or_default())?);
        Ok(parts)
    }

    /// Returns every drawer in scope, read from the rows.
    fn all_rows(&self, scope: &RowSet) -> Result<LexicalPart> {
        let rows = self.live_rows()?;
        self.listed_rows(&rows_within(&rows, scope))
    }

    /// Returns every row of the collection; if the table cannot be walked, from the index of ids. Only for reading:
    /// in a transaction that writes, a damaged page would end it.
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
            .map_err(sqlite_error)?;
        rows.sort_unstable();
        Ok(rows)
    }

    fn listed_rows(&self, rows: &[i64]) -> Result<LexicalPart> {
        let include = DrawerFields {
            document: true,
            context: true,
            ..DrawerFields::NOTHING
        };
        let mut indexer = TextIndexer::default();
        let mut gathering = LexicalPartBuilder::new(&self.terms);
        for row in rows {
            match row::load_by_row(self.connection, *row, include) {
                Ok(Some(stored)) => {
                    gathering.add(
                        *row,
                        WordBag::new(&words::pack_words(&mut indexer, &stored.drawer)),
                    )?;
                }
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    // Neither index nor row has its words, so this drawer cannot match; the others still can.
                    self.palace.warn(unreadable_finding(self.shelf, *row, &error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(gathering.finish())
    }
}

/// Returns those of some ascending rows that are in scope.
pub(crate) fn rows_within(rows: &[i64], scope: &RowSet) -> Vec<i64> {
    let marked = rows.iter().zip(scope.mark_members(rows));
    marked.filter_map(|(row, mark)| mark.then_some(*row)).collect()
}

pub(super) fn damaged_finding(shelf: &CollectionShelf, error: &loci_core::Error) -> PalaceFinding {
    let message = format!("the word index cannot be used ({error}); its drawers were read one by one");
    word_finding("full_text_damaged", FindingSeverity::Error, shelf, message)
}

fn incomplete_finding(shelf: &CollectionShelf) -> PalaceFinding {
    let message = "the word index does not match its collection; the drawers it lacks were read one by one";
    word_finding(
        "full_text_differs",
        FindingSeverity::Error,
        shelf,
        message.to_owned(),
    )
}

fn unreadable_finding(shelf: &CollectionShelf, row: i64, error: &loci_core::Error) -> PalaceFinding {
    let message = format!("the words of row {row} cannot be read, so they cannot match: {error}");
    word_finding("drawer_damaged", FindingSeverity::Error, shelf, message)
}

fn word_finding(
    code: &str,
    severity: FindingSeverity,
    shelf: &CollectionShelf,
    message: String,
) -> PalaceFinding {
    PalaceFinding::new(code, severity, message)
        .with_hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
        .in_collection(shelf.name.as_str())
}
