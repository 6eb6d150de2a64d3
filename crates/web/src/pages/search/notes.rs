//! What a reader should know besides the hits: how the query was read, what was left out, what is uncertain.

use loci_core::Timestamp;
use loci_engine::search::{LegStatus, MentionedTime, PlanReport, SearchReport, SearchVerdict};
use maud::{Markup, html};

use super::{drawers, with_fields};
use crate::context::PageContext;
use crate::parts::findings::finding;
use crate::parts::links::{PageLink, SCOPE_FIELDS};
use crate::parts::{scope_form, shown};

/// The codes of findings that the verdict shows in its own words.
const SAID_ABOVE: [&str; 2] = ["unknown_words", "unlikely_answer"];

/// Shows the line above the hits, and notes about the answer.
pub(super) fn summary(
    context: PageContext<'_>,
    report: &SearchReport,
    shown_before: usize,
    page: usize,
) -> Markup {
    let found_nothing = report.hits.is_empty() && shown_before == 0;
    html! {
        div.search-notes {
            p.muted[!found_nothing].nothing[found_nothing] role="status" {
                @if found_nothing { "Nothing found in " (drawers(report.in_scope)) "." }
                @else if report.hits.is_empty() { "No more results." }
                @else { "Results " (shown_before + 1) "–" (shown_before + report.hits.len()) " in " (drawers(report.in_scope)) }
            }
            @if let Some(verdict) = &report.verdict { (show_verdict(verdict, report)) }
            @for date in &report.dates { (show_time(date)) }
            @if report.tool_output_left_out > 0 && report.hits.len() < page {
                p { (drawers(report.tool_output_left_out)) " of tool output not searched. "
                    a.text-link href=(with_fields(PageLink::to("/search"), context).with("tools", "1").href()) { "Search tool output, too" } }
            }
            @for warning in report.warnings.iter().filter(|warning| !SAID_ABOVE.contains(&warning.code.as_str())) { (finding(warning)) }
            @if found_nothing { (other_ways(context)) }
            (show_plan(report))
        }
    }
}

/// Shows how more may be found, where nothing was.
fn other_ways(context: PageContext<'_>) -> Markup {
    let fields = context.query();
    let again = with_fields(PageLink::to("/search"), context);
    html! {
        ul.ways {
            @if fields.value("only").is_some() {
                li { a.text-link href=(again.clone().without("only").href()) { "Rank by words and meaning" } }
            }
            @if SCOPE_FIELDS.iter().any(|name| fields.value(name).is_some()) {
                @let everywhere = SCOPE_FIELDS.iter().fold(again, |link, name| link.without(name));
                li { a.text-link href=(everywhere.href()) { "Search everything" } }
            }
            li { "Try other words, or fewer" }
        }
    }
}

fn show_verdict(verdict: &SearchVerdict, report: &SearchReport) -> Markup {
    let by_words = report.hits.iter().any(|hit| hit.why.lexical.is_some());
    html! {
        @if !report.hits.is_empty() && !verdict.speaks_for_answer() {
            p.warning { "Nothing found speaks for an answer; these are the nearest. Other words may find more." }
        } @else if !report.hits.is_empty() && !by_words && report.legs.lexical.ran {
            p { "No drawer contains these words; these are the nearest by meaning." }
        }
        @if !verdict.unknown_words.is_empty() {
            p dir="auto" { "No drawer contains: " @for word in &verdict.unknown_words { span.tag { (shown::name(word)) } " " } }
        }
    }
}

/// Shows how words of the query were read as a time.
fn show_time(date: &MentionedTime) -> Markup {
    let last = Timestamp::from_micros(date.before.as_micros() - 1).unwrap_or(date.before);
    let (from, before, last) = (date.from.day_text(), date.before.day_text(), last.day_text());
    // Half-open times reach to the ends of the calendar.
    let span = match (from.starts_with("0001"), before.starts_with("9999")) {
        (true, _) => format!("before {before}"),
        (_, true) => format!("{from} or later"),
        _ if from == last => from,
        _ => format!("{from} to {last}"),
    };
    html! {
        p dir="auto" {
            "“" (shown::name(&date.words)) "” read as " (span)
            @if date.assumed { ", the last with drawers" }
            "; "
            @if date.drawers == 0 { "no drawer is from that time, so it is ignored." }
            @else if date.alone { (drawers(date.drawers)) " from that time searched." }
            @else { (drawers(date.drawers)) " from that time rank higher." }
        }
    }
}

/// Shows how the query was read, folded away.
fn show_plan(report: &SearchReport) -> Markup {
    html! {
        details.plan {
            summary { "How this was searched" }
            dl.kv {
                @if let Some(plan) = &report.plan {
                    dt { "Matched words" } dd dir="auto" { (shown::name(&plan.text)) }
                    @if !plan.left_out.is_empty() { dt { "Ignored" } dd dir="auto" { (shown::name(&plan.left_out.join(" "))) } }
                }
                dt { "Meaning" } dd { (leg(&report.legs.nearest, report.plan.as_ref().map(|plan: &PlanReport| plan.weights.nearest))) }
                dt { "Words" } dd { (leg(&report.legs.lexical, report.plan.as_ref().map(|plan| plan.weights.lexical))) }
            }
        }
    }
}

fn leg(status: &LegStatus, weight: Option<f32>) -> Markup {
    html! {
        @if status.ran {
            // Rounded down, so that 100.0 % always means all of them.
            "covered " (format!("{:.1} %", (status.coverage * 1000.0).floor() / 10.0))
            @if let Some(weight) = weight { ", weight " (format!("{weight:.2}")) }
            @if status.approximate { ", approximate" }
        } @else { "did not run" }
        @if let Some(reason) = status.reason.as_deref() { ": " (shown::text(reason)) }
    }
}

/// The box that asks why a drawer is not among the hits.
pub(super) fn why_not_form(context: PageContext<'_>, query: &str) -> Markup {
    html! {
        details.why-not {
            summary { "Why is a drawer not here?" }
            form.row action="/why-not" {
                input type="hidden" name="q" value=(query);
                (scope_form::hidden_fields(context.query()))
                @if context.query().is_ticked("tools") { input type="hidden" name="tools" value="1"; }
                label.field { span { "Its id, or the beginning of it" } input name="id" required autocomplete="off"; }
                button { "Explain" }
            }
        }
    }
}
