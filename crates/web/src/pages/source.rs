//! A source: a conversation as a transcript, or a file with its lines, a part at a time around a place in it.

mod fit;
mod folded;
mod head;
mod lines;
mod part;
mod pieces;
mod several;
mod transcript;

use loci_core::{DrawerId, DrawerOrder, Error, ErrorKind, Result};
use loci_engine::passage::{PassageAnchor, PassageReport, PassageRequest};
use loci_engine::view::parse_position;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, anchor_name, drawer_link};
use crate::parts::shown;
use crate::reply::PageReply;
use crate::request::PageFields;
use part::ShownSourcePart;

/// The most drawers of a part.
const PART_DRAWERS: usize = 60;
/// The bytes of text after which a part ends.
const PART_BYTES: usize = 60_000;

/// Shows a source.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let request = read_request(fields)?;
    let report = context.palace().read_passage(&request)?;
    let Some(source) = report.source.as_deref() else {
        return several::show(context, &request, &report);
    };
    let part = ShownSourcePart::fit(&report, source, &request.anchor);
    let title = head::title_of(&report, source);
    let content = html! {
        (head::head(&report, source, &title))
        @for warning in &report.warnings { (finding(warning)) }
        @if let PassageAnchor::Drawer(id) = &request.anchor { (asked_place(&report, id)) }
        @if part.pieces.is_empty() {
            p.empty { "Nothing is here any more: what stood behind this place was removed. Go to the start or the end." }
        } @else {
            div.passage #passage {
                (pager(EARLIER, part.earlier().as_deref()))
                (status())
                (part.render())
                (pager(LATER, part.later().as_deref()))
            }
        }
    };
    Ok(PageFrame::new(context, NavPage::Map, title.to_string()).render(&content))
}

/// Shows a part of a source by itself, for a page that takes it in.
pub(crate) fn show_part(context: PageContext<'_>) -> PageResult {
    let request = read_request(context.query())?;
    let report = context.palace().read_passage(&request)?;
    let source = report.source.as_deref().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this source was removed, or several have its name",
        )
        .with_hint("open the source again")
    })?;
    Ok(PageReply::html(
        ShownSourcePart::fit(&report, source, &request.anchor).render(),
    ))
}

fn read_request(fields: &PageFields) -> Result<PassageRequest> {
    let name = fields.value("source").ok_or_else(|| {
        Error::invalid("the address of this page names no source")
            .with_hint("open a source from the map, from a search or from a drawer")
    })?;
    let position = |cursor: &str| parse_position(DrawerOrder::Source, cursor).map_err(refused_cursor);
    let anchor = if let Some(id) = fields.exact_value("at") {
        PassageAnchor::Drawer(DrawerId::new(id)?)
    } else if let Some(cursor) = fields.value("after") {
        PassageAnchor::After(position(cursor)?)
    } else if let Some(cursor) = fields.value("before") {
        PassageAnchor::Before(position(cursor)?)
    } else if fields.value("to") == Some("end") {
        PassageAnchor::End
    } else {
        PassageAnchor::Start
    };
    Ok(PassageRequest {
        names: vec![name.to_owned()],
        anchor,
        limit: PART_DRAWERS,
        bytes: PART_BYTES,
        skipped: several::read_skipped(fields),
    })
}

fn refused_cursor(cause: Error) -> Error {
    Error::invalid("the address of this page names no place in a source")
        .with_hint("open the source from its start")
        .caused_by(cause)
}

/// Tells about the drawer that was asked for.
fn asked_place(report: &PassageReport, id: &DrawerId) -> Markup {
    html! {
        @if report.at_missing {
            div.warning.at-missing role="status" {
                "The drawer " code { (shown::name(id.as_str())) } " is not in this source: it was removed, or it belongs to another one. "
                "The source is shown from its start; search in it for the words you are looking for, or see "
                a href=(drawer_link(id)) { "whether the drawer is elsewhere" } "."
            }
        } @else {
            p.asked.small.muted { "Opened at a drawer:" a href=(format!("#{}", anchor_name(id))) { "go to it" } a href=(drawer_link(id)) { "all about it" } }
        }
    }
}

/// One of the two ways on: its name, the relation of the other part, its label, and what is said where the source ends.
type PagerSide = (&'static str, &'static str, &'static str, &'static str);

const EARLIER: PagerSide = ("earlier", "prev", "Earlier", "The source begins here.");
const LATER: PagerSide = ("later", "next", "Later", "The source ends here.");

/// The link to the part before or after. The script follows it when it comes into view.
fn pager((side, rel, label, end): PagerSide, href: Option<&str>) -> Markup {
    html! {
        nav.pager data-passage=(side) aria-label=(format!("{label} part")) {
            a.button rel=(rel) href=[href] hidden[href.is_none()] { (label) }
            span.muted.small hidden[href.is_some()] { (end) }
        }
    }
}

/// Where the script tells what it does.
fn status() -> Markup {
    html! { p.visually-hidden #passage-status role="status" {} }
}

/// The address of a source, at its start or its end.
fn jump_link(source: &str, to_end: bool) -> String {
    let link = PageLink::to("/source").with("source", source);
    link.with_some("to", to_end.then_some("end")).href()
}
