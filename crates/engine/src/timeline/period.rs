//! Periods of the calendar, in UTC.

use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;
use jiff::{Timestamp as Moment, ToSpan};
use loci_core::Timestamp;

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A day.
    Day,
    /// A week from Monday to Sunday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Period {
    /// The first moment of the period that `time` lies in, and the moment at which the next one begins. At the ends
    /// of the calendar, periods are cut off.
    pub fn around(self, time: Timestamp) -> (Timestamp, Timestamp) {
        let moment = Moment::from_microsecond(time.as_micros()).unwrap_or(Moment::MAX);
        let first = self.first_of(Offset::UTC.to_datetime(moment).date());
        let next = self.next(first);
        (begin(first, Moment::MIN, time), begin(next, Moment::MAX, time))
    }

    /// The first day of the period that `date` lies in; `None` before the calendar begins.
    fn first_of(self, date: Date) -> Option<Date> {
        match self {
            Self::Day => Some(date),
            Self::Week => date
                .checked_sub(i64::from(date.weekday().since(Weekday::Monday)).days())
                .ok(),
            Self::Month => Some(date.first_of_month()),
            Self::Year => Some(date.first_of_year()),
        }
    }

    /// The first day of the period after the one that begins with `first`; `None` after the calendar ends.
    fn next(self, first: Option<Date>) -> Option<Date> {
        let span = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        first.unwrap_or(Date::MIN).checked_add(span).ok()
    }
}

/// The first moment of a day, or `end` where the calendar ends before it; `time` itself is always in the calendar.
fn begin(date: Option<Date>, end: Moment, time: Timestamp) -> Timestamp {
    let moment = date.and_then(|date| Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok());
    // Days begin at whole seconds, and the last fraction of a second is no time.
    Timestamp::from_micros(moment.unwrap_or(end).as_second() * 1_000_000).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(period: Period, time: &str, from: &str, before: &str) {
        let (begin, end) = period.around(time.parse().unwrap());
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
            Period::Day,
            "2026-05-01T23:59:59.999999Z",
            day,
            "2026-05-02T00:00:00Z",
        );
        check(Period::Day, day, day, "2026-05-02T00:00:00Z");
        check(Period::Week, day, "2026-04-27T00:00:00Z", "2026-05-04T00:00:00Z");
        check(
            Period::Week,
            "2026-01-01",
            "2025-12-29T00:00:00Z",
            "2026-01-05T00:00:00Z",
        );
        check(
            Period::Month,
            "2024-02-29",
            "2024-02-01T00:00:00Z",
            "2024-03-01T00:00:00Z",
        );
        check(
            Period::Year,
            "1969-07-20",
            "1969-01-01T00:00:00Z",
            "1970-01-01T00:00:00Z",
        );
    }

    #[test]
    fn the_ends_of_the_calendar_cut_periods_off() {
        for period in [Period::Day, Period::Week, Period::Month, Period::Year] {
            for moment in [Moment::MIN, Moment::MAX] {
                let time = Timestamp::from_micros(moment.as_second() * 1_000_000).unwrap();
                let (from, before) = period.around(time);
                assert!(
                    from <= time && time <= before,
                    "{period:?} {time}: {from} {before}"
                );
            }
        }
    }
}
