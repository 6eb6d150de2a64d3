//! The map: wings, the rooms of one, and the sources of those.

use loci_core::{DrawerOrder, Error, ErrorKind, FacetKey, Filter, Result, Timestamp};
use loci_engine::facets::{FacetsRequest, WingCount};
use loci_engine::list::ListRequest;
use loci_engine::view::DrawerScope;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, source_link};
use crate::parts::shown;

/// The wings or rooms whose newest drawer is looked up.
const DATED: usize = 60;
/// The sources of a page.
const SOURCES: usize = 50;

/// Shows the wings, or the rooms and sources of one wing or room.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    match fields.value("wing") {
        Some(wing) => show_wing(context, wing, fields.value("room")),
        None => show_wings(context),
    }
}

fn show_wings(context: PageContext<'_>) -> PageResult {
    let report = context.palace().list_wings(&DrawerScope::default())?;
    let drawers: u64 = report.wings.iter().map(|wing| wing.drawers).sum();
    let most = report.wings.first().map_or(1, |wing| wing.drawers.max(1));
    let rows = report.wings.iter().enumerate().map(|(at, wing)| {
        let scope = DrawerScope {
            wing: wing.wing.clone(),
            ..DrawerScope::default()
        };
        let newest = match (at < DATED, &wing.wing) {
            (true, Some(_)) => newest(context, &scope)?,
            _ => None,
        };
        Ok((wing, newest))
    });
    let rows: Vec<(&WingCount, Option<Timestamp>)> = rows.collect::<Result<_>>()?;
    let content = html! {
        div.page-head { h1 { "Map" } p.muted { (shown::count(drawers, "drawer")) " in " (shown::count(report.wings.len() as u64, "wing")) } }
        @for warning in &report.warnings { (finding(warning)) }
        @if rows.is_empty() { div.empty { p { "Nothing is filed here yet." } } }
        ul.wing-cards {
            @for (wing, newest) in &rows { (wing_card(wing, *newest, most)) }
        }
    };
    Ok(PageFrame::new(context, NavPage::Map, "Map").render(&content))
}

fn wing_card(wing: &WingCount, newest: Option<Timestamp>, most: u64) -> Markup {
    let name = wing.wing.as_deref();
    let room_link = |room: &str| {
        PageLink::to("/map")
            .with_some("wing", name)
            .with("room", room)
            .href()
    };
    html! {
        li.wing-card.panel data-item {
            h2 { @match name {
                Some(name) => a href=(PageLink::to("/map").with("wing", name).href()) { (shown::name(name)) },
                None => span.muted { "no wing" },
            } }
            p.muted.small { (shown::count(wing.drawers, "drawer")) @if let Some(newest) = newest { " · newest " (shown::day(newest)) } }
            meter.bar min="0" max=(most) value=(wing.drawers) aria-hidden="true" {}
            @if name.is_some() {
                ul.room-tags aria-label="Rooms" {
                    @for room in wing.rooms.iter().take(8) {
                        @if let Some(room_name) = room.room.as_deref() {
                            li { a.tag href=(room_link(room_name)) { (shown::name(room_name)) span.num { (shown::digits(room.drawers)) } } }
                        }
                    }
                    @if wing.rooms.len() > 8 { li.muted.small { "and " (wing.rooms.len() - 8) " more" } }
                }
            }
        }
    }
}

/// Finds the time of the newest drawer of a scope.
fn newest(context: PageContext<'_>, scope: &DrawerScope) -> Result<Option<Timestamp>> {
    let request = |order| ListRequest {
        scope: scope.clone(),
        order,
        cursor: None,
        limit: 1,
        embeddings: false,
        total: false,
    };
    let said = context.palace().list(&request(DrawerOrder::NewestSaid))?;
    let drawer = said.drawers.into_iter().next();
    Ok(drawer.and_then(|drawer| drawer.said_at.or(drawer.filed_at)))
}

fn show_wing(context: PageContext<'_>, wing: &str, room: Option<&str>) -> PageResult {
    let scope = DrawerScope {
        wing: Some(wing.to_owned()),
        room: room.map(str::to_owned),
        ..DrawerScope::default()
    };
    let report = context.palace().list_wings(&scope)?;
    let sources = list_sources(context, &scope)?;
    let drawers: u64 = report.wings.iter().map(|wing| wing.drawers).sum();
    if drawers == 0 {
        let place = room.map_or_else(|| format!("{wing:?}"), |room| format!("{wing:?} / {room:?}"));
        let error = Error::new(ErrorKind::NotFound, format!("no drawer is in {place}"));
        return Err(error.with_hint("the map lists the wings and their rooms"));
    }
    let list = PageLink::to("/list")
        .with("wing", wing)
        .with_some("room", room)
        .href();
    let content = html! {
        nav aria-label="Path" {
            ol.crumbs {
                li { a href="/map" { "Map" } }
                @if room.is_some() { li { a href=(PageLink::to("/map").with("wing", wing).href()) { (shown::name(wing)) } } }
            }
        }
        div.page-head {
            h1 { (shown::name(room.unwrap_or(wing))) }
            p.row { span.muted { (shown::count(drawers, "drawer")) } a href=(list) { "All drawers" }
                a href=(PageLink::to("/timeline").with("wing", wing).with_some("room", room).href()) { "Timeline" } }
        }
        (narrowed_search(wing, room))
        @for warning in &report.warnings { (finding(warning)) }
        @if room.is_none() { @for wing in &report.wings { (rooms(context, wing)?) } }
        (source_table(context, &sources)?)
    };
    Ok(PageFrame::new(context, NavPage::Map, room.unwrap_or(wing)).render(&content))
}

/// A box that searches this part of the palace.
fn narrowed_search(wing: &str, room: Option<&str>) -> Markup {
    html! {
        form.search.small role="search" action="/search" aria-label="Search here" {
            div.search-line {
                input type="hidden" name="wing" value=(wing);
                @if let Some(room) = room { input type="hidden" name="room" value=(room); }
                input type="search" name="q" placeholder="Search here" aria-label="Search here" autocomplete="off" dir="auto";
                button { "Search" }
            }
        }
    }
}

fn rooms(context: PageContext<'_>, wing: &WingCount) -> Result<Markup> {
    let most = wing.rooms.first().map_or(1, |room| room.drawers.max(1));
    let mut rows = Vec::new();
    for (at, room) in wing.rooms.iter().enumerate() {
        let scope = DrawerScope {
            wing: wing.wing.clone(),
            room: room.room.clone(),
            ..DrawerScope::default()
        };
        let newest = if at < DATED && room.room.is_some() {
            newest(context, &scope)?
        } else {
            None
        };
        rows.push((room, newest));
    }
    Ok(html! {
        section aria-labelledby="rooms" {
            h2 #rooms { "Rooms" }
            div.scroll-x { table.table {
                thead { tr { th scope="col" { "Room" } th.num scope="col" { "Drawers" } th.wide-only scope="col" { span.visually-hidden { "Share" } } th scope="col" { "Newest" } } }
                tbody {
                    @for (room, newest) in &rows {
                        tr data-item {
                            td { @match room.room.as_deref() {
                                Some(name) => a href=(PageLink::to("/map").with_some("wing", wing.wing.as_deref()).with("room", name).href()) { (shown::name(name)) },
                                None => span.muted { "no room" },
                            } }
                            td.num { (shown::digits(room.drawers)) }
                            td.wide-only { meter.bar min="0" max=(most) value=(room.drawers) aria-hidden="true" {} }
                            td { @if let Some(newest) = newest { (shown::day(*newest)) } }
                        }
                    }
                }
            } }
        }
    })
}

/// The sources of a scope with their drawers, most first.
fn list_sources(context: PageContext<'_>, scope: &DrawerScope) -> Result<Vec<(Option<String>, u64)>> {
    let report = context.palace().count_facets(&FacetsRequest {
        by: vec![FacetKey::Source],
        scope: scope.clone(),
    })?;
    let rows = report.facets.into_iter().filter_map(|row| {
        let drawers = row.get("drawers")?.as_u64()?;
        Some((row.get("source")?.as_str().map(str::to_owned), drawers))
    });
    let mut sources: Vec<(Option<String>, u64)> = rows.collect();
    sources.sort_by(|(name, drawers), (other, more)| more.cmp(drawers).then_with(|| name.cmp(other)));
    Ok(sources)
}

fn source_table(context: PageContext<'_>, sources: &[(Option<String>, u64)]) -> Result<Markup> {
    let fields = context.query();
    let skipped = fields
        .value("skip")
        .and_then(|skip| skip.parse::<usize>().ok())
        .unwrap_or(0);
    let mut rows = Vec::new();
    for (name, drawers) in sources.iter().skip(skipped).take(SOURCES) {
        let about = match name {
            Some(name) => read_source_facts(context, name)?,
            None => SourceFacts::default(),
        };
        rows.push((name, *drawers, about));
    }
    let next = skipped + rows.len();
    Ok(html! {
        section aria-labelledby="sources" {
            h2 #sources { "Sources " span.muted { (shown::digits(sources.len() as u64)) } }
            div.scroll-x { table.table {
                thead { tr { th scope="col" { "Source" } th.num scope="col" { "Drawers" } th.num.roomy scope="col" { "Size" } th scope="col" { "Newest" } } }
                tbody {
                    @for (name, drawers, about) in &rows {
                        tr data-item {
                            td { @match name {
                                Some(name) => a href=(source_link(name)) { (shown::name(name)) },
                                None => span.muted { "without a source" },
                            } }
                            td.num { (shown::digits(*drawers)) }
                            td.num.roomy { @if let Some(bytes) = about.bytes { (shown::bytes(bytes)) } }
                            td { @if let Some(newest) = about.newest { (shown::day(newest)) } }
                        }
                    }
                }
            } }
            @if next < sources.len() {
                @let link = PageLink::to("/map").with_some("wing", fields.value("wing")).with_some("room", fields.value("room")).with("skip", next.to_string());
                nav.pager aria-label="Pages of sources" { a.button rel="next" href=(link.at("sources").href()) { "More sources" } }
            }
        }
    })
}

/// What the map shows of a source besides its drawers.
#[derive(Debug, Default)]
struct SourceFacts {
    /// The bytes up to the end of its newest drawer.
    bytes: Option<u64>,
    newest: Option<Timestamp>,
}

/// Reads the facts of a whole source, which is nearly always in one room: only its own drawers need to be looked at.
fn read_source_facts(context: PageContext<'_>, source: &str) -> Result<SourceFacts> {
    let report = context.palace().list(&ListRequest {
        scope: DrawerScope {
            // By its whole name, since the end of a path may fit several sources.
            filter: Filter::text_equals("source", source),
            ..DrawerScope::default()
        },
        order: DrawerOrder::NewestSaid,
        cursor: None,
        limit: 1,
        embeddings: false,
        total: false,
    })?;
    let Some(drawer) = report.drawers.into_iter().next() else {
        return Ok(SourceFacts::default());
    };
    Ok(SourceFacts {
        bytes: drawer.span.map(|span| span.end),
        newest: drawer.said_at.or(drawer.filed_at),
    })
}
