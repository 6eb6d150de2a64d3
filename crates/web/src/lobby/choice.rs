//! The list of palaces that a user may open.

use maud::html;

use super::{LobbyVisitor, frame};
use crate::parts::shown;
use crate::reply::PageReply;

/// A palace in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LobbyPalaceRow {
    /// Its name in addresses, which needs no escape there.
    pub name: String,
    /// What the user may do in it, such as `read, write`.
    pub rights: String,
}

/// The list of palaces.
#[derive(Debug, Clone, Copy)]
pub struct PalaceChoice<'a> {
    /// The palaces.
    pub palaces: &'a [LobbyPalaceRow],
    /// Who looks at it.
    pub visitor: LobbyVisitor<'a>,
}

impl PalaceChoice<'_> {
    /// Renders the page.
    pub fn render(&self) -> PageReply {
        let content = html! {
            div.page-head { h1 { "Palaces" } }
            @if self.palaces.is_empty() {
                div.empty {
                    p { "No palace is open to you." }
                    p { "Ask whoever runs this server for rights." }
                }
            } @else {
                ul.card-list {
                    @for palace in self.palaces {
                        li.card data-item {
                            div.row.apart {
                                h2 { a href=(format!("/p/{}/", palace.name)) { (shown::name(&palace.name)) } }
                                span.muted.small { (palace.rights) }
                            }
                        }
                    }
                }
            }
        };
        frame::render("Palaces", self.visitor.theme, Some(self.visitor), &content)
    }
}
