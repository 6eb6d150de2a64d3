//! The embedding spaces of a palace: which model, which state, how many drawers.

use loci_core::{EmbeddingSpace, IdentityState, SpaceState};
use maud::{Markup, html};

use crate::parts::shown;

/// Shows every space with the drawers it covers.
pub(crate) fn table(spaces: &[EmbeddingSpace]) -> Markup {
    html! {
        @if !spaces.is_empty() {
            div.scroll-x { table.table {
                thead { tr { th scope="col" { "Model" } th scope="col" { "State" } th.num scope="col" { "Vectors" } th.num scope="col" { "Drawers" } th.wide-only { span.visually-hidden { "Share" } } } }
                tbody {
                    @for space in spaces {
                        tr {
                            th scope="row" dir="auto" { (model_name(space)) }
                            td { (state_words(space.state)) }
                            td.num { (shown::digits(space.vectors)) }
                            td.num { (shown::digits(space.drawers)) }
                            td.wide-only { meter.bar min="0" max=(space.drawers.max(1)) value=(space.vectors.min(space.drawers)) aria-hidden="true" {} }
                        }
                    }
                }
            } }
        }
    }
}

/// Shows the model of a space.
pub(crate) fn model_name(space: &EmbeddingSpace) -> Markup {
    match &space.identity {
        IdentityState::Known(identity) => shown::name(&identity.to_string()),
        IdentityState::Unset => html! { "no model" },
        IdentityState::Unknown => html! { "a model that is not recorded" },
    }
}

fn state_words(state: SpaceState) -> &'static str {
    match state {
        SpaceState::Active => "answers",
        SpaceState::Building => "being filled",
        SpaceState::Paused => "paused",
        SpaceState::Retired => "kept for a return",
        SpaceState::Abandoned => "given up",
    }
}
