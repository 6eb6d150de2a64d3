//! The timeline: a year as twelve calendars whose days are darker the more was said on them, and one day.

mod calendar;
mod counts;
mod day;
mod scale;

use jiff::civil::Date;
use loci_core::{Error, Result};
use loci_engine::timeline::TimelineClock;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::{scope_form, shown};
use crate::request::PageFields;
use counts::DayCounts;

/// The fields of a timeline besides its scope.
const FIELDS: [&str; 3] = ["by", "year", "day"];

/// Shows a year, or the day that the address names.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    let clock = read_clock(fields)?;
    match fields.value("day") {
        Some(day) => day::show(context, clock, read_day(day)?),
        None => show_year(context, clock),
    }
}

fn show_year(context: PageContext<'_>, clock: TimelineClock) -> PageResult {
    let fields = context.query();
    let counts = DayCounts::read(context, clock)?;
    let year = match fields.value("year") {
        Some(year) => Some(read_year(year)?),
        None => counts.last_year(),
    };
    let content = html! {
        div.page-head {
            h1 { "Timeline" @if let Some(year) = year { " " span.muted { (year) } } }
            (clock_links(fields, clock))
        }
        (scope_form::chips("/timeline", fields, &FIELDS))
        @for warning in &counts.warnings { (finding(warning)) }
        @match year {
            Some(year) => {
                (year_links(fields, &counts, year))
                (calendar::year(fields, &counts, year))
            },
            None => div.empty {
                p { "Nothing here has a time yet." }
                p { a href="/list" { "All drawers" } }
            },
        }
        @if counts.undated > 0 {
            p.muted.small { (shown::count(counts.undated, "drawer")) " without a time " @if counts.undated == 1 { "is" } @else { "are" } " not shown." }
        }
    };
    Ok(PageFrame::new(context, NavPage::Timeline, "Timeline").render(&content))
}

/// The links to the years before and after that have drawers.
fn year_links(fields: &PageFields, counts: &DayCounts, year: i16) -> Markup {
    let link = |year: i16| timeline_link(fields).with("year", year.to_string()).href();
    html! {
        nav.row.apart.years aria-label="Years" {
            @match counts.year_before(year) {
                Some(before) => a.button rel="prev" href=(link(before)) { "← " (before) },
                None => span {},
            }
            span.muted { (shown::count(counts.of_year(year), "drawer")) " in " (year) }
            @match counts.year_after(year) {
                Some(after) => a.button rel="next" href=(link(after)) { (after) " →" },
                None => span {},
            }
        }
    }
}

/// The links that choose the time by which drawers are counted.
fn clock_links(fields: &PageFields, clock: TimelineClock) -> Markup {
    let link = |by: &'static str| {
        let link = PageLink::to("/timeline").with_scope(fields).with("by", by);
        let link = link.with_some("year", fields.value("year"));
        link.with_some("day", fields.value("day")).href()
    };
    let current = |one: TimelineClock| (clock == one).then_some("true");
    html! {
        nav.row.small aria-label="Time that counts" {
            a href=(link("said")) aria-current=[current(TimelineClock::Said)] { "By time said" }
            a href=(link("filed")) aria-current=[current(TimelineClock::Filed)] { "By time filed" }
        }
    }
}

/// Begins a link to another part of the same timeline.
fn timeline_link(fields: &PageFields) -> PageLink {
    let link = PageLink::to("/timeline").with_scope(fields);
    link.with_some("by", fields.value("by"))
}

fn read_clock(fields: &PageFields) -> Result<TimelineClock> {
    match fields.value("by") {
        None | Some("said") => Ok(TimelineClock::Said),
        Some("filed") => Ok(TimelineClock::Filed),
        Some(other) => {
            Err(Error::invalid(format!("{other:?} is not a time to count by"))
                .with_hint("choose said or filed"))
        }
    }
}

fn read_day(text: &str) -> Result<Date> {
    let parsed = text.trim().parse::<Date>();
    parsed.map_err(|_| {
        Error::invalid(format!("{text:?} is not a day")).with_hint("write a day such as 2026-05-01")
    })
}

fn read_year(text: &str) -> Result<i16> {
    let parsed = text.trim().parse().ok();
    // The calendar ends with these years.
    let year = parsed.filter(|year| (-9999..=9999).contains(year));
    year.ok_or_else(|| {
        Error::invalid(format!("{text:?} is not a year")).with_hint("write a year such as 2026")
    })
}

/// Shows a day in words, such as `May 1, 2026`.
fn day_in_words(day: Date) -> String {
    format!(
        "{} {}, {}",
        calendar::month_name(day.month()),
        day.day(),
        day.year()
    )
}
