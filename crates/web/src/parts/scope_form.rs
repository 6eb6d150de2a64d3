//! The scope of a page: the boxes that narrow it, and the chips that show what it is narrowed to.

use maud::{Markup, html};

use super::links::{PageLink, SCOPE_FIELDS};
use super::shown;
use crate::request::PageFields;

/// The label and an example of each field of a scope, in the order of [`SCOPE_FIELDS`].
const LABELS: [(&str, &str); 9] = [
    ("Wing", "project or person"),
    ("Room", "topic"),
    ("Source", "path, or its end"),
    ("Speaker", "name"),
    ("Kind", "human, assistant, file, note…"),
    ("Since", "2026-05-01, yesterday"),
    ("Before", "2026-06-01"),
    ("Contains", "letter for letter"),
    ("Metadata", r#"{"n": {"$gte": 3}}"#),
];

/// Shows the boxes of a scope, filled with what the fields name. They belong to the form around them.
pub(crate) fn boxes(fields: &PageFields) -> Markup {
    html! {
        div.scope-boxes {
            @for (name, (label, example)) in SCOPE_FIELDS.into_iter().zip(LABELS) {
                label {
                    span { (label) }
                    input name=(name) value=[fields.exact_value(name)] placeholder=(example) autocomplete="off" dir="auto";
                }
            }
        }
    }
}

/// Carries a scope through a form that does not show it.
pub(crate) fn hidden_fields(fields: &PageFields) -> Markup {
    html! {
        @for name in SCOPE_FIELDS {
            @if let Some(value) = fields.value(name) { input type="hidden" name=(name) value=(value); }
        }
    }
}

/// Shows what a page is narrowed to; each chip leads to the same page without its part. `keep` adds the fields that the
/// page has besides, such as its query.
pub(crate) fn chips(path: &'static str, fields: &PageFields, keep: &[&str]) -> Markup {
    let narrowed: Vec<(&str, &str, &str)> = SCOPE_FIELDS
        .into_iter()
        .zip(LABELS)
        .filter_map(|(name, (label, _))| Some((name, label, fields.value(name)?)))
        .collect();
    let link = |left_out: &str| {
        let link = PageLink::to(path);
        let link = keep
            .iter()
            .fold(link, |link, name| link.with_some(name, fields.value(name)));
        link.with_scope_except(fields, left_out).href()
    };
    html! {
        @if !narrowed.is_empty() {
            ul.chips aria-label="Narrowed to" {
                @for (name, label, value) in narrowed {
                    li {
                        span.field { (label) }
                        (shown::name(value))
                        a href=(link(name)) aria-label=(format!("Remove {label}")) { "×" }
                    }
                }
            }
        }
    }
}
