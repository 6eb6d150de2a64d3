//! From one time to another: "between May and July 2023", "from 2019 to 2021", "in May and June".

use super::Exactness;
use super::calendar::{self, Days};
use super::names;
use super::phrases::{Point, Reader, longest};
use super::words::Gap;

/// What joins the ends of a span.
const TO: [&str; 4] = ["to", "until", "till", "through"];

impl Reader<'_> {
    /// From one time to another, in whichever order.
    pub(super) fn span(&self, at: usize) -> Option<Point> {
        match self.text(at) {
            "between" => self.joined_by(&["and"], at + 1, Self::any_end),
            "from" => self.joined_by(&TO, at + 1, Self::any_end),
            "in" | "during" => self.joined_by(&["and", "or", "to", "through"], at + 1, Self::calendar_end),
            // Without a word before it only where both ends are surely times.
            _ => self
                .lone_year(at)
                .is_none()
                .then(|| self.joined_by(&TO, at, Self::calendar_end))?
                .filter(|span| span.exact == Exactness::Named),
        }
    }

    fn joined_by(&self, joins: &[&str], at: usize, end: fn(&Self, usize) -> Option<Point>) -> Option<Point> {
        let first = end(self, at);
        let place = first.map_or(at + 1, |first| first.end);
        (joins.contains(&self.joined(place)) && self.gap(place + 1)? == Gap::Space).then_some(())?;
        let last = end(self, place + 1)?;
        let first = first.or_else(|| self.day_before(at, last))?;
        let (first, last) = same_year(first, last)?;
        let both = first.exact == Exactness::Named && last.exact == Exactness::Named;
        let exact = if both { Exactness::Named } else { Exactness::About };
        Some(Point::new(last.end, first.days.hull(last.days), exact))
    }

    /// Any time.
    fn any_end(&self, at: usize) -> Option<Point> {
        longest([self.sure(at), self.calendar_end(at)])
    }

    /// A time of the calendar, not one told from today.
    fn calendar_end(&self, at: usize) -> Option<Point> {
        longest([
            self.written_date(at),
            self.part_and_year(at),
            self.day_of_some_year(at),
            self.lone_year(at),
            self.lone_part(at, false),
        ])
    }

    /// The 3 of "3 to 5 May".
    fn day_before(&self, at: usize, last: Point) -> Option<Point> {
        let (day, _) = names::day(self.text(at))?;
        let day = calendar::day_in_month(calendar::month_of(last.days.from), day)?;
        (last.days == Days::day(last.days.from)).then(|| Point::new(at + 1, Days::day(day), last.exact))
    }
}

/// Lends the year of one end to the other, where that has none of its own, so that the first comes first.
fn same_year(mut first: Point, mut last: Point) -> Option<(Point, Point)> {
    match (first.yearless, last.yearless) {
        (None, Some(part)) => {
            let year = calendar::year_of(first.days.from);
            let fits = |days: &Days| days.from >= first.days.from;
            last.days = part
                .in_year(year)
                .filter(fits)
                .or_else(|| part.in_year(year + 1))?;
            last.exact = part.exact();
        }
        (Some(part), other) => {
            let year = calendar::year_of(last.days.from);
            let fits = |days: &Days| days.from <= last.days.from;
            first.days = part
                .in_year(year)
                .filter(fits)
                .or_else(|| part.in_year(year - 1))?;
            first.exact = if other.is_none() {
                part.exact()
            } else {
                Exactness::About
            };
        }
        (None, None) => {}
    }
    Some((first, last))
}
