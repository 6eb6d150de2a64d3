//! The wake-up: what an agent is told when it starts, letter for letter.

use loci_core::{Error, ErrorKind, Result};
use loci_engine::view::DrawerScope;
use loci_engine::wake_up::FEWEST_TOKENS;
use loci_engine::{WakeUpReport, WakeUpRequest};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::shown;
use crate::request::PageFields;

/// The budget unless another is named: that of `loci wake-up`.
const USUAL_TOKENS: usize = 800;
/// The largest budget that a page shows.
const MOST_TOKENS: usize = 100_000;

/// Shows the wake-up of a wing, or of the whole palace.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let tokens = read_budget(fields)?;
    let wing = fields.value("wing");
    let written = context.palace().wake_up(&WakeUpRequest {
        scope: DrawerScope {
            wing: wing.map(str::to_owned),
            ..DrawerScope::default()
        },
        tokens,
        now: context.now(),
    });
    let content = html! {
        div.page-head { h1 { "Wake-up" } }
        p.muted { "What an agent reads when it starts: who you are, what matters most, what is newest." }
        (choice(context, wing, tokens)?)
        @match written {
            Err(error) if error.kind() == ErrorKind::NotFound => div.empty { p { "Nothing is filed here yet, so there is nothing to tell." } },
            written => (page(&written?, tokens)),
        }
    };
    Ok(PageFrame::new(context, NavPage::Diary, "Wake-up").render(&content))
}

fn read_budget(fields: &PageFields) -> Result<usize> {
    let Some(text) = fields.value("tokens") else {
        return Ok(USUAL_TOKENS);
    };
    let budget = text.trim().parse().ok();
    budget
        .filter(|budget| (FEWEST_TOKENS..=MOST_TOKENS).contains(budget))
        .ok_or_else(|| {
            Error::invalid(format!("{text:?} is not a budget of a wake-up")).with_hint(format!(
                "name a number from {FEWEST_TOKENS} to {MOST_TOKENS}; 800 is usual"
            ))
        })
}

/// The boxes that choose the wing and the budget.
fn choice(context: PageContext<'_>, wing: Option<&str>, tokens: usize) -> Result<Markup> {
    let wings = match context.palace().list_wings(&DrawerScope::default()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        listed => listed?.wings,
    };
    Ok(html! {
        form.row.wake-up-choice action="/wake-up" {
            label.field {
                span { "Wing" }
                select name="wing" {
                    option value="" { "all wings" }
                    @for name in wings.iter().filter_map(|one| one.wing.as_deref()) {
                        option value=(name) selected[wing == Some(name)] { (shown::plain_name(name)) }
                    }
                }
            }
            label.field {
                span { "Tokens at most" }
                input type="number" name="tokens" min=(FEWEST_TOKENS) max=(MOST_TOKENS) value=(tokens);
            }
            button { "Show" }
        }
    })
}

fn page(report: &WakeUpReport, tokens: usize) -> Markup {
    html! {
        @for warning in &report.warnings { (finding(warning)) }
        p.row.small {
            strong { (shown::count(report.tokens as u64, "token")) }
            span.muted { "of at most " (shown::digits(tokens as u64)) ", from " (shown::count(report.drawers.len() as u64, "drawer")) }
            meter.bar.wake-up-meter min="0" max=(tokens) value=(report.tokens) aria-hidden="true" {}
        }
        pre.wake-up-text dir="auto" tabindex="0" aria-label="The wake-up" { (shown::text(&report.text)) }
        p.small.muted { "Tokens are estimated on the safe side: models count about two thirds of that for English." }
    }
}
