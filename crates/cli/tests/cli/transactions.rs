//! How often a command opens the palace's file, and how many transactions it needs.

use std::collections::BTreeMap;

use super::*;

/// Runs `loci` and counts the points of the store that it passes.
fn points_of(home: &TempHome, words: &[&str]) -> BTreeMap<String, usize> {
    let file = home.path("points");
    let _ = std::fs::remove_file(&file);
    let done = home.command(words).env("LOCI_POINTS_TO", &file).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
    let mut counts = BTreeMap::new();
    for point in std::fs::read_to_string(&file).unwrap().lines() {
        *counts.entry(point.to_owned()).or_default() += 1;
    }
    counts
}

fn counts(points: &BTreeMap<String, usize>) -> [usize; 3] {
    ["file-opened", "read-begins", "write-begins"].map(|point| points.get(point).copied().unwrap_or(0))
}

#[test]
fn adding_opens_the_file_once_and_needs_one_read_and_one_write() {
    let home = new_home();
    home.run(&["add", "the ship leaves at dawn", "--wing", "work"]);
    let points = points_of(&home, &["add", "she counts her apples", "--wing", "work"]);
    assert_eq!(counts(&points), [1, 1, 1], "{points:?}");
    let again = points_of(&home, &["add", "she counts her apples", "--wing", "work"]);
    assert_eq!(counts(&again), [1, 1, 1], "a drawer that is there: {again:?}");
}

#[test]
fn reading_opens_the_file_once_and_reads_one_moment_beside_opening() {
    let home = new_home();
    let filed = home.json(0, &["add", "the ship leaves at dawn", "--wing", "work"]);
    let id = filed["added"][0].as_str().unwrap();
    home.run(&["add", "she counts her apples", "--wing", "work"]);
    for words in [
        &["search", "when does the ship leave"][..],
        &["search", "ship", "--wing", "WORK", "--context", "1", "--explain"],
        &["list"],
        &["show", id],
        &["count", "--wing", "work"],
        &["wings"],
        &["search", "--only", "words", "ship"],
        &["search", "--only", "meaning", "ship"],
        &["timeline", "--filed"],
        &["wake-up"],
    ] {
        let points = points_of(&home, words);
        assert_eq!(counts(&points), [1, 2, 0], "{words:?}: {points:?}");
    }
}
