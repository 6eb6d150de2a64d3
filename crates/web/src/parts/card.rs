//! A drawer as lists and results show it: where it stands, who said it when, and its words.

use std::ops::Range;

use loci_engine::view::{DrawerView, TrustMark};
use maud::{Markup, html};

use super::form_ids::id_field;
use super::links::{PageLink, anchor_name, drawer_link, place_link};
use super::shown;

/// The bytes of a text that a card shows.
pub(crate) const SHOWN_BYTES: usize = 420;

/// Shows where a drawer is filed, as links to its wing and room.
pub(crate) fn place(drawer: &DrawerView) -> Markup {
    let wing = drawer.wing.as_deref();
    html! {
        span.place {
            @match wing {
                Some(wing) => a href=(PageLink::to("/map").with("wing", wing).href()) { (shown::name(wing)) },
                None => span.none { "no wing" },
            }
            @if let Some(room) = drawer.room.as_deref() {
                span.slash aria-hidden="true" { "/" }
                a href=(PageLink::to("/list").with_some("wing", wing).with("room", room).href()) { (shown::name(room)) }
            }
        }
    }
}

/// Shows the line above the words of a drawer: place, time, speaker, kind, trust.
pub(crate) fn head(drawer: &DrawerView) -> Markup {
    html! {
        div.card-head {
            (place(drawer))
            @if let Some(time) = drawer.said_at.or(drawer.filed_at) { (shown::time(time)) }
            @if let Some(speaker) = drawer.speaker.as_deref().filter(|speaker| *speaker != drawer.trust.name()) { span.speaker { (shown::name(speaker)) } }
            @if let Some(kind) = own_kind(drawer) { span.kind { (shown::name(kind)) } }
            (shown::trust(drawer.trust))
        }
    }
}

/// Returns the kind of a drawer, unless its speaker or its mark of trust says the same.
fn own_kind(drawer: &DrawerView) -> Option<&str> {
    let kind = drawer.kind.as_deref()?;
    let is_told = drawer.speaker.as_deref() == Some(kind)
        || matches!(
            (drawer.trust, kind),
            (TrustMark::User, "human") | (TrustMark::Agent, "assistant") | (TrustMark::File, "file")
        );
    (!is_told).then_some(kind)
}

/// Shows where the words of a drawer stand in their source, as a link to that place.
pub(crate) fn source(drawer: &DrawerView) -> Markup {
    html! {
        @if let Some(source) = drawer.source.as_deref() {
            a.source href=(place_link(source, &drawer.id)) {
                (shown::name(source))
                @if let Some(span) = drawer.span.filter(|span| span.line_start > 0) {
                    span.lines { " :" (span.line_start) @if span.line_end > span.line_start { "–" (span.line_end) } }
                }
            }
        }
    }
}

/// Shows a part of a text, with ellipses where it goes on.
pub(crate) fn excerpt(text: &str, marks: &[Range<usize>], part: Range<usize>) -> Markup {
    let within: Vec<Range<usize>> = marks
        .iter()
        .filter(|mark| mark.start >= part.start && mark.end <= part.end)
        .map(|mark| mark.start - part.start..mark.end - part.start)
        .collect();
    html! {
        @if part.start > 0 { span.cut { "… " } }
        (shown::marked_text(text.get(part.clone()).unwrap_or_default(), &within))
        @if part.end < text.len() { span.cut { " …" } }
    }
}

/// Shows a drawer in a list. The item can be chosen by key.
pub(crate) fn list_item(drawer: &DrawerView) -> Markup {
    html! {
        li.card #(anchor_name(&drawer.id)) data-item data-id=(drawer.id.as_str()) { (body(drawer)) }
    }
}

/// Shows a drawer in a list with a box that adds it to the form `selection`.
pub(crate) fn selectable_item(drawer: &DrawerView) -> Markup {
    let (name, value) = id_field(&drawer.id);
    let label = format!("Choose the drawer {}", shown::plain_name(drawer.id.as_str()));
    html! {
        li.card.with-box #(anchor_name(&drawer.id)) data-item data-id=(drawer.id.as_str()) {
            input type="checkbox" form="selection" name=(name) value=(value) aria-label=(label);
            div { (body(drawer)) }
        }
    }
}

/// Shows what a card holds: the line above the words, the words, and where they stand in their source.
pub(crate) fn body(drawer: &DrawerView) -> Markup {
    let text = drawer.whole_text();
    let part = loci_engine::search::choose_excerpt(text, &[], SHOWN_BYTES);
    html! {
        (head(drawer))
        a.words href=(drawer_link(&drawer.id)) dir="auto" {
            @if text.is_empty() { span.muted { "no text" } } @else { (excerpt(text, &[], part)) }
        }
        @for damage in &drawer.damage { p.warning.small { "Damaged: " (shown::text(damage)) } }
        div.card-foot { (source(drawer)) }
    }
}
