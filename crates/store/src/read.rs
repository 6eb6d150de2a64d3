//! Reading drawers: by id, by filter, in pages, always in one order.

use std::collections::HashSet;

use loci_core::{Drawer, DrawerId, Filter, Get, Include, Result};
use rusqlite::{Connection, params};

use crate::attributes::{self, Scope};
use crate::failure::sqlite;
use crate::row;
use crate::shelf::Shelf;
use crate::vectors;

/// A filter that lists at most one row in this many is answered from its list; a wider one by walking all ids.
const NARROW: usize = 8;

/// What a request asks of each drawer, beyond the rows the index lists.
pub(crate) struct Test<'a> {
    /// Whether the metadata filter must be asked again of each drawer.
    filter: Option<&'a Filter>,
    document: &'a loci_core::DocumentFilter,
}

impl<'a> Test<'a> {
    pub(crate) fn new(scope: &Scope, filter: &'a Filter, document: &'a loci_core::DocumentFilter) -> Self {
        Self {
            filter: (!scope.exact).then_some(filter),
            document,
        }
    }

    /// Whether every row of the scope passes without being read.
    pub(crate) fn is_trivial(&self) -> bool {
        self.filter.is_none() && self.document.is_all()
    }

    /// What must be read of a drawer to test it.
    fn needs(&self) -> Include {
        Include {
            metadata: self.filter.is_some(),
            document: !self.document.is_all(),
            ..Include::NOTHING
        }
    }

    /// Whether the drawer in `row` passes.
    pub(crate) fn passes(&self, connection: &Connection, row: i64) -> Result<bool> {
        if self.is_trivial() {
            return Ok(true);
        }
        let Some(stored) = row::by_row(connection, row, self.needs())? else {
            return Ok(false);
        };
        Ok(self.filter.is_none_or(|filter| filter.accepts(&stored.drawer))
            && self
                .document
                .accepts(stored.drawer.document.as_deref().unwrap_or_default()))
    }
}

/// Answers a [`Get`].
pub(crate) fn get(connection: &Connection, shelf: &Shelf, request: &Get) -> Result<Vec<Drawer>> {
    request.check()?;
    let scope = attributes::scope(connection, shelf.projection, &request.filter)?;
    let test = Test::new(&scope, &request.filter, &request.document);
    let mut page = Page {
        connection,
        shelf,
        request,
        skipped: 0,
        drawers: Vec::new(),
    };
    if page.is_full() {
        return Ok(page.drawers);
    }
    let mut offer = |row: i64| -> Result<bool> {
        if scope.rows.contains(row) && test.passes(connection, row)? {
            page.take(row)?;
        }
        Ok(!page.is_full())
    };
    match (&request.ids, scope.rows.listed()) {
        (Some(ids), _) => each_id(connection, shelf, ids, &mut offer)?,
        (None, Some(listed)) if listed.len() * NARROW <= shelf.drawers as usize => {
            each_listed(connection, request, listed, &mut offer)?;
        }
        (None, _) => each_row(connection, shelf, request, &mut offer)?,
    }
    Ok(page.drawers)
}

/// Collects drawers up to the limit, after the offset.
struct Page<'a> {
    connection: &'a Connection,
    shelf: &'a Shelf,
    request: &'a Get,
    skipped: usize,
    drawers: Vec<Drawer>,
}

impl Page<'_> {
    fn is_full(&self) -> bool {
        self.request
            .limit
            .is_some_and(|limit| self.drawers.len() >= limit)
    }

    fn take(&mut self, row: i64) -> Result<()> {
        if self.skipped < self.request.offset {
            self.skipped += 1;
            return Ok(());
        }
        self.drawers
            .extend(hydrate(self.connection, self.shelf, row, self.request.include)?);
        Ok(())
    }
}

/// The ids asked for, in their order, each once.
fn each_id(
    connection: &Connection,
    shelf: &Shelf,
    ids: &[DrawerId],
    offer: &mut dyn FnMut(i64) -> Result<bool>,
) -> Result<()> {
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        if let Some(row) = row::row_of(connection, shelf.collection, id)?
            && !offer(row)?
        {
            break;
        }
    }
    Ok(())
}

/// The rows a narrow filter lists, by id.
fn each_listed(
    connection: &Connection,
    request: &Get,
    listed: &[i64],
    offer: &mut dyn FnMut(i64) -> Result<bool>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached("SELECT id FROM drawers WHERE row = ?1")
        .map_err(sqlite)?;
    let mut named: Vec<(String, i64)> = Vec::with_capacity(listed.len());
    for row in listed {
        let id: String = statement.query_row([row], |found| found.get(0)).map_err(sqlite)?;
        if request
            .after
            .as_ref()
            .is_none_or(|after| id.as_str() > after.as_str())
        {
            named.push((id, *row));
        }
    }
    named.sort_unstable();
    for (_, row) in named {
        if !offer(row)? {
            break;
        }
    }
    Ok(())
}

/// Every row of the collection, by id.
fn each_row(
    connection: &Connection,
    shelf: &Shelf,
    request: &Get,
    offer: &mut dyn FnMut(i64) -> Result<bool>,
) -> Result<()> {
    let after = request.after.as_ref().map_or("", DrawerId::as_str);
    let mut statement = connection
        .prepare_cached(
            "SELECT row FROM drawers INDEXED BY drawers_id WHERE collection = ?1 AND id > ?2 ORDER BY id",
        )
        .map_err(sqlite)?;
    let mut found = statement
        .query(params![shelf.collection, after])
        .map_err(sqlite)?;
    while let Some(entry) = found.next().map_err(sqlite)? {
        if !offer(entry.get(0).map_err(sqlite)?)? {
            break;
        }
    }
    Ok(())
}

/// The drawer in `row` with the fields asked for; a damaged vector is said in the drawer.
pub(crate) fn hydrate(
    connection: &Connection,
    shelf: &Shelf,
    row: i64,
    include: Include,
) -> Result<Option<Drawer>> {
    let Some(stored) = row::by_row(connection, row, include)? else {
        return Ok(None);
    };
    let mut drawer = stored.drawer;
    if let (true, Some(dimension)) = (include.embedding, shelf.space.dimension) {
        match vectors::get(connection, shelf.space.number, row, dimension) {
            Ok(vector) => drawer.embedding = vector,
            Err(error) => drawer.damage.push(error.to_string()),
        }
    }
    Ok(Some(drawer))
}
