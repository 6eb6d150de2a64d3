//! What an act would touch, before it happens: the number, some of the drawers, and what became of the others.

use loci_core::{Error, ErrorKind, Result};
use loci_engine::undo::ActPreview;
use maud::{Markup, html};

use super::card;
use super::findings::finding;
use super::links::PageLink;
use super::selection::ActSelection;
use super::{scope_form, shown};
use crate::acts::MOST_ACTS;
use crate::context::PageContext;

/// The most ids that are named.
const MOST_NAMED: usize = 8;

/// What a visitor is told about an attempt that did nothing.
#[derive(Debug)]
pub(crate) enum ActRefusal<'e> {
    /// Another number of drawers matches than the visitor agreed to.
    Recounted {
        /// The number that the visitor agreed to.
        agreed: u64,
    },
    /// The operation refused it.
    Refused(&'e Error),
}

impl<'e> ActRefusal<'e> {
    /// Explains an error of an act on a number of drawers.
    pub(crate) fn explain(error: &'e Error, agreed: u64, preview: &ActPreview) -> Self {
        if error.kind() == ErrorKind::Conflict && preview.matched != agreed {
            Self::Recounted { agreed }
        } else {
            Self::Refused(error)
        }
    }

    /// Returns the HTTP status of the page that shows it.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Recounted { .. } => 409,
            Self::Refused(error) => crate::pages::problem::http_status(error.kind()),
        }
    }

    /// Shows it above the form that it is about.
    pub(crate) fn render(&self, matched: u64) -> Markup {
        html! {
            div.warning role="alert" {
                @match self {
                    Self::Recounted { agreed } => {
                        strong { "Nothing was done. " }
                        "You agreed to " (shown::count(*agreed, "drawer")) "; by now it is " (shown::digits(matched)) ". Look again."
                    },
                    Self::Refused(error) => (refusal(error)),
                }
            }
        }
    }
}

/// Shows why something was refused, and what to do.
pub(crate) fn refusal(error: &Error) -> Markup {
    html! {
        span dir="auto" { (shown::text(&error.to_string())) }
        @if let Some(hint) = error.hint_text() { span dir="auto" { " — " (shown::text(hint)) } }
    }
}

/// Looks at the drawers of a selection.
pub(crate) fn look(context: PageContext<'_>, selection: &ActSelection<'_>) -> Result<ActPreview> {
    context.palace().preview_act(&selection.ids, &selection.scope)
}

/// The page to return to after an act: a list of where the only drawer stood, or of the scope.
pub(crate) fn usual_return(selection: &ActSelection<'_>, preview: &ActPreview) -> String {
    match preview.sample.as_slice() {
        [one] if one.wing.is_some() || one.room.is_some() => PageLink::to("/list")
            .with_some("wing", one.wing.as_deref())
            .with_some("room", one.room.as_deref())
            .href(),
        _ => selection.list_link().unwrap_or_else(|| "/list".to_owned()),
    }
}

/// Shows the drawers that would be touched.
pub(crate) fn drawers(selection: &ActSelection<'_>, path: &'static str, preview: &ActPreview) -> Markup {
    let more = preview.matched.saturating_sub(preview.sample.len() as u64);
    html! {
        @if selection.ids.is_empty() { (scope_form::chips(path, selection.fields(), &[])) }
        @for warning in &preview.warnings { (finding(warning)) }
        @if !preview.missing.is_empty() { (missing(preview)) }
        @if preview.matched == 0 {
            p.empty { "No drawer is here." }
        } @else {
            section.act-drawers aria-label="The drawers" {
                ol.card-list { @for drawer in &preview.sample { (card::list_item(drawer)) } }
                @if more > 0 {
                    p.muted {
                        "and " (shown::digits(more)) " more"
                        @if let Some(link) = selection.list_link() { " — " a href=(link) { "list them" } }
                    }
                }
            }
        }
    }
}

/// Names ids that no drawer has.
fn missing(preview: &ActPreview) -> Markup {
    let more = preview.missing.len().saturating_sub(MOST_NAMED);
    html! {
        p.note {
            (shown::count(preview.missing.len() as u64, "chosen drawer")) " cannot be found here any more: "
            @for (at, id) in preview.missing.iter().take(MOST_NAMED).enumerate() {
                @if at > 0 { ", " }
                code { (shown::name(id.as_str())) }
            }
            @if more > 0 { " and " (more) " more" }
        }
    }
}

/// Says whether an act can be undone, and until when.
pub(crate) fn undo_promise(can_undo: bool, instead: &str) -> Markup {
    html! {
        @if can_undo {
            p { "You can undo this until this server ends or drawers are forgotten, as long as it is among your last "
                (MOST_ACTS) " acts." }
        } @else {
            p.warning { strong { "This cannot be undone: " } "it is more than a visit remembers. " (instead) }
        }
    }
}
