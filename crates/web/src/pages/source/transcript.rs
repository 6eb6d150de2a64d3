//! A conversation as a transcript: who said what, when, and how far it can be trusted.

use loci_core::MetadataValue;
use loci_engine::passage::are_joined;
use loci_engine::view::DrawerView;
use maud::{Markup, html};

use super::folded::FoldedKind;
use super::part::ShownSourcePart;
use super::pieces::{self, PieceLayout, ShownPiece};
use crate::parts::links::{PageLink, drawer_link, place_link};
use crate::parts::shown;
use crate::parts::syntax::{JSON, MARKDOWN, SyntaxRules};

/// The most characters of a name at a message; the page of the drawer has all of it.
const LONGEST_NAME: usize = 80;
/// The most pieces of a message that have links of their own.
const NAMED_PIECES: usize = 12;

/// Shows the messages of a part.
pub(super) fn messages(part: &ShownSourcePart<'_>) -> Markup {
    let joined = |first: &ShownPiece<'_>, second: &ShownPiece<'_>| {
        !first.is_cut() && are_joined(first.drawer, second.drawer)
    };
    let all: Vec<&[ShownPiece<'_>]> = part.pieces.chunk_by(joined).collect();
    let days = find_new_days(&all);
    let last = all.len().saturating_sub(1);
    html! {
        ol.transcript {
            @for (at, (pieces, day)) in all.iter().zip(&days).enumerate() {
                @if let Some(day) = day { (day_break(part, day)) }
                (message(part, pieces, at == 0 && part.continues_before, at == last && part.continues_after))
            }
        }
    }
}

/// Returns the day of each message with which a new one begins.
fn find_new_days(messages: &[&[ShownPiece<'_>]]) -> Vec<Option<String>> {
    let mut current = None;
    let days = messages.iter().map(|pieces| {
        let said = pieces.first().and_then(|piece| piece.drawer.said_at);
        let day = said
            .map(|time| time.day_text())
            .filter(|day| current.as_ref() != Some(day));
        current = day.clone().or(current.take());
        day
    });
    days.collect()
}

/// The line between two days.
fn day_break(part: &ShownSourcePart<'_>, day: &str) -> Markup {
    let link = PageLink::to("/timeline")
        .with("source", part.source)
        .with("day", day);
    html! { li.day-break data-day=(day) { a href=(link.href()) { (shown::calendar_day(day)) } } }
}

fn message(part: &ShownSourcePart<'_>, pieces: &[ShownPiece<'_>], continues: bool, goes_on: bool) -> Markup {
    let Some(first) = pieces.first() else {
        return html! {};
    };
    let drawer = first.drawer;
    let is_here = pieces.iter().any(|piece| piece.is_here);
    let folded = FoldedKind::from_drawer(drawer);
    let class = match (folded, drawer.kind.as_deref()) {
        (Some(_), _) => "message folded",
        (None, Some("human")) => "message human",
        (None, Some("assistant")) => "message assistant",
        (None, _) => "message",
    };
    let body = html! {
        @if continues { p.cut { "… continued from the part before" } }
        div.said.mono[folded.is_some()] dir="auto" tabindex=[folded.map(|_| "0")] { (pieces::text(pieces, PieceLayout { rules: rules_of(drawer, folded).filter(|_| part.has_colors), has_lines: false })) }
        @if goes_on { p.cut { "goes on in the next part …" } }
        @for damage in pieces.iter().flat_map(|piece| &piece.drawer.damage) { p.warning.small { "Damaged: " (shown::text(damage)) } }
        @if pieces.len() > 1 { (piece_links(pieces)) }
    };
    html! {
        li class=(class) data-item data-id=(drawer.id.as_str()) aria-current=[is_here.then_some("true")] {
            @match folded {
                Some(kind) => {
                    (place_of(part, drawer))
                    details open[is_here] {
                        summary { (summary(kind, drawer, first.text)) }
                        div.message-head { (shown::trust(drawer.trust)) (facts(drawer)) a href=(drawer_link(&drawer.id)) { "Details" } }
                        (body)
                    }
                },
                None => {
                    div.message-head {
                        h2.speaker { (short_name(speaker_of(drawer))) }
                        (shown::trust(drawer.trust))
                        (facts(drawer))
                        (place_of(part, drawer))
                        a href=(drawer_link(&drawer.id)) { "Details" }
                    }
                    (body)
                },
            }
        }
    }
}

fn rules_of(drawer: &DrawerView, folded: Option<FoldedKind>) -> Option<&'static SyntaxRules> {
    match (folded, drawer.kind.as_deref()) {
        (Some(FoldedKind::Call), _) => Some(&JSON),
        (None, Some("human" | "assistant")) | (Some(FoldedKind::Thought), _) => Some(&MARKDOWN),
        _ => None,
    }
}

/// The link to this place, which tells the time if one is known.
fn place_of(part: &ShownSourcePart<'_>, drawer: &DrawerView) -> Markup {
    html! {
        a.here-link href=(place_link(part.source, &drawer.id)) title="This place in the source" {
            @match drawer.said_at {
                Some(time) => (shown::time(time)),
                None => "this place",
            }
        }
    }
}

/// Shows the beginning of a name.
fn short_name(name: &str) -> Markup {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((cut, _)) => shown::name(&format!("{}…", name.get(..cut).unwrap_or_default())),
        None => shown::name(name),
    }
}

fn speaker_of(drawer: &DrawerView) -> &str {
    let named = drawer.speaker.as_deref().or(drawer.kind.as_deref());
    named.filter(|name| !name.trim().is_empty()).unwrap_or("Drawer")
}

/// What else is known of a message: its kind if that is unusual, an error, a branch that was left.
fn facts(drawer: &DrawerView) -> Markup {
    let entry = |key: &str| drawer.metadata.as_ref().and_then(|metadata| metadata.get(key));
    let failed = entry("error").is_some_and(|error| *error == MetadataValue::from(true));
    let kind = drawer.kind.as_deref();
    html! {
        @if let (Some(kind), false) = (kind, matches!(kind, Some("human" | "assistant")) || FoldedKind::from_drawer(drawer).is_some()) { span.kind { (short_name(kind)) } }
        @if let Some(model) = entry("model").and_then(MetadataValue::as_text) { span.kind { (short_name(model)) } }
        @if let Some(branch) = entry("branch").and_then(MetadataValue::as_text) { span.tag { (short_name(branch)) " branch" } }
        @if failed { span.tag { "failed" } }
    }
}

/// The one line of something folded.
fn summary(kind: FoldedKind, drawer: &DrawerView, text: &str) -> Markup {
    let tool = drawer
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("tool")?.as_text());
    let name = match kind {
        FoldedKind::Call | FoldedKind::Output => tool.or(drawer.speaker.as_deref()),
        FoldedKind::Thought | FoldedKind::Software => None,
    };
    let lines = text.lines().count() as u64;
    html! {
        span.folded-kind { (kind.label()) }
        @if let Some(name) = name { " " span.folded-name { (short_name(name)) } }
        " " span.folded-line { (shown::name(&kind.summarize(text))) }
        @if lines > 1 { " " span.muted.nowrap { (shown::count(lines, "line")) } }
    }
}

/// Links to the drawers of a message that was cut into several.
fn piece_links(pieces: &[ShownPiece<'_>]) -> Markup {
    html! {
        p.piece-links.small.muted { "Filed as " (shown::count(pieces.len() as u64, "drawer")) ":"
            @for (at, piece) in pieces.iter().take(NAMED_PIECES).enumerate() {
                " " a href=(drawer_link(&piece.drawer.id)) aria-label=(format!("Drawer {} of this message", at + 1)) { (at + 1) }
            }
        }
    }
}
