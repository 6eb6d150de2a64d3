//! The answers of a collection as one caller sees it, from one read transaction.

use loci_core::{
    CollectionInfo, CollectionName, Coverage, DocumentFilter, Drawer, DrawerCondition, ErrorKind, Facet,
    Facets, Filter, Finding, Get, Hit, IdentityState, Lexical, Query, Result, Severity, Visibility,
};
use loci_index::rows::Rows;
use rusqlite::Connection;

use crate::deadline::Deadline;
use crate::failure::sqlite;
use crate::palace::Palace;
use crate::segments::list_segments;
use crate::shelf::Shelf;
use crate::{feed, lexical, nearest, read, switch, tally, vectors, words};

/// One read transaction on a collection, and the drawers that its caller sees.
pub(crate) struct ReadView<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) palace: &'a Palace,
    pub(crate) shelf: &'a Shelf,
    pub(crate) visibility: &'a Visibility,
    pub(crate) deadline: Deadline,
    /// To be called when what is left to read is strewn over the file.
    pub(crate) strewn: &'a dyn Fn(),
}

impl ReadView<'_> {
    pub(crate) fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        let filter = self.visibility.narrow(&request.filter);
        read::get(self.connection, self.shelf, request, &filter)
    }

    pub(crate) fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        nearest::query(self, request, &self.visibility.narrow(&request.filter))
    }

    pub(crate) fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        lexical::search(self, request, &self.visibility.narrow(&request.filter))
    }

    pub(crate) fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let filter = self.visibility.narrow(&condition.filter);
        tally::count(self.connection, self.shelf, &filter, &condition.document)
    }

    pub(crate) fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        let filter = self.visibility.narrow(&request.filter);
        tally::facets(self.connection, self.shelf, request, &filter)
    }

    pub(crate) fn info(&self) -> Result<CollectionInfo> {
        let whole = describe(self.connection, self.palace, self.shelf)?;
        if !self.visibility.is_restricted() {
            return Ok(whole);
        }
        let filter = self.visibility.filter();
        let drawers = tally::count(self.connection, self.shelf, filter, &DocumentFilter::All)?;
        Ok(CollectionInfo {
            drawers,
            coverage: self.visible_coverage(&whole, drawers)?,
            seq: feed::newest_among(self.connection, self.shelf, filter)?,
            // The others speak of rows and counts of the whole collection.
            warnings: unknown_model(self.shelf).into_iter().collect(),
            ..whole
        })
    }

    /// How many of the `visible` drawers each way of searching reaches.
    fn visible_coverage(&self, whole: &CollectionInfo, visible: u64) -> Result<Coverage> {
        let Coverage {
            nearest,
            packed,
            lexical,
        } = whole.coverage;
        let all_or_none = |reached: u64| match reached {
            0 => Some(0),
            all if all == whole.drawers => Some(visible),
            _ => None,
        };
        if let (Some(nearest), Some(packed), Some(lexical)) =
            (all_or_none(nearest), all_or_none(packed), all_or_none(lexical))
        {
            return Ok(Coverage {
                nearest,
                packed,
                lexical,
            });
        }
        let filter: &Filter = self.visibility.filter();
        let rows = read::accepted_rows(self.connection, self.shelf, filter, &DocumentFilter::All)?;
        let with_vector = self.rows_with_vector(&rows)?;
        let count = |rows: usize| rows as u64;
        Ok(Coverage {
            nearest: count(with_vector.len()),
            packed: count(self.packed_among(&with_vector)?),
            lexical: match all_or_none(lexical) {
                Some(lexical) => lexical,
                None => count(self.worded_among(&rows)?),
            },
        })
    }

    fn rows_with_vector(&self, rows: &[i64]) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for row in rows {
            if vectors::has(self.connection, &self.shelf.space, *row)? {
                found.push(*row);
            }
        }
        Ok(found)
    }

    /// How many of some rows with a vector stand in a packed segment.
    fn packed_among(&self, rows: &[i64]) -> Result<usize> {
        let segments = list_segments(self.connection, self.shelf.space.number)?;
        let packed = |row: &&i64| {
            let after = segments.partition_point(|entry| entry.first <= **row);
            let last = after.checked_sub(1).and_then(|at| segments.get(at));
            last.is_some_and(|entry| **row <= entry.last)
        };
        Ok(rows.iter().filter(packed).count())
    }

    /// How many of some rows the index of words reaches; where it cannot be read, all, since a match then reads them.
    fn worded_among(&self, rows: &[i64]) -> Result<usize> {
        let reached = match words::rows(self.connection, self.shelf.projection) {
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(rows.len()),
            reached => Rows::of(reached?),
        };
        Ok(reached.marks(rows).into_iter().filter(|mark| *mark).count())
    }
}

/// What a whole collection says of itself.
pub(crate) fn describe(connection: &Connection, palace: &Palace, shelf: &Shelf) -> Result<CollectionInfo> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut warnings = palace.warnings();
    warnings.extend(unknown_model(shelf));
    warnings.extend(switch::under_way(shelf));
    let packed: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT sum(rows) FROM segments INDEXED BY segments_space WHERE space = ?1), 0)
                - (SELECT count(*) FROM dead WHERE space = ?1)",
        )
        .and_then(|mut statement| statement.query_row([shelf.space.number], |row| row.get(0)))
        .map_err(sqlite)?;
    let reached = lexical::reached(connection, palace, shelf)?;
    Ok(CollectionInfo {
        name: shelf.name.clone(),
        metric: shelf.metric,
        dimension: shelf.space.dimension,
        identity: shelf.identity(),
        drawers: number(shelf.drawers),
        coverage: Coverage {
            nearest: number(shelf.space.vectors),
            packed: number(packed),
            lexical: number(reached),
        },
        seq: feed::newest(connection, shelf)?,
        warnings,
    })
}

fn unknown_model(shelf: &Shelf) -> Option<Finding> {
    if shelf.identity() != IdentityState::Unknown {
        return None;
    }
    let name: &CollectionName = &shelf.name;
    let message = format!(
        "nobody recorded which model made the vectors of {:?}",
        name.as_str()
    );
    let finding = Finding::new("embedder_unknown", Severity::Warning, message)
        .hint("say which with `loci embedder set MODEL`")
        .collection(name.as_str());
    Some(finding)
}
