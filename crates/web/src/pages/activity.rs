//! What changed: the newest changes first, a page at a time, and those that come while one looks.
//!
//! The script asks for the feed with the cursor of the last change it shows, so that each comes once, in the order in
//! which they happened, from every writer. Without the script there is a link to what came since.

use loci_core::{ChangeKind, Cursor, Error, ErrorKind, Result};
use loci_engine::changes::{ChangeView, ChangesReport};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::pages::problem::http_status;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::{card, shown};
use crate::reply::PageReply;
use crate::request::PageFields;

/// The changes of a page, and the most that the feed returns at once.
const PAGE: usize = 50;

/// Shows a page of changes.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let (since, before) = (read_cursor(fields, "since")?, read_cursor(fields, "before")?);
    let read = match since {
        Some(since) => context.palace().read_changes(since, PAGE),
        None => context.palace().read_newest_changes(before, PAGE),
    };
    let content = match read {
        Err(error) if error.kind() == ErrorKind::Unsupported => without_feed(&error),
        read => {
            let report = or_empty(read, since)?;
            let part = ActivityPart {
                is_live: since.is_none() && before.is_none(),
                has_earlier: report.has_earlier,
                has_later: since.is_some() && report.has_later,
                report,
            };
            part.render(context)
        }
    };
    Ok(PageFrame::new(context, NavPage::Activity, "Activity").render(&content))
}

/// Returns the changes after a cursor as items of a list, oldest first, for the script.
pub(crate) fn show_feed(context: PageContext<'_>) -> PageResult {
    // An error is plain text: a page would use up the sentences that wait for the visitor's next page.
    Ok(read_feed(context).unwrap_or_else(|error| {
        let text = error.to_string().into_bytes();
        PageReply::with_body("text/plain; charset=utf-8", text).with_status(http_status(error.kind()))
    }))
}

fn read_feed(context: PageContext<'_>) -> PageResult {
    let since = read_cursor(context.query(), "since")?;
    let since = since.ok_or_else(|| Error::invalid("the feed needs the cursor `since`"))?;
    let report = or_empty(context.palace().read_changes(since, PAGE), Some(since))?;
    Ok(PageReply::html(html! {
        ol data-next=(report.next.0) data-later[report.has_later] {
            @for change in &report.changes { (item(change)) }
        }
    }))
}

/// A palace that does not exist yet has no changes; they are waited for all the same.
fn or_empty(read: Result<ChangesReport>, since: Option<Cursor>) -> Result<ChangesReport> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(ChangesReport {
            changes: Vec::new(),
            next: since.unwrap_or_default(),
            has_earlier: false,
            has_later: false,
        }),
        read => read,
    }
}

fn read_cursor(fields: &PageFields, name: &str) -> Result<Option<Cursor>> {
    let Some(text) = fields.value(name) else {
        return Ok(None);
    };
    let number = text.parse().map_err(|_| {
        Error::invalid(format!("{text:?} is not a place in the list of changes"))
            .with_hint("open the page from its entry above")
    })?;
    Ok(Some(Cursor(number)))
}

/// A page of changes, and how it goes on.
#[derive(Debug)]
struct ActivityPart {
    report: ChangesReport,
    /// Whether it begins with the newest change, so that later ones are added to it.
    is_live: bool,
    has_earlier: bool,
    has_later: bool,
}

impl ActivityPart {
    fn render(&self, context: PageContext<'_>) -> Markup {
        let next = self.report.next.0.to_string();
        html! {
            div.page-head {
                h1 { "Activity" }
                div.row.small {
                    span #activity-state.muted {}
                    button #activity-pause type="button" aria-pressed="false" hidden { "Pause" }
                    @if !self.is_live { a href="/activity" { "Newest" } }
                    a #activity-newer rel="prev" href=(PageLink::to("/activity").with("since", &next).href()) { "Show newer" }
                }
            }
            p.visually-hidden #activity-news role="status" {}
            @if !context.sees_whole() { p.muted.small { "These are changes in the wings that are open to you. Removals are not listed." } }
            section #activity aria-label="Changes" data-cursor=[self.is_live.then_some(&next)] {
                @if self.report.changes.is_empty() { (self.nothing()) }
                ol.card-list {
                    @for change in self.report.changes.iter().rev() { (item(change)) }
                }
                (self.pager())
            }
        }
    }

    fn nothing(&self) -> Markup {
        html! {
            div.empty #activity-empty { p {
                @if self.is_live { "Nothing has changed yet." } @else { "Nothing else has changed here." }
            } }
        }
    }

    /// The links to more changes. The script moves the one to earlier changes when it takes the oldest off the page.
    fn pager(&self) -> Markup {
        let next = self.report.next.0;
        let oldest = self.report.changes.first();
        let oldest = oldest.map_or(next.saturating_add(1), |oldest| oldest.change.seq);
        let earlier = PageLink::to("/activity").with("before", oldest.to_string());
        html! {
            nav.pager aria-label="More changes" {
                @if self.has_later {
                    a.button href=(PageLink::to("/activity").with("since", next.to_string()).href()) { "Later changes" }
                }
                a.button #activity-earlier rel="next" href=(earlier.href()) hidden[!self.has_earlier] { "Earlier changes" }
            }
        }
    }
}

/// Shows a change with its drawer as it is now.
fn item(view: &ChangeView) -> Markup {
    let change = &view.change;
    // Without a time at which it was said, the card below shows when it was filed.
    let said = view.drawer.as_ref().filter(|drawer| drawer.said_at.is_some());
    let filed = said.and_then(|drawer| drawer.filed_at);
    html! {
        li.card.change data-item data-seq=(change.seq) data-id=[view.drawer.as_ref().map(|drawer| drawer.id.as_str())] {
            p.change-head {
                @match (change.op, &view.drawer) {
                    (ChangeKind::Put, Some(_)) => span.op { "Filed or changed" },
                    (ChangeKind::Put, None) => span.op { "Filed or changed, and removed since" },
                    (ChangeKind::Delete, _) => span.op.removed { "Removed" },
                }
                @if let Some(filed) = filed { span.muted { "filed " (shown::time(filed)) } }
                @if view.drawer.is_none() { code.muted { (shown::name(change.id.as_str())) } }
            }
            @if let Some(drawer) = &view.drawer { (card::body(drawer)) }
        }
    }
}

fn without_feed(error: &Error) -> Markup {
    html! {
        div.page-head { h1 { "Activity" } }
        section.empty {
            p dir="auto" { "This palace keeps no list of its changes: " (shown::text(&error.to_string())) "." }
            p { a href="/list?order=filed" { "Show the drawers that were filed last" } }
        }
    }
}
