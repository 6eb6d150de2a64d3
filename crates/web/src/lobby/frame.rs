//! The frame of the pages of the lobby.

use maud::{DOCTYPE, Markup, html};

use super::LobbyVisitor;
use crate::assets::{ICON, SCRIPT_FILE, STYLE_SHEET};
use crate::parts::frame::color_scheme;
use crate::parts::shown;
use crate::reply::PageReply;
use crate::request::ThemeChoice;

/// Renders a page; `visitor` is `None` before one has signed in.
pub(super) fn render(
    title: &str,
    theme: ThemeChoice,
    visitor: Option<LobbyVisitor<'_>>,
    content: &Markup,
) -> PageReply {
    PageReply::html(html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(color_scheme(theme));
                meta name="referrer" content="no-referrer";
                title { (title) " · Loci" }
                link rel="icon" href=(ICON.path) type="image/svg+xml";
                link rel="stylesheet" href=(STYLE_SHEET.path);
                script src=(SCRIPT_FILE.path) defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    a.brand href="/" aria-label="Loci, to the palaces" { span.mark aria-hidden="true" {} span.word { "Loci" } }
                    @if let Some(visitor) = visitor { (navigation(title, visitor)) }
                }
                main #content tabindex="-1" { (content) }
            }
        }
    })
}

fn navigation(title: &str, visitor: LobbyVisitor<'_>) -> Markup {
    html! {
        nav aria-label="Pages" {
            a href="/" aria-current=[(title == "Palaces").then_some("page")] { "Palaces" }
            @if visitor.administers {
                a href="/admin" aria-current=[(title == "Users and tokens").then_some("page")] { "Users and tokens" }
            }
        }
        form.inline.theme.row method="post" action="/sign-out" {
            span.muted.small dir="auto" { (shown::name(visitor.name)) }
            (secret(visitor))
            button { "Sign out" }
        }
    }
}

/// The hidden field that proves that a form belongs to this visitor.
pub(super) fn secret(visitor: LobbyVisitor<'_>) -> Markup {
    html! { input type="hidden" name="form_secret" value=(visitor.form_secret); }
}
