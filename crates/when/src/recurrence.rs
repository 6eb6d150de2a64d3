//! Times that come back every year or every week, for words that do not say which one they mean: "in February".

use loci_core::Timestamp;

use super::calendar::{self, DayRange};
use super::parts::YearPart;

/// The number of years that occurrences go back.
const YEARS: i64 = 25;

/// A time without its year or its week: "in February", "on 7 May", "on Monday".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRecurrence(RecurrenceRule);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecurrenceRule {
    /// A part of every year that has it.
    Yearly(YearPart),
    /// Some days of every week, of which these are the latest.
    Weekly(DayRange),
}

impl TimeRecurrence {
    pub(super) fn yearly(part: YearPart) -> Self {
        Self(RecurrenceRule::Yearly(part))
    }

    pub(super) fn weekly(latest: DayRange) -> Self {
        Self(RecurrenceRule::Weekly(latest))
    }

    /// Returns the times it can mean, each as its first moment and the first moment after it, the latest first: those
    /// of the last 25 years that had begun at `now`, which is the time its mention was found for.
    pub fn occurrences(self, now: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let today = calendar::day_of(now);
        let this_year = calendar::year_of(today);
        let earliest = calendar::first_of_year((this_year - YEARS).max(calendar::FIRST_YEAR));
        let days = move |back: i64| match self.0 {
            RecurrenceRule::Yearly(part) => part.in_year(this_year - back),
            RecurrenceRule::Weekly(latest) => Some(DayRange {
                from: latest.from - back * 7,
                before: latest.before - back * 7,
            }),
        };
        let count = match self.0 {
            RecurrenceRule::Yearly(_) => YEARS,
            // A year has at most 53 weeks.
            RecurrenceRule::Weekly(_) => YEARS * 53,
        };
        (0..=count)
            .filter_map(days)
            .filter(move |days| days.from <= today && days.from >= earliest)
            .filter_map(super::range_moments)
    }
}
