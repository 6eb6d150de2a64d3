//! Parts of a year by name: a month, one day of it, a quarter, a season; and the year beside them.

use super::Exactness;
use super::calendar::{self, Days};
use super::names;
use super::phrases::Reader;
use super::words::Gap;

/// A part that every year has, or almost every.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The month it begins with, 0 for January.
    month: i64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Day(i64),
    Month,
    Quarter,
    Season,
}

/// A part found in a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// The word after it.
    pub(super) end: usize,
    pub(super) part: Part,
    pub(super) alone: Alone,
}

/// What a part needs beside it where no year is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    /// Nothing: "May 7".
    Sure,
    /// A preposition: "in May".
    Led,
    /// A word that hardly ever comes before the ordinary word: "since may", "last fall".
    Doubtful,
    /// A year, come what may: "7. May 2023".
    Never,
}

impl Part {
    /// How surely it is meant beside a year: a season is another one in the south.
    pub(super) fn exact(self) -> Exactness {
        match self.shape {
            Shape::Season => Exactness::About,
            Shape::Day(_) | Shape::Month | Shape::Quarter => Exactness::Named,
        }
    }

    pub(super) fn is_three_months(self) -> bool {
        matches!(self.shape, Shape::Quarter | Shape::Season)
    }

    pub(super) fn in_year(self, year: i64) -> Option<Days> {
        let index = year * 12 + self.month;
        match self.shape {
            Shape::Day(day) => calendar::day_in_month(index, day).map(Days::day),
            Shape::Month => Some(Days::months(index, 1)),
            Shape::Quarter | Shape::Season => Some(Days::months(index, 3)),
        }
    }

    /// The latest of which `wanted` is true; leap days are at most eight years apart.
    pub(super) fn latest(self, today: i64, wanted: impl Fn(Days) -> bool) -> Option<Days> {
        let year = calendar::year_of(today);
        (0..=9).find_map(|back| self.in_year(year - back).filter(|days| wanted(*days)))
    }

    /// The one that holds `today`, or else the one that begins in its year.
    pub(super) fn this(self, today: i64) -> Option<Days> {
        self.latest(today, |days| (days.from..days.before).contains(&today))
            .or_else(|| self.in_year(calendar::year_of(today)))
    }
}

impl Reader<'_> {
    /// The longest part of a year at `at`.
    pub(super) fn part(&self, at: usize) -> Option<Found> {
        self.day_and_month(at)
            .or_else(|| self.month_and_day(at))
            .or_else(|| self.month(at))
            .or_else(|| self.three_months(at))
    }

    /// "7 May", "7th of May", "7. Mai", "7 de mayo".
    fn day_and_month(&self, at: usize) -> Option<Found> {
        let (day, ordinal) = names::day(self.text(at))?;
        let dotted = self.gap(at + 1) == Some(Gap::Dot);
        let of = matches!(self.joined(at + 1), "of" | "de");
        let place = at + 1 + usize::from(of);
        let text = if dotted {
            self.text(place)
        } else {
            self.joined(place)
        };
        let month = names::month(text)?;
        let certain = ordinal || !self.is_ordinary(place) || self.ends_like_a_month(place + 1);
        let alone = if certain && !dotted && !self.number_follows(place + 1) {
            Alone::Sure
        } else {
            Alone::Never
        };
        let part = Part {
            month,
            shape: Shape::Day(day),
        };
        Some(Found {
            end: place + 1,
            part,
            alone,
        })
    }

    /// "May 7", "Dec. 7th".
    fn month_and_day(&self, at: usize) -> Option<Found> {
        let month = names::month(self.text(at))?;
        let shortened = self.text(at).len() <= 4 && self.gap(at + 1) == Some(Gap::Dot);
        let text = if shortened {
            self.text(at + 1)
        } else {
            self.joined(at + 1)
        };
        let (day, ordinal) = names::day(text)?;
        let certain = ordinal || !self.is_ordinary(at) || self.ends_like_a_month(at + 2);
        let alone = if certain && !self.number_follows(at + 2) {
            Alone::Sure
        } else {
            Alone::Never
        };
        let part = Part {
            month,
            shape: Shape::Day(day),
        };
        Some(Found {
            end: at + 2,
            part,
            alone,
        })
    }

    /// "May", but not that of "30 May" or "30th of May".
    fn month(&self, at: usize) -> Option<Found> {
        let month = names::month(self.text(at))?;
        if self.day_precedes(at) {
            return None;
        }
        let alone = match self.text(at) {
            _ if self.number_follows(at + 1) => Alone::Never,
            "mars" => Alone::Never,
            _ if self.is_ordinary(at) && !self.ends_like_a_month(at + 1) => Alone::Doubtful,
            _ => Alone::Led,
        };
        let part = Part {
            month,
            shape: Shape::Month,
        };
        Some(Found {
            end: at + 1,
            part,
            alone,
        })
    }

    /// "Q3", "summer".
    fn three_months(&self, at: usize) -> Option<Found> {
        let text = self.text(at);
        let quarter = names::quarter(text).map(|month| (month, Shape::Quarter));
        let (month, shape) = quarter.or_else(|| names::season(text).map(|month| (month, Shape::Season)))?;
        let alone = match text {
            _ if self.number_follows(at + 1) => Alone::Never,
            "spring" | "fall" => Alone::Doubtful,
            _ => Alone::Led,
        };
        Some(Found {
            end: at + 1,
            part: Part { month, shape },
            alone,
        })
    }

    /// The year at `at`: "2023", "last year", "this year"; and the word after it.
    pub(super) fn year(&self, at: usize) -> Option<(usize, i64)> {
        let this_year = calendar::year_of(self.today);
        match (self.text(at), self.joined(at + 1)) {
            ("last" | "previous", "year") => Some((at + 2, this_year - 1)),
            ("this" | "current", "year") => Some((at + 2, this_year)),
            (text, _) => self.written_year(text).map(|year| (at + 1, year)),
        }
    }

    fn written_year(&self, text: &str) -> Option<i64> {
        (text.len() == 4)
            .then(|| names::digits(text))?
            .filter(|year| *year >= calendar::FIRST_YEAR)
    }

    /// The year after a part that ends before `at`: "2023", ", 2023", "of 2023", "last year".
    pub(super) fn year_after(&self, at: usize) -> Option<(usize, i64)> {
        match self.gap(at)? {
            Gap::Space if matches!(self.text(at), "of" | "de") => {
                (self.gap(at + 1)? == Gap::Space).then(|| self.year(at + 1))?
            }
            Gap::Space | Gap::Comma => self.year(at),
            Gap::Dot | Gap::Other => None,
        }
    }

    /// Whether the month at `at` is written like a verb.
    fn is_ordinary(&self, at: usize) -> bool {
        matches!(self.text(at), "may" | "march") && !self.is_capital(at)
    }

    /// Whether what comes at `at` can come after a month but not after a verb.
    fn ends_like_a_month(&self, at: usize) -> bool {
        self.gap(at) != Some(Gap::Space) || names::follows_a_month(self.text(at))
    }

    /// Whether a number comes at `at` that belongs to what is before it.
    fn number_follows(&self, at: usize) -> bool {
        let text = self.text(at);
        match self.gap(at) {
            Some(Gap::Space) => names::is_numeric(text),
            Some(Gap::Comma) => names::is_numeric(text) && text.len() >= 4,
            _ => false,
        }
    }

    /// Whether a day of a month comes before the month at `at`, even one that no month has.
    fn day_precedes(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).map_or("", |place| self.text(place));
        let text = if matches!(before(1), "of" | "de") {
            before(2)
        } else {
            before(1)
        };
        matches!(self.gap(at), Some(Gap::Space | Gap::Dot)) && names::is_numeric(text) && text.len() <= 4
    }
}
