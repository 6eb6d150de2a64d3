//! The sources that one name means, where there are several; or what to do where there is none.

use loci_core::{Error, ErrorKind};
use loci_engine::passage::{PassageAnchor, PassageReport, PassageRequest, SourceEntry};
use maud::{Markup, html};

use super::head::last_part;
use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, source_link};
use crate::parts::shown;
use crate::request::PageFields;

/// Reads how many sources were listed before this page.
pub(super) fn read_skipped(fields: &PageFields) -> usize {
    let skipped = fields.value("skip").and_then(|skip| skip.trim().parse().ok());
    skipped.unwrap_or(0)
}

/// Shows the sources that a name means.
pub(super) fn show(context: PageContext<'_>, request: &PassageRequest, report: &PassageReport) -> PageResult {
    let name = request.names.first().map_or("", String::as_str);
    if report.sources_total == 0 {
        return Err(missing(name, report));
    }
    let next = request.skipped.saturating_add(report.sources.len());
    let has_more = (next as u64) < report.sources_total && !report.sources.is_empty();
    let page = |skipped: usize| {
        PageLink::to("/source")
            .with("source", name)
            .with("skip", skipped.to_string())
    };
    let content = html! {
        nav aria-label="Path" { ol.crumbs { li { a href="/map" { "Map" } } } }
        div.page-head {
            h1 { (shown::name(name)) }
            p.muted { (shown::count(report.sources_total, "source")) " of this name" }
        }
        @for warning in &report.warnings { (finding(warning)) }
        @if let PassageAnchor::Drawer(id) = &request.anchor {
            p.warning role="status" { "The drawer " code { (shown::name(id.as_str())) } " is in none of them: it was removed, or it belongs to another source." }
        }
        @if report.sources.is_empty() { p.empty { "There are no more sources of this name." } }
        (table(&report.sources))
        nav.pager aria-label="Pages of sources" {
            @if request.skipped > 0 { a.button href=(PageLink::to("/source").with("source", name).href()) { "First sources" } }
            @if has_more { a.button rel="next" href=(page(next).href()) { "More sources" } }
        }
    };
    Ok(PageFrame::new(context, NavPage::Map, name).render(&content))
}

/// The error for a source that is not there, with the names that are most like it.
fn missing(name: &str, report: &PassageReport) -> Error {
    let told = report
        .warnings
        .iter()
        .find(|warning| warning.code == "unknown_source");
    let message = told.map_or_else(
        || format!("source {name:?} does not exist"),
        |warning| warning.message.clone(),
    );
    Error::new(ErrorKind::NotFound, message).with_hint(
        "it was removed, moved or never filed here; look for it on the map, or search for its words",
    )
}

fn table(sources: &[SourceEntry]) -> Markup {
    html! {
        div.scroll-x tabindex="0" role="region" aria-label="Sources" { table.table {
            thead { tr { th scope="col" { "Source" } th scope="col" { "Begins" } th.num scope="col" { "Drawers" } } }
            tbody {
                @for entry in sources {
                    tr data-item {
                        td {
                            a href=(source_link(&entry.source)) { (shown::name(entry.title.as_deref().unwrap_or_else(|| last_part(&entry.source)))) }
                            div.small.muted { (shown::name(&entry.source)) }
                        }
                        td { @if let Some(time) = entry.begun_at { (shown::time(time)) } }
                        td.num { (shown::digits(entry.drawers)) }
                    }
                }
            }
        } }
    }
}
