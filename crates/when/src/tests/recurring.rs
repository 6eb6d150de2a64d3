//! Times that come back, the words that no time takes, and the table in the documentation.

use loci_core::Timestamp;

use super::{NOW, day, written};
use crate::{find_mentions, find_words_left};

/// The days that a query can mean, where it does not say which.
fn occurrences(query: &str, count: usize) -> Vec<String> {
    let now: Timestamp = NOW.parse().unwrap();
    let found = find_mentions(query, now);
    let recurrence = found[0].recurrence.unwrap_or_else(|| panic!("{query}"));
    let written =
        |(from, before): (Timestamp, Timestamp)| format!("{}..{}", day(from, "0001"), day(before, "9999"));
    recurrence.occurrences(now).take(count).map(written).collect()
}

#[test]
fn a_time_without_its_year_or_week_goes_back_from_the_latest() {
    assert_eq!(
        occurrences("what happened in February", 3),
        [
            "2024-02-01..2024-03-01",
            "2023-02-01..2023-03-01",
            "2022-02-01..2022-03-01"
        ]
    );
    assert_eq!(
        occurrences("in June", 2),
        ["2023-06-01..2023-07-01", "2022-06-01..2022-07-01"],
        "not one that is yet to come"
    );
    assert_eq!(
        occurrences("on May 16", 1),
        ["2023-05-16..2023-05-17"],
        "not a day that is yet to come"
    );
    assert_eq!(
        occurrences("on Feb 29", 2),
        ["2024-02-29..2024-03-01", "2020-02-29..2020-03-01"]
    );
    assert_eq!(
        occurrences("on Monday", 2),
        ["2024-05-13..2024-05-14", "2024-05-06..2024-05-07"]
    );
    assert_eq!(
        occurrences("over the weekend", 2),
        ["2024-05-11..2024-05-13", "2024-05-04..2024-05-06"]
    );
    assert_eq!(
        occurrences("in Q3", 1),
        ["2023-07-01..2023-10-01"],
        "a quarter comes back too"
    );
    assert_eq!(occurrences("in March", 99).len(), 26);
    assert!(occurrences("on Friday", 9999).len() > 25 * 52);
}

#[test]
fn a_time_that_says_its_year_or_week_means_only_one() {
    let now: Timestamp = NOW.parse().unwrap();
    for query in [
        "in February 2023",
        "last February",
        "last Monday",
        "this May",
        "since March",
        "before Monday",
        "yesterday",
        "last week",
        "from november to april",
    ] {
        let found = find_mentions(query, now);
        assert_eq!(found.len(), 1, "{query}");
        assert_eq!(found[0].recurrence, None, "{query}");
    }
}

#[test]
fn the_words_left_are_those_that_no_time_takes() {
    for (query, left) in [
        ("what happened last week", "what happened"),
        ("what did we do on Monday", "what did we do"),
        ("in February", ""),
        ("since last March?", ""),
        ("about 3 days ago", ""),
        (
            "what was said by yesterday evening, and why?",
            "what was said and why",
        ),
        ("talk about boats in May 2023", "talk about boats"),
        ("last week and the week before last", "and"),
        ("what did we book in March 2026", "what did we book in March 2026"),
        ("", ""),
    ] {
        let found = find_mentions(query, NOW.parse().unwrap());
        let words: Vec<&str> = find_words_left(query, &found)
            .into_iter()
            .map(|range| &query[range])
            .collect();
        assert_eq!(words.join(" "), left, "{query}");
    }
}

#[test]
fn the_table_of_times_in_the_documentation_is_true() {
    let page = include_str!("../../../../docs/times.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 30, "{}", rows.len());
    for row in rows {
        let [words, kind, from, before] = row.as_slice() else {
            panic!("{row:?}");
        };
        let sign = if *kind == "named" { '=' } else { '~' };
        let line = written(words, NOW.parse().unwrap());
        assert_eq!(line, format!("[{words}] {sign} {from}..{before}"));
    }
}
