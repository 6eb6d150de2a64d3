//! The answers of a collection from one read transaction, narrowed to the drawers its caller sees.

use loci_core::{
    CollectionInfo, CollectionName, DocumentFilter, Drawer, DrawerCondition, DrawerHit, ErrorKind,
    FacetCount, FacetRequest, Filter, FindingSeverity, GetRequest, IdentityState, IndexCoverage,
    LexicalRequest, PalaceFinding, QueryRequest, Result, Visibility,
};
use loci_index::rows::RowSet;
use rusqlite::Connection;

use crate::deadline::BudgetDeadline;
use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::segments::list_segments;
use crate::shelf::CollectionShelf;
use crate::{connection, crosscheck, feed, lexical, nearest, read, switch, tally, vectors, words};

/// The number of drawers read at once from which on they are taken for a page of a walk over many.
const WALKED_PAGE: usize = 512;

/// One read transaction on a collection, and the drawers that its caller sees.
pub(crate) struct ReadView<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) palace: &'a PalaceFile,
    pub(crate) shelf: &'a CollectionShelf,
    pub(crate) visibility: &'a Visibility,
    pub(crate) deadline: BudgetDeadline,
}

impl ReadView<'_> {
    pub(crate) fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let filter = self.visibility.narrow_filter(&request.filter);
        let report = |finding| self.palace.warn(finding);
        let drawers = read::get_reporting(self.connection, self.shelf, request, &filter, &report)?;
        if drawers.len() >= WALKED_PAGE {
            connection::trim_cache(self.connection);
        }
        Ok(drawers)
    }

    pub(crate) fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        nearest::query_nearest(self, request, &self.visibility.narrow_filter(&request.filter))
    }

    pub(crate) fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        lexical::search_words(self, request, &self.visibility.narrow_filter(&request.filter))
    }

    pub(crate) fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let filter = self.visibility.narrow_filter(&condition.filter);
        tally::count_drawers(self.connection, self.shelf, &filter, &condition.document)
    }

    pub(crate) fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        let filter = self.visibility.narrow_filter(&request.filter);
        let facets = tally::count_facets(self.connection, self.shelf, request, &filter)?;
        if filter.is_unrestricted() && request.document.is_unrestricted() {
            let given: u64 = facets.iter().map(|facet| facet.drawers).sum();
            let differing = crosscheck::check_total(self.shelf, given, self.shelf.drawers);
            differing
                .into_iter()
                .for_each(|finding| self.palace.warn(finding));
        }
        Ok(facets)
    }

    pub(crate) fn info(&self) -> Result<CollectionInfo> {
        let whole = describe_collection(self.connection, self.palace, self.shelf)?;
        if !self.visibility.is_restricted() {
            return Ok(whole);
        }
        let filter = self.visibility.filter();
        let drawers = tally::count_drawers(self.connection, self.shelf, filter, &DocumentFilter::All)?;
        Ok(CollectionInfo {
            drawers,
            coverage: self.visible_coverage(&whole, drawers)?,
            // The newest number of the collection would tell of writes out of sight.
            seq: feed::newest_seq_among(self.connection, self.shelf, filter)?,
            // The other warnings mention rows and counts of the whole collection, which this
            // caller must not learn.
            warnings: unknown_model_finding(self.shelf)
                .into_iter()
                .chain(self.damage_elsewhere())
                .collect(),
            ..whole
        })
    }

    /// Says that the palace is damaged, and nothing of what is damaged: that may lie in drawers out of sight.
    fn damage_elsewhere(&self) -> Option<PalaceFinding> {
        let damaged = !self.palace.list_damage().is_empty();
        damaged.then(PalaceFinding::of_hidden_damage)
    }

    /// Returns how many of the `visible` drawers each way of searching covers.
    fn visible_coverage(&self, whole: &CollectionInfo, visible: u64) -> Result<IndexCoverage> {
        let IndexCoverage {
            nearest,
            packed,
            lexical,
        } = whole.coverage;
        // Usually an index covers all drawers or none, and then the visible ones need not be looked at.
        let all_or_none = |reached: u64| match reached {
            0 => Some(0),
            all if all == whole.drawers => Some(visible),
            _ => None,
        };
        if let (Some(nearest), Some(packed), Some(lexical)) =
            (all_or_none(nearest), all_or_none(packed), all_or_none(lexical))
        {
            return Ok(IndexCoverage {
                nearest,
                packed,
                lexical,
            });
        }
        let filter: &Filter = self.visibility.filter();
        let rows = read::accepted_rows(self.connection, self.shelf, filter, &DocumentFilter::All)?;
        let with_vector = self.rows_with_vector(&rows)?;
        let count = |rows: usize| rows as u64;
        Ok(IndexCoverage {
            nearest: count(with_vector.len()),
            packed: count(self.count_packed(&with_vector)?),
            lexical: match all_or_none(lexical) {
                Some(lexical) => lexical,
                None => count(self.count_worded(&rows)?),
            },
        })
    }

    fn rows_with_vector(&self, rows: &[i64]) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for row in rows {
            if vectors::has_vector(self.connection, &self.shelf.space, *row)? {
                found.push(*row);
            }
        }
        Ok(found)
    }

    /// Counts those of some rows with a vector that are in a packed segment.
    fn count_packed(&self, rows: &[i64]) -> Result<usize> {
        let segments = list_segments(self.connection, self.shelf.space.number)?;
        let packed = |row: &&i64| {
            // Segments are ordered and do not overlap, so only the last one that begins at or before
            // the row can hold it.
            let after = segments.partition_point(|entry| entry.first <= **row);
            let last = after.checked_sub(1).and_then(|at| segments.get(at));
            last.is_some_and(|entry| **row <= entry.last)
        };
        Ok(rows.iter().filter(packed).count())
    }

    /// Counts those of some rows that the word index covers; all if it cannot be read, since a search then reads rows.
    fn count_worded(&self, rows: &[i64]) -> Result<usize> {
        let reached = match words::indexed_rows(self.connection, self.shelf.projection) {
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(rows.len()),
            reached => RowSet::from_rows(reached?),
        };
        Ok(reached
            .mark_members(rows)
            .into_iter()
            .filter(|mark| *mark)
            .count())
    }
}

/// Describes a whole collection.
pub(crate) fn describe_collection(
    connection: &Connection,
    palace: &PalaceFile,
    shelf: &CollectionShelf,
) -> Result<CollectionInfo> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut warnings = palace.warnings();
    warnings.extend(unknown_model_finding(shelf));
    warnings.extend(switch::under_way_finding(shelf));
    let packed: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT sum(rows) FROM segments INDEXED BY segments_space WHERE space = ?1), 0)
                - (SELECT count(*) FROM dead WHERE space = ?1)",
        )
        .and_then(|mut statement| statement.query_row([shelf.space.number], |row| row.get(0)))
        .map_err(sqlite_error)?;
    let reached = lexical::count_reached(connection, palace, shelf)?;
    Ok(CollectionInfo {
        name: shelf.name.clone(),
        metric: shelf.metric,
        dimension: shelf.space.dimension,
        identity: shelf.identity(),
        drawers: number(shelf.drawers),
        coverage: IndexCoverage {
            nearest: number(shelf.space.vectors),
            packed: number(packed),
            lexical: number(reached),
        },
        approximate: false,
        seq: feed::newest_seq(connection, shelf)?,
        warnings,
    })
}

fn unknown_model_finding(shelf: &CollectionShelf) -> Option<PalaceFinding> {
    if shelf.identity() != IdentityState::Unknown {
        return None;
    }
    let name: &CollectionName = &shelf.name;
    let message = format!("no model is recorded for the vectors of {:?}", name.as_str());
    let finding = PalaceFinding::new("embedder_unknown", FindingSeverity::Warning, message)
        .with_hint("record it with `loci embedder set MODEL`")
        .in_collection(name.as_str());
    Some(finding)
}
