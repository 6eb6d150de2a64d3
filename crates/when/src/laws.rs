//! Laws that hold for every query on every day.

use loci_core::Timestamp;
use proptest::prelude::*;

use super::{TimeExactness, calendar, find_mentions, find_words_left};

/// Every word some rule looks for, and some that end a phrase.
const WORDS: [&str; 84] = [
    "in",
    "on",
    "the",
    "of",
    "from",
    "to",
    "between",
    "and",
    "since",
    "after",
    "before",
    "until",
    "last",
    "past",
    "this",
    "previous",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "quarter",
    "hours",
    "ago",
    "a",
    "an",
    "few",
    "couple",
    "several",
    "about",
    "one",
    "twelve",
    "0",
    "1",
    "7",
    "7th",
    "30",
    "31",
    "1900",
    "2023",
    "2024",
    "9999",
    "99999",
    "may",
    "May",
    "March",
    "Feb",
    "february",
    "Dec.",
    "Mai",
    "Q3",
    "summer",
    "fall",
    "winter",
    "Monday",
    "sunday",
    "weekend",
    "yesterday",
    "today",
    "tonight",
    "night",
    "morning",
    "recently",
    "lately",
    "2023-05-07",
    "2023-05",
    "2023/02/30",
    "9999-12-31",
    "early",
    "late",
    "de",
    "?",
    ",",
    ".",
    "'s",
    "tokens",
    "é",
    "other",
    "earlier",
    "recent",
    "Dec 1,2023",
];

fn a_time() -> impl Strategy<Value = Timestamp> {
    // The years -9999 to 9999 and the days just outside them, which no timestamp can represent.
    (-377_705_116_800_000_000_i64..253_402_300_800_000_000)
        .prop_filter_map("no time", |micros| Timestamp::from_micros(micros).ok())
}

fn a_time_of_today() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000_000_000).prop_map(|micros| Timestamp::from_micros(micros).unwrap())
}

fn a_query() -> impl Strategy<Value = String> {
    let words = proptest::sample::select(&WORDS[..]);
    let gaps = proptest::sample::select(&[" ", " ", " ", " ", ", ", ". ", "-", ""][..]);
    proptest::collection::vec((words, gaps), 0..12)
        .prop_map(|pairs| pairs.into_iter().flat_map(|(word, gap)| [word, gap]).collect())
}

fn check_sound(query: &str, now: Timestamp) {
    let mut end = 0;
    for mention in find_mentions(query, now) {
        assert!(
            mention.words.start >= end && !mention.words.is_empty(),
            "{query:?}: {mention:?}"
        );
        let words = query
            .get(mention.words.clone())
            .expect("whole letters of the query");
        assert_eq!(words.trim(), words, "{query:?}: {mention:?}");
        assert!(
            mention.from < mention.before && mention.from <= now,
            "{query:?}: {mention:?}"
        );
        end = mention.words.end;
        if let Some(recurrence) = mention.recurrence {
            let days: Vec<_> = recurrence.occurrences(now).collect();
            assert_eq!(
                days.first(),
                Some(&(mention.from, mention.before)),
                "{query:?}: {mention:?}"
            );
            assert!(
                days.is_sorted_by(|later, earlier| earlier.1 <= later.0),
                "{query:?}: {days:?}"
            );
        }
    }
    let mut end = 0;
    let found = find_mentions(query, now);
    for left in find_words_left(query, &found) {
        assert!(
            left.start >= end && query.get(left.clone()).is_some(),
            "{query:?}"
        );
        let taken = |mention: &super::TimeMention| mention.words.contains(&left.start);
        assert!(!found.iter().any(taken), "{query:?}: {left:?}");
        end = left.end;
    }
}

proptest! {
    #[test]
    fn mentions_of_any_text_lie_in_it_and_do_not_overlap(
        before in any::<String>(), query in a_query(), after in any::<String>(), now in a_time(),
    ) {
        check_sound(&before, now);
        check_sound(&format!("{before} {query} {after}"), now);
    }

    #[test]
    fn mentions_of_words_about_time_lie_in_the_query_and_do_not_overlap(query in a_query(), now in a_time()) {
        check_sound(&query, now);
    }

    #[test]
    fn a_query_means_the_same_all_day_and_after_other_words(query in a_query(), now in a_time_of_today()) {
        let day = calendar::day_of(now);
        let morning = find_mentions(&query, calendar::first_moment(day).unwrap());
        prop_assert_eq!(&find_mentions(&query, now), &morning);
        let before = "please find: ";
        let mut moved = find_mentions(&format!("{before}{query}"), now);
        for mention in &mut moved {
            mention.words = mention.words.start - before.len()..mention.words.end - before.len();
        }
        prop_assert_eq!(moved, morning);
    }

    #[test]
    fn a_day_is_found_however_it_is_written(day in calendar::first_of_year(1900)..calendar::first_of_year(2100)) {
        let from = calendar::first_moment(day).unwrap();
        let iso = from.to_string().replace("T00:00:00Z", "");
        let fields: Vec<usize> = iso.split('-').map(|field| field.parse().unwrap()).collect();
        let (year, month, date) = (fields[0], MONTHS[fields[1] - 1], fields[2]);
        for text in [
            iso.clone(),
            iso.replace('-', "/"),
            format!("{date} {month} {year}"),
            format!("{month} {date}, {year}"),
            format!("the {date}th of {month} {year}"),
        ] {
            let query = format!("what was said on {text}?");
            let now = calendar::first_moment(day + 1).unwrap();
            let found = find_mentions(&query, now);
            prop_assert_eq!(found.len(), 1, "{}", query);
            prop_assert_eq!((found[0].from, found[0].before), (from, now), "{}", query);
            prop_assert_eq!(found[0].exact, TimeExactness::Named);
            prop_assert_eq!(&query[found[0].words.clone()], format!("on {text}"));
        }
    }

    #[test]
    fn days_months_and_years_are_those_of_the_calendar(micros in -60_000_000_000_000_000_i64..250_000_000_000_000_000) {
        let time = Timestamp::from_micros(micros).unwrap();
        let day = calendar::day_of(time);
        let printed = time.to_string();
        let midnight = calendar::first_moment(day).unwrap().to_string();
        prop_assert_eq!(midnight.get(..10), printed.get(..10));
        let month = calendar::month_of(day);
        let written = format!("{:04}-{:02}", calendar::year_of(day), month.rem_euclid(12) + 1);
        prop_assert_eq!(Some(written.as_str()), printed.get(..7));
        let first = calendar::first_moment(calendar::first_of_month(month)).unwrap();
        prop_assert_eq!(first.to_string(), format!("{written}-01T00:00:00Z"));
    }
}

const MONTHS: [&str; 12] = [
    "January", "february", "Mar", "April", "may", "Juni", "july", "August", "Sept", "octubre", "NOVEMBER",
    "Dec",
];

#[test]
fn the_open_ends_are_the_years_one_and_9999() {
    assert_eq!(calendar::FAR_PAST, calendar::first_of_year(1));
    assert_eq!(calendar::FAR_FUTURE, calendar::first_of_year(9999));
}

#[test]
fn a_long_query_is_read_in_one_go() {
    let now = Timestamp::from_micros(1_700_000_000_000_000).unwrap();
    for words in [
        "about a few ",
        "since the ",
        "the of ",
        "1",
        "2023-",
        "last ",
        "from may to ",
        "'s",
    ] {
        check_sound(&words.repeat(2_000), now);
    }
    assert_eq!(find_mentions(&"yesterday ".repeat(2_000), now).len(), 2_000);
}
