//! Finds the times that a query mentions, so that a search can filter or rank by `said_at`.
//!
//! A mention is either named ([`TimeExactness::Named`]), and a search may filter by it, or approximate
//! ([`TimeExactness::About`]), and a search may only prefer it.
//!
//! - Everything is in UTC and in whole days: "this morning" is today, "last night" is yesterday and today. Weeks
//!   begin on Monday. Seasons are those of the northern hemisphere and therefore approximate.
//! - A written date, month, quarter or year is named: `2023-05-07`, "7 May 2023", "Q3 2024", "in 2023". Without a year
//!   it is the latest one that has begun, and approximate: "in May"; [`TimeMention::recurrence`] has the earlier ones.
//!   "Last May" is the latest one that has ended.
//! - "Last week" is the week before this one; "the past week" and "in the last 3 days" reach from then to today.
//! - "The week before last" is the one before that. "The past few days" and "the other day" are approximate.
//! - "3 days ago" is that day. "3 weeks ago" is the week that contains that day, and half a week on either side of the
//!   day; likewise for months and years. "A few", "a couple of" and "about" are approximate.
//! - "Since X" and "after X" begin with the first day of X; "before X" and "until X" end with the day before it.
//! - A number is a year, and "may", "march" or "fall" a time, only if the words beside it leave little doubt.
//! - A time that begins after now is not a mention. Neither is a day that does not exist, nor a time before 1900. If
//!   two readings overlap, the longer one is taken.

mod calendar;
mod names;
mod parts;
mod phrases;
mod recurrence;
mod relative;
mod spans;
mod words;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::ops::Range;

use loci_core::Timestamp;

use calendar::{DayRange, FAR_PAST};
use phrases::{QueryReader, TimePoint};
pub use recurrence::TimeRecurrence;
use words::QueryWord;

/// A range of time that a query mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeMention {
    /// The bytes of the query that mention it, with the preposition before them.
    pub words: Range<usize>,
    /// Its first moment; the year 1 if it has no beginning, as in "before 2022".
    pub from: Timestamp,
    /// The first moment after it; the year 9999 if it has no end, as in "since 2022".
    pub before: Timestamp,
    /// The certainty of the mention.
    pub exact: TimeExactness,
    /// The times it can mean, if no word says which year or week: `from` and `before` are then the latest.
    pub recurrence: Option<TimeRecurrence>,
}

/// The certainty with which words mean a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeExactness {
    /// They name the time itself: "in 2023-05", "yesterday", "last May". A search may filter by it.
    Named,
    /// They only suggest it: "recently", "a few weeks ago", "in May". A search may prefer it but must not filter by it.
    About,
}

/// Returns the times that `query` mentions when it is asked at `now`, in the order of its words, without overlaps.
pub fn find_mentions(query: &str, now: Timestamp) -> Vec<TimeMention> {
    let words = words::split_words(query);
    let reader = QueryReader::new(&words, calendar::day_of(now));
    let mut readings: Vec<MentionReading> = (0..words.len())
        .flat_map(|at| reader.read_points(at).into_iter().map(move |point| (at, point)))
        .filter_map(|(at, point)| MentionReading::new(&words, at, point, now))
        .collect();
    // The sort is stable: of readings of the same length, the likelier one stays first (see
    // `QueryReader::read_points`).
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.mention.words.len()));
    drop_overlaps(readings, words.len())
}

/// Returns the bytes of each word of `query` that none of its mentions takes, in order: what a question asks besides
/// its times. Words that only lead to a mention or blur it, such as "about" in "about 3 days ago", are not among them.
pub fn find_words_left(query: &str, mentions: &[TimeMention]) -> Vec<Range<usize>> {
    let mut left: Vec<Range<usize>> = Vec::new();
    let mut starts = mentions.iter().map(|mention| mention.words.clone()).peekable();
    for word in words::split_words(query) {
        while starts
            .peek()
            .is_some_and(|mention| mention.end <= word.range.start)
        {
            starts.next();
        }
        match starts.peek() {
            Some(mention) if mention.contains(&word.range.start) => {
                // Only words directly before the mention, without another mention between.
                while left.last().is_some_and(|before| {
                    let end = query.get(before.end..mention.start).unwrap_or("-");
                    end.trim().is_empty() && is_blurring(query.get(before.clone()).unwrap_or_default())
                }) {
                    left.pop();
                }
            }
            _ => left.push(word.range),
        }
    }
    left
}

/// Returns whether a word before a time only blurs it.
fn is_blurring(word: &str) -> bool {
    const BLURS: [&str; 13] = [
        "about",
        "almost",
        "around",
        "back",
        "by",
        "just",
        "nearly",
        "only",
        "roughly",
        "sometime",
        "somewhere",
        "until",
        "up",
    ];
    BLURS.iter().any(|blur| word.eq_ignore_ascii_case(blur))
}

/// A possible mention and the words it takes.
struct MentionReading {
    taken: Range<usize>,
    mention: TimeMention,
}

impl MentionReading {
    fn new(words: &[QueryWord], at: usize, point: TimePoint, now: Timestamp) -> Option<Self> {
        let TimePoint { end, days, exact, .. } = point;
        let first_day = calendar::first_of_year(calendar::FIRST_YEAR);
        // An open beginning is the only date before 1900 that is meant; any other comes from a misread
        // number.
        let known = days.before > first_day && (days.from >= first_day || days.from == FAR_PAST);
        let (from, before) = range_moments(days)?;
        (known && from < before && from <= now).then_some(())?;
        let bytes = words.get(at)?.range.start..words.get(end.checked_sub(1)?)?.range.end;
        Some(Self {
            taken: at..end,
            mention: TimeMention {
                words: bytes,
                from,
                before,
                exact,
                recurrence: point.recurrence(),
            },
        })
    }
}

fn range_moments(days: DayRange) -> Option<(Timestamp, Timestamp)> {
    Some((
        calendar::first_moment(days.from)?,
        calendar::first_moment(days.before)?,
    ))
}

/// Keeps each reading, in order, if none of its words is taken; returns the mentions in the order of the query.
fn drop_overlaps(readings: Vec<MentionReading>, words: usize) -> Vec<TimeMention> {
    let mut free = vec![true; words];
    let mut kept = Vec::new();
    for MentionReading { taken, mention } in readings {
        let Some(places) = free.get_mut(taken) else {
            continue;
        };
        if places.iter().all(|free| *free) {
            places.fill(false);
            kept.push(mention);
        }
    }
    kept.sort_by_key(|mention| mention.words.start);
    kept
}
