//! The page of an edit that met another: both versions, and the choice between them.

use loci_engine::update::EditableDrawer;
use maud::html;

use super::form_fields;
use super::typed::TypedDrawer;
use crate::context::PageContext;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::drawer_link;
use crate::parts::{card, shown};
use crate::reply::PageReply;

/// Shows the drawer as it is now beside what was typed. Nothing was written.
pub(super) fn show(context: PageContext<'_>, now: &EditableDrawer, typed: &TypedDrawer) -> PageReply {
    let theirs = TypedDrawer::of_drawer(&now.drawer);
    // What the visitor did not touch follows the other change, so that saving takes none of it back.
    let mine = typed.merged_with(&theirs);
    let differing = mine.differing_fields(&theirs);
    let content = html! {
        div.page-head { h1 { "Two versions" } }
        div.warning role="alert" {
            strong { "Nothing was saved. " }
            "The drawer was changed after you opened it. "
            @if differing.is_empty() { "It now says what you wrote." }
            @else { "The versions differ in: " (differing.join(", ")) "." }
        }
        div.versions {
            section.panel aria-labelledby="now" {
                h2 #now { "As it is now" }
                (card::head(&now.drawer))
                pre.drawer-text dir="auto" tabindex="0" aria-label="The text as it is now" { (shown::text(now.drawer.whole_text())) }
                p { a.button href=(drawer_link(&now.drawer.id)) { "Keep it, discard mine" } }
            }
            section.panel aria-labelledby="mine" {
                h2 #mine { "Yours" }
                form.act method="post" action="/edit" data-once data-guard {
                    (form_fields(context, now, &mine, false))
                    div.row { button.danger { "Save mine over it" } }
                }
            }
        }
    };
    PageFrame::new(context, NavPage::None, "Two versions")
        .render(&content)
        .with_status(409)
}
