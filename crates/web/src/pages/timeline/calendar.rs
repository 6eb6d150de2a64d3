//! A year as twelve calendars.

use jiff::civil::Date;
use jiff::{Span, ToSpan as _};
use maud::{Markup, html};

use super::counts::DayCounts;
use super::scale::HeatScale;
use super::{day_in_words, timeline_link};
use crate::parts::links::PageLink;
use crate::parts::shown;
use crate::request::PageFields;

/// The months.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of a week, and how a column names them.
const WEEKDAYS: [(&str, &str); 7] = [
    ("Monday", "M"),
    ("Tuesday", "T"),
    ("Wednesday", "W"),
    ("Thursday", "T"),
    ("Friday", "F"),
    ("Saturday", "S"),
    ("Sunday", "S"),
];

/// Returns the name of a month, counted from 1.
pub(super) fn month_name(month: i8) -> &'static str {
    let at = usize::try_from(month).unwrap_or(1).saturating_sub(1);
    MONTHS.get(at).copied().unwrap_or_default()
}

/// Shows a year.
pub(super) fn year(fields: &PageFields, counts: &DayCounts, year: i16) -> Markup {
    let scale = HeatScale::for_busiest(counts.busiest_of_year(year));
    let firsts = (1..=12).filter_map(|month| Date::new(year, month, 1).ok());
    let months: Vec<CalendarMonth> = firsts.map(|first| CalendarMonth::new(first, counts)).collect();
    let most = months.iter().map(|month| month.drawers).max().unwrap_or(0).max(1);
    html! {
        div.months { @for month in &months { (show_month(fields, counts, &scale, month, most)) } }
        (legend(&scale))
    }
}

/// A month of a calendar.
#[derive(Debug)]
struct CalendarMonth {
    first: Date,
    /// Its weeks from Monday to Sunday; days of other months are absent.
    weeks: Vec<[Option<Date>; 7]>,
    drawers: u64,
}

impl CalendarMonth {
    fn new(first: Date, counts: &DayCounts) -> Self {
        let mut weeks = Vec::new();
        let mut week = [None; 7];
        let mut drawers = 0;
        let days = (1..=first.days_in_month()).filter_map(|day| first.with().day(day).build().ok());
        for day in days {
            let column = usize::try_from(day.weekday().to_monday_zero_offset()).unwrap_or(0);
            if column == 0 && week.iter().any(Option::is_some) {
                weeks.push(std::mem::take(&mut week));
            }
            if let Some(cell) = week.get_mut(column) {
                *cell = Some(day);
            }
            drawers += counts.of_day(day);
        }
        weeks.push(week);
        Self {
            first,
            weeks,
            drawers,
        }
    }
}

fn show_month(
    fields: &PageFields,
    counts: &DayCounts,
    scale: &HeatScale,
    month: &CalendarMonth,
    most: u64,
) -> Markup {
    let name = month_name(month.first.month());
    let id = format!("month-{}", month.first.month());
    html! {
        section.month aria-labelledby=(id) {
            div.month-head {
                h2 #(id) { (name) }
                span.month-sum {
                    @match month_list(fields, month) {
                        Some(href) if month.drawers > 0 => a href=(href) aria-label=(format!("{} of {name}", shown::count(month.drawers, "drawer"))) { (shown::digits(month.drawers)) },
                        _ => (shown::digits(month.drawers)),
                    }
                }
            }
            meter.bar min="0" max=(most) value=(month.drawers) aria-hidden="true" {}
            table.days aria-labelledby=(id) {
                thead { tr { @for (day, short) in WEEKDAYS { th scope="col" { abbr title=(day) { (short) } } } } }
                tbody {
                    @for week in &month.weeks { tr { @for day in week { (show_day(fields, counts, scale, *day)) } } }
                }
            }
        }
    }
}

fn show_day(fields: &PageFields, counts: &DayCounts, scale: &HeatScale, day: Option<Date>) -> Markup {
    let Some(day) = day else {
        return html! { td {} };
    };
    let drawers = counts.of_day(day);
    let class = scale.class_of(drawers);
    if drawers == 0 {
        return html! { td { span class={ "day-cell " (class) } { (day.day()) } } };
    }
    let label = format!("{}: {}", day_in_words(day), shown::count(drawers, "drawer"));
    let link = timeline_link(fields).with("day", day.to_string());
    html! { td { a class={ "day-cell " (class) } href=(link.href()) aria-label=(label) title=(label) { (day.day()) } } }
}

/// Returns the address of the list of a month. A list is bounded by the time said, so there is none by the time filed.
fn month_list(fields: &PageFields, month: &CalendarMonth) -> Option<String> {
    if matches!(fields.value("by"), Some("filed"))
        || fields.value("since").or(fields.value("before")).is_some()
    {
        return None;
    }
    let one: Span = 1.month();
    let next = month.first.checked_add(one).ok()?;
    let link = PageLink::to("/list").with_scope(fields).with("order", "said");
    Some(
        link.with("since", month.first.to_string())
            .with("before", next.to_string())
            .href(),
    )
}

fn legend(scale: &HeatScale) -> Markup {
    let ranges = scale.ranges();
    html! {
        div.legend.muted.small {
            span { "Drawers in a day:" }
            ul {
                li { span.swatch.level-0 aria-hidden="true" {} "0" }
                @for (first, last) in ranges {
                    li {
                        span class={ "swatch " (scale.class_of(first)) } aria-hidden="true" {}
                        (shown::digits(first)) @if last > first { "–" (shown::digits(last)) }
                    }
                }
            }
            span { "Days are those of UTC." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_a_month_stands_once_in_the_column_of_its_weekday() {
        let counts = DayCounts::default();
        for (year, month) in [(2024, 2), (2026, 2), (2026, 5), (1582, 10), (-44, 3), (9999, 12)] {
            let first = Date::new(year, month, 1).unwrap();
            let shown = CalendarMonth::new(first, &counts);
            let days: Vec<Date> = shown.weeks.iter().flatten().flatten().copied().collect();
            assert_eq!(days.len(), usize::try_from(first.days_in_month()).unwrap());
            assert!(days.windows(2).all(|pair| pair[0] < pair[1]));
            for week in &shown.weeks {
                for (column, day) in week.iter().enumerate() {
                    let Some(day) = day else { continue };
                    assert_eq!(
                        day.weekday().to_monday_zero_offset(),
                        i8::try_from(column).unwrap()
                    );
                }
            }
        }
    }
}
