//! Asks once before a switch, with the number of drawers to embed.

use std::sync::Arc;

use loci_core::{Embedder, EmbeddingSpace, IdentityState, Result};
use maud::{Markup, html};

use super::{find_unfinished, read_spaces, refuse_second};
use crate::context::PageContext;
use crate::parts::buttons::button_form;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::shown;
use crate::reply::PageReply;

/// A switch that was not begun yet.
#[derive(Debug)]
pub(super) struct SwitchQuestion {
    /// The name of the model in the list.
    pub(super) name: String,
    pub(super) model: Arc<dyn Embedder>,
    /// The drawers that have no vector of it yet.
    pub(super) drawers: u64,
    /// Whether it answers already, so that only drawers without a vector are embedded.
    pub(super) is_active: bool,
}

impl SwitchQuestion {
    /// Opens the model, and counts what it would have to embed.
    pub(super) fn read(context: PageContext<'_>, name: &str) -> Result<Self> {
        let report = read_spaces(context)?;
        let model = context.host().open_model(name)?;
        let is_of_model =
            |state: &IdentityState| matches!(state, IdentityState::Known(known) if known == model.identity());
        if let Some(other) = find_unfinished(&report.spaces).filter(|space| !is_of_model(&space.identity)) {
            return Err(refuse_second(other));
        }
        let own = report.spaces.iter().find(|space| is_of_model(&space.identity));
        let all = report.spaces.first().map_or(0, |space| space.drawers);
        Ok(Self {
            name: name.to_owned(),
            drawers: own.map_or(all, EmbeddingSpace::missing_vectors),
            is_active: is_of_model(&report.identity),
            model,
        })
    }

    /// Asks. `agreed` is another number that the visitor agreed to before.
    pub(super) fn render(&self, context: PageContext<'_>, agreed: Option<u64>) -> PageReply {
        let drawers = self.drawers.to_string();
        let fields = [
            ("act", "switch"),
            ("model", self.name.as_str()),
            ("drawers", &drawers),
        ];
        let title = if self.is_active {
            "Embed what lacks a vector?"
        } else {
            "Switch the model?"
        };
        let content = html! {
            div.page-head { h1 { (title) } }
            @if let Some(agreed) = agreed {
                p.notice.problem role="status" {
                    "The number has changed from " (shown::digits(agreed)) " to " (shown::digits(self.drawers)) ". Nothing was begun."
                }
            }
            section.panel.stack {
                (self.consequences())
                div.row {
                    (button_form(context, "/embedder", &fields, "primary", &self.button()))
                    a.button href="/embedder" { "Cancel" }
                }
            }
        };
        PageFrame::new(context, NavPage::Doctor, title).render(&content)
    }

    fn button(&self) -> Markup {
        match self.drawers {
            0 => html! { "Switch now" },
            drawers => html! { "Embed " (shown::count(drawers, "drawer")) },
        }
    }

    fn consequences(&self) -> Markup {
        let name = shown::name(&self.model.identity().to_string());
        html! {
            @match self.drawers {
                0 => p dir="auto" { "Every drawer has a vector of " (name) " already, so that it can answer at once." },
                1 => p dir="auto" { strong { "1 drawer" } " is embedded by " (name) "." },
                drawers => p dir="auto" { strong { (shown::count(drawers, "drawer")) } " are embedded by " (name) "." },
            }
            ul.plain-list {
                @if !self.is_active {
                    li { "Search goes on with the vectors of now until the last drawer is done; then the new ones answer, from one moment to the next." }
                    li { "The vectors of now are kept, so that you can return to them." }
                }
                li { "Reading and filing go on meanwhile. Words are found all the time." }
                li { "It can be stopped; what is embedded stays, and a later run goes on from there." }
            }
        }
    }
}
