//! The drawers of a scope, in one of the store's orders, a page at a time.

use loci_core::{DrawerOrder, Error, Result};
use loci_engine::list::{ListReport, ListRequest};
use maud::{Markup, html};

use super::search::FacetList;
use crate::context::{PageContext, PageResult, read_scope};
use crate::parts::buttons::form_secret;
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::{card, scope_form, shown};

/// The drawers of a page.
const PAGE: usize = 40;

/// The fields of a list besides its scope.
const FIELDS: [&str; 1] = ["order"];

/// Shows a page of drawers.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let request = ListRequest {
        scope: read_scope(fields, context.now())?,
        order: read_order(fields.value("order"))?,
        cursor: fields.value("cursor").map(str::to_owned),
        limit: PAGE,
        embeddings: false,
        // A total by a search in all texts could take long; the facets tell the size of other scopes.
        total: fields.value("contains").is_none() && fields.value("where").is_none(),
    };
    let report = context.palace().list(&request)?;
    let is_first = request.cursor.is_none();
    let facets = is_first
        .then(|| FacetList::count(context, &request.scope, report.total.unwrap_or(u64::MAX)))
        .transpose()?;
    let content = html! {
        div.page-head {
            h1 { "Drawers" @if let Some(total) = report.total { " " span.muted { (shown::digits(total)) } } }
            (orders(context, request.order))
        }
        (scope_form::chips("/list", fields, &FIELDS))
        div.results {
            @if let Some(facets) = &facets { (facets.render(context, "/list", &FIELDS)) }
            section.hits aria-label="Drawers" { (page(context, &report)) }
        }
    };
    Ok(PageFrame::new(context, NavPage::Map, "Drawers").render(&content))
}

fn read_order(name: Option<&str>) -> Result<DrawerOrder> {
    let Some(name) = name else {
        return Ok(DrawerOrder::NewestFiled);
    };
    DrawerOrder::ALL
        .into_iter()
        .find(|order| order.name() == name)
        .ok_or_else(|| {
            Error::invalid(format!("{name:?} is not an order of a list"))
                .with_hint("choose filed, said, source or id")
        })
}

/// The links to the other orders.
fn orders(context: PageContext<'_>, chosen: DrawerOrder) -> Markup {
    let label = |order: DrawerOrder| match order {
        DrawerOrder::NewestFiled => "Newest filed",
        DrawerOrder::NewestSaid => "Newest said",
        DrawerOrder::Source => "By source",
        DrawerOrder::Id => "By id",
    };
    html! {
        nav.row.small aria-label="Order" {
            @for order in [DrawerOrder::NewestFiled, DrawerOrder::NewestSaid, DrawerOrder::Source, DrawerOrder::Id] {
                @let link = PageLink::to("/list").with_scope(context.query()).with("order", order.name());
                a href=(link.href()) aria-current=[(order == chosen).then_some("true")] { (label(order)) }
            }
        }
    }
}

fn page(context: PageContext<'_>, report: &ListReport) -> Markup {
    html! {
        @for warning in &report.warnings { (finding(warning)) }
        @if report.drawers.is_empty() {
            div.empty { p { "No drawer is here." } p { a href="/list" { "Show all drawers" } } }
        } @else if !context.access().is_read_only() {
            form #selection method="post" action="/move" {
                (form_secret(context))
                input type="hidden" name="back" value=(context.address().unwrap_or_default());
            }
            ol.card-list.selectable {
                @for drawer in &report.drawers { (card::selectable_item(drawer)) }
            }
            (selection_acts(context))
        } @else {
            ol.card-list { @for drawer in &report.drawers { (card::list_item(drawer)) } }
        }
        @if let Some(next) = &report.next {
            @let link = PageLink::to("/list").with_scope(context.query()).with_some("order", context.query().value("order")).with("cursor", next);
            nav.pager aria-label="Pages of drawers" { a.button rel="next" href=(link.href()) { "More drawers" } }
        }
    }
}

/// What can be done with the chosen drawers, or with all of the scope.
fn selection_acts(context: PageContext<'_>) -> Markup {
    let (fields, access) = (context.query(), context.access());
    let scoped = crate::parts::links::SCOPE_FIELDS
        .iter()
        .any(|name| fields.value(name).is_some());
    let whole = |path: &'static str| PageLink::to(path).with_scope(fields).href();
    html! {
        div.row.selection-acts {
            span.muted { "The chosen drawers:" }
            @if access.may_write() { button form="selection" formaction="/move" { "Move" } }
            @if access.may_delete() { button form="selection" formaction="/delete" { "Delete" } }
            @if access.may_forget() { button form="selection" formaction="/forget" { "Forget" } }
            button form="selection" formaction="/export" { "Export" }
            label.check.choose-all hidden { input type="checkbox" data-choose-all="selection"; span { "Choose all on this page" } }
        }
        @if scoped {
            div.row.small {
                span.muted { "All of them:" }
                @if access.may_write() { a href=(whole("/move")) { "Move" } }
                @if access.may_delete() { a href=(whole("/delete")) { "Delete" } }
                @if access.may_forget() { a href=(whole("/forget")) { "Forget" } }
                a href=(whole("/export")) { "Export" }
            }
        }
    }
}
