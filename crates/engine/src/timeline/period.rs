//! Calendar periods, in UTC.

use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;
use jiff::{Timestamp as Moment, ToSpan};
use loci_core::Timestamp;

/// The length of a calendar period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarPeriod {
    /// A day.
    Day,
    /// A week from Monday to Sunday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl CalendarPeriod {
    /// Returns the first moment of the period that contains `time`, and the first moment of the next one.
    /// Periods are cut off at the ends of the calendar.
    pub fn bounds_around(self, time: Timestamp) -> (Timestamp, Timestamp) {
        let moment = Moment::from_microsecond(time.as_micros()).unwrap_or(Moment::MAX);
        let first = self.first_day_of(Offset::UTC.to_datetime(moment).date());
        let next = self.next_first_day(first);
        (
            day_start(first, Moment::MIN, time),
            day_start(next, Moment::MAX, time),
        )
    }

    /// Returns the first day of the period that contains `date`; `None` before the calendar begins.
    fn first_day_of(self, date: Date) -> Option<Date> {
        match self {
            Self::Day => Some(date),
            Self::Week => date
                .checked_sub(i64::from(date.weekday().since(Weekday::Monday)).days())
                .ok(),
            Self::Month => Some(date.first_of_month()),
            Self::Year => Some(date.first_of_year()),
        }
    }

    /// Returns the first day of the period after the one that begins with `first`; `None` after the calendar
    /// ends.
    fn next_first_day(self, first: Option<Date>) -> Option<Date> {
        let span = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        first.unwrap_or(Date::MIN).checked_add(span).ok()
    }
}

/// Returns the first moment of a day, or `end` if the day lies outside the calendar; `time` itself is always
/// within it.
fn day_start(date: Option<Date>, end: Moment, time: Timestamp) -> Timestamp {
    let moment = date.and_then(|date| Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok());
    // Days begin at whole seconds; the fraction of the calendar's last second is dropped.
    Timestamp::from_micros(moment.unwrap_or(end).as_second() * 1_000_000).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(period: CalendarPeriod, time: &str, from: &str, before: &str) {
        let (begin, end) = period.bounds_around(time.parse().unwrap());
        assert_eq!(
            (begin.to_string().as_str(), end.to_string().as_str()),
            (from, before),
            "{time}"
        );
    }

    #[test]
    fn periods_are_those_of_the_calendar() {
        let day = "2026-05-01T00:00:00Z";
        check(
            CalendarPeriod::Day,
            "2026-05-01T23:59:59.999999Z",
            day,
            "2026-05-02T00:00:00Z",
        );
        check(CalendarPeriod::Day, day, day, "2026-05-02T00:00:00Z");
        check(
            CalendarPeriod::Week,
            day,
            "2026-04-27T00:00:00Z",
            "2026-05-04T00:00:00Z",
        );
        check(
            CalendarPeriod::Week,
            "2026-01-01",
            "2025-12-29T00:00:00Z",
            "2026-01-05T00:00:00Z",
        );
        check(
            CalendarPeriod::Month,
            "2024-02-29",
            "2024-02-01T00:00:00Z",
            "2024-03-01T00:00:00Z",
        );
        check(
            CalendarPeriod::Year,
            "1969-07-20",
            "1969-01-01T00:00:00Z",
            "1970-01-01T00:00:00Z",
        );
    }

    #[test]
    fn the_ends_of_the_calendar_cut_periods_off() {
        for period in [
            CalendarPeriod::Day,
            CalendarPeriod::Week,
            CalendarPeriod::Month,
            CalendarPeriod::Year,
        ] {
            for moment in [Moment::MIN, Moment::MAX] {
                let time = Timestamp::from_micros(moment.as_second() * 1_000_000).unwrap();
                let (from, before) = period.bounds_around(time);
                assert!(
                    from <= time && time <= before,
                    "{period:?} {time}: {from} {before}"
                );
            }
        }
    }
}
