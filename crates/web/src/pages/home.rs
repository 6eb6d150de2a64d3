//! The first page: the box, the wings of the palace, and what was filed last.

use loci_core::{DrawerOrder, ErrorKind, Result};
use loci_engine::list::ListRequest;
use loci_engine::overview::OverviewReport;
use loci_engine::view::{DrawerScope, DrawerView};
use maud::{Markup, html};

use super::search::search_form;
use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::{card, shown};

/// The drawers shown of those that were filed last.
const LATEST: usize = 8;
/// The wings shown.
const WINGS: usize = 12;

/// Shows the first page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let known = read_palace(context)?;
    let content = html! {
        h1.visually-hidden { "Search " (shown::plain_name(&context.host().palace_name())) }
        div.home {
            (search_form(context))
            @match &known {
                Some((overview, latest)) => (contents(context, overview, latest)),
                None => (first_steps(context)),
            }
        }
    };
    Ok(PageFrame::new(context, NavPage::Search, "Search").render(&content))
}

/// Reads what the palace holds; `None` if it does not exist yet or is empty.
fn read_palace(context: PageContext<'_>) -> Result<Option<(OverviewReport, Vec<DrawerView>)>> {
    let overview = match context.palace().describe_collection() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        overview => overview?,
    };
    if overview.wings.is_empty() {
        return Ok(None);
    }
    let latest = context.palace().list(&ListRequest {
        scope: DrawerScope::default(),
        order: DrawerOrder::NewestFiled,
        cursor: None,
        limit: LATEST,
        embeddings: false,
        total: false,
    })?;
    Ok(Some((overview, latest.drawers)))
}

fn contents(context: PageContext<'_>, overview: &OverviewReport, latest: &[DrawerView]) -> Markup {
    let drawers: u64 = overview.wings.iter().map(|wing| wing.drawers).sum();
    let most = overview.wings.first().map_or(1, |wing| wing.drawers.max(1));
    html! {
        div.home-columns {
            section aria-labelledby="wings" {
                div.row.apart { h2 #wings { "Wings" } a href="/map" { "Map" } }
                ul.wing-list {
                    @for wing in overview.wings.iter().take(WINGS) {
                        li data-item {
                            @match wing.wing.as_deref() {
                                Some(name) => a href=(PageLink::to("/map").with("wing", name).href()) { (shown::name(name)) },
                                None => span.muted { "no wing" },
                            }
                            span.num { (shown::digits(wing.drawers)) }
                            meter.bar min="0" max=(most) value=(wing.drawers) aria-hidden="true" {}
                        }
                    }
                }
                @if overview.wings.len() > WINGS { p.small { a href="/map" { "and " (overview.wings.len() - WINGS) " more" } } }
                p.muted.small { (shown::count(drawers, "drawer")) " in " (shown::count(overview.wings.len() as u64, "wing")) }
                @if context.access().may_mine() {
                    p.small.home-acts { a href="/mine" { "Mine a folder" } " · " a href="/export" { "Export" } " · " a href="/wake-up" { "Wake-up" } }
                }
            }
            section aria-labelledby="latest" {
                div.row.apart { h2 #latest { "Filed last" } a href="/list?order=filed" { "All" } }
                ol.card-list { @for drawer in latest { (card::list_item(drawer)) } }
            }
        }
        @for warning in &overview.info.warnings { (finding(warning)) }
    }
}

fn first_steps(context: PageContext<'_>) -> Markup {
    html! {
        section.empty {
            h2 { "Nothing is filed here yet" }
            p { "A palace keeps every word you give it, and finds it again by meaning and by keyword." }
            @if context.may_write() {
                p.row {
                    a.button.primary href="/add" { "Add a drawer" }
                    @if context.access().may_mine() { a.button href="/mine" { "Mine a folder" } }
                }
            }
        }
    }
}
