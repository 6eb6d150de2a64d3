//! A job that has ended: sentences, findings and lists, or why it failed.

use maud::{Markup, html};

use crate::jobs::{JobOutcome, OutcomeList};
use crate::parts::findings::finding;
use crate::parts::shown;

/// Shows what a job did.
pub(super) fn outcome(outcome: &JobOutcome) -> Markup {
    html! {
        h2 { @if outcome.is_problem { "Ended; something needs attention" } @else { "Done" } }
        @for sentence in &outcome.sentences { p dir="auto" { (shown::text(sentence)) } }
        @for found in &outcome.findings { (finding(found)) }
        @for list in &outcome.lists { (named_list(list)) }
    }
}

/// Shows why a job failed.
pub(super) fn failure(message: &str, hint: Option<&str>) -> Markup {
    html! {
        h2 { "Failed" }
        p.warning dir="auto" { (shown::text(message)) }
        @if let Some(hint) = hint { p dir="auto" { (shown::text(hint)) } }
    }
}

fn named_list(list: &OutcomeList) -> Markup {
    let all = list.items.len() as u64 + list.more;
    html! {
        details.outcome-list open[all <= 10] {
            summary { span dir="auto" { (shown::text(&list.title)) } " " span.muted { (shown::digits(all)) } }
            ul {
                @for item in &list.items {
                    li dir="auto" {
                        (shown::name(&item.name))
                        @if !item.note.is_empty() { span.muted { " — " (shown::text(&item.note)) } }
                    }
                }
            }
            @if list.more > 0 { p.muted.small { "and " (shown::digits(list.more)) " more" } }
        }
    }
}
