//! Reading drawers: by id, by filter, in pages, always in a stated order.

use std::collections::HashSet;

use loci_core::{DocumentFilter, Drawer, DrawerId, ErrorKind, Filter, Get, Include, Result};
use rusqlite::Connection;

use crate::attributes::{self, Scope};
use crate::lexical::{among, live_rows};
use crate::order::{Offer, Walk};
use crate::row;
use crate::shelf::Shelf;
use crate::vectors;

/// A filter that lists at most one row in this many is answered from its list; a wider one by walking all ids.
const NARROW: usize = 8;

/// What a request asks of each drawer, beyond the rows the index lists.
pub(crate) struct Test<'a> {
    /// Whether the metadata filter must be asked again of each drawer.
    filter: Option<&'a Filter>,
    document: &'a DocumentFilter,
}

impl<'a> Test<'a> {
    pub(crate) fn new(scope: &Scope, filter: &'a Filter, document: &'a DocumentFilter) -> Self {
        Self {
            filter: (!scope.exact).then_some(filter),
            document,
        }
    }

    /// Whether every row of the scope passes without being read.
    pub(crate) fn is_trivial(&self) -> bool {
        self.filter.is_none() && self.document.asks_nothing()
    }

    /// What must be read of a drawer to test it.
    fn needs(&self) -> Include {
        Include {
            metadata: self.filter.is_some(),
            document: !self.document.asks_nothing(),
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

impl Test<'_> {
    /// The rows of the scope that pass, in order.
    pub(crate) fn passing_rows(
        &self,
        connection: &Connection,
        shelf: &Shelf,
        scope: &Scope,
    ) -> Result<Vec<i64>> {
        let rows = match scope.rows.listed() {
            Some(listed) => listed.to_vec(),
            None => among(&live_rows(connection, shelf, i64::MIN, i64::MAX)?, &scope.rows),
        };
        if self.is_trivial() {
            return Ok(rows);
        }
        let mut passing = Vec::new();
        for row in rows {
            if self.passes(connection, row)? {
                passing.push(row);
            }
        }
        Ok(passing)
    }
}

/// The rows of all drawers that both filters accept, in order.
pub(crate) fn accepted_rows(
    connection: &Connection,
    shelf: &Shelf,
    filter: &Filter,
    document: &DocumentFilter,
) -> Result<Vec<i64>> {
    let scope = attributes::scope(connection, shelf.projection, filter)?;
    Test::new(&scope, filter, document).passing_rows(connection, shelf, &scope)
}

/// Answers a [`Get`] among the drawers that `filter` accepts.
pub(crate) fn get(
    connection: &Connection,
    shelf: &Shelf,
    request: &Get,
    filter: &Filter,
) -> Result<Vec<Drawer>> {
    request.check()?;
    let scope = attributes::scope(connection, shelf.projection, filter)?;
    let test = Test::new(&scope, filter, &request.document);
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
    let wanted = |row: i64| scope.rows.contains(row);
    let mut offer = |row: i64| -> Result<bool> {
        if test.passes(connection, row)? {
            page.take(row)?;
        }
        Ok(!page.is_full())
    };
    let walk = Walk {
        connection,
        shelf,
        order: request.order,
        after: request.after.as_ref(),
        wanted: &wanted,
    };
    match (&request.ids, scope.rows.listed()) {
        (Some(ids), _) => each_id(connection, shelf, ids, &wanted, &mut offer)?,
        (None, Some(listed)) if listed.len() * NARROW <= shelf.drawers as usize => {
            walk.run_sorted(listed, &mut offer)?;
        }
        (None, _) if !walk.has_index()? => {
            let rows = live_rows(connection, shelf, i64::MIN, i64::MAX)?;
            walk.run_sorted(&rows, &mut offer)?;
        }
        (None, _) => walk.run(&mut offer)?,
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
    wanted: &dyn Fn(i64) -> bool,
    offer: Offer<'_>,
) -> Result<()> {
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        if let Some(row) = row::row_of(connection, shelf.collection, id)?
            && wanted(row)
            && !offer(row)?
        {
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
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
            Err(error) => drawer.damage.push(error.to_string()),
        }
    }
    Ok(Some(drawer))
}
