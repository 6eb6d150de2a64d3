//! Times that are told from today: "yesterday", "last week", "3 days ago", "in the last month".

use super::Exactness;
use super::calendar::{self, Days};
use super::names::{self, Unit};
use super::parts::{Alone, Found};
use super::phrases::{Point, Reader, longest};

/// How many days back "recently" reaches.
const RECENT: i64 = 30;

/// Words before a quantity that make it a rough one: "about 3", "2 or 3", "more than 3".
const ROUGHLY: [&str; 10] = [
    "about", "around", "roughly", "almost", "nearly", "some", "or", "to", "over", "than",
];

/// How many, as people say it.
struct Quantity {
    end: usize,
    least: i64,
    most: i64,
    exact: Exactness,
}

impl Reader<'_> {
    /// A time told from today.
    pub(super) fn relative(&self, at: usize) -> Option<Point> {
        longest([
            self.fixed(at),
            self.last(at),
            self.this(at),
            self.last_few(at),
            self.ago(at),
        ])
    }

    fn fixed(&self, at: usize) -> Option<Point> {
        let today = self.today;
        Some(match (self.text(at), self.joined(at + 1), self.joined(at + 2)) {
            ("day", "before", "yesterday") => Point::named(at + 3, Days::day(today - 2)),
            ("last", "night", _) => Point::named(at + 2, Days::day(today - 1).hull(Days::day(today))),
            ("this", "morning" | "afternoon" | "evening", _) => Point::named(at + 2, Days::day(today)),
            ("yesterday", ..) => Point::named(at + 1, Days::day(today - 1)),
            ("today" | "tonight", ..) => Point::named(at + 1, Days::day(today)),
            ("recently" | "lately", ..) => Point::about(at + 1, self.rolling(RECENT, Unit::Day)),
            _ => return None,
        })
    }

    /// "last week", "past week", "last Monday", "last weekend", "last May".
    fn last(&self, at: usize) -> Option<Point> {
        let word = self.text(at);
        matches!(word, "last" | "past" | "previous").then_some(())?;
        let next = self.joined(at + 1);
        if let Some(weekday) = names::weekday(next) {
            return Some(Point::named(at + 2, self.latest_weekday(weekday)));
        }
        if next == "weekend" {
            return Some(Point::named(at + 2, self.latest_weekend()));
        }
        if let Some(unit) = self.one(at + 1) {
            let days = if word == "past" {
                Some(self.rolling(1, unit))
            } else {
                self.unit_before(unit)
            };
            return Some(Point::named(at + 2, days?));
        }
        let found = self
            .part_of_phrase(at + 1)
            .filter(|found| found.alone != Alone::Never)?;
        let days = found.part.latest(self.today, |days| days.before <= self.today)?;
        Some(Point::new(found.end, days, found.part.exact()))
    }

    /// "this week", "this Monday", "this weekend", "this May".
    fn this(&self, at: usize) -> Option<Point> {
        matches!(self.text(at), "this" | "current").then_some(())?;
        let next = self.joined(at + 1);
        let week = Days::week(self.today);
        if let Some(weekday) = names::weekday(next) {
            return Some(Point::named(at + 2, Days::day(week.from + weekday)));
        }
        if next == "weekend" {
            let days = Days::day(week.from + 5).hull(Days::day(week.from + 6));
            return Some(Point::named(at + 2, days));
        }
        if let Some(unit) = self.one(at + 1) {
            return Some(Point::named(at + 2, whole(self.today, unit)?));
        }
        let found = self.part_of_phrase(at + 1)?;
        let spring = found.alone == Alone::Doubtful && found.part.is_three_months();
        let fits = spring || matches!(found.alone, Alone::Led | Alone::Sure);
        let days = fits.then(|| found.part.this(self.today))??;
        Some(Point::new(found.end, days, found.part.exact()))
    }

    /// "last 3 days", "past few weeks".
    fn last_few(&self, at: usize) -> Option<Point> {
        let fits = matches!(self.text(at), "last" | "past" | "previous") && !self.joined(at + 1).is_empty();
        let quantity = fits.then(|| self.quantity(at + 1))??;
        let unit = self.unit(quantity.end)?;
        let days = self.rolling(quantity.most, unit);
        Some(Point::new(quantity.end + 1, days, quantity.exact))
    }

    /// "last week" after "in the": the seven days until today, not the week before this one.
    pub(super) fn recent(&self, at: usize) -> Option<Point> {
        matches!(self.text(at), "last" | "past").then_some(())?;
        Some(Point::named(at + 2, self.rolling(1, self.one(at + 1)?)))
    }

    /// "3 days ago", "a couple of weeks ago", "about a year ago", "a year ago today".
    fn ago(&self, at: usize) -> Option<Point> {
        let before = at.checked_sub(1).map_or("", |before| self.text(before));
        let quantity = self.quantity(at).filter(|_| before != "half")?;
        let unit = self.unit(quantity.end)?;
        let end = quantity.end + 2;
        (self.joined(end - 1) == "ago").then_some(())?;
        if self.joined(end) == "today" {
            let day = back(self.today, quantity.most, unit);
            return Some(Point::new(end + 1, Days::day(day), quantity.exact));
        }
        let days = self
            .around(quantity.least, unit)
            .hull(self.around(quantity.most, unit));
        let exact = if ROUGHLY.contains(&before) {
            Exactness::About
        } else {
            quantity.exact
        };
        Some(Point::new(end, days, exact))
    }

    fn quantity(&self, at: usize) -> Option<Quantity> {
        let (words, least, most) = match (self.text(at), self.joined(at + 1), self.joined(at + 2)) {
            ("a", "couple", "of") => (3, 2, 3),
            ("a", "couple", _) | ("couple", "of", _) => (2, 2, 3),
            ("a", "few", _) => (2, 2, 5),
            ("couple", ..) => (1, 2, 3),
            ("few", ..) => (1, 2, 5),
            ("several", ..) => (1, 3, 7),
            (word, ..) => (1, names::number(word)?, names::number(word)?),
        };
        let exact = if least == most {
            Exactness::Named
        } else {
            Exactness::About
        };
        Some(Quantity {
            end: at + words,
            least,
            most,
            exact,
        })
    }

    /// The unit at `at`; none in "the last week of the project", which is no time told from today.
    fn unit(&self, at: usize) -> Option<Unit> {
        names::unit(self.joined(at)).filter(|_| self.joined(at + 1) != "of")
    }

    /// A unit in the singular.
    fn one(&self, at: usize) -> Option<Unit> {
        self.unit(at).filter(|_| !self.joined(at).ends_with('s'))
    }

    fn part_of_phrase(&self, at: usize) -> Option<Found> {
        (!self.joined(at).is_empty()).then(|| self.part(at))?
    }

    /// "on Monday", the latest one before today.
    pub(super) fn lone_weekday(&self, at: usize) -> Option<Point> {
        let weekday = names::weekday(self.text(at))?;
        Some(Point::about(at + 1, self.latest_weekday(weekday)))
    }

    /// "the weekend", the latest one before this week's.
    pub(super) fn lone_weekend(&self, at: usize) -> Option<Point> {
        (self.text(at) == "weekend").then(|| Point::about(at + 1, self.latest_weekend()))
    }

    fn latest_weekday(&self, weekday: i64) -> Days {
        let yesterday = self.today - 1;
        Days::day(yesterday - (calendar::weekday(yesterday) - weekday).rem_euclid(7))
    }

    fn latest_weekend(&self) -> Days {
        let monday = Days::week(self.today).from;
        Days {
            from: monday - 2,
            before: monday,
        }
    }

    /// The calendar's unit before the one that holds today.
    fn unit_before(&self, unit: Unit) -> Option<Days> {
        whole(whole(self.today, unit)?.from - 1, unit)
    }

    /// From so many units ago until today.
    fn rolling(&self, count: i64, unit: Unit) -> Days {
        let from = back(self.today, count, unit);
        Days {
            from,
            before: self.today + 1,
        }
    }

    /// The calendar's unit that holds the day so many units ago, and half a unit on either side of that day: one
    /// person counts calendar months, another rounds.
    fn around(&self, count: i64, unit: Unit) -> Days {
        let day = back(self.today, count, unit);
        let half = match unit {
            Unit::Minute | Unit::Hour => return self.rolling(count, unit),
            Unit::Day => 0,
            Unit::Week => 3,
            Unit::Month => 15,
            Unit::Quarter => 45,
            Unit::Year => 182,
        };
        let near = Days::day(day - half).hull(Days::day(day + half));
        whole(day, unit).map_or(near, |whole| whole.hull(near))
    }
}

/// The calendar's unit that holds `day`; none for those shorter than a week.
fn whole(day: i64, unit: Unit) -> Option<Days> {
    let month = calendar::month_of(day);
    match unit {
        Unit::Minute | Unit::Hour | Unit::Day => None,
        Unit::Week => Some(Days::week(day)),
        Unit::Month => Some(Days::months(month, 1)),
        Unit::Quarter => Some(Days::months(month - month.rem_euclid(3), 3)),
        Unit::Year => Some(Days::year(month.div_euclid(12))),
    }
}

/// The day so many units before `day`; a part of a day counts as one.
fn back(day: i64, count: i64, unit: Unit) -> i64 {
    match unit {
        Unit::Minute => day - (count + 1439) / 1440,
        Unit::Hour => day - (count + 23) / 24,
        Unit::Day => day - count,
        Unit::Week => day - count * 7,
        Unit::Month => calendar::months_before(day, count),
        Unit::Quarter => calendar::months_before(day, count * 3),
        Unit::Year => calendar::months_before(day, count * 12),
    }
}
