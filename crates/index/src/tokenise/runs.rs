//! Word boundaries of a text.

use super::fold::is_ignored;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// One run of word characters, as the text has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRun<'a> {
    /// ASCII letters and digits only.
    Plain(&'a str),
    /// With apostrophes or characters beyond ASCII.
    Rich(&'a str),
}

/// The runs of a text, in order.
pub(super) struct WordRuns<'a> {
    rest: &'a str,
}

impl<'a> WordRuns<'a> {
    /// Iterates over the runs of `text`.
    pub(super) fn in_text(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn take_bytes(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Skips separators; returns `false` at the end of the text.
    fn skip_separators(&mut self) -> bool {
        loop {
            // Bytes suffice up to the next letter or non-ASCII character, and most separators are ASCII.
            let ascii = self
                .rest
                .bytes()
                .position(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
            self.take_bytes(ascii.unwrap_or(self.rest.len()));
            match self.rest.chars().next() {
                None => return false,
                Some(first) if first.is_alphanumeric() || is_word_symbol(first) => return true,
                Some(first) => self.take_bytes(first.len_utf8()),
            };
        }
    }
}

impl<'a> Iterator for WordRuns<'a> {
    type Item = WordRun<'a>;

    fn next(&mut self) -> Option<WordRun<'a>> {
        if !self.skip_separators() {
            return None;
        }
        let bytes = self.rest.as_bytes();
        let plain = bytes
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric())
            .unwrap_or(bytes.len());
        let length = plain + rich_length(self.rest.get(plain..).unwrap_or_default(), plain > 0);
        if length == plain {
            return Some(WordRun::Plain(self.take_bytes(plain)));
        }
        Some(WordRun::Rich(self.take_bytes(length)))
    }
}

/// Returns the number of bytes at the front of `text` that continue a run, or begin one if none was `begun`.
fn rich_length(text: &str, begun: bool) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let inside = begun || at > 0;
        let continues = if is_apostrophe(character) {
            inside
                && characters
                    .peek()
                    .is_some_and(|(_, next)| next.is_alphanumeric() && !is_apostrophe(*next))
        } else {
            character.is_alphanumeric() || is_combining_mark(character) || is_ignored(character)
        };
        if !continues {
            // A symbol that stands for letters is a separate run.
            return if inside { at } else { character.len_utf8() };
        }
    }
    text.len()
}

/// Reports whether a character can join the two halves of a word.
pub(super) fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}' | '\u{02BC}' | '\u{FF07}')
}

/// Reports whether a symbol stands for letters or digits, as `™` and `㎏` do.
fn is_word_symbol(character: char) -> bool {
    let mut found = false;
    if !is_combining_mark(character) {
        decompose_compatible(character, |part| found |= part.is_alphanumeric());
    }
    found
}
