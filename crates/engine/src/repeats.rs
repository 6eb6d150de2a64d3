//! Finding repeats: whether a short text, such as a line of context, a heading or a title, repeats words of texts that were
//! removed.
//!
//! A source may lose thousands of pieces at once, and as many may stay, so that each short text is compared with all
//! removed ones through indexes and only likely matches are looked up in them.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// A line of fewer bytes is compared as whole words, or "ok" would be found in "look".
const SHORT: usize = 8;

/// Texts that were removed, for asking what repeats their words.
#[derive(Debug, Default)]
pub(crate) struct RepeatFinder {
    texts: Vec<String>,
    /// The long lines of all texts, by their first bytes.
    lines: HashMap<[u8; SHORT], Vec<String>>,
    /// The short ones.
    short_lines: HashSet<String>,
    words: HashSet<u64>,
    /// Every three words that follow each other.
    triples: HashSet<u64>,
}

impl RepeatFinder {
    /// Indexes the removed texts.
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut finder = Self {
            texts: texts.into_iter().filter(|text| !text.trim().is_empty()).collect(),
            ..Self::default()
        };
        for text in &finder.texts {
            let words = split_words(text);
            finder.words.extend(words.iter().map(hash_value));
            finder.triples.extend(words.windows(3).map(hash_value));
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                match first_bytes(line.as_bytes()) {
                    Some(first) => finder.lines.entry(first).or_default().push(line.to_owned()),
                    None => drop(finder.short_lines.insert(line.to_owned())),
                }
            }
        }
        finder
    }

    /// Returns whether nothing was removed.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns whether a text repeats removed words: it is a part of them, or contains one of their lines.
    pub(crate) fn repeats(&self, text: &str) -> bool {
        let text = text.trim();
        !text.is_empty() && !self.is_empty() && (self.contains_line(text) || self.is_within(text))
    }

    /// Returns whether a heading repeats removed words, in any of its parts.
    pub(crate) fn repeats_heading(&self, heading: &str) -> bool {
        heading.split(" > ").any(|part| self.repeats(part))
    }

    /// Returns whether a title repeats removed words. A short title may share its words with many messages, so that it must
    /// be one of their lines.
    pub(crate) fn repeats_title(&self, title: &str) -> bool {
        let title = title.trim_end_matches(['…', '.']).trim();
        if title.len() < SHORT {
            return self.short_lines.contains(title);
        }
        self.contains_long_line(title) || self.is_within(title)
    }

    /// Returns whether a removed text contains this one.
    fn is_within(&self, text: &str) -> bool {
        let words = split_words(text);
        // The first and the last word may be parts of longer ones; all between are as they were.
        let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
        inner.iter().all(|word| self.words.contains(&hash_value(word)))
            && inner
                .windows(3)
                .all(|three| self.triples.contains(&hash_value(three)))
            && self.texts.iter().any(|removed| removed.contains(text))
    }

    fn contains_line(&self, text: &str) -> bool {
        self.contains_long_line(text) || self.contains_short_line(text)
    }

    fn contains_long_line(&self, text: &str) -> bool {
        let places = (0..text.len()).filter(|at| text.is_char_boundary(*at));
        let mut rests = places.filter_map(|at| text.get(at..));
        rests.any(|rest| {
            let begun = first_bytes(rest.as_bytes()).and_then(|first| self.lines.get(&first));
            begun.is_some_and(|lines| lines.iter().any(|line| rest.starts_with(line.as_str())))
        })
    }

    /// Returns whether a text contains a short line; one of ASCII only as whole words.
    fn contains_short_line(&self, text: &str) -> bool {
        let is_part_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let boundaries = |from: usize| {
            let to = text.len().min(from + SHORT - 1);
            (from + 1..=to).filter(|at| text.is_char_boundary(*at))
        };
        (0..text.len())
            .filter(|from| text.is_char_boundary(*from))
            .flat_map(|from| boundaries(from).map(move |to| (from, to)))
            .filter_map(|(from, to)| Some((text.get(from..to)?, text.get(..from)?, text.get(to..)?)))
            .filter(|(line, ..)| self.short_lines.contains(*line))
            .any(|(line, before, after)| {
                !line.is_ascii()
                    || (!is_part_of_word(before.chars().next_back())
                        && !is_part_of_word(after.chars().next()))
            })
    }
}

/// Splits a text into words; a character beyond ASCII is a word by itself, since not every script writes blanks.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for run in text.split_whitespace() {
        let mut start = 0;
        for (at, c) in run.char_indices().filter(|(_, c)| !c.is_ascii()) {
            words.extend(run.get(start..at).filter(|word| !word.is_empty()));
            start = at + c.len_utf8();
            words.extend(run.get(at..start));
        }
        words.extend(run.get(start..).filter(|word| !word.is_empty()));
    }
    words
}

fn first_bytes(text: &[u8]) -> Option<[u8; SHORT]> {
    text.get(..SHORT)?.try_into().ok()
}

fn hash_value(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn finder(texts: &[&str]) -> RepeatFinder {
        RepeatFinder::new(texts.iter().map(ToString::to_string))
    }

    #[test]
    fn a_text_repeats_words_if_it_is_part_of_them_or_has_one_of_their_lines() {
        let removed = finder(&["my key is 123\nplease keep it\n", "ok"]);
        assert!(removed.repeats("key is 12"));
        assert!(removed.repeats("he said: please keep it, so I did"));
        assert!(removed.repeats("that is ok, then") && !removed.repeats("look"));
        assert!(!removed.repeats("something else") && !removed.repeats("  "));
        assert!(removed.repeats_heading("Guide > my key is"));
        assert!(!finder(&[]).repeats("anything"));
    }

    #[test]
    fn a_title_repeats_words_that_it_was_taken_from_and_not_words_it_shares() {
        let removed = finder(&["Please fix the login page\nthe password is 123\nyes\n"]);
        assert!(removed.repeats_title("Please fix the login…") && removed.repeats_title("login page"));
        assert!(removed.repeats_title("yes"), "a whole line");
        assert!(!removed.repeats_title("login") && !removed.repeats_title("Other things"));
    }

    proptest! {
        #[test]
        fn no_part_of_a_removed_text_is_missed(
            text in "[a-c é抽。 \\n]{0,60}", from in 0_usize..60, length in 1_usize..30,
        ) {
            let chars: Vec<char> = text.chars().collect();
            let part: String = chars.iter().skip(from).take(length).collect();
            let removed = finder(&["other words", &text]);
            prop_assert_eq!(removed.is_within(part.trim()) , part.trim().is_empty() || text.contains(part.trim()));
        }

        #[test]
        fn no_line_of_a_removed_text_is_missed(line in "[a-c é抽]{1,20}", before in "[a-c ]{0,9}", after in "[ a-c]{0,9}") {
            let line = line.trim();
            prop_assume!(!line.is_empty());
            let whole = format!("{before} {line} {after}");
            prop_assert!(finder(&[line]).repeats(&whole), "{whole:?}");
        }
    }
}
