//! Suggests names similar to one that does not exist.

/// The largest number of names suggested.
const SUGGESTED: usize = 3;
/// The longest name, in characters, for which others are suggested.
const LONGEST: usize = 64;

/// Returns the names most similar to `asked`, the most similar first.
pub fn suggest_names<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let asked = fold_letters(asked);
    if asked.len() > LONGEST {
        return Vec::new();
    }
    // One typo per four letters: with more, short names would all look alike.
    let most = 1 + asked.len() / 4;
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (fold_letters(name), name))
        // Cheap first: a palace can have very many names, and counting edits takes quadratic time.
        .filter(|(letters, _)| letters.len().abs_diff(asked.len()) <= most)
        .map(|(letters, name)| (count_edits(&asked, &letters), name))
        .filter(|(edits, _)| *edits <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// Returns the lower-case letters of a name, as many as a comparison needs.
fn fold_letters(name: &str) -> Vec<char> {
    name.chars()
        .flat_map(char::to_lowercase)
        .take(2 * LONGEST)
        .collect()
}

/// Counts the letters that must be inserted, removed, changed, or swapped with the next to turn one name into the
/// other.
fn count_edits(one: &[char], other: &[char]) -> usize {
    // Optimal string alignment over three rows of the table: a swap looks back two rows.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    let mut last = None;
    for (row, a) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        let mut left = None;
        for (column, b) in other.iter().enumerate() {
            // Cells outside the table are too expensive to be chosen, and leave room for the + 1.
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

    #[test]
    fn edits_count_letters_inserted_removed_changed_and_swapped() {
        let count = |one: &str, other: &str| count_edits(&fold_letters(one), &fold_letters(other));
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
        let check = |asked: &str, names: &[&str], expect: &[&str]| {
            assert_eq!(suggest_names(asked, names.iter().copied()), expect, "{asked}");
        };
        check("wrok", &["home", "wok", "work", "worker"], &["wok", "work"]);
        check("work", &["worms", "word"], &["word", "worms"]);
        check("garden", &["work", "home"], &[]);
        check("WORK", &["work"], &["work"]);
        check("抽屉", &["抽屜"], &["抽屜"]);
        check("", &["a", "bb"], &["a"]);
        check(&"x".repeat(65), &[&"x".repeat(65)], &[]);
        check("aa", &["aa1", "aa2", "aa3", "aa4"], &["aa1", "aa2", "aa3"]);
    }
}
