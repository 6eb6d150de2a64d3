//! Reading drawers: by id, by filter, in pages, always in a stated order.

use std::collections::HashSet;

use loci_core::{
    DocumentFilter, Drawer, DrawerFields, DrawerId, DrawerOrder, ErrorKind, Filter, FilterComparison,
    GetRequest, MetadataScalar, Result,
};
use rusqlite::Connection;

use crate::crosscheck::{self, DamageReport};
use crate::days;
use crate::lexical::{live_rows, rows_within};
use crate::order::{DrawerWalk, RowOffer};
use crate::row::{self, RowLoader};
use crate::scope::{FilterScope, resolve_scope};
use crate::shelf::CollectionShelf;
use crate::vectors;

/// A filter that lists at most one row in this many is answered from its list; a wider one by walking an index.
const NARROW: usize = 40;

/// The most drawers that are tested one by one, in the order asked for, before a filter is resolved to its rows.
const TRIED: usize = 1536;

/// The longest page for which that is tried; a longer one needs more drawers than are tried.
const SHORT_PAGE: usize = 256;

/// The conditions of a request that only the drawer itself can answer.
pub(crate) struct DrawerTest<'a> {
    /// The metadata filter, if the index could not answer it exactly.
    filter: Option<&'a Filter>,
    document: &'a DocumentFilter,
    /// Told of rows that an index lists and the table lacks.
    missing: Option<(&'a CollectionShelf, DamageReport<'a>)>,
}

impl<'a> DrawerTest<'a> {
    pub(crate) fn new(scope: &FilterScope, filter: &'a Filter, document: &'a DocumentFilter) -> Self {
        Self {
            filter: (!scope.exact).then_some(filter),
            document,
            missing: None,
        }
    }

    /// Reports rows that an index lists and the table of the collection lacks.
    pub(crate) fn reporting_to(mut self, shelf: &'a CollectionShelf, report: DamageReport<'a>) -> Self {
        self.missing = Some((shelf, report));
        self
    }

    /// Returns whether every row of the scope passes without being read.
    pub(crate) fn is_trivial(&self) -> bool {
        self.filter.is_none() && self.document.is_unrestricted()
    }

    /// Returns the parts of a drawer that must be read to test it.
    fn needed_fields(&self) -> DrawerFields {
        DrawerFields {
            metadata: self.filter.is_some(),
            document: !self.document.is_unrestricted(),
            ..DrawerFields::NOTHING
        }
    }

    /// Returns whether the drawer in `row` passes.
    pub(crate) fn passes(&self, connection: &Connection, row: i64) -> Result<bool> {
        if self.is_trivial() {
            return Ok(true);
        }
        let Some(stored) = row::load_by_row(connection, row, self.needed_fields())? else {
            if let Some((shelf, report)) = self.missing {
                report(crosscheck::missing_row(shelf, row));
            }
            return Ok(false);
        };
        Ok(self.filter.is_none_or(|filter| filter.accepts(&stored.drawer))
            && self
                .document
                .accepts(stored.drawer.document.as_deref().unwrap_or_default()))
    }
}

impl DrawerTest<'_> {
    /// Returns the rows of the scope that pass, in order.
    pub(crate) fn passing_rows(
        &self,
        connection: &Connection,
        shelf: &CollectionShelf,
        scope: &FilterScope,
    ) -> Result<Vec<i64>> {
        let rows = match scope.rows.listed_rows() {
            Some(listed) => listed.to_vec(),
            None => rows_within(&live_rows(connection, shelf, i64::MIN, i64::MAX)?, &scope.rows),
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

/// Returns the rows of all drawers that both filters accept, in order.
pub(crate) fn accepted_rows(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
    document: &DocumentFilter,
) -> Result<Vec<i64>> {
    let scope = resolve_scope(connection, shelf, filter)?;
    DrawerTest::new(&scope, filter, document).passing_rows(connection, shelf, &scope)
}

/// Answers a [`GetRequest`] among the drawers that `filter` accepts.
pub(crate) fn get(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &GetRequest,
    filter: &Filter,
) -> Result<Vec<Drawer>> {
    get_reporting(connection, shelf, request, filter, &|_| {})
}

/// As [`get`], and reports the damage it meets.
pub(crate) fn get_reporting(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &GetRequest,
    filter: &Filter,
    report: DamageReport<'_>,
) -> Result<Vec<Drawer>> {
    request.check_request()?;
    if let Some(drawers) = try_first_drawers(connection, shelf, request, filter, report)? {
        return Ok(drawers);
    }
    let scope = resolve_scope(connection, shelf, filter)?;
    crosscheck::check_places(connection, shelf, filter, &scope, report)?;
    let test = DrawerTest::new(&scope, filter, &request.document).reporting_to(shelf, report);
    let mut page = DrawerPage {
        hydrator: DrawerHydrator::new(connection, shelf, request.include, report)?,
        request,
        skipped: 0,
        drawers: Vec::new(),
    };
    // A limit of zero is full before the first row.
    if page.is_full() {
        return Ok(page.drawers);
    }
    let wanted = |row: i64| scope.rows.contains(row);
    let mut offer = |row: i64| -> Result<bool> {
        if test.passes(connection, row)? {
            page.take_row(row)?;
        }
        Ok(!page.is_full())
    };
    let walk = DrawerWalk {
        connection,
        shelf,
        order: request.order,
        after: request.after.as_ref(),
        wanted: &wanted,
        within: only_source(filter),
        latest: None,
    };
    match (&request.ids, scope.rows.listed_rows()) {
        // Given ids keep the order of the request. A short list is sorted in memory; a long one costs more to
        // look up row by row than walking the index past rows that are not wanted.
        (Some(ids), _) => offer_ids(connection, shelf, ids, &wanted, &mut offer)?,
        (None, Some(listed)) if listed.len() * NARROW <= shelf.drawers as usize => {
            walk.run_sorted(listed, &mut offer)?;
        }
        (None, _) if !walk.has_index()? => {
            let rows = live_rows(connection, shelf, i64::MIN, i64::MAX)?;
            walk.run_sorted(&rows, &mut offer)?;
        }
        (None, _) => walk.run(&mut offer)?,
    }
    let all = scope.rows.excluded_rows().filter(|_| test.is_trivial());
    if let (None, None, Some(excluded), false) = (&request.ids, &request.after, all, page.is_full()) {
        // The walk went from the first drawer to the last, so it has met all that the counter knows.
        let expected = shelf.drawers - excluded.len() as i64;
        let given = page.skipped + page.drawers.len();
        crosscheck::check_total(shelf, given as u64, expected)
            .into_iter()
            .for_each(report);
    }
    Ok(page.drawers)
}

/// Fills a short page by testing the first drawers of the order; `None` if too few of them pass.
///
/// A filter that accepts one drawer in fifty fills a page of twenty that way. Resolved first, it would list all
/// the rows it accepts, up to as many as the collection has.
fn try_first_drawers(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &GetRequest,
    filter: &Filter,
    report: DamageReport<'_>,
) -> Result<Option<Vec<Drawer>>> {
    let is_short = request.limit.is_some_and(|limit| limit <= SHORT_PAGE);
    if !is_short || request.ids.is_some() || filter.is_unrestricted() {
        return Ok(None);
    }
    let walk = DrawerWalk {
        connection,
        shelf,
        order: request.order,
        after: request.after.as_ref(),
        wanted: &|_| true,
        within: only_source(filter),
        latest: latest_possible(connection, shelf, request, filter)?,
    };
    let mut page = DrawerPage {
        hydrator: DrawerHydrator::new(connection, shelf, request.include, report)?,
        request,
        skipped: 0,
        drawers: Vec::new(),
    };
    if page.is_full() || !walk.has_index()? {
        return Ok(None);
    }
    let test = DrawerTest {
        filter: Some(filter),
        document: &request.document,
        missing: Some((shelf, report)),
    };
    if request.order != DrawerOrder::Source
        && let Some(rows) = walk.few_rows_within(TRIED)?
    {
        // All drawers of a small source are sorted sooner than the first drawers of the collection are tested.
        walk.run_sorted(&rows, &mut |row| {
            if test.passes(connection, row)? {
                page.take_row(row)?;
            }
            Ok(!page.is_full())
        })?;
        return Ok(page.is_full().then_some(page.drawers));
    }
    let mut tried = 0;
    walk.run(&mut |row| {
        tried += 1;
        if tried <= TRIED && test.passes(connection, row)? {
            page.take_row(row)?;
        }
        Ok(tried <= TRIED && !page.is_full())
    })?;
    // A page that is not full has met the end, where the answer is compared with what is counted. From a position within
    // one source there is nothing to compare it with: what remained of the source is the whole answer.
    let is_rest = walk.within.is_some() && request.order == DrawerOrder::Source && request.after.is_some();
    let is_whole = page.is_full() || (is_rest && tried <= TRIED);
    Ok(is_whole.then_some(page.drawers))
}

/// Returns a time after which a filter that names a wing accepts no drawer, if the walk goes by times from the newest:
/// the newest drawer of a wing may come after all of the others.
fn latest_possible(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &GetRequest,
    filter: &Filter,
) -> Result<Option<i64>> {
    let by_time = matches!(request.order, DrawerOrder::NewestSaid | DrawerOrder::NewestFiled);
    let Some(wing) = only_text(filter, "wing").filter(|_| by_time && request.after.is_none()) else {
        return Ok(None);
    };
    days::find_newest(connection, shelf, request.order == DrawerOrder::NewestFiled, wing)
}

/// Returns the one source whose drawers a filter can accept, if it names one.
fn only_source(filter: &Filter) -> Option<&str> {
    // A text in the metadata under this key is the source itself, so that no drawer without a source is accepted.
    only_text(filter, "source")
}

/// Returns the text under a key that every drawer must have which the filter accepts.
fn only_text<'f>(filter: &'f Filter, name: &str) -> Option<&'f str> {
    match filter {
        Filter::Compare(key, FilterComparison::Eq(MetadataScalar::Text(text))) if key == name => Some(text),
        Filter::And(parts) => parts.iter().find_map(|part| only_text(part, name)),
        _ => None,
    }
}

/// Collects drawers up to the limit, after the offset.
struct DrawerPage<'a> {
    hydrator: DrawerHydrator<'a>,
    request: &'a GetRequest,
    skipped: usize,
    drawers: Vec<Drawer>,
}

impl DrawerPage<'_> {
    fn is_full(&self) -> bool {
        self.request
            .limit
            .is_some_and(|limit| self.drawers.len() >= limit)
    }

    fn take_row(&mut self, row: i64) -> Result<()> {
        if self.skipped < self.request.offset {
            self.skipped += 1;
            return Ok(());
        }
        self.drawers.extend(self.hydrator.hydrate(row)?);
        Ok(())
    }
}

/// Offers the rows of the ids asked for, in their order, each once.
fn offer_ids(
    connection: &Connection,
    shelf: &CollectionShelf,
    ids: &[DrawerId],
    wanted: &dyn Fn(i64) -> bool,
    offer: RowOffer<'_>,
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

/// Reads drawers that an index lists, with the fields asked for. Their damage is listed in the drawers and reported.
pub(crate) struct DrawerHydrator<'a> {
    connection: &'a Connection,
    shelf: &'a CollectionShelf,
    include: DrawerFields,
    report: DamageReport<'a>,
    loader: RowLoader<'a>,
}

impl<'a> DrawerHydrator<'a> {
    pub(crate) fn new(
        connection: &'a Connection,
        shelf: &'a CollectionShelf,
        include: DrawerFields,
        report: DamageReport<'a>,
    ) -> Result<Self> {
        Ok(Self {
            connection,
            shelf,
            include,
            report,
            loader: RowLoader::new(connection, include)?,
        })
    }

    /// Returns the drawer in `row`; `None` if the table lacks it, which is reported too.
    pub(crate) fn hydrate(&mut self, row: i64) -> Result<Option<Drawer>> {
        let (connection, shelf, include, report) = (self.connection, self.shelf, self.include, self.report);
        let Some(stored) = self.loader.load(row)? else {
            report(crosscheck::missing_row(shelf, row));
            return Ok(None);
        };
        // Only where content is given: a bare id is the same in every state of a drawer.
        let is_newest = include == DrawerFields::NOTHING || crosscheck::is_listed_state(connection, &stored)?;
        let mut drawer = stored.drawer;
        if let (true, Some(dimension)) = (include.embedding, shelf.space.dimension) {
            match vectors::get(connection, shelf.space.number, row, dimension) {
                Ok(vector) => drawer.embedding = vector,
                // A deadline that passes is not damage of the drawer.
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
                Err(error) => drawer.damage.push(error.to_string()),
            }
        }
        if !is_newest {
            drawer
                .damage
                .push("it may be an older state: the index of changes does not list this one".to_owned());
        }
        crosscheck::damaged_drawer(shelf, &drawer).for_each(report);
        Ok(Some(drawer))
    }
}
