//! The hits of a search: words in their place, and why each ranked where it did.

use loci_engine::search::{HitEvidence, SearchReport, choose_excerpt, mark_words};
use loci_engine::view::{HitView, NearTwinView};
use maud::{Markup, html};

use super::percent;
use crate::context::PageContext;
use crate::parts::card;
use crate::parts::links::{PageLink, anchor_name, drawer_link, place_link};
use crate::parts::shown;

/// The other places of a hit that are named.
const NAMED_PLACES: usize = 6;

/// Shows the hits of a page.
pub(super) fn list(context: PageContext<'_>, report: &SearchReport, shown_before: usize) -> Markup {
    let words = report.plan.as_ref().map_or(&[][..], |plan| plan.words.as_slice());
    html! {
        @if !report.hits.is_empty() {
            ol.hit-list start=(shown_before + 1) {
                @for (at, hit) in report.hits.iter().enumerate() { (item(context, shown_before + at + 1, hit, words, report)) }
            }
        }
    }
}

fn item(
    context: PageContext<'_>,
    rank: usize,
    hit: &HitView,
    words: &[String],
    report: &SearchReport,
) -> Markup {
    let drawer = &hit.drawer;
    let text = drawer.whole_text();
    let marks = mark_words(text, words);
    let part = choose_excerpt(text, &marks, card::SHOWN_BYTES);
    // From a hit to its place: a drawer without a source stands alone.
    let href = match drawer.source.as_deref() {
        Some(source) => place_link(source, &drawer.id),
        None => drawer_link(&drawer.id),
    };
    html! {
        li.card #(anchor_name(&drawer.id)) data-item data-id=(drawer.id.as_str()) {
            (card::head(drawer))
            a.words href=(href) dir="auto" { (card::excerpt(text, &marks, part)) }
            @for damage in &drawer.damage { p.warning.small { "Damaged: " (shown::text(damage)) } }
            div.card-foot {
                (card::source(drawer))
                a href=(drawer_link(&drawer.id)) { "Details" }
                details.why {
                    summary { "Why " @if report.verdict.is_some() { span.score title="the probability that it holds an answer" { (percent(hit.score)) } } }
                    (evidence(rank, hit, context, report))
                }
            }
            @if let Some(twins) = hit.also_in.as_deref().filter(|twins| !twins.is_empty()) { (also_in(twins)) }
        }
    }
}

/// Shows the evidence for a hit.
fn evidence(rank: usize, hit: &HitView, context: PageContext<'_>, report: &SearchReport) -> Markup {
    let why: &HitEvidence = &hit.why;
    html! {
        ul.evidence {
            li { "Rank " (rank) @if report.verdict.is_some() { ", answers with a probability of " (percent(hit.score)) } @else { ", score " (hit.score) } }
            @if let Some(distance) = hit.distance { li { "Distance of its vector: " (distance) } }
            @if let Some(standing) = why.nearest { li { "By meaning: rank " (standing.rank) ", similarity " (format!("{:.2}", standing.score)) } }
            @else if report.legs.nearest.ran { li { "By meaning: not among the nearest" } }
            @if let Some(standing) = why.lexical { li { "By words: rank " (standing.rank) ", BM25 " (format!("{:.1}", standing.score)) } }
            @else if report.legs.lexical.ran { li { "By words: none of the matched words" } }
            @if why.words > 0.0 { li { "Holds " (percent(why.words)) " of the words, rare ones counted more" } }
            @if why.literal { li { "Holds a name or phrase of the query letter for letter" } }
            @if why.defines { li { "Defines it" } }
            @if why.own_words { li { "A person said it, and the query asks for one's own words" } }
            @if let Some(said) = why.said.as_deref() { li { "Said in the time that “" (shown::name(said)) "” names" } }
            @if let Some(source) = why.source { li { (shown::count(source.pieces as u64, "piece")) " of its source found" } }
            @if let Some(source) = hit.drawer.source.as_deref() {
                li { a href=(super::with_fields(PageLink::to("/search"), context).without("source").with("source", source).href()) { "Search this source alone" } }
            }
        }
    }
}

/// Shows the other places of nearly the same text.
fn also_in(twins: &[NearTwinView]) -> Markup {
    html! {
        details.also {
            summary { "Nearly the same in " (shown::count(twins.len() as u64, "other place")) }
            ul {
                @for twin in twins.iter().take(NAMED_PLACES) {
                    li {
                        a href=(drawer_link(&twin.id)) {
                            @match twin.source.as_deref().or(twin.wing.as_deref()) {
                                Some(name) => (shown::name(name)),
                                None => (shown::name(twin.id.as_str())),
                            }
                        }
                        @if let Some(time) = twin.said_at { " " (shown::time(time)) }
                    }
                }
                @if twins.len() > NAMED_PLACES { li.muted { "and " (twins.len() - NAMED_PLACES) " more" } }
            }
        }
    }
}
