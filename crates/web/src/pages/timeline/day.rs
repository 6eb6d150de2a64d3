//! One day of a timeline: its sources, with their first and last time, and its drawers without a source.

use jiff::ToSpan as _;
use jiff::civil::Date;
use loci_core::{DrawerOrder, Error, Filter, Result, Timestamp};
use loci_engine::list::ListRequest;
use loci_engine::timeline::{CalendarPeriod, TimelineClock, TimelineReport, TimelineRequest};
use loci_engine::view::{DrawerScope, DrawerView};
use maud::{Markup, html};

use super::counts::bounded_by;
use super::{FIELDS, clock_links, day_in_words, timeline_link};
use crate::context::{PageContext, PageResult, read_scope};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, place_link, source_link};
use crate::parts::{card, scope_form, shown};

/// The sources of a page.
const SOURCES: usize = 40;
/// The drawers without a source that are shown.
const LOOSE: usize = 40;

/// What was said in one source on a day.
#[derive(Debug)]
struct DaySession {
    source: String,
    drawers: u64,
    first: Option<DrawerView>,
    last: Option<DrawerView>,
}

/// The day that is shown, as a scope.
#[derive(Debug)]
struct DayScope {
    scope: DrawerScope,
    clock: TimelineClock,
}

/// Shows a day.
pub(super) fn show(context: PageContext<'_>, clock: TimelineClock, day: Date) -> PageResult {
    let fields = context.query();
    let day_scope = DayScope::read(context, clock, day)?;
    let skipped = fields
        .value("skip")
        .and_then(|skip| skip.parse::<usize>().ok())
        .unwrap_or(0);
    let report = day_scope.count(context, skipped.saturating_add(SOURCES))?;
    let drawers: u64 = report.periods.iter().map(|period| period.drawers).sum();
    let sources: u64 = report
        .periods
        .iter()
        .map(|period| period.sources.len() as u64 + period.more_sources)
        .sum();
    let mut sessions = Vec::new();
    let mut loose = 0;
    for count in report
        .periods
        .iter()
        .flat_map(|period| &period.sources)
        .skip(skipped)
    {
        match &count.source {
            Some(source) => sessions.push(day_scope.read_session(context, source, count.drawers)?),
            None => loose = count.drawers,
        }
    }
    sessions.sort_by_key(|session| clock_of(clock, session.first.as_ref()));
    let is_complete = report.periods.iter().all(|period| period.more_sources == 0);
    let content = html! {
        nav aria-label="Path" { ol.crumbs {
            li { a href=(timeline_link(fields).with("year", day.year().to_string()).href()) { "Timeline " (day.year()) } }
        } }
        div.page-head {
            h1 { (shown::calendar_day(&day.to_string())) " " span.muted { (shown::count(drawers, "drawer")) } }
            (clock_links(fields, clock))
        }
        (scope_form::chips("/timeline", fields, &FIELDS))
        @for warning in &report.warnings { (finding(warning)) }
        @if drawers == 0 { div.empty { p { "Nothing is here from this day." } } }
        @if !sessions.is_empty() { (session_table(clock, &sessions)) }
        @if loose > 0 { (loose_drawers(&day_scope.list_loose(context, drawers - loose)?, loose)) }
        @if !is_complete {
            @let next = (skipped + SOURCES).to_string();
            nav.pager aria-label="Pages of sources" {
                a.button rel="next" href=(timeline_link(fields).with("day", day.to_string()).with("skip", next).href()) { "More sources" }
                span.muted { (shown::count(sources, "source")) " in all" }
            }
        }
        (neighbours(context, day)?)
    };
    Ok(PageFrame::new(context, NavPage::Timeline, day_in_words(day)).render(&content))
}

impl DayScope {
    fn read(context: PageContext<'_>, clock: TimelineClock, day: Date) -> Result<Self> {
        let mut scope = read_scope(context.query(), context.now())?;
        let (from, until) = (
            day_start(day)?,
            day.checked_add(1.day()).ok().map(day_start).transpose()?,
        );
        scope.since = Some(scope.since.map_or(from, |since| since.max(from)));
        scope.before = match (scope.before, until) {
            (Some(before), Some(until)) => Some(before.min(until)),
            (before, until) => before.or(until),
        };
        Ok(Self { scope, clock })
    }

    fn is_empty(&self) -> bool {
        self.scope
            .since
            .zip(self.scope.before)
            .is_some_and(|(since, before)| since >= before)
    }

    fn count(&self, context: PageContext<'_>, sources: usize) -> Result<TimelineReport> {
        if self.is_empty() {
            // The bounds of the address exclude the day.
            return Ok(TimelineReport {
                periods: Vec::new(),
                undated: 0,
                next: None,
                warnings: Vec::new(),
            });
        }
        let request = TimelineRequest {
            scope: self.scope.clone(),
            by: CalendarPeriod::Day,
            clock: self.clock,
            newest: false,
            limit: 1,
            sources,
        };
        context.palace().count_timeline(&request, &mut |_| {})
    }

    /// Reads where a source begins and ends on this day.
    fn read_session(&self, context: PageContext<'_>, source: &str, drawers: u64) -> Result<DaySession> {
        let scope = bounded_by(self.scope.clone(), self.clock);
        let scope = DrawerScope {
            // By its whole name, since the end of a path may fit several sources.
            filter: scope.filter.and(Filter::text_equals("source", source)),
            ..scope
        };
        let newest = match self.clock {
            TimelineClock::Said => DrawerOrder::NewestSaid,
            TimelineClock::Filed => DrawerOrder::NewestFiled,
        };
        let one = |order| -> Result<Option<DrawerView>> {
            let report = context.palace().list(&request(scope.clone(), order, 1))?;
            Ok(report.drawers.into_iter().next())
        };
        Ok(DaySession {
            source: source.to_owned(),
            drawers,
            first: one(DrawerOrder::Source)?,
            last: one(newest)?,
        })
    }

    /// Lists the drawers without a source, which come after the `others` in the order of sources.
    fn list_loose(&self, context: PageContext<'_>, others: u64) -> Result<Vec<DrawerView>> {
        let request = request(
            bounded_by(self.scope.clone(), self.clock),
            DrawerOrder::Source,
            LOOSE,
        );
        let skipped = usize::try_from(others).unwrap_or(usize::MAX);
        let report = context.palace().list_behind(skipped, &request)?;
        // A drawer that was filed meanwhile moves the others; those with a source are in the table.
        Ok(report
            .drawers
            .into_iter()
            .filter(|drawer| drawer.source.is_none())
            .collect())
    }
}

fn request(scope: DrawerScope, order: DrawerOrder, limit: usize) -> ListRequest {
    ListRequest {
        scope,
        order,
        cursor: None,
        limit,
        embeddings: false,
        total: false,
    }
}

fn day_start(day: Date) -> Result<Timestamp> {
    let text = format!("{day}T00:00:00Z");
    text.parse()
        .map_err(|_| Error::invalid(format!("{day} lies outside the calendar")))
}

fn session_table(clock: TimelineClock, sessions: &[DaySession]) -> Markup {
    html! {
        section aria-labelledby="sessions" {
            h2 #sessions { "Sources" }
            div.scroll-x { table.table {
                thead { tr { th scope="col" { "First" } th scope="col" { "Last" } th scope="col" { "Source" } th.num scope="col" { "Drawers" } } }
                tbody {
                    @for session in sessions {
                        tr data-item {
                            td { (show_time(clock, session.first.as_ref())) }
                            td { (show_time(clock, session.last.as_ref())) }
                            td { a href=(session_link(session)) { (shown::name(&session.source)) } @if let Some(first) = &session.first { div.small.muted { (card::place(first)) } } }
                            td.num { (shown::digits(session.drawers)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Returns the address of the first words of a session in their conversation.
fn session_link(session: &DaySession) -> String {
    match &session.first {
        Some(first) => place_link(&session.source, &first.id),
        None => source_link(&session.source),
    }
}

/// Returns the time of a drawer that counts.
fn clock_of(clock: TimelineClock, drawer: Option<&DrawerView>) -> Option<Timestamp> {
    drawer.and_then(|drawer| match clock {
        TimelineClock::Said => drawer.said_at,
        TimelineClock::Filed => drawer.filed_at,
    })
}

fn show_time(clock: TimelineClock, drawer: Option<&DrawerView>) -> Markup {
    html! { @if let Some(time) = clock_of(clock, drawer) { (shown::clock(time)) } }
}

fn loose_drawers(drawers: &[DrawerView], all: u64) -> Markup {
    html! {
        section aria-labelledby="loose" {
            h2 #loose { "Without a source " span.muted { (shown::digits(all)) } }
            ol.card-list { @for drawer in drawers { (card::list_item(drawer)) } }
            @if (drawers.len() as u64) < all { p.muted.small { "and " (shown::digits(all - drawers.len() as u64)) " more" } }
        }
    }
}

/// The links to the days before and after.
fn neighbours(context: PageContext<'_>, day: Date) -> Result<Markup> {
    let fields = context.query();
    let link = |days: i64| {
        let other = day.checked_add(days.days()).ok()?;
        Some((other, timeline_link(fields).with("day", other.to_string()).href()))
    };
    let all = PageLink::to("/list")
        .with_scope_except(fields, "since")
        .with("order", "said");
    let next = day.checked_add(1.day()).ok();
    let is_said = !matches!(fields.value("by"), Some("filed"));
    let bounded = fields.value("since").or(fields.value("before")).is_some();
    Ok(html! {
        nav.pager aria-label="Days" {
            @if let Some((other, href)) = link(-1) { a.button rel="prev" href=(href) { "← " (shown::calendar_day(&other.to_string())) } }
            @if let (true, false, Some(next)) = (is_said, bounded, next) {
                a href=(all.with("since", day.to_string()).with("before", next.to_string()).href()) { "All drawers of the day" }
            }
            @if let Some((other, href)) = link(1) { a.button rel="next" href=(href) { (shown::calendar_day(&other.to_string())) " →" } }
        }
    })
}
