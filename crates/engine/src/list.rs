//! List: the drawers of a scope in one of the store's orders, a page at a time.

use loci_core::{DrawerOrder, Finding, Get, Include, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{Palace, PalaceSession};
use crate::view::{DrawerScope, DrawerView, format_position, parse_position};

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRequest {
    /// The drawers meant.
    pub scope: DrawerScope,
    /// Their order.
    pub order: DrawerOrder,
    /// The `next` of the page before.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: usize,
    /// With their exact vectors.
    pub embeddings: bool,
    /// Count all drawers of the scope, too.
    pub total: bool,
}

/// A page of drawers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListReport {
    /// The drawers.
    pub drawers: Vec<DrawerView>,
    /// All drawers of the scope, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The cursor of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Damage, and names in the scope that no drawer has.
    #[schemars(skip)]
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Lists a page of drawers.
    pub fn list(&self, request: &ListRequest) -> Result<ListReport> {
        request.scope.check()?;
        self.read(|session| list_drawers(session, request, 0))
    }

    /// The same for callers who count: a page behind the first `skipped` drawers.
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
    let total = match request.total {
        true => Some(session.reader().count(&condition)?),
        false => None,
    };
    let after = request.cursor.as_deref();
    let mut found = session.reader().get(&Get {
        filter: condition.filter,
        document: condition.document,
        order: request.order,
        after: after
            .map(|cursor| parse_position(request.order, cursor))
            .transpose()?,
        offset: skipped,
        // One more than is shown tells whether the list goes on.
        limit: Some(request.limit.saturating_add(1)),
        include: Include {
            embedding: request.embeddings,
            ..Include::default()
        },
        ..Get::default()
    })?;
    let goes_on = found.len() > request.limit;
    found.truncate(request.limit);
    let last = found.last().filter(|_| goes_on);
    let next = last.map(|last| format_position(&request.order.position_of(last)));
    let mut warnings = session.noticed();
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
