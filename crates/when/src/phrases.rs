//! Phrases that mean a time: a date, alone or with its preposition, "since" and "before".

use super::Exactness;
use super::calendar::{self, Days, FAR_FUTURE, FAR_PAST};
use super::names;
use super::parts::{Alone, Found, Part};
use super::words::{Gap, Word};

/// Words before a time that belong to it.
const LEADS: [&str; 15] = [
    "in",
    "on",
    "during",
    "of",
    "from",
    "throughout",
    "over",
    "within",
    "at",
    "for",
    "early",
    "late",
    "mid",
    "im",
    "en",
];

/// Of those, the ones that make a lone number a year.
const YEAR_LEADS: [&str; 9] = [
    "in",
    "of",
    "during",
    "from",
    "throughout",
    "early",
    "late",
    "mid",
    "en",
];

/// Of those, the ones that make a lone word a month.
const MONTH_LEADS: [&str; 9] = [
    "in",
    "of",
    "during",
    "throughout",
    "early",
    "late",
    "mid",
    "im",
    "en",
];

/// Of those, the ones that make "the last week" end today.
const RECENT_LEADS: [&str; 5] = ["in", "over", "during", "within", "for"];

/// What may stand between "before" and its time; all but "end" leave its first day where it is.
const EDGES: [&str; 6] = ["the", "start", "beginning", "end", "of", "early"];

/// A time that some words mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// The word after it.
    pub(super) end: usize,
    pub(super) days: Days,
    pub(super) exact: Exactness,
    /// The part of the year it is, where no words say which year.
    pub(super) yearless: Option<Part>,
}

impl Point {
    pub(super) fn new(end: usize, days: Days, exact: Exactness) -> Self {
        Self {
            end,
            days,
            exact,
            yearless: None,
        }
    }

    pub(super) fn named(end: usize, days: Days) -> Self {
        Self::new(end, days, Exactness::Named)
    }

    pub(super) fn about(end: usize, days: Days) -> Self {
        Self::new(end, days, Exactness::About)
    }
}

/// Words before a time that belong to it.
struct Lead<'a> {
    /// The first of them.
    word: &'a str,
    /// Whether "the" is among them.
    the: bool,
    /// Whether the last is "early", "late", "mid" or "year".
    described: bool,
    /// The word after them.
    end: usize,
}

/// The one that takes the most words; the first of several.
pub(super) fn longest<const N: usize>(points: [Option<Point>; N]) -> Option<Point> {
    points
        .into_iter()
        .flatten()
        .reduce(|best, next| if next.end > best.end { next } else { best })
}

/// Reads the words of one query on one day. Every rule looks at a few words only, so that a long query costs no more
/// than its length.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    words: &'a [Word],
    pub(super) today: i64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(words: &'a [Word], today: i64) -> Self {
        Self { words, today }
    }

    /// The times that words from `at` on mean, the likelier of two equally long ones first.
    pub(super) fn points(&self, at: usize) -> impl IntoIterator<Item = Point> + use<> {
        [self.span(at), self.open(at), self.led(at), self.sure(at)]
            .into_iter()
            .flatten()
    }

    /// The word at `at` in lower case; empty where there is none that stands for itself.
    pub(super) fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// The same, but empty too where more than a space is before it.
    pub(super) fn joined(&self, at: usize) -> &str {
        if self.gap(at) == Some(Gap::Space) {
            self.text(at)
        } else {
            ""
        }
    }

    pub(super) fn gap(&self, at: usize) -> Option<Gap> {
        self.words.get(at).map(|word| word.gap)
    }

    pub(super) fn is_capital(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.capital)
    }

    /// A time that needs no words before it.
    pub(super) fn sure(&self, at: usize) -> Option<Point> {
        longest([
            self.written_date(at),
            self.part_and_year(at),
            self.year_and_part(at),
            self.day_of_some_year(at),
            self.relative(at),
        ])
    }

    /// 2023-05, 2023-05-07, 2023/05/07.
    pub(super) fn written_date(&self, at: usize) -> Option<Point> {
        let date = self.text(at).split('t').next()?;
        let mut fields = date.split(['-', '/']).map(names::digits);
        let year = fields.next()??;
        let month = fields.next()??;
        let index = year * 12 + month - 1;
        (year >= calendar::FIRST_YEAR && (1..=12).contains(&month)).then_some(())?;
        let days = match fields.next() {
            Some(day) => Days::day(calendar::day_in_month(index, day?)?),
            None => Days::months(index, 1),
        };
        Some(Point::named(at + 1, days))
    }

    /// "May 2023", "7 May 2023", "May 7, 2023", "Q3 of last year".
    pub(super) fn part_and_year(&self, at: usize) -> Option<Point> {
        let found = self.part(at)?;
        let (end, year) = self.year_after(found.end)?;
        Some(Point::new(end, found.part.in_year(year)?, found.part.exact()))
    }

    /// "2024 Q3", "last year in May".
    fn year_and_part(&self, at: usize) -> Option<Point> {
        let (place, year) = self.year(at)?;
        let told = place == at + 2;
        let led = told && self.joined(place) == "in";
        let place = place + usize::from(led);
        (self.gap(place)? == Gap::Space).then_some(())?;
        let Found { end, part, alone } = self.part(place)?;
        let fits = names::quarter(self.text(place)).is_some() || (led && alone == Alone::Led);
        fits.then(|| Some(Point::new(end, part.in_year(year)?, part.exact())))?
    }

    /// "May 7", the latest one.
    pub(super) fn day_of_some_year(&self, at: usize) -> Option<Point> {
        self.part(at)
            .filter(|found| found.alone == Alone::Sure)
            .and_then(|found| self.latest_begun(found))
    }

    fn latest_begun(&self, found: Found) -> Option<Point> {
        let days = found.part.latest(self.today, |days| days.from <= self.today)?;
        let point = Point::about(found.end, days);
        Some(Point {
            yearless: Some(found.part),
            ..point
        })
    }

    /// A year that words before it make one; "2023 tokens" are none.
    pub(super) fn lone_year(&self, at: usize) -> Option<Point> {
        let year = Some(self.text(at))
            .filter(|text| text.len() == 4)
            .and_then(names::digits)?;
        let fits = year >= calendar::FIRST_YEAR && !names::is_counted(self.joined(at + 1));
        fits.then(|| Point::named(at + 1, Days::year(year)))
    }

    /// A part of a year that words before it make one.
    pub(super) fn lone_part(&self, at: usize, doubtful_too: bool) -> Option<Point> {
        let found = self.part(at)?;
        let fits = found.alone == Alone::Led || (doubtful_too && found.alone == Alone::Doubtful);
        fits.then(|| self.latest_begun(found))?
    }

    /// "in May", "on Monday", "in the year 2023", "over the weekend", "in the last week".
    fn led(&self, at: usize) -> Option<Point> {
        let lead = self.lead(at)?;
        let (word, place) = (lead.word, lead.end);
        let numbered = YEAR_LEADS.contains(&word) && (!lead.the || lead.described);
        // "A limit of 2000" is a count more often than a year.
        let round = word == "of" && self.text(place).ends_with("00");
        let year = self.lone_year(place).filter(|_| numbered && !round);
        let part = self.lone_part(place, word == "during");
        let weekend = self.lone_weekend(place);
        longest([
            self.recent(place)
                .filter(|_| lead.the && RECENT_LEADS.contains(&word)),
            self.sure(place),
            year,
            part.filter(|_| MONTH_LEADS.contains(&word)),
            self.lone_weekday(place).filter(|_| word == "on"),
            weekend.filter(|_| lead.the && LEADS.contains(&word)),
        ])
    }

    /// "in", "the", "in the", "in early", "in the year".
    fn lead(&self, at: usize) -> Option<Lead<'_>> {
        let word = self.text(at);
        (LEADS.contains(&word) || word == "the").then_some(())?;
        let second = word != "the" && self.joined(at + 1) == "the";
        let after = at + 1 + usize::from(second);
        let described = matches!(self.joined(after), "early" | "late" | "mid" | "year");
        let the = word == "the" || second;
        let end = after + usize::from(described);
        (self.gap(end)? == Gap::Space).then_some(Lead {
            word,
            the,
            described,
            end,
        })
    }

    /// "since March", "before 2022".
    fn open(&self, at: usize) -> Option<Point> {
        let word = self.text(at);
        let since = matches!(word, "since" | "after" | "seit" | "depuis" | "desde");
        if !since && !matches!(word, "before" | "until" | "till") {
            return None;
        }
        let skipped = |place: &usize| {
            let text = self.joined(*place);
            EDGES.contains(&text) || (since && matches!(text, "mid" | "late"))
        };
        let place = at + 1 + (at + 1..at + 5).take_while(skipped).count();
        let point = self.end_of_open(place, !matches!(word, "before" | "after"))?;
        let ended = (at + 1..place).any(|place| self.text(place) == "end");
        let first = if ended { point.days.before } else { point.days.from };
        let (from, before) = if since {
            (first, FAR_FUTURE)
        } else {
            (FAR_PAST, first)
        };
        let days = Days { from, before };
        Some(Point::new(point.end, days, point.exact))
    }

    fn end_of_open(&self, at: usize, doubtful_too: bool) -> Option<Point> {
        (self.gap(at)? == Gap::Space).then_some(())?;
        longest([
            self.sure(at),
            self.lone_year(at),
            self.lone_part(at, doubtful_too),
            self.lone_weekday(at),
        ])
    }
}
