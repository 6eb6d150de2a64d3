//! Times relative to today: "yesterday", "last week", "3 days ago", "in the last month".

use super::TimeExactness;
use super::calendar::{self, DayRange};
use super::names::{self, TimeUnit};
use super::parts::{LoneCondition, YearPartMatch};
use super::phrases::{QueryReader, TimePoint, longest_point};

/// The number of days that "recently" reaches back.
const RECENT: i64 = 30;

/// The number of days that "the other day" reaches back.
const OTHER_DAY: i64 = 14;

/// The number of units that "the past days" reaches back.
const SOME: i64 = 5;

/// Words that make the quantity after them approximate: "about 3", "2 or 3", "more than 3".
const ROUGHLY: [&str; 10] = [
    "about", "around", "roughly", "almost", "nearly", "some", "or", "to", "over", "than",
];

/// A number of units, exact or as a range.
struct UnitQuantity {
    end: usize,
    least: i64,
    most: i64,
    exact: TimeExactness,
}

impl QueryReader<'_> {
    /// Reads a time relative to today.
    pub(super) fn read_relative(&self, at: usize) -> Option<TimePoint> {
        longest_point([
            self.read_fixed(at),
            self.read_last(at),
            self.read_this(at),
            self.read_last_few(at),
            self.read_before_last(at),
            self.read_earlier(at),
            self.read_ago(at),
        ])
    }

    fn read_fixed(&self, at: usize) -> Option<TimePoint> {
        let today = self.today;
        Some(
            match (
                self.text(at),
                self.text_after_space(at + 1),
                self.text_after_space(at + 2),
            ) {
                ("day", "before", "yesterday") => {
                    TimePoint::new_named(at + 3, DayRange::single_day(today - 2))
                }
                ("last", "night", _) => TimePoint::new_named(
                    at + 2,
                    DayRange::single_day(today - 1).hull(DayRange::single_day(today)),
                ),
                ("this", "morning" | "afternoon" | "evening", _) => {
                    TimePoint::new_named(at + 2, DayRange::single_day(today))
                }
                ("yesterday", "morning" | "afternoon" | "evening", _) => {
                    TimePoint::new_named(at + 2, DayRange::single_day(today - 1))
                }
                ("yesterday", "night", _) => TimePoint::new_named(
                    at + 2,
                    DayRange::single_day(today - 1).hull(DayRange::single_day(today)),
                ),
                ("yesterday", ..) => TimePoint::new_named(at + 1, DayRange::single_day(today - 1)),
                ("today" | "tonight", ..) => TimePoint::new_named(at + 1, DayRange::single_day(today)),
                ("other", "day" | "night", _) => {
                    TimePoint::new_about(at + 2, self.rolling_range(OTHER_DAY, TimeUnit::Day))
                }
                ("recently" | "lately", ..) => {
                    TimePoint::new_about(at + 1, self.rolling_range(RECENT, TimeUnit::Day))
                }
                _ => return None,
            },
        )
    }

    /// "last week", "past week", "last Monday", "last weekend", "last May".
    fn read_last(&self, at: usize) -> Option<TimePoint> {
        let word = self.text(at);
        matches!(word, "last" | "past" | "previous").then_some(())?;
        let next = self.text_after_space(at + 1);
        if let Some(weekday) = names::parse_weekday(next) {
            return Some(TimePoint::new_named(at + 2, self.latest_weekday(weekday)));
        }
        if next == "weekend" {
            return Some(TimePoint::new_named(at + 2, self.latest_weekend()));
        }
        if let Some(unit) = self.read_singular_unit(at + 1) {
            // "The past week" ends today; "last week" is the calendar week before this one.
            let days = if word == "past" {
                Some(self.rolling_range(1, unit))
            } else {
                self.unit_before(unit)
            };
            return Some(TimePoint::new_named(at + 2, days?));
        }
        let found = self
            .part_of_phrase(at + 1)
            .filter(|found| found.alone != LoneCondition::Never)?;
        let days = found
            .part
            .latest_matching(self.today, |days| days.before <= self.today)?;
        Some(TimePoint::new(found.end, days, found.part.exactness()))
    }

    /// "this week", "this Monday", "this weekend", "this May".
    fn read_this(&self, at: usize) -> Option<TimePoint> {
        matches!(self.text(at), "this" | "current").then_some(())?;
        let next = self.text_after_space(at + 1);
        let week = DayRange::week_of(self.today);
        if let Some(weekday) = names::parse_weekday(next) {
            return Some(TimePoint::new_named(
                at + 2,
                DayRange::single_day(week.from + weekday),
            ));
        }
        if next == "weekend" {
            let days = DayRange::single_day(week.from + 5).hull(DayRange::single_day(week.from + 6));
            return Some(TimePoint::new_named(at + 2, days));
        }
        if let Some(unit) = self.read_singular_unit(at + 1) {
            return Some(TimePoint::new_named(at + 2, whole_unit(self.today, unit)?));
        }
        let found = self.part_of_phrase(at + 1)?;
        // "This spring" is the season, while "this may" is mostly the verb.
        let spring = found.alone == LoneCondition::Doubtful && found.part.is_three_months();
        let fits = spring || matches!(found.alone, LoneCondition::Led | LoneCondition::Sure);
        let days = fits.then(|| found.part.current_or_this_year(self.today))??;
        Some(TimePoint::new(found.end, days, found.part.exactness()))
    }

    /// "last 3 days", "past few weeks", "past days".
    fn read_last_few(&self, at: usize) -> Option<TimePoint> {
        let next = self.text_after_space(at + 1);
        let fits = matches!(self.text(at), "last" | "past" | "previous" | "recent") && !next.is_empty();
        if let Some(unit) = self.read_unit(at + 1).filter(|_| fits && next.ends_with('s')) {
            return Some(TimePoint::new_about(at + 2, self.rolling_range(SOME, unit)));
        }
        let quantity = fits.then(|| self.read_quantity(at + 1))??;
        let unit = self.read_unit(quantity.end)?;
        // The larger number, so that "the last few days" leaves nothing out that may be meant.
        let days = self.rolling_range(quantity.most, unit);
        Some(TimePoint::new(quantity.end + 1, days, quantity.exact))
    }

    /// "week before last", "weekend before last", "night before last".
    fn read_before_last(&self, at: usize) -> Option<TimePoint> {
        (self.text_after_space(at + 1) == "before" && self.text_after_space(at + 2) == "last")
            .then_some(())?;
        // "The week before last May" and "the day before last Monday" count from another time.
        let next = self.text_after_space(at + 3);
        let counts = names::parse_month(next).is_some()
            || names::parse_weekday(next).is_some()
            || names::parse_season(next).is_some()
            || names::parse_unit(next).is_some()
            || matches!(next, "weekend" | "night");
        (!counts).then_some(())?;
        let back = |days: DayRange, by: i64| DayRange {
            from: days.from - by,
            before: days.before - by,
        };
        let days = match self.text(at) {
            "weekend" => back(self.latest_weekend(), 7),
            "night" => back(
                DayRange {
                    from: self.today - 1,
                    before: self.today + 1,
                },
                1,
            ),
            _ => {
                let unit = names::parse_unit(self.text(at)).filter(|_| !self.text(at).ends_with('s'))?;
                whole_unit(self.unit_before(unit)?.from - 1, unit)?
            }
        };
        Some(TimePoint::new_named(at + 3, days))
    }

    /// "earlier today", "earlier this week", "this past week".
    fn read_earlier(&self, at: usize) -> Option<TimePoint> {
        let next = self.text_after_space(at + 1);
        match (self.text(at), next) {
            ("earlier" | "later", "today" | "tonight" | "yesterday" | "this" | "last")
            | ("sometime", "today" | "yesterday" | "this" | "last") => longest_point([
                self.read_fixed(at + 1),
                self.read_this(at + 1),
                self.read_last(at + 1),
            ]),
            ("this", "past" | "last") => longest_point([self.read_last(at + 1), self.read_last_few(at + 1)]),
            _ => None,
        }
    }

    /// "last week" after "in the": the seven days up to today, not the week before this one.
    pub(super) fn read_recent(&self, at: usize) -> Option<TimePoint> {
        matches!(self.text(at), "last" | "past").then_some(())?;
        Some(TimePoint::new_named(
            at + 2,
            self.rolling_range(1, self.read_singular_unit(at + 1)?),
        ))
    }

    /// "3 days ago", "a couple of weeks ago", "about a year ago", "a year ago today".
    fn read_ago(&self, at: usize) -> Option<TimePoint> {
        let before = at.checked_sub(1).map_or("", |before| self.text(before));
        // "Half a year ago" would be read as "a year ago".
        let quantity = self.read_quantity(at).filter(|_| before != "half")?;
        let unit = self.read_unit(quantity.end)?;
        let end = quantity.end + 2;
        (self.text_after_space(end - 1) == "ago").then_some(())?;
        if self.text_after_space(end) == "today" {
            let day = day_units_ago(self.today, quantity.most, unit);
            return Some(TimePoint::new(end + 1, DayRange::single_day(day), quantity.exact));
        }
        let days = self
            .range_around(quantity.least, unit)
            .hull(self.range_around(quantity.most, unit));
        let exact = if ROUGHLY.contains(&before) {
            TimeExactness::About
        } else {
            quantity.exact
        };
        Some(TimePoint::new(end, days, exact))
    }

    fn read_quantity(&self, at: usize) -> Option<UnitQuantity> {
        let (words, least, most) = match (
            self.text(at),
            self.text_after_space(at + 1),
            self.text_after_space(at + 2),
        ) {
            // Each row: words taken, least and most. Wider than the literal meaning, since people are not
            // exact.
            ("a", "couple", "of") => (3, 2, 3),
            ("a", "couple", _) | ("couple", "of", _) => (2, 2, 3),
            ("a", "few", _) => (2, 2, 5),
            ("couple", ..) => (1, 2, 3),
            ("few", ..) => (1, 2, 5),
            ("several", ..) => (1, 3, 7),
            (word, ..) => (1, names::parse_number(word)?, names::parse_number(word)?),
        };
        let exact = if least == most {
            TimeExactness::Named
        } else {
            TimeExactness::About
        };
        Some(UnitQuantity {
            end: at + words,
            least,
            most,
            exact,
        })
    }

    /// Reads the unit at `at`; none in "the last week of the project", which is not relative to today.
    fn read_unit(&self, at: usize) -> Option<TimeUnit> {
        names::parse_unit(self.text_after_space(at)).filter(|_| self.text_after_space(at + 1) != "of")
    }

    /// Reads a unit in the singular.
    fn read_singular_unit(&self, at: usize) -> Option<TimeUnit> {
        self.read_unit(at)
            .filter(|_| !self.text_after_space(at).ends_with('s'))
    }

    fn part_of_phrase(&self, at: usize) -> Option<YearPartMatch> {
        (!self.text_after_space(at).is_empty()).then(|| self.find_part(at))?
    }

    /// "on Monday": the latest one before today.
    pub(super) fn lone_weekday(&self, at: usize) -> Option<TimePoint> {
        let weekday = names::parse_weekday(self.text(at))?;
        Some(TimePoint::new_weekless(at + 1, self.latest_weekday(weekday)))
    }

    /// "the weekend": the latest one before this week's.
    pub(super) fn lone_weekend(&self, at: usize) -> Option<TimePoint> {
        (self.text(at) == "weekend").then(|| TimePoint::new_weekless(at + 1, self.latest_weekend()))
    }

    fn latest_weekday(&self, weekday: i64) -> DayRange {
        // Counted from yesterday: on a Monday, "last Monday" is a week ago and not today.
        let yesterday = self.today - 1;
        DayRange::single_day(yesterday - (calendar::weekday_of(yesterday) - weekday).rem_euclid(7))
    }

    fn latest_weekend(&self) -> DayRange {
        let monday = DayRange::week_of(self.today).from;
        DayRange {
            from: monday - 2,
            before: monday,
        }
    }

    /// Returns the calendar unit before the one that contains today.
    fn unit_before(&self, unit: TimeUnit) -> Option<DayRange> {
        whole_unit(whole_unit(self.today, unit)?.from - 1, unit)
    }

    /// Returns the days from `count` units ago to today.
    fn rolling_range(&self, count: i64, unit: TimeUnit) -> DayRange {
        let from = day_units_ago(self.today, count, unit);
        DayRange {
            from,
            before: self.today + 1,
        }
    }

    /// Returns the calendar unit that contains the day `count` units ago, and half a unit on either side of that day:
    /// some people count calendar months, others round.
    fn range_around(&self, count: i64, unit: TimeUnit) -> DayRange {
        let day = day_units_ago(self.today, count, unit);
        let half = match unit {
            // Days are the finest grain here, so a few hours ago may be today or yesterday.
            TimeUnit::Minute | TimeUnit::Hour => return self.rolling_range(count, unit),
            TimeUnit::Day => 0,
            TimeUnit::Week => 3,
            TimeUnit::Month => 15,
            TimeUnit::Quarter => 45,
            TimeUnit::Year => 182,
        };
        let near = DayRange::single_day(day - half).hull(DayRange::single_day(day + half));
        whole_unit(day, unit).map_or(near, |whole| whole.hull(near))
    }
}

/// Returns the calendar unit that contains `day`; none for units shorter than a week.
fn whole_unit(day: i64, unit: TimeUnit) -> Option<DayRange> {
    let month = calendar::month_of(day);
    match unit {
        TimeUnit::Minute | TimeUnit::Hour | TimeUnit::Day => None,
        TimeUnit::Week => Some(DayRange::week_of(day)),
        TimeUnit::Month => Some(DayRange::whole_months(month, 1)),
        TimeUnit::Quarter => Some(DayRange::whole_months(month - month.rem_euclid(3), 3)),
        TimeUnit::Year => Some(DayRange::whole_year(month.div_euclid(12))),
    }
}

/// Returns the day `count` units before `day`; a part of a day counts as a whole one.
fn day_units_ago(day: i64, count: i64, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Minute => day - (count + 1439) / 1440,
        TimeUnit::Hour => day - (count + 23) / 24,
        TimeUnit::Day => day - count,
        TimeUnit::Week => day - count * 7,
        TimeUnit::Month => calendar::months_before(day, count),
        TimeUnit::Quarter => calendar::months_before(day, count * 3),
        TimeUnit::Year => calendar::months_before(day, count * 12),
    }
}
