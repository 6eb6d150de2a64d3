//! The page that says what went wrong, what stayed unchanged, and what to do next.

use loci_core::{Error, ErrorKind};
use maud::html;

use crate::context::PageContext;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::shown;
use crate::reply::PageReply;
use crate::routes::PageRoute;

/// Shows an error.
pub(crate) fn render(context: PageContext<'_>, error: &Error) -> PageReply {
    let content = html! {
        section.problem role="alert" {
            h1 { (heading(error.kind())) }
            p.what dir="auto" { (shown::text(&error.to_string())) }
            @if let Some(hint) = error.hint_text() { p.hint dir="auto" { (shown::text(hint)) } }
            p { a href="/" { "Back to the search" } }
        }
    };
    PageFrame::new(context, NavPage::None, "Problem")
        .render(&content)
        .with_status(http_status(error.kind()))
}

fn heading(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "Not found",
        _ => "That did not work",
    }
}

/// Answers a method that a path does not take.
pub(crate) fn wrong_method(context: PageContext<'_>, route: &PageRoute) -> PageReply {
    let verb = if route.get.is_some() {
        "opened"
    } else {
        "pressed as a button"
    };
    let error = Error::invalid(format!("{} can only be {verb}", route.path));
    render(context, &error.with_hint("nothing was changed")).with_status(405)
}

/// Returns the HTTP status of a kind of error.
pub fn http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::Invalid | ErrorKind::UnsupportedFilter | ErrorKind::DimensionMismatch => 400,
        ErrorKind::Unsupported => 403,
        ErrorKind::NotFound => 404,
        ErrorKind::Conflict | ErrorKind::IdentityMismatch => 409,
        ErrorKind::Locked | ErrorKind::Unavailable | ErrorKind::Closed => 503,
        ErrorKind::TimedOut => 504,
        // The kinds that mean damage, and those added later.
        _ => 500,
    }
}
