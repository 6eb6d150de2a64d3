//! The times that words of a query mean, so that a search can narrow or lean by `said_at`.
//!
//! - Everything is in UTC and in whole days: "this morning" is today, "last night" is yesterday and today. Weeks
//!   begin on Monday, seasons are the three months of the north and therefore only lean.
//! - A written date, month, quarter or year is itself: `2023-05-07`, "7 May 2023", "Q3 2024", "in 2023". Without a
//!   year it is the latest that has begun and only leans: "in May". "Last May" is the latest that has ended.
//! - "Last week" is the week before this one; "the past week" and "in the last 3 days" reach from then to today.
//! - "3 days ago" is that day. "3 weeks ago" is the week that holds that day and half a week on either side of it;
//!   so with months and years. "A few", "a couple of" and "about" only lean.
//! - "Since X" and "after X" are from the first day of X on, "before X" and "until X" end with the day before it.
//! - A number is a year, and "may", "march" or "fall" a time, only where the words beside it leave little doubt.
//! - Nothing was said after now: what would begin then is no mention. Neither is a day that does not exist, nor what
//!   lies before 1900. Where two readings overlap, the one of more letters is taken.

mod calendar;
mod names;
mod parts;
mod phrases;
mod relative;
mod spans;
mod words;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::ops::Range;

use loci_core::Timestamp;

use calendar::{Days, FAR_PAST};
use phrases::{Point, Reader};
use words::Word;

/// A stretch of time that some words of a query mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The bytes of the query that say so, with the preposition before them.
    pub words: Range<usize>,
    /// Its first moment; the year 1 where it has none, as in "before 2022".
    pub from: Timestamp,
    /// The first moment after it; the year 9999 where it has no end, as in "since 2022".
    pub before: Timestamp,
    /// How surely the words mean it.
    pub exact: Exactness,
}

/// How surely words mean a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exactness {
    /// They name the time itself: "in 2023-05", "yesterday", "last May". Narrowing is right.
    Named,
    /// They only lean towards it: "recently", "a few weeks ago", "in May". Preferring is right, narrowing is not.
    About,
}

/// The times `query` mentions when it is asked at `now`, in the order of its words; none of them overlap in the query.
pub fn mentions(query: &str, now: Timestamp) -> Vec<Mention> {
    let words = words::split(query);
    let reader = Reader::new(&words, calendar::day_of(now));
    let mut readings: Vec<Reading> = (0..words.len())
        .flat_map(|at| reader.points(at).into_iter().map(move |point| (at, point)))
        .filter_map(|(at, point)| Reading::new(&words, at, point, now))
        .collect();
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.mention.words.len()));
    without_overlap(readings, words.len())
}

/// A mention and which words it takes.
struct Reading {
    taken: Range<usize>,
    mention: Mention,
}

impl Reading {
    fn new(words: &[Word], at: usize, point: Point, now: Timestamp) -> Option<Self> {
        let Point { end, days, exact, .. } = point;
        let first_day = calendar::first_of_year(calendar::FIRST_YEAR);
        let known = days.before > first_day && (days.from >= first_day || days.from == FAR_PAST);
        let (from, before) = moments(days)?;
        (known && from < before && from <= now).then_some(())?;
        let bytes = words.get(at)?.range.start..words.get(end.checked_sub(1)?)?.range.end;
        Some(Self {
            taken: at..end,
            mention: Mention {
                words: bytes,
                from,
                before,
                exact,
            },
        })
    }
}

fn moments(days: Days) -> Option<(Timestamp, Timestamp)> {
    Some((
        calendar::first_moment(days.from)?,
        calendar::first_moment(days.before)?,
    ))
}

/// Takes the readings in their order, each where no word of it is taken; gives them in the order of the query.
fn without_overlap(readings: Vec<Reading>, words: usize) -> Vec<Mention> {
    let mut free = vec![true; words];
    let mut kept = Vec::new();
    for Reading { taken, mention } in readings {
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
