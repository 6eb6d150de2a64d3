//! The file around the drawers: its policy, style sheet and script, and the elements that the script fills.

use std::sync::LazyLock;

use loci_core::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::hash::name_content;
use crate::parts::shown;

/// The style sheet: that of the pages, and what this page adds.
const STYLE: &str = concat!(
    include_str!("../../assets/style/base.css"),
    include_str!("../../assets/style/frame.css"),
    include_str!("../../assets/style/search.css"),
    include_str!("../../assets/offline/page.css"),
);

/// The script: one function of several parts.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../../assets/offline/words.js"),
    include_str!("../../assets/offline/index.js"),
    include_str!("../../assets/offline/search.js"),
    include_str!("../../assets/offline/show.js"),
    include_str!("../../assets/offline/results.js"),
    include_str!("../../assets/offline/views.js"),
    include_str!("../../assets/offline/page.js"),
    "})();\n",
);

/// The policy: this script and this style sheet, and nothing else from anywhere.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src 'none'; connect-src 'none'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        name_content(SCRIPT),
        name_content(STYLE)
    )
});

/// The keys of the page: keys, what they do.
const KEYS: [(&[&str], &str); 9] = [
    (&["/"], "search"),
    (&["j", "k"], "next and previous item"),
    (&["Enter"], "open the item"),
    (&["n", "p"], "next and previous page of results"),
    (&["g", "s"], "to the search"),
    (&["g", "w"], "to the wings"),
    (&["t"], "other colors"),
    (&["?"], "these keys"),
    (&["Esc"], "close this, or leave the box"),
];

/// Renders the file up to its first drawer; `head` is the JSON that the script reads first.
pub(super) fn render_frame(palace: &str, written_at: Timestamp, head: &str) -> Markup {
    let palace = shown::plain_name(palace);
    // The elements that hold the drawers are closed behind the last of them.
    html! {
        (DOCTYPE) (PreEscaped("<html lang=\"en\" data-theme=\"system\">\n"))
        head {
            meta charset="utf-8";
            // Before anything that it forbids.
            meta http-equiv="Content-Security-Policy" content=(*POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            meta name="generator" content="loci web --export";
            title { (palace) " · Loci" }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("\n<body>\n"))
        (without_script(&palace, written_at))
        div #app hidden {
            a.skip #skip href="#content" { "Skip to the content" }
            (render_header(&palace))
            main #content tabindex="-1" {
                (search_form())
                div #notices {}
                p.reading #status role="status" {}
                progress.bar #reading aria-label="Drawers read" hidden {}
                div #view {}
            }
            (key_help())
        }
        script type="application/json" #head { (PreEscaped(head)) }
        "\n"
        script { (PreEscaped(SCRIPT)) }
        "\n"
    }
}

/// The end of the file.
pub(super) const END: &str = "</body>\n</html>\n";

/// The text for browsers that run no scripts.
fn without_script(palace: &str, written_at: Timestamp) -> Markup {
    html! {
        noscript {
            div.plain-page {
                h1 { "Drawers of the palace " bdi { (palace) } }
                p {
                    "This file holds a part of a memory palace as it was on " (shown::time(written_at)) ". It was written by "
                    code { "loci web --export" } ", asks for nothing from elsewhere, and changes nothing."
                }
                p {
                    "To search it and read conversations in order, open it in a browser that runs its script. Without "
                    "that, everything is here all the same: each line below is a drawer in JSON. "
                    code { "\\n" } " is a line break, and " code { "\\u" } " with four digits is another character."
                }
            }
        }
    }
}

fn render_header(palace: &str) -> Markup {
    html! {
        header.top {
            a.brand href="#q=" aria-label="Loci, to the search" { span.mark aria-hidden="true" {} span.word { "Loci" } }
            span.palace title="the palace" { bdi { (palace) } }
            nav aria-label="Views" {
                a href="#q=" data-view="search" { "Search" }
                a href="#view=wings" data-view="wings" { "Wings" }
            }
            button.icon #keys-button type="button" aria-label="Keys" title="Keys" { kbd aria-hidden="true" { "?" } }
            button.icon #theme type="button" aria-label="Colors: as the system. Change to light" { span.sun aria-hidden="true" {} }
        }
    }
}

fn search_form() -> Markup {
    html! {
        form.search #search role="search" {
            div.search-line {
                input #q type="search" autocomplete="off" spellcheck="false" enterkeyhint="search" dir="auto"
                    aria-label="Words to search for" placeholder="Search; \"in quotes\" for a phrase";
            }
            div.search-options {
                label { span { "Find" } select #match { option value="all" { "all words" } option value="any" { "any word" } } }
                label { span { "Order" } select #sort {
                    option value="best" { "best first" } option value="newest" { "newest first" } option value="oldest" { "oldest first" }
                } }
            }
        }
    }
}

/// The keys, shown by `?`.
fn key_help() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.keys {
                @for (keys, meaning) in KEYS {
                    dt { @for key in keys { kbd { (key) } " " } } dd { (meaning) }
                }
            }
            button #keys-close type="button" { "Close" }
        }
    }
}
