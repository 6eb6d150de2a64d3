//! Days, months and years by number, in UTC: just enough to compute the first and last day of a range.

use loci_core::Timestamp;

const MICROS_A_DAY: i64 = 86_400_000_000;

/// The earliest year that a query can mean.
pub(super) const FIRST_YEAR: i64 = 1900;

/// The first day of a range without a beginning: the first day of the year 1.
pub(super) const FAR_PAST: i64 = -719_162;

/// The end of a range without an end: the first day of the year 9999.
pub(super) const FAR_FUTURE: i64 = 2_932_532;

/// A range of whole days, counted from 1970-01-01; `before` is the first day after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DayRange {
    pub(super) from: i64,
    pub(super) before: i64,
}

impl DayRange {
    pub(super) fn single_day(day: i64) -> Self {
        Self {
            from: day,
            before: day + 1,
        }
    }

    /// Returns the week, Monday to Sunday, that contains `day`.
    pub(super) fn week_of(day: i64) -> Self {
        let monday = day - weekday_of(day);
        Self {
            from: monday,
            before: monday + 7,
        }
    }

    /// Returns `count` months from the month `index` on; see [`month_of`].
    pub(super) fn whole_months(index: i64, count: i64) -> Self {
        Self {
            from: first_of_month(index),
            before: first_of_month(index + count),
        }
    }

    pub(super) fn whole_year(year: i64) -> Self {
        Self::whole_months(year * 12, 12)
    }

    /// Returns the range from the first day of either to the last day of either.
    pub(super) fn hull(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            before: self.before.max(other.before),
        }
    }
}

/// Returns the day that contains `time`.
pub(super) fn day_of(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(MICROS_A_DAY)
}

/// Returns the first moment of `day`, if a timestamp can represent it.
pub(super) fn first_moment(day: i64) -> Option<Timestamp> {
    Timestamp::from_micros(day.checked_mul(MICROS_A_DAY)?).ok()
}

/// Returns the number of days since Monday.
pub(super) fn weekday_of(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7)
}

/// Returns the month that contains `day`, counted from January of the year 0.
pub(super) fn month_of(day: i64) -> i64 {
    // 400 years are 4800 months and 146097 days: the mean month is never wrong by more than two.
    let mut index = ((day - first_of_month(0)) * 4800).div_euclid(146_097);
    while first_of_month(index) > day {
        index -= 1;
    }
    while first_of_month(index + 1) <= day {
        index += 1;
    }
    index
}

/// Returns the year that contains `day`.
pub(super) fn year_of(day: i64) -> i64 {
    month_of(day).div_euclid(12)
}

/// Returns the first day of the month `index`; see [`month_of`].
pub(super) fn first_of_month(index: i64) -> i64 {
    // Counted from March, a leap day is the last of its year and months repeat their lengths every five.
    let from_march = index - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 - 719_468
}

/// Returns the first day of a year.
pub(super) fn first_of_year(year: i64) -> i64 {
    first_of_month(year * 12)
}

/// Returns the day number `day`, counted from 1, of the month `index`, if that month has it.
pub(super) fn day_in_month(index: i64, day: i64) -> Option<i64> {
    let month = DayRange::whole_months(index, 1);
    (1..=month.before - month.from)
        .contains(&day)
        .then_some(month.from + day - 1)
}

/// Returns the same day of the month `months` earlier, or that month's last day.
pub(super) fn months_before(day: i64, months: i64) -> i64 {
    let index = month_of(day);
    let then = DayRange::whole_months(index - months, 1);
    // A month before 31 March is the last day of February, not a day in March.
    (then.from + day - first_of_month(index)).min(then.before - 1)
}
