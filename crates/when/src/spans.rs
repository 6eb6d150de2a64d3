//! Spans between two times: "between May and July 2023", "from 2019 to 2021", "in May and June".

use super::TimeExactness;
use super::calendar::{self, DayRange};
use super::names;
use super::phrases::{QueryReader, TimePoint, longest_point};
use super::words::WordGap;

/// Words that join the ends of a span.
const TO: [&str; 4] = ["to", "until", "till", "through"];

impl QueryReader<'_> {
    /// Reads a span between two times, in either order.
    pub(super) fn read_span(&self, at: usize) -> Option<TimePoint> {
        match self.text(at) {
            "between" => self.read_joined(&["and"], at + 1, Self::any_end),
            "from" => self.read_joined(&TO, at + 1, Self::any_end),
            "in" | "during" => self.read_joined(&["and", "or", "to", "through"], at + 1, Self::calendar_end),
            // Without a word before it, only if both ends are certainly times.
            _ => self
                .lone_year(at)
                .is_none()
                .then(|| self.read_joined(&TO, at, Self::calendar_end))?
                .filter(|span| span.exact == TimeExactness::Named),
        }
    }

    fn read_joined(
        &self,
        joins: &[&str],
        at: usize,
        end: fn(&Self, usize) -> Option<TimePoint>,
    ) -> Option<TimePoint> {
        let first = end(self, at);
        let place = first.map_or(at + 1, |first| first.end);
        (joins.contains(&self.text_after_space(place)) && self.gap(place + 1)? == WordGap::Space)
            .then_some(())?;
        let last = end(self, place + 1)?;
        // A bare day is read last, because its month is known only from the other end.
        let first = first.or_else(|| self.day_before(at, last))?;
        let (first, last) = same_year(first, last)?;
        let both = first.exact == TimeExactness::Named && last.exact == TimeExactness::Named;
        let exact = if both {
            TimeExactness::Named
        } else {
            TimeExactness::About
        };
        Some(TimePoint::new(last.end, first.days.hull(last.days), exact))
    }

    /// Reads any time.
    fn any_end(&self, at: usize) -> Option<TimePoint> {
        longest_point([self.read_sure(at), self.calendar_end(at)])
    }

    /// Reads a time of the calendar, not one relative to today.
    fn calendar_end(&self, at: usize) -> Option<TimePoint> {
        longest_point([
            self.written_date(at),
            self.part_and_year(at),
            self.day_of_some_year(at),
            self.lone_year(at),
            self.lone_part(at, false),
        ])
    }

    /// Reads the 3 of "3 to 5 May".
    fn day_before(&self, at: usize, last: TimePoint) -> Option<TimePoint> {
        let (day, _) = names::parse_day(self.text(at))?;
        let day = calendar::day_in_month(calendar::month_of(last.days.from), day)?;
        (last.days == DayRange::single_day(last.days.from))
            .then(|| TimePoint::new(at + 1, DayRange::single_day(day), last.exact))
    }
}

/// Gives an end without a year the year of the other end, so that the first comes before the last.
fn same_year(mut first: TimePoint, mut last: TimePoint) -> Option<(TimePoint, TimePoint)> {
    match (first.yearless, last.yearless) {
        (None, Some(part)) => {
            let year = calendar::year_of(first.days.from);
            let fits = |days: &DayRange| days.from >= first.days.from;
            last.days = part
                .in_year(year)
                .filter(fits)
                .or_else(|| part.in_year(year + 1))?;
            last.exact = part.exactness();
        }
        (Some(part), other) => {
            let year = calendar::year_of(last.days.from);
            let fits = |days: &DayRange| days.from <= last.days.from;
            first.days = part
                .in_year(year)
                .filter(fits)
                .or_else(|| part.in_year(year - 1))?;
            // With a year at one end, both are certain; without any, the latest ones are a guess.
            first.exact = if other.is_none() {
                part.exactness()
            } else {
                TimeExactness::About
            };
        }
        (None, None) => {}
    }
    Some((first, last))
}
