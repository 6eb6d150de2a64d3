//! Why a search does not find a drawer, step by step.

use loci_core::Error;
use loci_engine::search::{LegStanding, WhyNotReport};
use maud::{Markup, html};

use super::search::{read_request, search_form};
use crate::context::{PageContext, PageResult, required_id};
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::drawer_link;
use crate::parts::shown;

/// Shows the fate of one drawer in a search.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let query = fields.value("q").ok_or_else(|| {
        Error::invalid("a search is needed to explain why a drawer is not found")
            .with_hint("search for something first")
    })?;
    let report = context
        .palace()
        .explain_absence(&required_id(fields)?, &read_request(context, query)?)?;
    let content = html! {
        (search_form(context))
        section.panel.why-not-report {
            h1 { @if report.found.is_some() { "It is found" } @else { "Why it is not found" } }
            p { "Drawer " a href=(drawer_link(&report.id)) { code { (shown::name(report.id.as_str())) } } }
            (reasons(&report))
            (standing(&report))
        }
    };
    Ok(PageFrame::new(context, NavPage::Search, format!("Why not · {query}")).render(&content))
}

fn reasons(report: &WhyNotReport) -> Markup {
    html! {
        @if let Some(rank) = report.found { p { "It is result " (rank) " of this search." } }
        @if !report.reasons.is_empty() {
            ol.reasons {
                @for reason in &report.reasons {
                    li dir="auto" {
                        (shown::text(&reason.message))
                        @if let Some(hint) = reason.hint.as_deref() { span.muted { " — " (shown::text(hint)) } }
                    }
                }
            }
        }
        @for warning in &report.warnings { p.warning dir="auto" { (shown::text(&warning.message)) } }
    }
}

fn standing(report: &WhyNotReport) -> Markup {
    let place = |standing: &Option<LegStanding>| match standing {
        Some(standing) => format!(
            "rank {}, score {:.2}",
            shown::digits(standing.rank as u64),
            standing.score
        ),
        None => "not found".to_owned(),
    };
    html! {
        dl.kv {
            dt { "Searched" } dd { (shown::count(report.in_scope, "drawer")) }
            @if let Some(rank) = report.rank { dt { "Rank" } dd { (rank) } }
            dt { "By meaning" } dd { (place(&report.nearest)) }
            dt { "By words" } dd { (place(&report.lexical)) }
            dt { "Words it holds" } dd dir="auto" { (words(&report.words_held)) }
            dt { "Words it lacks" } dd dir="auto" { (words(&report.words_missing)) }
        }
    }
}

fn words(words: &[String]) -> Markup {
    html! {
        @if words.is_empty() { span.muted { "none" } }
        @for word in words { span.tag { (shown::name(word)) } " " }
    }
}
