//! Phrases that mean a time: dates, alone or after a preposition, and "since" and "before".

use super::TimeExactness;
use super::calendar::{self, DayRange, FAR_FUTURE, FAR_PAST};
use super::names;
use super::parts::{LoneCondition, YearPart, YearPartMatch};
use super::recurrence::TimeRecurrence;
use super::words::{QueryWord, WordGap};

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

/// The leads that make a lone number a year.
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

/// The leads that make a lone word a month.
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

/// The leads that make "the last week" end today.
const RECENT_LEADS: [&str; 5] = ["in", "over", "during", "within", "for"];

/// Words that may come between "before" and its time; only "end" changes the day that counts.
const EDGES: [&str; 6] = ["the", "start", "beginning", "end", "of", "early"];

/// A time that some words mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimePoint {
    /// The index of the word after it.
    pub(super) end: usize,
    pub(super) days: DayRange,
    pub(super) exact: TimeExactness,
    /// The part of the year, if no word names the year.
    pub(super) yearless: Option<YearPart>,
    /// Whether the days come back every week and no word names the week.
    pub(super) weekless: bool,
}

impl TimePoint {
    pub(super) fn new(end: usize, days: DayRange, exact: TimeExactness) -> Self {
        Self {
            end,
            days,
            exact,
            yearless: None,
            weekless: false,
        }
    }

    pub(super) fn new_named(end: usize, days: DayRange) -> Self {
        Self::new(end, days, TimeExactness::Named)
    }

    pub(super) fn new_about(end: usize, days: DayRange) -> Self {
        Self::new(end, days, TimeExactness::About)
    }

    /// Creates a point for days of some week, of which these are the latest.
    pub(super) fn new_weekless(end: usize, days: DayRange) -> Self {
        Self {
            weekless: true,
            ..Self::new_about(end, days)
        }
    }

    /// Returns the times it can mean, if no word says which.
    pub(super) fn recurrence(&self) -> Option<TimeRecurrence> {
        let weekly = || self.weekless.then(|| TimeRecurrence::weekly(self.days));
        self.yearless.map(TimeRecurrence::yearly).or_else(weekly)
    }
}

/// Words before a time that belong to it.
struct LeadWords<'a> {
    /// The first word.
    word: &'a str,
    /// Whether "the" is among them.
    the: bool,
    /// Whether the last is "early", "late", "mid" or "year".
    described: bool,
    /// The index of the word after them.
    end: usize,
}

/// Returns the point that takes the most words; the first one of equals.
pub(super) fn longest_point<const N: usize>(points: [Option<TimePoint>; N]) -> Option<TimePoint> {
    points
        .into_iter()
        .flatten()
        .reduce(|best, next| if next.end > best.end { next } else { best })
}

/// Reads the words of one query on one day. Every rule examines a fixed number of words, so the cost is linear in the
/// length of the query.
#[derive(Debug)]
pub(super) struct QueryReader<'a> {
    words: &'a [QueryWord],
    pub(super) today: i64,
}

impl<'a> QueryReader<'a> {
    pub(super) fn new(words: &'a [QueryWord], today: i64) -> Self {
        Self { words, today }
    }

    /// Returns the times that the words from `at` on mean, the likelier of two equally long ones first.
    pub(super) fn read_points(&self, at: usize) -> impl IntoIterator<Item = TimePoint> + use<> {
        // Spans come first: they are the longest, and their first end alone would be a mention as well.
        [
            self.read_span(at),
            self.read_open_ended(at),
            self.read_led(at),
            self.read_sure(at),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the word at `at` in lower case; empty if there is none or it is glued to something.
    pub(super) fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// Returns the word at `at` in lower case; also empty if more than a space is before it.
    pub(super) fn text_after_space(&self, at: usize) -> &str {
        if self.gap(at) == Some(WordGap::Space) {
            self.text(at)
        } else {
            ""
        }
    }

    pub(super) fn gap(&self, at: usize) -> Option<WordGap> {
        self.words.get(at).map(|word| word.gap)
    }

    pub(super) fn is_capital(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.capital)
    }

    /// Reads a time that needs no words before it.
    pub(super) fn read_sure(&self, at: usize) -> Option<TimePoint> {
        longest_point([
            self.written_date(at),
            self.part_and_year(at),
            self.year_and_part(at),
            self.day_of_some_year(at),
            self.read_relative(at),
        ])
    }

    /// 2023-05, 2023-05-07, 2023/05/07.
    pub(super) fn written_date(&self, at: usize) -> Option<TimePoint> {
        // The word is in lower case, so the clock of `2023-05-07T09:30` begins at a `t`.
        let date = self.text(at).split('t').next()?;
        let mut fields = date.split(['-', '/']).map(names::parse_digits);
        let year = fields.next()??;
        let month = fields.next()??;
        let index = year * 12 + month - 1;
        (year >= calendar::FIRST_YEAR && (1..=12).contains(&month)).then_some(())?;
        let days = match fields.next() {
            Some(day) => DayRange::single_day(calendar::day_in_month(index, day?)?),
            None => DayRange::whole_months(index, 1),
        };
        Some(TimePoint::new_named(at + 1, days))
    }

    /// "May 2023", "7 May 2023", "May 7, 2023", "Q3 of last year".
    pub(super) fn part_and_year(&self, at: usize) -> Option<TimePoint> {
        let found = self.find_part(at)?;
        let (end, year) = self.find_year_after(found.end)?;
        Some(TimePoint::new(
            end,
            found.part.in_year(year)?,
            found.part.exactness(),
        ))
    }

    /// "2024 Q3", "last year in May".
    fn year_and_part(&self, at: usize) -> Option<TimePoint> {
        let (place, year) = self.find_year(at)?;
        let told = place == at + 2;
        // Only after "last year" or "this year": "2023 in May" is not English, "2024 Q3" is.
        let led = told && self.text_after_space(place) == "in";
        let place = place + usize::from(led);
        (self.gap(place)? == WordGap::Space).then_some(())?;
        let YearPartMatch { end, part, alone } = self.find_part(place)?;
        let fits = names::parse_quarter(self.text(place)).is_some() || (led && alone == LoneCondition::Led);
        fits.then(|| Some(TimePoint::new(end, part.in_year(year)?, part.exactness())))?
    }

    /// "May 7": the latest one.
    pub(super) fn day_of_some_year(&self, at: usize) -> Option<TimePoint> {
        self.find_part(at)
            .filter(|found| found.alone == LoneCondition::Sure)
            .and_then(|found| self.latest_begun(found))
    }

    fn latest_begun(&self, found: YearPartMatch) -> Option<TimePoint> {
        let days = found
            .part
            .latest_matching(self.today, |days| days.from <= self.today)?;
        let point = TimePoint::new_about(found.end, days);
        Some(TimePoint {
            yearless: Some(found.part),
            ..point
        })
    }

    /// Reads a number that the words before it make a year; "2023 tokens" is not one.
    pub(super) fn lone_year(&self, at: usize) -> Option<TimePoint> {
        let year = Some(self.text(at))
            .filter(|text| text.len() == 4)
            .and_then(names::parse_digits)?;
        let fits = year >= calendar::FIRST_YEAR && !names::is_counted(self.text_after_space(at + 1));
        fits.then(|| TimePoint::new_named(at + 1, DayRange::whole_year(year)))
    }

    /// Reads a part of a year that the words before it make one.
    pub(super) fn lone_part(&self, at: usize, doubtful_too: bool) -> Option<TimePoint> {
        let found = self.find_part(at)?;
        let fits =
            found.alone == LoneCondition::Led || (doubtful_too && found.alone == LoneCondition::Doubtful);
        fits.then(|| self.latest_begun(found))?
    }

    /// "in May", "on Monday", "in the year 2023", "over the weekend", "in the last week".
    fn read_led(&self, at: usize) -> Option<TimePoint> {
        let lead = self.read_lead(at)?;
        let (word, place) = (lead.word, lead.end);
        // "In the 2023 report" is about a report; "in the year 2023" is a year.
        let numbered = YEAR_LEADS.contains(&word) && (!lead.the || lead.described);
        // "A limit of 2000" is a count more often than a year.
        let round = word == "of" && self.text(place).ends_with("00");
        let year = self.lone_year(place).filter(|_| numbered && !round);
        // "During may" cannot be the verb; after "in" or "of" a doubt remains.
        let part = self.lone_part(place, word == "during");
        let weekend = self.lone_weekend(place);
        longest_point([
            self.read_recent(place)
                .filter(|_| lead.the && RECENT_LEADS.contains(&word)),
            self.read_sure(place),
            year,
            part.filter(|_| MONTH_LEADS.contains(&word)),
            self.lone_weekday(place).filter(|_| word == "on"),
            weekend.filter(|_| lead.the && LEADS.contains(&word)),
        ])
    }

    /// "in", "the", "in the", "in early", "in the year".
    fn read_lead(&self, at: usize) -> Option<LeadWords<'_>> {
        let word = self.text(at);
        (LEADS.contains(&word) || word == "the").then_some(())?;
        let second = word != "the" && self.text_after_space(at + 1) == "the";
        let after = at + 1 + usize::from(second);
        let described = matches!(self.text_after_space(after), "early" | "late" | "mid" | "year");
        let the = word == "the" || second;
        let end = after + usize::from(described);
        (self.gap(end)? == WordGap::Space).then_some(LeadWords {
            word,
            the,
            described,
            end,
        })
    }

    /// "since March", "before 2022".
    fn read_open_ended(&self, at: usize) -> Option<TimePoint> {
        let word = self.text(at);
        let since = matches!(word, "since" | "after" | "seit" | "depuis" | "desde");
        if !since && !matches!(word, "before" | "until" | "till") {
            return None;
        }
        // "Since late May" still begins with May at the earliest; "before late May" would lose most of it.
        let skipped = |place: &usize| {
            let text = self.text_after_space(*place);
            EDGES.contains(&text) || (since && matches!(text, "mid" | "late"))
        };
        let place = at + 1 + (at + 1..at + 5).take_while(skipped).count();
        let point = self.read_open_end(place, !matches!(word, "before" | "after"))?;
        // "Since the end of May" begins in June, "before the end of May" includes May.
        let ended = (at + 1..place).any(|place| self.text(place) == "end");
        let first = if ended { point.days.before } else { point.days.from };
        let (from, before) = if since {
            (first, FAR_FUTURE)
        } else {
            (FAR_PAST, first)
        };
        let days = DayRange { from, before };
        Some(TimePoint::new(point.end, days, point.exact))
    }

    fn read_open_end(&self, at: usize, doubtful_too: bool) -> Option<TimePoint> {
        (self.gap(at)? == WordGap::Space).then_some(())?;
        longest_point([
            self.read_sure(at),
            self.lone_year(at),
            self.lone_part(at, doubtful_too),
            self.lone_weekday(at),
        ])
    }
}
