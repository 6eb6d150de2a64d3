//! Words of a text as the full-text index keeps them: folded, stemmed, dense scripts as bigrams.
//!
//! A word is a maximal run of Unicode alphanumerics and the combining marks that follow one;
//! everything else separates. An apostrophe inside a word joins (`don't` is `dont`), and a
//! trailing `'s` is dropped. Words are decomposed for compatibility, stripped of diacritics,
//! Hebrew points and Arabic vowel signs, lower-cased and recomposed. What is then only ASCII
//! letters is stemmed as English. Scripts written without spaces (Han, kana, Hangul, Thai, Lao,
//! Khmer, Myanmar) are cut into overlapping pairs of characters. No token is longer than
//! [`LONGEST`] bytes; a longer one is cut, here and in queries alike.

mod fold;
mod pieces;
mod runs;
mod script;
mod stem;

use pieces::Tokeniser;
use std::collections::HashSet;
use std::fmt;
use stem::Stems;

/// The most bytes a token has.
pub const LONGEST: usize = 64;

/// What the tokens are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Every character of a dense script, and every pair.
    Index,
    /// Every pair; a character only where it stands alone.
    Query,
}

/// Calls `sink` with every index token of `text`, in order.
///
/// Tokens are not empty and consist of ASCII lower-case letters, digits and non-ASCII
/// characters that are not white space. Of a dense script every character comes too, so that a
/// query of one character finds it.
pub fn tokens(text: &str, sink: &mut dyn FnMut(&str)) {
    Tokeniser::new(Purpose::Index, &mut Stems::default(), sink).read(text);
}

/// The tokens to index, joined by single spaces.
///
/// Consists only of ASCII lower-case letters and digits, non-ASCII characters and single spaces.
pub fn indexed(text: &str) -> String {
    Indexer::default().indexed(text)
}

/// Cuts many texts, remembering the stems of their words from one to the next.
#[derive(Default)]
pub struct Indexer {
    stems: Stems,
}

impl Indexer {
    /// The same as [`indexed`], faster for each further text.
    pub fn indexed(&mut self, text: &str) -> String {
        let mut joined = String::with_capacity(text.len());
        let mut sink = |token: &str| {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(token);
        };
        Tokeniser::new(Purpose::Index, &mut self.stems, &mut sink).read(text);
        joined
    }
}

impl fmt::Debug for Indexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer").finish_non_exhaustive()
    }
}

/// The distinct tokens to ask for, in order of first appearance.
///
/// Each is among the index tokens of the same text.
pub fn query_tokens(text: &str) -> Vec<String> {
    let mut distinct = Vec::new();
    let mut seen = HashSet::new();
    Tokeniser::new(Purpose::Query, &mut Stems::for_query(), &mut |token| {
        if !seen.contains(token) {
            seen.insert(token.to_owned());
            distinct.push(token.to_owned());
        }
    })
    .read(text);
    distinct
}

#[cfg(test)]
mod tests;
