//! The diaries of agents: who keeps one, and the entries, newest first.

use loci_core::{ErrorKind, FacetKey, Result};
use loci_engine::diary::{DIARY, DiaryReport, DiaryRequest};
use loci_engine::facets::FacetsRequest;
use loci_engine::view::{DrawerScope, DrawerView};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, drawer_link};
use crate::parts::shown;

/// The entries of a page.
const PAGE: usize = 30;

/// An agent's diary in a wing.
#[derive(Debug)]
struct DiaryRow {
    agent: String,
    wing: Option<String>,
    entries: u64,
}

/// Shows the diary of the agent that the address names, or all diaries.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    match fields.value("agent") {
        Some(agent) => show_diary(context, agent),
        None => show_diaries(context),
    }
}

fn show_diaries(context: PageContext<'_>) -> PageResult {
    let diaries = list_diaries(context)?;
    let content = html! {
        div.page-head { h1 { "Diaries" } nav.row.small aria-label="More" { a href="/wake-up" { "Wake-up" } } }
        @if diaries.is_empty() {
            div.empty { p { "No agent has written a diary here yet. Agents write with the tool diary_write." } }
        } @else {
            ul.wing-cards {
                @for diary in &diaries {
                    li.panel.wing-card data-item {
                        h2 dir="auto" { a href=(diary_link(diary).href()) { (shown::name(&diary.agent)) } }
                        p.small.muted dir="auto" {
                            (count_entries(diary.entries))
                            @if let Some(wing) = diary.wing.as_deref().filter(|wing| *wing != diary.agent) { " in " (shown::name(wing)) }
                        }
                    }
                }
            }
        }
    };
    Ok(PageFrame::new(context, NavPage::Diary, "Diaries").render(&content))
}

fn count_entries(entries: u64) -> String {
    match entries {
        1 => "1 entry".to_owned(),
        entries => format!("{} entries", shown::digits(entries)),
    }
}

fn diary_link(diary: &DiaryRow) -> PageLink {
    PageLink::to("/diary")
        .with("agent", &diary.agent)
        .with_some("wing", diary.wing.as_deref())
}

/// Lists every diary, the longest first.
fn list_diaries(context: PageContext<'_>) -> Result<Vec<DiaryRow>> {
    let request = FacetsRequest {
        by: vec![FacetKey::Wing, FacetKey::Speaker],
        scope: DrawerScope {
            room: Some(DIARY.to_owned()),
            kind: Some(DIARY.to_owned()),
            ..DrawerScope::default()
        },
    };
    let report = match context.palace().count_facets(&request) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        report => report?,
    };
    let rows = report.facets.iter().filter_map(|row| {
        let text = |name: &str| row.get(name)?.as_str().map(str::to_owned);
        Some(DiaryRow {
            agent: text("speaker")?,
            wing: text("wing"),
            entries: row.get("drawers")?.as_u64()?,
        })
    });
    let mut diaries: Vec<DiaryRow> = rows.collect();
    diaries.sort_by(|one, other| {
        other
            .entries
            .cmp(&one.entries)
            .then_with(|| one.agent.cmp(&other.agent))
    });
    Ok(diaries)
}

fn show_diary(context: PageContext<'_>, agent: &str) -> PageResult {
    let fields = context.query();
    let report = context.palace().read_diary(&DiaryRequest {
        agent: agent.to_owned(),
        wing: fields.value("wing").map(str::to_owned),
        cursor: fields.value("cursor").map(str::to_owned),
        limit: PAGE,
    })?;
    let content = html! {
        nav aria-label="Place" { ol.crumbs { li { a href="/diary" { "Diaries" } } li { (shown::name(&report.agent)) } } }
        div.page-head { h1 dir="auto" { "Diary of " (shown::name(&report.agent)) " " span.muted { (shown::digits(report.total)) } } }
        @for warning in &report.warnings { (finding(warning)) }
        (entries(context, &report))
    };
    Ok(PageFrame::new(context, NavPage::Diary, format!("Diary of {agent}")).render(&content))
}

fn entries(context: PageContext<'_>, report: &DiaryReport) -> Markup {
    let link = |cursor: &str| {
        let link = PageLink::to("/diary").with("agent", &report.agent);
        link.with_some("wing", context.query().value("wing"))
            .with("cursor", cursor)
            .href()
    };
    html! {
        @if report.entries.is_empty() { div.empty { p { "No entries here." } } }
        ol.card-list.diary { @for drawer in &report.entries { (entry(drawer)) } }
        @if let Some(next) = &report.next {
            nav.pager aria-label="More entries" { a.button rel="next" href=(link(next)) { "Earlier entries" } }
        }
    }
}

/// Shows an entry whole: a diary is read, and not searched.
fn entry(drawer: &DrawerView) -> Markup {
    let topic = drawer
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("topic")?.as_text());
    html! {
        li.card data-item data-id=(drawer.id.as_str()) {
            div.card-head {
                @if let Some(time) = drawer.said_at.or(drawer.filed_at) { a href=(drawer_link(&drawer.id)) { (shown::time(time)) } }
                @if let Some(topic) = topic { span.tag { (shown::name(topic)) } }
                (shown::trust(drawer.trust))
            }
            @for damage in &drawer.damage { p.warning.small { "Damaged: " (shown::text(damage)) } }
            p.diary-text dir="auto" { (shown::text(drawer.whole_text())) }
        }
    }
}
