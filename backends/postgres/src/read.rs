//! Reading drawers: by id, filter and order; counting them; and the figures of a collection.

use std::collections::{HashMap, HashSet};

use loci_core::{
    CollectionInfo, Cursor, DocumentFilter, Drawer, DrawerCondition, DrawerFields, DrawerId, FacetCount,
    FacetKey, FacetRequest, Filter, GetRequest, IndexCoverage, Result, Timestamp,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::keyset;
use crate::moment::MomentView;
use crate::row::{self, ServerDrawer, stored_text};
use crate::scope::{self, RowScope};
use crate::shelf;
use crate::statement::SqlStatement;

/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

impl MomentView<'_> {
    /// Returns the drawers that both filters accept and that the caller sees, if the server can decide on each.
    pub(crate) fn foresee_scope(&self, filter: &Filter, document: &DocumentFilter) -> Option<RowScope> {
        let filter = self.visibility.narrow_filter(filter);
        scope::is_exact(&filter).then(|| RowScope::Filtered(filter, document.clone()))
    }

    /// Returns the drawers that both filters accept and that the caller sees.
    pub(crate) fn resolve_scope(&self, filter: &Filter, document: &DocumentFilter) -> Result<RowScope> {
        if let Some(scope) = self.foresee_scope(filter, document) {
            return Ok(scope);
        }
        let filter = self.visibility.narrow_filter(filter);
        // Rare: the server lists a superset, and the oracle decides on each.
        let wide = RowScope::Filtered(scope::widen(&filter), document.clone());
        let include = DrawerFields {
            metadata: true,
            ..DrawerFields::NOTHING
        };
        let mut statement = self.select_drawers(include);
        wide.push_condition(&mut statement);
        let mut rows = Vec::new();
        self.session.stream(&statement, self.deadline, &mut |found| {
            let stored = ServerDrawer::read(found)?;
            if filter.accepts(&stored.drawer) {
                rows.push(stored.row);
            }
            Ok(())
        })?;
        Ok(RowScope::Listed(rows))
    }

    /// Returns the beginning of a question for drawers of this collection, up to its first condition.
    pub(crate) fn select_drawers(&self, include: DrawerFields) -> SqlStatement {
        SqlStatement::new(format!(
            "SELECT {} FROM {} WHERE d.collection = $1",
            row::columns(include),
            row::tables(include)
        ))
        .with_int(self.shelf.collection)
    }

    /// Returns the drawers in some rows, by row.
    pub(crate) fn load_rows(&self, rows: Vec<i64>, include: DrawerFields) -> Result<HashMap<i64, Drawer>> {
        if rows.is_empty() {
            return Ok(HashMap::new());
        }
        let mut statement = self.select_drawers(include);
        RowScope::Listed(rows).push_condition(&mut statement);
        let found = self.session.ask(statement, self.deadline)?;
        let drawers = found.iter().map(|found| {
            let stored = ServerDrawer::read(found)?;
            Ok((stored.row, stored.drawer))
        });
        drawers.collect()
    }
}

/// Answers a [`GetRequest`].
pub(crate) fn get(view: &MomentView<'_>, request: &GetRequest) -> Result<Vec<Drawer>> {
    request.check_request()?;
    let scope = view.resolve_scope(&request.filter, &request.document)?;
    let mut statement = view.select_drawers(request.include);
    scope.push_condition(&mut statement);
    if let Some(ids) = &request.ids {
        let bytes: Vec<Vec<u8>> = ids.iter().map(|id| id.as_str().as_bytes().to_vec()).collect();
        statement
            .push(" AND d.id = ANY(")
            .bind(bytes, Type::BYTEA_ARRAY)
            .push(")");
        let found = read_drawers(&view.session.ask(statement, view.deadline)?)?;
        return Ok(in_order_of(ids, found, request));
    }
    if let Some(after) = &request.after {
        keyset::push_after(&mut statement, after);
    }
    statement.push(keyset::order_clause(request.order));
    if let Some(limit) = request.limit {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        statement.push(" LIMIT ").bind(limit, Type::INT8);
    }
    if request.offset > 0 {
        let offset = i64::try_from(request.offset).unwrap_or(i64::MAX);
        statement.push(" OFFSET ").bind(offset, Type::INT8);
    }
    read_drawers(&view.session.ask(statement, view.deadline)?)
}

fn read_drawers(rows: &[Row]) -> Result<Vec<Drawer>> {
    rows.iter()
        .map(|found| ServerDrawer::read(found).map(|stored| stored.drawer))
        .collect()
}

/// Returns the drawers in the order of the ids, each once, and the page of them that was asked for.
fn in_order_of(ids: &[DrawerId], found: Vec<Drawer>, request: &GetRequest) -> Vec<Drawer> {
    let mut found: HashMap<DrawerId, Drawer> = found
        .into_iter()
        .map(|drawer| (drawer.id.clone(), drawer))
        .collect();
    let mut seen = HashSet::new();
    ids.iter()
        .filter(|id| seen.insert(*id))
        .filter_map(|id| found.remove(id))
        .skip(request.offset)
        .take(request.limit.unwrap_or(usize::MAX))
        .collect()
}

/// Counts the drawers that meet a condition.
pub(crate) fn count(view: &MomentView<'_>, condition: &DrawerCondition) -> Result<u64> {
    let question = CountQuestion {
        scope: view.resolve_scope(&condition.filter, &condition.document)?,
    };
    let answers = match question.statement(view) {
        Some(statement) => view.session.ask(statement, view.deadline)?,
        None => Vec::new(),
    };
    Ok(question.read_count(view, &answers))
}

/// A question for the number of drawers in scope.
pub(crate) struct CountQuestion {
    pub(crate) scope: RowScope,
}

impl CountQuestion {
    /// Returns what the server is asked; nothing for the whole collection, whose drawers are counted already.
    pub(crate) fn statement(&self, view: &MomentView<'_>) -> Option<SqlStatement> {
        if self.scope.is_everything() {
            return None;
        }
        // The few that are left out are counted by an index; the others would all have to be read.
        let left_out = self.scope.left_out();
        let mut statement = SqlStatement::new("SELECT count(*) FROM loci.drawers d WHERE d.collection = $1")
            .with_int(view.shelf.collection);
        left_out
            .as_ref()
            .unwrap_or(&self.scope)
            .push_condition(&mut statement);
        Some(statement)
    }

    /// Returns the number by the answer to the statement.
    pub(crate) fn read_count(&self, view: &MomentView<'_>, answer: &[Row]) -> u64 {
        let counted = answer.first().map(|row| row.get::<_, i64>(0));
        shelf::count(match counted {
            None => view.shelf.drawers,
            Some(counted) if self.scope.left_out().is_some() => view.shelf.drawers - counted,
            Some(counted) => counted,
        })
    }
}

/// Answers a [`FacetRequest`].
pub(crate) fn facets(view: &MomentView<'_>, request: &FacetRequest) -> Result<Vec<FacetCount>> {
    request.check_request()?;
    let scope = view.resolve_scope(&request.filter, &request.document)?;
    let keys: Vec<String> = request.by.iter().map(|key| facet_sql(*key)).collect();
    let mut statement = SqlStatement::new(format!(
        "SELECT count(*), {} FROM loci.drawers d WHERE d.collection = $1",
        keys.join(", ")
    ))
    .with_int(view.shelf.collection);
    scope.push_condition(&mut statement);
    let places: Vec<String> = (2..request.by.len() + 2).map(|at| at.to_string()).collect();
    statement.push(" GROUP BY ").push(&places.join(", "));
    let found = view.session.ask(statement, view.deadline)?;
    let mut facets = found
        .iter()
        .map(|row| read_facet(row, &request.by))
        .collect::<Result<Vec<_>>>()?;
    facets.sort();
    Ok(facets)
}

fn facet_sql(key: FacetKey) -> String {
    // The remainder is brought above zero: times before 1970 are negative.
    let day = |column: &str| format!("d.{column} - ((d.{column} % {DAY}) + {DAY}) % {DAY}");
    match key {
        FacetKey::SaidDay => day("said_at"),
        FacetKey::FiledDay => day("filed_at"),
        field => format!("d.{}", field.name()),
    }
}

fn read_facet(row: &Row, by: &[FacetKey]) -> Result<FacetCount> {
    let values = by.iter().enumerate().map(|(at, key)| match key {
        FacetKey::SaidDay | FacetKey::FiledDay => {
            let day: Option<i64> = row.get(at + 1);
            day.map(|day| Timestamp::from_micros(day).map(Timestamp::day_text))
                .transpose()
        }
        _ => row.get::<_, Option<Vec<u8>>>(at + 1).map(stored_text).transpose(),
    });
    Ok(FacetCount {
        values: values.collect::<Result<_>>()?,
        drawers: shelf::count(row.get(0)),
    })
}

/// Returns the figures of the collection, counting only what the caller sees.
pub(crate) fn info(view: &MomentView<'_>) -> Result<CollectionInfo> {
    let whole = view.shelf.info();
    if !view.visibility.is_restricted() {
        return Ok(whole);
    }
    let scope = view.resolve_scope(&Filter::All, &DocumentFilter::All)?;
    let mut statement = SqlStatement::new(
        "SELECT count(*), count(v.\"row\"), max(d.seq) FROM loci.drawers d
         LEFT JOIN loci.vectors v ON v.space = $2 AND v.\"row\" = d.\"row\" WHERE d.collection = $1",
    )
    .with_int(view.shelf.collection)
    .with_int(view.shelf.space.number);
    scope.push_condition(&mut statement);
    let found = view.session.ask(statement, view.deadline)?;
    let figure = |at: usize| {
        let figure = found.first().and_then(|row| row.get::<_, Option<i64>>(at));
        shelf::count(figure.unwrap_or(0))
    };
    Ok(CollectionInfo {
        drawers: figure(0),
        coverage: IndexCoverage {
            nearest: figure(1),
            packed: 0,
            lexical: figure(0),
        },
        seq: Cursor(figure(2)),
        // A switch under way counts drawers out of sight.
        warnings: view.shelf.unknown_model().into_iter().collect(),
        ..whole
    })
}
