//! List: the drawers of a scope in one of the store's orders, page by page.

use loci_core::{DrawerFields, DrawerOrder, GetRequest, PalaceFinding, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{Palace, PalaceSession};
use crate::view::{DrawerScope, DrawerView, format_position, parse_position};

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRequest {
    /// The drawers to list.
    pub scope: DrawerScope,
    /// Their order.
    pub order: DrawerOrder,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
    /// The most drawers on the page.
    pub limit: usize,
    /// Whether to include their exact vectors.
    pub embeddings: bool,
    /// Whether to count all drawers of the scope.
    pub total: bool,
}

/// A page of drawers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListReport {
    /// The drawers.
    pub drawers: Vec<DrawerView>,
    /// The number of drawers in the scope, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Lists a page of drawers.
    pub fn list(&self, request: &ListRequest) -> Result<ListReport> {
        request.scope.check()?;
        self.read(|session| list_drawers(session, request, 0))
    }

    /// Lists a page after the first `skipped` drawers, for callers that page by offset.
    pub fn list_behind(&self, skipped: usize, request: &ListRequest) -> Result<ListReport> {
        request.scope.check()?;
        self.read(|session| list_drawers(session, request, skipped))
    }
}

pub(crate) fn list_drawers(
    session: &PalaceSession<'_>,
    request: &ListRequest,
    skipped: usize,
) -> Result<ListReport> {
    let condition = request.scope.resolve(session.reader())?;
    let total = if request.total {
        Some(session.reader().count(&condition)?)
    } else {
        None
    };
    let after = request.cursor.as_deref();
    let mut found = session.reader().get(&GetRequest {
        filter: condition.filter,
        document: condition.document,
        order: request.order,
        after: after
            .map(|cursor| parse_position(request.order, cursor))
            .transpose()?,
        offset: skipped,
        // One more than is shown tells whether there is a next page.
        limit: Some(request.limit.saturating_add(1)),
        include: DrawerFields {
            embedding: request.embeddings,
            ..DrawerFields::default()
        },
        ..GetRequest::default()
    })?;
    let goes_on = found.len() > request.limit;
    found.truncate(request.limit);
    let last = found.last().filter(|_| goes_on);
    let next = last.map(|last| format_position(&request.order.position_of(last)));
    let mut warnings = session.collect_findings();
    if found.is_empty() {
        warnings.extend(session.unknown_names(&request.scope)?);
    }
    let view = if request.embeddings {
        DrawerView::with_embedding
    } else {
        DrawerView::from
    };
    Ok(ListReport {
        drawers: found.into_iter().map(view).collect(),
        total,
        next,
        warnings,
    })
}
