//! One drawer: its whole text, what is known of it, and what can be done with it.

use loci_core::{DrawerId, Error, ErrorKind, MetadataScalar, MetadataValue};
use loci_engine::show::ShowRequest;
use loci_engine::view::DrawerView;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult, required_id};
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, WHOLE, source_link, whole_drawer_link};
use crate::parts::{card, shown};

/// The bytes of a text that are shown unasked.
const SHOWN_BYTES: usize = 100_000;

/// Shows a drawer.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let id = required_id(context.query())?;
    let report = context.palace().show(&ShowRequest {
        ids: vec![id.clone()],
        embeddings: false,
    })?;
    let drawer = report
        .drawers
        .into_iter()
        .next()
        .ok_or_else(|| missing_drawer(&id))?;
    let content = html! {
        div.page-head {
            h1 { "Drawer" }
            @if !context.access().is_read_only() { (acts(context, &drawer)) }
        }
        article.drawer data-item data-id=(drawer.id.as_str()) {
            (card::head(&drawer))
            @for damage in &drawer.damage { p.warning { "Damaged: " (shown::text(damage)) } }
            @match drawer.text.as_deref() {
                Some(text) => (words(context, &drawer.id, text)),
                None => p.muted { "This drawer has no text." },
            }
            div.card-foot { (card::source(&drawer)) }
        }
        section.panel.about aria-labelledby="about" { h2 #about { "About it" } (facts(&drawer)) }
    };
    Ok(PageFrame::new(context, NavPage::None, "Drawer").render(&content))
}

/// Shows the text of a drawer; of a very long one the beginning, unless all of it is asked for.
fn words(context: PageContext<'_>, id: &DrawerId, text: &str) -> Markup {
    let end = if context.query().is_ticked(WHOLE) {
        text.len()
    } else {
        text.floor_char_boundary(SHOWN_BYTES)
    };
    html! {
        pre.drawer-text dir="auto" tabindex="0" aria-label="Text" { (shown::text(text.get(..end).unwrap_or(text))) }
        @if end < text.len() {
            p.small {
                "The first " (shown::bytes(end as u64)) " of " (shown::bytes(text.len() as u64)) ". "
                a href=(whole_drawer_link(id)) { "Show all of it" }
            }
        }
    }
}

/// Says that no drawer has an id.
pub(crate) fn missing_drawer(id: &DrawerId) -> Error {
    let message = format!("no drawer has the id {:?}", id.as_str());
    Error::new(ErrorKind::NotFound, message)
        .with_hint("it was removed, or the address is not complete; search for its words")
}

fn acts(context: PageContext<'_>, drawer: &DrawerView) -> Markup {
    let link = |path: &'static str| PageLink::to(path).with("id", drawer.id.as_str()).href();
    html! {
        nav.row aria-label="Acts" {
            @if context.may_write() {
                a.button href=(link("/edit")) data-key="e" { "Edit" }
                a.button href=(link("/move")) { "Move" }
            }
            @if context.access().may_delete() { a.button href=(link("/delete")) { "Delete" } }
            @if context.access().may_forget() { a.button href=(link("/forget")) { "Forget" } }
        }
    }
}

/// Everything that is known of a drawer.
fn facts(drawer: &DrawerView) -> Markup {
    html! {
        dl.kv {
            dt { "Id" } dd { code { (shown::name(drawer.id.as_str())) } }
            @if let Some(source) = drawer.source.as_deref() {
                dt { "Source" } dd { a href=(source_link(source)) { (shown::name(source)) } }
            }
            @if let Some(span) = drawer.span {
                dt { "Place in it" } dd { "bytes " (shown::digits(span.start)) "–" (shown::digits(span.end))
                    @if span.line_start > 0 { ", lines " (span.line_start) "–" (span.line_end) } }
            }
            @if let Some(time) = drawer.said_at { dt { "Said" } dd { (shown::time(time)) } }
            @if let Some(time) = drawer.filed_at { dt { "Filed" } dd { (shown::time(time)) } }
            @if let Some(provenance) = &drawer.provenance {
                dt { "Filed through" } dd { (provenance.door.name()) ", as " (provenance.origin.name())
                    @if let Some(by) = provenance.by.as_deref() { ", by " (shown::name(by)) } }
            }
            @if drawer.uses > 0 { dt { "Used" } dd { (shown::count(drawer.uses, "time")) } }
            @if let Some(metadata) = &drawer.metadata {
                @for (key, value) in metadata.iter() {
                    dt dir="auto" { (shown::name(key)) } dd dir="auto" { (shown::text(&value_text(value))) }
                }
            }
        }
    }
}

fn value_text(value: &MetadataValue) -> String {
    let scalar = |scalar: &MetadataScalar| match scalar {
        MetadataScalar::Text(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    match value {
        MetadataValue::One(one) => scalar(one),
        MetadataValue::Many(several) => several.iter().map(scalar).collect::<Vec<_>>().join(", "),
    }
}
