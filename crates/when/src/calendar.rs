//! Days, months and years by number, in UTC: just enough to say where a stretch of time begins and ends.

use loci_core::Timestamp;

const MICROS_A_DAY: i64 = 86_400_000_000;

/// No query means a year before this one.
pub(super) const FIRST_YEAR: i64 = 1900;

/// Where a stretch begins that has no beginning: the first day of the year 1.
pub(super) const FAR_PAST: i64 = -719_162;

/// Where a stretch ends that has no end: the first day of the year 9999.
pub(super) const FAR_FUTURE: i64 = 2_932_532;

/// A stretch of whole days, counted from 1970-01-01; `before` is the first day after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) from: i64,
    pub(super) before: i64,
}

impl Days {
    pub(super) fn day(day: i64) -> Self {
        Self {
            from: day,
            before: day + 1,
        }
    }

    /// The week, Monday to Sunday, that holds `day`.
    pub(super) fn week(day: i64) -> Self {
        let monday = day - weekday(day);
        Self {
            from: monday,
            before: monday + 7,
        }
    }

    /// `count` months from the month `index` on; see [`month_of`].
    pub(super) fn months(index: i64, count: i64) -> Self {
        Self {
            from: first_of_month(index),
            before: first_of_month(index + count),
        }
    }

    pub(super) fn year(year: i64) -> Self {
        Self::months(year * 12, 12)
    }

    /// From the first day of either to the last of either.
    pub(super) fn hull(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            before: self.before.max(other.before),
        }
    }
}

/// The day that holds `time`.
pub(super) fn day_of(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(MICROS_A_DAY)
}

/// The first moment of `day`, where a time can say it.
pub(super) fn first_moment(day: i64) -> Option<Timestamp> {
    Timestamp::from_micros(day.checked_mul(MICROS_A_DAY)?).ok()
}

/// Days since Monday.
pub(super) fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

/// The month that holds `day`, counted from the January of the year 0.
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

/// The year that holds `day`.
pub(super) fn year_of(day: i64) -> i64 {
    month_of(day).div_euclid(12)
}

/// The first day of the month `index`; see [`month_of`].
pub(super) fn first_of_month(index: i64) -> i64 {
    // Counted from March, a leap day is the last of its year and months repeat their lengths every five.
    let from_march = index - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 - 719_468
}

/// The first day of a year.
pub(super) fn first_of_year(year: i64) -> i64 {
    first_of_month(year * 12)
}

/// The day `day`, counted from 1, of the month `index`, where that month has it.
pub(super) fn day_in_month(index: i64, day: i64) -> Option<i64> {
    let month = Days::months(index, 1);
    (1..=month.before - month.from)
        .contains(&day)
        .then_some(month.from + day - 1)
}

/// The same day of the month `months` earlier, or that month's last.
pub(super) fn months_before(day: i64, months: i64) -> i64 {
    let index = month_of(day);
    let then = Days::months(index - months, 1);
    (then.from + day - first_of_month(index)).min(then.before - 1)
}
