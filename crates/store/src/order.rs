//! Walks over the rows of a collection in each order, along an index and from any position.
//!
//! Rows that share a sort key are sorted by id among themselves. Rows that lack the key come last, by id: they are found
//! by walking all ids once from where the page before ended, so that paging to the end reads each id once.

use loci_core::{DrawerId, DrawerOrder, DrawerPosition, Error, Result, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::attributes;
use crate::failure::{corrupt_error, sqlite_error};
use crate::schema;
use crate::shelf::CollectionShelf;

/// Receives each row in turn; `false` ends the walk.
pub(crate) type RowOffer<'o> = &'o mut dyn FnMut(i64) -> Result<bool>;

/// A walk through the rows of a collection.
pub(crate) struct DrawerWalk<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) shelf: &'a CollectionShelf,
    pub(crate) order: DrawerOrder,
    /// Only rows after this position, which is of the same order.
    pub(crate) after: Option<&'a DrawerPosition>,
    /// Whether a row can be wanted at all; the others are skipped.
    pub(crate) wanted: &'a dyn Fn(i64) -> bool,
    /// The one source whose drawers can be wanted, if that is known; the order of sources walks no other.
    pub(crate) within: Option<&'a str>,
    /// A time after which no drawer is wanted, if that is known; the orders of times begin there.
    pub(crate) latest: Option<i64>,
}

/// The start of a walk in the order of times.
enum TimeStart<'a> {
    /// At the latest.
    Newest,
    /// After this id among the drawers of this time.
    Behind(Timestamp, &'a DrawerId),
    /// After this id among the drawers without a time.
    Undated(&'a DrawerId),
}

impl DrawerWalk<'_> {
    /// Offers every wanted row in order.
    pub(crate) fn run(&self, offer: RowOffer<'_>) -> Result<()> {
        use DrawerPosition as At;
        let start = |time: &Option<Timestamp>, id| match time {
            Some(time) => TimeStart::Behind(*time, id),
            None => TimeStart::Undated(id),
        };
        match (self.order, self.after) {
            (DrawerOrder::Id, Some(At::Id(id))) => self.offer_by_id(id.as_str(), "", offer).map(drop),
            (DrawerOrder::Id, _) => self.offer_by_id("", "", offer).map(drop),
            (DrawerOrder::NewestFiled, Some(At::NewestFiled(time, id))) => {
                self.offer_by_time("filed_at", start(time, id), offer)
            }
            (DrawerOrder::NewestFiled, _) => self.offer_by_time("filed_at", TimeStart::Newest, offer),
            (DrawerOrder::NewestSaid, Some(At::NewestSaid(time, id))) => {
                self.offer_by_time("said_at", start(time, id), offer)
            }
            (DrawerOrder::NewestSaid, _) => self.offer_by_time("said_at", TimeStart::Newest, offer),
            (DrawerOrder::Source, after) => {
                let after = match after {
                    Some(At::Source(source, start, id)) => Some((source.as_deref(), *start, id)),
                    _ => None,
                };
                match self.within {
                    Some(source) => self.offer_within(source, after, offer),
                    None => self.offer_by_source(after, offer),
                }
            }
        }
    }

    /// Offers the rows of one source. Without this, a page at the end of the source would go on through the ids of all
    /// drawers, for those that have no source.
    fn offer_within(
        &self,
        source: &str,
        after: Option<(Option<&str>, Option<u64>, &DrawerId)>,
        offer: RowOffer<'_>,
    ) -> Result<()> {
        let pieces_after = match after {
            Some((Some(position), start, id)) if position == source => Some((start, id)),
            // Drawers without a source come last.
            Some((None, ..)) => return Ok(()),
            Some((Some(position), ..)) if position > source => return Ok(()),
            _ => None,
        };
        self.offer_pieces(Some(source), pieces_after, offer).map(drop)
    }

    /// Returns the rows of the one source whose drawers can be wanted, if there is one with at most this many.
    pub(crate) fn few_rows_within(&self, most: usize) -> Result<Option<Vec<i64>>> {
        let Some(source) = self.within else {
            return Ok(None);
        };
        if !schema::has_source_index(self.connection)? {
            return Ok(None);
        }
        let sql = "SELECT row FROM main.drawers INDEXED BY drawers_source
            WHERE collection = ?1 AND source = ?2 LIMIT ?3 + 1";
        let rows: Vec<i64> = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| {
                let asked = params![self.shelf.collection, source, most as i64];
                let found = statement.query_map(asked, |row| row.get(0));
                found?.collect()
            })
            .map_err(sqlite_error)?;
        Ok((rows.len() <= most).then_some(rows))
    }

    /// Offers some rows sorted by their positions; for few rows, or if no index has the order.
    pub(crate) fn run_sorted(&self, rows: &[i64], offer: RowOffer<'_>) -> Result<()> {
        let mut placed = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| (self.wanted)(**row)) {
            let position = position_of_row(self.connection, self.order, *row)?;
            let behind = |after: &DrawerPosition| position.compare(after).is_some_and(|order| order.is_gt());
            if self.after.is_none_or(behind) {
                placed.push((position, *row));
            }
        }
        placed.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(std::cmp::Ordering::Equal));
        for (_, row) in placed {
            if !offer(row)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether an index has the order; a file of an earlier format, or one whose upgrade met damage,
    /// lacks some.
    pub(crate) fn has_index(&self) -> Result<bool> {
        match self.order {
            DrawerOrder::Id | DrawerOrder::NewestSaid => Ok(true),
            DrawerOrder::NewestFiled => attributes::are_whole(self.connection, self.shelf.projection),
            DrawerOrder::Source => schema::has_source_index(self.connection),
        }
    }

    /// Offers the rows after an id that meet a condition, by id; `false` if the offer ended the walk.
    fn offer_by_id(&self, after: &str, condition: &str, offer: RowOffer<'_>) -> Result<bool> {
        let sql = format!(
            "SELECT row FROM main.drawers INDEXED BY drawers_id WHERE collection = ?1 AND id > ?2 {condition} ORDER BY id"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let mut found = statement
            .query(params![self.shelf.collection, after])
            .map_err(sqlite_error)?;
        while let Some(entry) = found.next().map_err(sqlite_error)? {
            let row = entry.get(0).map_err(sqlite_error)?;
            if (self.wanted)(row) && !offer(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Offers the latest rows first; `name` is both the attribute and the column of the time.
    fn offer_by_time(&self, name: &str, start: TimeStart<'_>, offer: RowOffer<'_>) -> Result<()> {
        // Dated drawers come first. A position among the undated ones skips that part of the walk.
        let undated = match start {
            TimeStart::Newest if !self.offer_dated(name, self.latest.unwrap_or(i64::MAX), None, offer)? => {
                return Ok(());
            }
            TimeStart::Behind(time, id)
                if !self.offer_dated(name, time.as_micros(), Some((time.as_micros(), id)), offer)? =>
            {
                return Ok(());
            }
            TimeStart::Newest | TimeStart::Behind(..) => "",
            TimeStart::Undated(id) => id.as_str(),
        };
        // Every drawer has a filing time, so a walk for undated ones would find nothing.
        if name != "filed_at" {
            self.offer_by_id(undated, &format!("AND {name} IS NULL"), offer)?;
        }
        Ok(())
    }

    fn offer_dated(
        &self,
        name: &str,
        latest: i64,
        behind: Option<(i64, &DrawerId)>,
        offer: RowOffer<'_>,
    ) -> Result<bool> {
        let Some(key) = attributes::known_key(self.connection, name)? else {
            return Ok(true);
        };
        // SQLite sorts texts and bytes after every number, so the upper end excludes them.
        let sql = format!(
            "SELECT value, row FROM attributes_{} WHERE key = ?1 AND value <= ?2 ORDER BY value DESC",
            self.shelf.projection
        );
        // Metadata may hold a number under the name of the field, which is not the time of the drawer.
        let named = format!("SELECT id, {name} IS ?2 FROM drawers WHERE row = ?1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let mut found = statement.query(params![key, latest]).map_err(sqlite_error)?;
        let mut group = TieGroup::new(self.connection, &named);
        // No row has been seen yet, and an empty group offers nothing.
        let mut time = i64::MAX;
        while let Some(entry) = found.next().map_err(sqlite_error)? {
            let Ok(value) = entry.get::<_, i64>(0) else {
                continue;
            };
            // Ids decide among rows of one time, and the index does not have them, so a group is sorted when
            // it is complete.
            if value != time {
                if !group.offer_rows(&[&time], id_behind(behind, time), offer)? {
                    return Ok(false);
                }
                time = value;
            }
            let row = entry.get(1).map_err(sqlite_error)?;
            if (self.wanted)(row) {
                group.rows.push(row);
            }
        }
        group.offer_rows(&[&time], id_behind(behind, time), offer)
    }

    /// Offers rows by source, and within a source by the start of the piece.
    fn offer_by_source(
        &self,
        after: Option<(Option<&str>, Option<u64>, &DrawerId)>,
        offer: RowOffer<'_>,
    ) -> Result<()> {
        let mut source = match after {
            None => self.next_source(None)?,
            Some((source, start, id)) => {
                if !self.offer_pieces(source, Some((start, id)), offer)? {
                    return Ok(());
                }
                match source {
                    Some(source) => self.next_source(Some(source))?,
                    None => return Ok(()),
                }
            }
        };
        // Each source is walked separately: the index has pieces without a start first, this
        // order wants them last.
        while let Some(name) = source {
            if !self.offer_pieces(Some(&name), None, offer)? {
                return Ok(());
            }
            source = self.next_source(Some(&name))?;
        }
        self.offer_pieces(None, None, offer).map(drop)
    }

    /// Returns the source after another, or the first.
    fn next_source(&self, source: Option<&str>) -> Result<Option<String>> {
        // The empty text is a source too, so the first source is looked for with `>=`.
        let comparison = if source.is_some() { ">" } else { ">=" };
        self.connection
            .prepare_cached(&format!(
                "SELECT source FROM main.drawers INDEXED BY drawers_source
                 WHERE collection = ?1 AND source {comparison} ?2 ORDER BY source LIMIT 1"
            ))
            .and_then(|mut statement| {
                let asked = params![self.shelf.collection, source.unwrap_or_default()];
                statement.query_row(asked, |row| row.get(0)).optional()
            })
            .map_err(sqlite_error)
    }

    /// Offers the pieces of one source, or of none: first by start, then those without a start.
    fn offer_pieces(
        &self,
        source: Option<&str>,
        after: Option<(Option<u64>, &DrawerId)>,
        offer: RowOffer<'_>,
    ) -> Result<bool> {
        let unstarted = match after {
            Some((None, id)) => Some(id),
            Some((Some(start), id)) => {
                let start = i64::try_from(start).unwrap_or(i64::MAX);
                if !self.offer_started(source, start, Some((start, id)), offer)? {
                    return Ok(false);
                }
                None
            }
            None => {
                if !self.offer_started(source, i64::MIN, None, offer)? {
                    return Ok(false);
                }
                None
            }
        };
        match source {
            Some(source) => self.offer_unstarted(source, unstarted, offer),
            None => {
                // Rows with neither source nor start are not in the index of sources; only
                // the ids lead to them.
                let behind = unstarted.map_or("", DrawerId::as_str);
                self.offer_by_id(behind, "AND source IS NULL AND start IS NULL", offer)
            }
        }
    }

    fn offer_started(
        &self,
        source: Option<&str>,
        from: i64,
        behind: Option<(i64, &DrawerId)>,
        offer: RowOffer<'_>,
    ) -> Result<bool> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT start, row FROM main.drawers INDEXED BY drawers_source
                 WHERE collection = ?1 AND source IS ?2 AND start >= ?3 ORDER BY start",
            )
            .map_err(sqlite_error)?;
        let mut found = statement
            .query(params![self.shelf.collection, source, from])
            .map_err(sqlite_error)?;
        let mut group = TieGroup::new(self.connection, ID_OF_ROW);
        let mut start = from;
        while let Some(entry) = found.next().map_err(sqlite_error)? {
            let value: i64 = entry.get(0).map_err(sqlite_error)?;
            if value != start {
                if !group.offer_rows(&[], id_behind(behind, start), offer)? {
                    return Ok(false);
                }
                start = value;
            }
            let row = entry.get(1).map_err(sqlite_error)?;
            if (self.wanted)(row) {
                group.rows.push(row);
            }
        }
        group.offer_rows(&[], id_behind(behind, start), offer)
    }

    fn offer_unstarted(&self, source: &str, behind: Option<&DrawerId>, offer: RowOffer<'_>) -> Result<bool> {
        let rows: Vec<i64> = self
            .connection
            .prepare_cached(
                "SELECT row FROM main.drawers INDEXED BY drawers_source
                 WHERE collection = ?1 AND source = ?2 AND start IS NULL",
            )
            .and_then(|mut statement| {
                let found = statement.query_map(params![self.shelf.collection, source], |row| row.get(0));
                found?.collect()
            })
            .map_err(sqlite_error)?;
        let mut group = TieGroup::new(self.connection, ID_OF_ROW);
        group.rows = rows.into_iter().filter(|row| (self.wanted)(*row)).collect();
        group.offer_rows(&[], behind, offer)
    }
}

const ID_OF_ROW: &str = "SELECT id, 1 FROM drawers WHERE row = ?1";

/// Returns the id after which a group begins: only the group of the position itself has one.
fn id_behind(behind: Option<(i64, &DrawerId)>, key: i64) -> Option<&DrawerId> {
    behind.filter(|(own, _)| *own == key).map(|(_, id)| id)
}

/// Rows that share a sort key.
struct TieGroup<'a> {
    connection: &'a Connection,
    /// Selects the id of a row, and whether the row really belongs to the group.
    sql: &'a str,
    rows: Vec<i64>,
}

impl<'a> TieGroup<'a> {
    fn new(connection: &'a Connection, sql: &'a str) -> Self {
        Self {
            connection,
            sql,
            rows: Vec::new(),
        }
    }

    /// Offers the rows by id and clears the group; `false` if the offer ended the walk.
    fn offer_rows(
        &mut self,
        key: &[&dyn ToSql],
        behind: Option<&DrawerId>,
        offer: RowOffer<'_>,
    ) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(self.sql).map_err(sqlite_error)?;
        let mut named: Vec<(String, i64)> = Vec::with_capacity(self.rows.len());
        for row in self.rows.drain(..) {
            let mut asked: Vec<&dyn ToSql> = vec![&row];
            asked.extend(key);
            let found: Option<(String, bool)> = statement
                .query_row(asked.as_slice(), |found| Ok((found.get(0)?, found.get(1)?)))
                .optional()
                .map_err(sqlite_error)?;
            let (id, belongs) = found.ok_or_else(|| not_in_table(row))?;
            if belongs {
                named.push((id, row));
            }
        }
        named.sort_unstable();
        for (id, row) in named {
            if behind.is_some_and(|behind| id.as_str() <= behind.as_str()) {
                continue;
            }
            if !offer(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn not_in_table(row: i64) -> Error {
    corrupt_error(format!("row {row} is in an index but not in the table"))
}

/// Returns the position of a row in an order.
fn position_of_row(connection: &Connection, order: DrawerOrder, row: i64) -> Result<DrawerPosition> {
    type SortKeys = (String, Option<i64>, Option<i64>, Option<String>, Option<i64>);
    let found: Option<SortKeys> = connection
        .prepare_cached("SELECT id, filed_at, said_at, source, start FROM drawers WHERE row = ?1")
        .and_then(|mut statement| {
            let keys = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            };
            statement.query_row([row], keys).optional()
        })
        .map_err(sqlite_error)?;
    let (id, filed_at, said_at, source, start) = found.ok_or_else(|| not_in_table(row))?;
    let id = DrawerId::new(id).map_err(|_| corrupt_error("a drawer has a damaged id"))?;
    let time = |micros: Option<i64>| micros.and_then(|micros| Timestamp::from_micros(micros).ok());
    Ok(match order {
        DrawerOrder::Id => DrawerPosition::Id(id),
        DrawerOrder::NewestFiled => DrawerPosition::NewestFiled(time(filed_at), id),
        DrawerOrder::NewestSaid => DrawerPosition::NewestSaid(time(said_at), id),
        DrawerOrder::Source => {
            let start = start.and_then(|start| u64::try_from(start).ok());
            DrawerPosition::Source(source, start, id)
        }
    })
}
