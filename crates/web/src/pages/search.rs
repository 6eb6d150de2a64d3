//! The search: the box, the hits as people read them, and the facets that narrow them.

mod facets;
mod hits;
mod notes;

use loci_core::Result;
use loci_engine::search::{SearchReport, SearchRequest, SearchRetriever};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult, read_scope};
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::{scope_form, shown};
use crate::reply::PageReply;

pub(crate) use facets::FacetList;

/// The hits of a page.
const PAGE: usize = 10;

/// The fields that belong to a search besides its scope.
pub(super) const FIELDS: [&str; 4] = ["q", "only", "recent", "tools"];

/// Shows the answer to a query.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let Some(query) = fields.value("q") else {
        // Without words there is nothing to rank; the scope is still a list.
        let asks_nothing = read_scope(fields, context.now())?.asks_nothing();
        let list = PageLink::to(if asks_nothing { "/" } else { "/list" });
        return Ok(PageReply::see_other(list.with_scope(fields).href()));
    };
    let request = read_request(context, query)?;
    let report = context.palace().search(&request)?;
    let shown_before = request.shown_before()?;
    let facets = (shown_before == 0)
        .then(|| FacetList::count(context, &request.scope, report.in_scope))
        .transpose()?;
    let content = html! {
        h1.visually-hidden { "Search" }
        (search_form(context))
        (scope_form::chips("/search", fields, &FIELDS))
        div.results {
            @if let Some(facets) = &facets { (facets.render(context, "/search", &FIELDS)) }
            section.hits aria-label="Results" {
                (notes::summary(context, &report, shown_before, PAGE))
                (hits::list(context, &report, shown_before))
                (pager(context, &report))
                (notes::why_not_form(context, query))
            }
        }
    };
    let title = format!("{query} · search");
    Ok(PageFrame::new(context, NavPage::Search, title).render(&content))
}

/// Reads a search from the fields of an address.
pub(super) fn read_request(context: PageContext<'_>, query: &str) -> Result<SearchRequest> {
    let fields = context.query();
    Ok(SearchRequest {
        limit: PAGE,
        scope: read_scope(fields, context.now())?,
        cursor: fields.value("cursor").map(str::to_owned),
        tools: fields.is_ticked("tools"),
        recent: fields.is_ticked("recent"),
        only: match fields.value("only") {
            Some("words") => Some(SearchRetriever::Words),
            Some("meaning") => Some(SearchRetriever::Meaning),
            _ => None,
        },
        ..SearchRequest::new(query, context.now())
    })
}

/// The box with the query, and what narrows it.
pub(super) fn search_form(context: PageContext<'_>) -> Markup {
    let fields = context.query();
    let only = fields.value("only").unwrap_or_default();
    html! {
        form.search role="search" action="/search" {
            div.search-line {
                input type="search" name="q" value=[fields.value("q")] aria-label="Search" placeholder="A question, or some words"
                    autocomplete="off" dir="auto" data-key="/" autofocus[fields.value("q").is_none()];
                button.primary { "Search" }
            }
            details.narrow {
                summary { "Narrow and rank" }
                (scope_form::boxes(fields))
                div.row {
                    label.field { span { "Rank by" }
                        select name="only" {
                            option value="" selected[only.is_empty()] { "words and meaning" }
                            option value="words" selected[only == "words"] { "words alone" }
                            option value="meaning" selected[only == "meaning"] { "meaning alone" }
                        }
                    }
                    label.check { input type="checkbox" name="recent" value="1" checked[fields.is_ticked("recent")]; "Newer first" }
                    label.check { input type="checkbox" name="tools" value="1" checked[fields.is_ticked("tools")]; "Tool output, too" }
                }
            }
        }
    }
}

fn pager(context: PageContext<'_>, report: &SearchReport) -> Markup {
    let Some(next) = &report.next else {
        return html! {};
    };
    let link = with_fields(PageLink::to("/search"), context).with("cursor", next);
    html! {
        nav.pager aria-label="Pages of results" {
            a.button href=(link.href()) rel="next" data-key="]" { "More results" }
        }
    }
}

/// Adds the fields of this search to an address, without its cursor.
pub(super) fn with_fields(link: PageLink, context: PageContext<'_>) -> PageLink {
    let fields = context.query();
    let link = FIELDS
        .iter()
        .fold(link, |link, name| link.with_some(name, fields.value(name)));
    link.with_scope(fields)
}

/// Shows the share that a number between 0 and 1 is.
pub(super) fn percent(share: f32) -> String {
    format!("{:.0} %", (f64::from(share) * 100.0).clamp(0.0, 100.0))
}

/// Shows a number of drawers.
pub(super) fn drawers(count: u64) -> String {
    shown::count(count, "drawer")
}
