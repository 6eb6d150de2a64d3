//! What a person may have meant by the name of a wing or room that is not there.

use loci_core::{Collection, FacetKey, Facets, Filter, Result};

use crate::input::Where;
use crate::output::Output;

/// How many names are suggested.
const SUGGESTED: usize = 3;
/// The longest name, in characters, that others are compared with.
const LONGEST: usize = 64;

/// Says on standard error which wing or room asked for is not there, and which look like it; false if all are there.
pub(super) fn tell_missing(where_: &Where, collection: &dyn Collection, out: &mut Output) -> Result<bool> {
    let wing = tell(
        FacetKey::Wing,
        where_.wing.as_deref(),
        Filter::All,
        collection,
        out,
    )?;
    let Some(within) = wing else { return Ok(true) };
    let room = tell(FacetKey::Room, where_.room.as_deref(), within, collection, out)?;
    Ok(room.is_none())
}

/// Says so if no drawer has this name under `key`; else the filter narrowed to it.
fn tell(
    key: FacetKey,
    asked: Option<&str>,
    within: Filter,
    collection: &dyn Collection,
    out: &mut Output,
) -> Result<Option<Filter>> {
    let Some(asked) = asked else {
        return Ok(Some(within));
    };
    let name = match key {
        FacetKey::Wing => loci_engine::mine::spelled(collection, asked)?,
        _ => asked.to_owned(),
    };
    let filter = within.clone().and(Filter::text(key.name(), name));
    if collection.count(&filter.clone().into())? > 0 {
        return Ok(Some(filter));
    }
    let facets = collection.facets(&Facets {
        by: vec![key],
        filter: within,
        ..Facets::by_room()
    })?;
    let names: Vec<String> = facets
        .into_iter()
        .flat_map(|facet| facet.values)
        .flatten()
        .collect();
    out.note(&missing(key.name(), asked, &names));
    Ok(None)
}

fn missing(what: &str, asked: &str, names: &[String]) -> String {
    let alike: Vec<String> = alike(asked, names)
        .iter()
        .map(|name| format!("{name:?}"))
        .collect();
    match (alike.is_empty(), names.is_empty()) {
        (false, _) => format!("no {what} {asked:?}; did you mean {}?", alike.join(" or ")),
        (true, false) => format!("no {what} {asked:?}; see which there are with `loci {what}s`"),
        (true, true) => format!("no {what} {asked:?}, nor any other"),
    }
}

/// The names that look most like `asked`, the likest first.
fn alike<'a>(asked: &str, names: &'a [String]) -> Vec<&'a str> {
    let asked = letters(asked);
    if asked.len() > LONGEST {
        return Vec::new();
    }
    let most = 1 + asked.len() / 4;
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (letters(name), name.as_str()))
        .filter(|(letters, _)| letters.len().abs_diff(asked.len()) <= most)
        .map(|(letters, name)| (edits(&asked, &letters), name))
        .filter(|(edits, _)| *edits <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// Enough letters to compare by, whatever their case.
fn letters(name: &str) -> Vec<char> {
    name.chars()
        .flat_map(char::to_lowercase)
        .take(2 * LONGEST)
        .collect()
}

/// How many letters must be put in, taken out, changed, or swapped with the next to make one name of the other.
fn edits(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    let mut last = None;
    for (row, a) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        let mut left = None;
        for (column, b) in other.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&above, column) + usize::from(a != b))
                .min(at(&above, column + 1) + 1)
                .min(at(&line, column) + 1);
            if last == Some(b) && left == Some(a) {
                best = best.min(at(&before, column.saturating_sub(1)) + 1);
            }
            line.push(best);
            left = Some(b);
        }
        before = std::mem::replace(&mut above, line);
        last = Some(a);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(asked: &str, names: &[&str], expect: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(alike(asked, &names), expect, "{asked}");
    }

    #[test]
    fn edits_count_letters_put_in_taken_out_changed_and_swapped() {
        let count = |one: &str, other: &str| edits(&letters(one), &letters(other));
        assert_eq!(count("work", "wrok"), 1);
        assert_eq!(count("work", "word"), 1);
        assert_eq!(count("work", "works"), 1);
        assert_eq!(count("work", "ork"), 1);
        assert_eq!(count("", "work"), 4);
        assert_eq!(count("work", ""), 4);
        assert_eq!(count("kitten", "sitting"), 3);
    }

    #[test]
    fn only_names_that_look_alike_are_suggested_likest_first() {
        check("wrok", &["home", "wok", "work", "worker"], &["wok", "work"]);
        check("garden", &["work", "home"], &[]);
        check("WORK", &["work"], &["work"]);
        check("抽屉", &["抽屜"], &["抽屜"]);
        check("", &["a", "bb"], &["a"]);
        check(&"x".repeat(65), &[&"x".repeat(65)], &[]);
        check("aa", &["aa1", "aa2", "aa3", "aa4"], &["aa1", "aa2", "aa3"]);
    }
}
