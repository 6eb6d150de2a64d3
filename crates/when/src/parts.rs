//! Named parts of a year: a month, a day of a month, a quarter, a season; and the year beside them.

use super::TimeExactness;
use super::calendar::{self, DayRange};
use super::names;
use super::phrases::QueryReader;
use super::words::WordGap;

/// A part of a year that every year has, except for leap days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct YearPart {
    /// The month it begins with, 0 for January.
    month: i64,
    shape: YearPartShape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum YearPartShape {
    Day(i64),
    Month,
    Quarter,
    Season,
}

/// A part found in a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct YearPartMatch {
    /// The index of the word after it.
    pub(super) end: usize,
    pub(super) part: YearPart,
    pub(super) alone: LoneCondition,
}

/// The words that a part needs beside it if it has no year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoneCondition {
    /// None: "May 7".
    Sure,
    /// A preposition: "in May".
    Led,
    /// A word that hardly ever precedes the verb or the noun: "since may", "last fall".
    Doubtful,
    /// Always a year: "7. May 2023".
    Never,
}

impl YearPart {
    /// Returns the certainty of the part with a year: seasons differ between the hemispheres.
    pub(super) fn exactness(self) -> TimeExactness {
        match self.shape {
            YearPartShape::Season => TimeExactness::About,
            YearPartShape::Day(_) | YearPartShape::Month | YearPartShape::Quarter => TimeExactness::Named,
        }
    }

    pub(super) fn is_three_months(self) -> bool {
        matches!(self.shape, YearPartShape::Quarter | YearPartShape::Season)
    }

    pub(super) fn in_year(self, year: i64) -> Option<DayRange> {
        let index = year * 12 + self.month;
        match self.shape {
            YearPartShape::Day(day) => calendar::day_in_month(index, day).map(DayRange::single_day),
            YearPartShape::Month => Some(DayRange::whole_months(index, 1)),
            YearPartShape::Quarter | YearPartShape::Season => Some(DayRange::whole_months(index, 3)),
        }
    }

    /// Returns the latest one that is `wanted`, searching back far enough for leap days, which are up to eight years
    /// apart.
    pub(super) fn latest_matching(self, today: i64, wanted: impl Fn(DayRange) -> bool) -> Option<DayRange> {
        let year = calendar::year_of(today);
        // 1900 was no leap year, so 1896 and 1904 are eight years apart; the ninth step is slack.
        (0..=9).find_map(|back| self.in_year(year - back).filter(|days| wanted(*days)))
    }

    /// Returns the one that contains `today`, or else the one that begins in its year.
    pub(super) fn current_or_this_year(self, today: i64) -> Option<DayRange> {
        self.latest_matching(today, |days| (days.from..days.before).contains(&today))
            .or_else(|| self.in_year(calendar::year_of(today)))
    }
}

impl QueryReader<'_> {
    /// Returns the longest part of a year at `at`.
    pub(super) fn find_part(&self, at: usize) -> Option<YearPartMatch> {
        self.day_and_month(at)
            .or_else(|| self.month_and_day(at))
            .or_else(|| self.find_month(at))
            .or_else(|| self.find_three_months(at))
    }

    /// "7 May", "7th of May", "7. Mai", "7 de mayo".
    fn day_and_month(&self, at: usize) -> Option<YearPartMatch> {
        let (day, ordinal) = names::parse_day(self.text(at))?;
        // A dot after the day is German ("7. Mai"), or the end of a sentence: then only a year makes it a
        // date.
        let dotted = self.gap(at + 1) == Some(WordGap::Dot);
        let of = matches!(self.text_after_space(at + 1), "of" | "de");
        let place = at + 1 + usize::from(of);
        let text = if dotted {
            self.text(place)
        } else {
            self.text_after_space(place)
        };
        let month = names::parse_month(text)?;
        let certain = ordinal || !self.is_ordinary(place) || self.ends_like_a_month(place + 1);
        // A number behind it is a year that could not be read, or part of something else, such as "7 May
        // 12:30".
        let alone = if certain && !dotted && !self.number_follows(place + 1) {
            LoneCondition::Sure
        } else {
            LoneCondition::Never
        };
        let part = YearPart {
            month,
            shape: YearPartShape::Day(day),
        };
        Some(YearPartMatch {
            end: place + 1,
            part,
            alone,
        })
    }

    /// "May 7", "Dec. 7th".
    fn month_and_day(&self, at: usize) -> Option<YearPartMatch> {
        let month = names::parse_month(self.text(at))?;
        // "Dec. 7": the dot of an abbreviation. After a whole name it ends the sentence.
        let shortened = self.text(at).len() <= 4 && self.gap(at + 1) == Some(WordGap::Dot);
        let text = if shortened {
            self.text(at + 1)
        } else {
            self.text_after_space(at + 1)
        };
        let (day, ordinal) = names::parse_day(text)?;
        let certain = ordinal || !self.is_ordinary(at) || self.ends_like_a_month(at + 2);
        let alone = if certain && !self.number_follows(at + 2) {
            LoneCondition::Sure
        } else {
            LoneCondition::Never
        };
        let part = YearPart {
            month,
            shape: YearPartShape::Day(day),
        };
        Some(YearPartMatch {
            end: at + 2,
            part,
            alone,
        })
    }

    /// "May", but not in "30 May" or "30th of May".
    fn find_month(&self, at: usize) -> Option<YearPartMatch> {
        let month = names::parse_month(self.text(at))?;
        // An impossible day such as "31 February" must not leave the month alone to be found.
        if self.day_precedes(at) {
            return None;
        }
        let alone = match self.text(at) {
            _ if self.number_follows(at + 1) => LoneCondition::Never,
            // French for March, but in English far more often the planet.
            "mars" => LoneCondition::Never,
            // "may" and "march" are verbs unless the next word rules that out: "in may we met" against "may
            // help".
            _ if self.is_ordinary(at) && !self.ends_like_a_month(at + 1) => LoneCondition::Doubtful,
            _ => LoneCondition::Led,
        };
        let part = YearPart {
            month,
            shape: YearPartShape::Month,
        };
        Some(YearPartMatch {
            end: at + 1,
            part,
            alone,
        })
    }

    /// "Q3", "summer".
    fn find_three_months(&self, at: usize) -> Option<YearPartMatch> {
        let text = self.text(at);
        let quarter = names::parse_quarter(text).map(|month| (month, YearPartShape::Quarter));
        let (month, shape) =
            quarter.or_else(|| names::parse_season(text).map(|month| (month, YearPartShape::Season)))?;
        let alone = match text {
            _ if self.number_follows(at + 1) => LoneCondition::Never,
            // Both are verbs and nouns of everyday English ("a spring", "to fall"); "summer" and "winter" are
            // not.
            "spring" | "fall" => LoneCondition::Doubtful,
            _ => LoneCondition::Led,
        };
        Some(YearPartMatch {
            end: at + 1,
            part: YearPart { month, shape },
            alone,
        })
    }

    /// Returns the year at `at`, "2023", "last year" or "this year", after the index of the next word.
    pub(super) fn find_year(&self, at: usize) -> Option<(usize, i64)> {
        let this_year = calendar::year_of(self.today);
        match (self.text(at), self.text_after_space(at + 1)) {
            ("last" | "previous", "year") => Some((at + 2, this_year - 1)),
            ("this" | "current", "year") => Some((at + 2, this_year)),
            (text, _) => self.written_year(text).map(|year| (at + 1, year)),
        }
    }

    fn written_year(&self, text: &str) -> Option<i64> {
        (text.len() == 4)
            .then(|| names::parse_digits(text))?
            .filter(|year| *year >= calendar::FIRST_YEAR)
    }

    /// Returns the year after a part that ends before `at`: "2023", ", 2023", "of 2023", "last year".
    pub(super) fn find_year_after(&self, at: usize) -> Option<(usize, i64)> {
        match self.gap(at)? {
            WordGap::Space if matches!(self.text(at), "of" | "de") => {
                (self.gap(at + 1)? == WordGap::Space).then(|| self.find_year(at + 1))?
            }
            WordGap::Space | WordGap::Comma => self.find_year(at),
            WordGap::Dot | WordGap::Other => None,
        }
    }

    /// Returns whether the month at `at` is written like the verb.
    fn is_ordinary(&self, at: usize) -> bool {
        matches!(self.text(at), "may" | "march") && !self.is_capital(at)
    }

    /// Returns whether the word at `at` can follow a month but not a verb.
    fn ends_like_a_month(&self, at: usize) -> bool {
        self.gap(at) != Some(WordGap::Space) || names::follows_a_month(self.text(at))
    }

    /// Returns whether the word at `at` is a number that belongs to the words before it.
    fn number_follows(&self, at: usize) -> bool {
        let text = self.text(at);
        match self.gap(at) {
            Some(WordGap::Space) => names::is_numeric(text),
            // "May 7, 2023" but not "in May, 3 people".
            Some(WordGap::Comma) => names::is_numeric(text) && text.len() >= 4,
            _ => false,
        }
    }

    /// Returns whether the day of a month precedes the month at `at`, even one that no month has.
    fn day_precedes(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).map_or("", |place| self.text(place));
        let text = if matches!(before(1), "of" | "de") {
            before(2)
        } else {
            before(1)
        };
        matches!(self.gap(at), Some(WordGap::Space | WordGap::Dot))
            && names::is_numeric(text)
            && text.len() <= 4
    }
}
