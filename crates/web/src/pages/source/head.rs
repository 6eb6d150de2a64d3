//! The head of a source: what it is, where it is filed, and the ways into it.

use std::borrow::Cow;

use loci_core::MetadataValue;
use loci_engine::passage::{PassageKind, PassageReport};
use loci_engine::view::TrustMark;
use maud::{Markup, html};

use super::jump_link;
use crate::parts::links::PageLink;
use crate::parts::shown;

/// The longest title, in characters.
const LONGEST_TITLE: usize = 160;

/// Returns the title of a conversation, or the last part of a source's name.
pub(super) fn title_of<'a>(report: &'a PassageReport, source: &'a str) -> Cow<'a, str> {
    let titled = report.drawers.iter().find_map(|drawer| {
        let metadata = drawer.metadata.as_ref()?;
        metadata.get("title").and_then(MetadataValue::as_text)
    });
    let title = titled.filter(|title| !title.trim().is_empty());
    let title = title.unwrap_or_else(|| last_part(source));
    match title.char_indices().nth(LONGEST_TITLE) {
        Some((cut, _)) => Cow::Owned(format!("{}…", title.get(..cut).unwrap_or_default())),
        None => Cow::Borrowed(title),
    }
}

/// Returns the last part of a path, or all of a name that ends with a slash.
pub(super) fn last_part(source: &str) -> &str {
    let last = source.rsplit(['/', '\\']).next();
    last.filter(|last| !last.is_empty()).unwrap_or(source)
}

/// Shows the head of a source.
pub(super) fn head(report: &PassageReport, source: &str, title: &str) -> Markup {
    html! {
        (crumbs(report))
        div.page-head.source-head {
            div {
                h1 { (shown::name(title)) }
                @if title != source { p.source-name.small.muted { (shown::name(source)) } }
            }
            p.row.small {
                span.muted { (sort_of(report)) ", " (shown::count(report.total, "drawer")) }
                @if let Some(trust) = own_trust(report) { (shown::trust(trust)) }
                a href=(narrowed("/list", source, Some(("order", "source")))) { "All drawers" }
                a href=(narrowed("/timeline", source, None)) { "Timeline" }
            }
        }
        div.row.apart.source-ways {
            form.search.small role="search" action="/search" aria-label="Search in this source" {
                div.search-line {
                    input type="hidden" name="source" value=(source);
                    input type="search" name="q" placeholder="Search in this source" aria-label="Search in this source" autocomplete="off" dir="auto";
                    button { "Search" }
                }
            }
            nav.row aria-label="Jump" {
                a.button href=(jump_link(source, false)) { "To the start" }
                a.button href=(jump_link(source, true)) { "To the end" }
            }
        }
        @if has_labels(report) {
            p.small.muted.about-labels { "Labels such as " span.sealed { "⟦sealed …⟧" } " stand for secrets that were encrypted when they were filed. No page shows them." }
        }
    }
}

fn sort_of(report: &PassageReport) -> &'static str {
    match report.kind {
        Some(PassageKind::File) => "File",
        _ => "Conversation",
    }
}

/// Returns how far a file can be trusted, unless it was mined as any file is.
fn own_trust(report: &PassageReport) -> Option<TrustMark> {
    let first = report.drawers.first()?;
    (report.kind == Some(PassageKind::File) && first.trust != TrustMark::File).then_some(first.trust)
}

fn has_labels(report: &PassageReport) -> bool {
    report.drawers.iter().any(|drawer| !drawer.seals.is_empty())
}

fn narrowed(path: &'static str, source: &str, field: Option<(&str, &str)>) -> String {
    let link = PageLink::to(path).with("source", source);
    match field {
        Some((name, value)) => link.with(name, value).href(),
        None => link.href(),
    }
}

/// The path from the map to this source.
fn crumbs(report: &PassageReport) -> Markup {
    let wing = report.wing.as_deref();
    html! {
        nav aria-label="Path" {
            ol.crumbs {
                li { a href="/map" { "Map" } }
                @if let Some(wing) = wing {
                    li { a href=(PageLink::to("/map").with("wing", wing).href()) { (shown::name(wing)) } }
                }
                @if let (Some(wing), Some(room)) = (wing, report.room.as_deref()) {
                    li { a href=(PageLink::to("/map").with("wing", wing).with("room", room).href()) { (shown::name(room)) } }
                }
            }
        }
    }
}
