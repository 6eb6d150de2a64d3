//! Walking the rows of a collection in each order, from an index and from any position.
//!
//! Rows that share a sort key are sorted by id among themselves. Rows that lack the key come last, by id: they are found
//! by walking all ids once from where the page before ended, so that paging to the end reads each id once.

use loci_core::{DrawerId, DrawerOrder, DrawerPosition, Error, Result, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::attributes;
use crate::failure::{corrupt, sqlite};
use crate::schema;
use crate::shelf::Shelf;

/// Is told of each row in turn; `false` ends the walk.
pub(crate) type Offer<'o> = &'o mut dyn FnMut(i64) -> Result<bool>;

/// A walk through the rows of a collection.
pub(crate) struct Walk<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) shelf: &'a Shelf,
    pub(crate) order: DrawerOrder,
    /// Only rows behind this position of the same order.
    pub(crate) after: Option<&'a DrawerPosition>,
    /// Whether a row can be wanted at all; others are not looked at.
    pub(crate) wanted: &'a dyn Fn(i64) -> bool,
}

/// Where a walk in the order of times begins.
enum TimeStart<'a> {
    /// At the latest.
    Newest,
    /// Behind this id among those of this time.
    Behind(Timestamp, &'a DrawerId),
    /// Among those without a time, behind this id.
    Undated(&'a DrawerId),
}

impl Walk<'_> {
    /// Offers every wanted row in order.
    pub(crate) fn run(&self, offer: Offer<'_>) -> Result<()> {
        use DrawerPosition as At;
        let start = |time: &Option<Timestamp>, id| match time {
            Some(time) => TimeStart::Behind(*time, id),
            None => TimeStart::Undated(id),
        };
        match (self.order, self.after) {
            (DrawerOrder::Id, Some(At::Id(id))) => self.by_id(id.as_str(), "", offer).map(drop),
            (DrawerOrder::Id, _) => self.by_id("", "", offer).map(drop),
            (DrawerOrder::NewestFiled, Some(At::NewestFiled(time, id))) => {
                self.by_time("filed_at", start(time, id), offer)
            }
            (DrawerOrder::NewestFiled, _) => self.by_time("filed_at", TimeStart::Newest, offer),
            (DrawerOrder::NewestSaid, Some(At::NewestSaid(time, id))) => {
                self.by_time("said_at", start(time, id), offer)
            }
            (DrawerOrder::NewestSaid, _) => self.by_time("said_at", TimeStart::Newest, offer),
            (DrawerOrder::Source, Some(At::Source(source, start, id))) => {
                self.by_source(Some((source.as_deref(), *start, id)), offer)
            }
            (DrawerOrder::Source, _) => self.by_source(None, offer),
        }
    }

    /// Offers some rows sorted by their positions; for few rows, or where no index has the order.
    pub(crate) fn run_sorted(&self, rows: &[i64], offer: Offer<'_>) -> Result<()> {
        let mut placed = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| (self.wanted)(**row)) {
            let position = position(self.connection, self.order, *row)?;
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

    /// Whether an index has the order; a file of an earlier format, or one that damage kept from being brought up to
    /// date, lacks some.
    pub(crate) fn has_index(&self) -> Result<bool> {
        match self.order {
            DrawerOrder::Id | DrawerOrder::NewestSaid => Ok(true),
            DrawerOrder::NewestFiled => attributes::are_whole(self.connection, self.shelf.projection),
            DrawerOrder::Source => schema::has_source_index(self.connection),
        }
    }

    /// Rows behind an id that meet a condition, by id; `false` if the offer ended the walk.
    fn by_id(&self, after: &str, condition: &str, offer: Offer<'_>) -> Result<bool> {
        let sql = format!(
            "SELECT row FROM main.drawers INDEXED BY drawers_id WHERE collection = ?1 AND id > ?2 {condition} ORDER BY id"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut found = statement
            .query(params![self.shelf.collection, after])
            .map_err(sqlite)?;
        while let Some(entry) = found.next().map_err(sqlite)? {
            let row = entry.get(0).map_err(sqlite)?;
            if (self.wanted)(row) && !offer(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The latest first; `name` is both the attribute and the column that holds the time.
    fn by_time(&self, name: &str, start: TimeStart<'_>, offer: Offer<'_>) -> Result<()> {
        let undated = match start {
            TimeStart::Newest if !self.dated(name, i64::MAX, None, offer)? => return Ok(()),
            TimeStart::Behind(time, id)
                if !self.dated(name, time.as_micros(), Some((time.as_micros(), id)), offer)? =>
            {
                return Ok(());
            }
            TimeStart::Newest | TimeStart::Behind(..) => "",
            TimeStart::Undated(id) => id.as_str(),
        };
        // Every drawer has a time of filing, so there is no need to look for others.
        if name != "filed_at" {
            self.by_id(undated, &format!("AND {name} IS NULL"), offer)?;
        }
        Ok(())
    }

    fn dated(
        &self,
        name: &str,
        latest: i64,
        behind: Option<(i64, &DrawerId)>,
        offer: Offer<'_>,
    ) -> Result<bool> {
        let Some(key) = attributes::known_key(self.connection, name)? else {
            return Ok(true);
        };
        // Texts and bytes sort after every number, so the upper end leaves them out.
        let sql = format!(
            "SELECT value, row FROM attributes_{} WHERE key = ?1 AND value <= ?2 ORDER BY value DESC",
            self.shelf.projection
        );
        // Metadata may hold a number under the name of the field, which is no time of the drawer.
        let named = format!("SELECT id, {name} IS ?2 FROM drawers WHERE row = ?1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut found = statement.query(params![key, latest]).map_err(sqlite)?;
        let mut group = Group::new(self.connection, &named);
        let mut time = i64::MAX;
        while let Some(entry) = found.next().map_err(sqlite)? {
            let Ok(value) = entry.get::<_, i64>(0) else {
                continue;
            };
            if value != time {
                if !group.offer(&[&time], id_behind(behind, time), offer)? {
                    return Ok(false);
                }
                time = value;
            }
            let row = entry.get(1).map_err(sqlite)?;
            if (self.wanted)(row) {
                group.rows.push(row);
            }
        }
        group.offer(&[&time], id_behind(behind, time), offer)
    }

    /// By source, within each by where the piece starts.
    fn by_source(
        &self,
        after: Option<(Option<&str>, Option<u64>, &DrawerId)>,
        offer: Offer<'_>,
    ) -> Result<()> {
        let mut source = match after {
            None => self.next_source(None)?,
            Some((source, start, id)) => {
                if !self.pieces(source, Some((start, id)), offer)? {
                    return Ok(());
                }
                match source {
                    Some(source) => self.next_source(Some(source))?,
                    None => return Ok(()),
                }
            }
        };
        while let Some(name) = source {
            if !self.pieces(Some(&name), None, offer)? {
                return Ok(());
            }
            source = self.next_source(Some(&name))?;
        }
        self.pieces(None, None, offer).map(drop)
    }

    /// The source behind another, or the first.
    fn next_source(&self, source: Option<&str>) -> Result<Option<String>> {
        // The empty text is a source too.
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
            .map_err(sqlite)
    }

    /// The pieces of one source, or those without one: by start, then those that have none.
    fn pieces(
        &self,
        source: Option<&str>,
        after: Option<(Option<u64>, &DrawerId)>,
        offer: Offer<'_>,
    ) -> Result<bool> {
        let unstarted = match after {
            Some((None, id)) => Some(id),
            Some((Some(start), id)) => {
                let start = i64::try_from(start).unwrap_or(i64::MAX);
                if !self.started(source, start, Some((start, id)), offer)? {
                    return Ok(false);
                }
                None
            }
            None => {
                if !self.started(source, i64::MIN, None, offer)? {
                    return Ok(false);
                }
                None
            }
        };
        match source {
            Some(source) => self.unstarted(source, unstarted, offer),
            None => {
                let behind = unstarted.map_or("", DrawerId::as_str);
                self.by_id(behind, "AND source IS NULL AND start IS NULL", offer)
            }
        }
    }

    fn started(
        &self,
        source: Option<&str>,
        from: i64,
        behind: Option<(i64, &DrawerId)>,
        offer: Offer<'_>,
    ) -> Result<bool> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT start, row FROM main.drawers INDEXED BY drawers_source
                 WHERE collection = ?1 AND source IS ?2 AND start >= ?3 ORDER BY start",
            )
            .map_err(sqlite)?;
        let mut found = statement
            .query(params![self.shelf.collection, source, from])
            .map_err(sqlite)?;
        let mut group = Group::new(self.connection, ID_OF_ROW);
        let mut start = from;
        while let Some(entry) = found.next().map_err(sqlite)? {
            let value: i64 = entry.get(0).map_err(sqlite)?;
            if value != start {
                if !group.offer(&[], id_behind(behind, start), offer)? {
                    return Ok(false);
                }
                start = value;
            }
            let row = entry.get(1).map_err(sqlite)?;
            if (self.wanted)(row) {
                group.rows.push(row);
            }
        }
        group.offer(&[], id_behind(behind, start), offer)
    }

    fn unstarted(&self, source: &str, behind: Option<&DrawerId>, offer: Offer<'_>) -> Result<bool> {
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
            .map_err(sqlite)?;
        let mut group = Group::new(self.connection, ID_OF_ROW);
        group.rows = rows.into_iter().filter(|row| (self.wanted)(*row)).collect();
        group.offer(&[], behind, offer)
    }
}

const ID_OF_ROW: &str = "SELECT id, 1 FROM drawers WHERE row = ?1";

/// The id behind which a group begins: only the group that the position itself belongs to has one.
fn id_behind(behind: Option<(i64, &DrawerId)>, key: i64) -> Option<&DrawerId> {
    behind.filter(|(own, _)| *own == key).map(|(_, id)| id)
}

/// Rows that share a sort key.
struct Group<'a> {
    connection: &'a Connection,
    /// Gives the id of a row, and whether it belongs here after all.
    sql: &'a str,
    rows: Vec<i64>,
}

impl<'a> Group<'a> {
    fn new(connection: &'a Connection, sql: &'a str) -> Self {
        Self {
            connection,
            sql,
            rows: Vec::new(),
        }
    }

    /// Offers the rows by id and forgets them; `false` if the offer ended the walk.
    fn offer(&mut self, key: &[&dyn ToSql], behind: Option<&DrawerId>, offer: Offer<'_>) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(self.sql).map_err(sqlite)?;
        let mut named: Vec<(String, i64)> = Vec::with_capacity(self.rows.len());
        for row in self.rows.drain(..) {
            let mut asked: Vec<&dyn ToSql> = vec![&row];
            asked.extend(key);
            let found: Option<(String, bool)> = statement
                .query_row(asked.as_slice(), |found| Ok((found.get(0)?, found.get(1)?)))
                .optional()
                .map_err(sqlite)?;
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
    corrupt(format!("row {row} is in an index but not in the table"))
}

/// The position of a row in an order.
fn position(connection: &Connection, order: DrawerOrder, row: i64) -> Result<DrawerPosition> {
    type Keys = (String, Option<i64>, Option<i64>, Option<String>, Option<i64>);
    let found: Option<Keys> = connection
        .prepare_cached("SELECT id, filed_at, said_at, source, start FROM drawers WHERE row = ?1")
        .and_then(|mut statement| {
            let keys = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            };
            statement.query_row([row], keys).optional()
        })
        .map_err(sqlite)?;
    let (id, filed_at, said_at, source, start) = found.ok_or_else(|| not_in_table(row))?;
    let id = DrawerId::new(id).map_err(|_| corrupt("a drawer has a damaged id"))?;
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
