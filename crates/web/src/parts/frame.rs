//! The frame of every page: head, navigation, search box, notices, foot.

use maud::{DOCTYPE, Markup, html};

use super::buttons::form_secret;
use super::shown;
use crate::assets::{ICON, SCRIPT_FILE, STYLE_SHEET};
use crate::base::SERVER;
use crate::context::PageContext;
use crate::reply::PageReply;
use crate::request::ThemeChoice;
use crate::visit::VisitNotice;

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavPage {
    Search,
    Map,
    Timeline,
    Activity,
    Diary,
    Doctor,
    Add,
    None,
}

/// The entries of the navigation: page, address, label, key.
const ENTRIES: [(NavPage, &str, &str, &str); 6] = [
    (NavPage::Search, "/", "Search", "s"),
    (NavPage::Map, "/map", "Map", "m"),
    (NavPage::Timeline, "/timeline", "Timeline", "t"),
    (NavPage::Activity, "/activity", "Activity", "a"),
    (NavPage::Diary, "/diary", "Diary", "d"),
    (NavPage::Doctor, "/doctor", "Doctor", "c"),
];

/// A page in its frame.
#[derive(Debug)]
pub(crate) struct PageFrame<'a> {
    context: PageContext<'a>,
    nav: NavPage,
    title: String,
    /// Seconds after which a browser without scripts loads the page again.
    refresh: Option<u32>,
}

impl<'a> PageFrame<'a> {
    /// Begins a page. The title is a stored name or words of ours; it is escaped either way.
    pub(crate) fn new(context: PageContext<'a>, nav: NavPage, title: impl Into<String>) -> Self {
        Self {
            context,
            nav,
            title: shown::plain_name(&title.into()),
            refresh: None,
        }
    }

    /// Loads the page again after some seconds, for progress without scripts.
    #[must_use]
    pub(crate) fn refreshed_after(mut self, seconds: u32) -> Self {
        self.refresh = Some(seconds);
        self
    }

    /// Renders the page.
    pub(crate) fn render(self, content: &Markup) -> PageReply {
        let context = self.context;
        let palace = shown::plain_name(&context.host().palace_name());
        let theme = context.request.theme;
        PageReply::html(html! {
            (DOCTYPE)
            html lang="en" data-theme=(theme.name()) data-base=[base_of(context)] {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content=(color_scheme(theme));
                    meta name="referrer" content="no-referrer";
                    @if let Some(seconds) = self.refresh {
                        noscript { meta http-equiv="refresh" content=(seconds); }
                    }
                    title { (self.title) " · " (palace) " · Loci" }
                    link rel="icon" href=(ICON.path) type="image/svg+xml";
                    link rel="stylesheet" href=(STYLE_SHEET.path);
                    script src=(SCRIPT_FILE.path) defer {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    (self.header(&palace))
                    main #content tabindex="-1" {
                        (notices(context))
                        (content)
                    }
                    (undo_foot(context))
                    (key_help(context))
                }
            }
        })
    }

    fn header(&self, palace: &str) -> Markup {
        let context = self.context;
        // On the search page itself the box below has more room, and two boxes would confuse.
        let has_box = !matches!(self.nav, NavPage::Search);
        html! {
            header.top {
                a.brand href="/" aria-label="Loci, to the search" { span.mark aria-hidden="true" {} span.word { "Loci" } }
                @if context.request.base.path().is_empty() {
                    span.palace title="the open palace" { bdi { (palace) } }
                } @else {
                    a.palace href=(SERVER) title="the open palace; to the others" { bdi { (palace) } }
                }
                nav aria-label="Pages" {
                    @for (page, href, label, key) in ENTRIES {
                        a href=(href) data-key=(format!("g {key}")) aria-current=[(page == self.nav).then_some("page")] { (label) }
                    }
                    @if context.may_write() {
                        a.act href="/add" data-key="n" aria-current=[(self.nav == NavPage::Add).then_some("page")] { "Add" }
                    }
                }
                @if has_box {
                    form.quick role="search" action="/search" {
                        input type="search" name="q" placeholder="Search" aria-label="Search" data-key="/" autocomplete="off";
                    }
                }
                (theme_button(context))
            }
        }
    }
}

/// The base of addresses, for scripts; none at the root.
fn base_of(context: PageContext<'_>) -> Option<&str> {
    Some(context.request.base.path()).filter(|base| !base.is_empty())
}

pub(crate) fn color_scheme(theme: ThemeChoice) -> &'static str {
    match theme {
        ThemeChoice::System => "light dark",
        ThemeChoice::Light => "light",
        ThemeChoice::Dark => "dark",
    }
}

/// The button that goes from the system's colors to light, to dark, and around again.
fn theme_button(context: PageContext<'_>) -> Markup {
    let (next, label) = match context.request.theme {
        ThemeChoice::System => (ThemeChoice::Light, "Colors: as the system. Change to light"),
        ThemeChoice::Light => (ThemeChoice::Dark, "Colors: light. Change to dark"),
        ThemeChoice::Dark => (ThemeChoice::System, "Colors: dark. Change to those of the system"),
    };
    let back = context.address().unwrap_or_else(|| "/".to_owned());
    html! {
        form.inline.theme method="post" action="/theme" {
            (form_secret(context))
            input type="hidden" name="theme" value=(next.name());
            input type="hidden" name="back" value=(back);
            button.icon title=(label) aria-label=(label) { span.sun aria-hidden="true" {} }
        }
    }
}

/// The sentences that acts left for this page.
fn notices(context: PageContext<'_>) -> Markup {
    let notices = context.visit.take_notices();
    html! {
        @for VisitNotice { text, is_problem, can_undo } in &notices {
            div.notice.problem[*is_problem] role="status" {
                span dir="auto" { (shown::text(text)) }
                @if *can_undo && context.visit.acts().describe_last().is_some() {
                    (undo_button(context, &html! { "Undo" }))
                }
            }
        }
    }
}

/// The button that undoes the last act of the visit, on every page until there is none.
fn undo_foot(context: PageContext<'_>) -> Markup {
    let last = context.visit.acts().describe_last();
    html! {
        @if let Some(last) = last.filter(|_| !context.access().is_read_only()) {
            footer.undo-foot { (undo_button(context, &html! { "Undo " (last) })) }
        }
    }
}

fn undo_button(context: PageContext<'_>, label: &Markup) -> Markup {
    let back = context.address().unwrap_or_default();
    super::buttons::button_form(context, "/undo", &[("back", &back)], "link", label)
}

/// The keys, shown by `?`.
fn key_help(context: PageContext<'_>) -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.keys {
                dt { kbd { "/" } } dd { "search" }
                @for (_, _, label, key) in ENTRIES {
                    dt { kbd { "g" } " " kbd { (key) } } dd { (label) }
                }
                @if context.may_write() { dt { kbd { "n" } } dd { "add a drawer" } }
                dt { kbd { "j" } " " kbd { "k" } } dd { "next and previous item" }
                dt { kbd { "Enter" } } dd { "open the item" }
                @if context.may_write() {
                    dt { kbd { "e" } } dd { "edit the item" }
                    dt { kbd { "u" } } dd { "undo the last act" }
                }
                dt { kbd { "?" } } dd { "these keys" }
                dt { kbd { "Esc" } } dd { "close this, or leave a box" }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
