//! Tokens of the full-text index: words folded and stemmed, dense scripts as bigrams.
//!
//! A word is a maximal run of Unicode alphanumerics and the combining marks that follow one; everything else
//! separates. An apostrophe inside a word joins (`don't` is `dont`), and a trailing `'s` is dropped. Words are
//! decomposed for compatibility, stripped of diacritics, Hebrew points and Arabic vowel signs, lower-cased and
//! recomposed. Words that then consist of ASCII letters only are stemmed as English. Scripts written without spaces
//! (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) are cut into overlapping pairs of characters. No token is longer
//! than [`LONGEST`] bytes; a longer one is cut, here and in queries alike.

mod fold;
mod pieces;
mod runs;
mod script;
mod stem;

use pieces::Tokeniser;
use std::collections::HashSet;
use std::fmt;
use stem::StemCache;

/// The most bytes in a token.
pub const LONGEST: usize = 64;

/// The purpose of the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenPurpose {
    /// Every character of a dense script, and every pair.
    Index,
    /// Every pair; a character only where it stands alone.
    Query,
}

/// Calls `sink` with every index token of `text`, in order.
///
/// Tokens are not empty and consist of ASCII lower-case letters, digits and non-ASCII characters that are not white
/// space. For dense scripts every single character is a token too, so that a query of one character finds it.
pub fn for_each_token(text: &str, sink: &mut dyn FnMut(&str)) {
    Tokeniser::new(TokenPurpose::Index, &mut StemCache::default(), sink).read(text);
}

/// Returns the tokens to index, joined by single spaces.
///
/// Consists only of ASCII lower-case letters and digits, non-ASCII characters and single spaces.
pub fn join_index_tokens(text: &str) -> String {
    TextIndexer::default().join_index_tokens(text)
}

/// Tokenises many texts, caching the stems of their words across texts.
#[derive(Default)]
pub struct TextIndexer {
    stems: StemCache,
}

impl TextIndexer {
    /// Does the same as [`join_index_tokens`], faster for each further text.
    pub fn join_index_tokens(&mut self, text: &str) -> String {
        let mut joined = String::with_capacity(text.len());
        self.for_each_index_token(text, &mut |token| {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(token);
        });
        joined
    }

    /// Does the same as [`for_each_token`], faster for each further text.
    pub fn for_each_index_token(&mut self, text: &str, sink: &mut dyn FnMut(&str)) {
        Tokeniser::new(TokenPurpose::Index, &mut self.stems, sink).read(text);
    }
}

impl TextIndexer {
    /// Creates one for a few short texts: a large cache costs more to clear than it saves.
    pub fn for_short_texts() -> Self {
        Self {
            stems: StemCache::for_short_texts(),
        }
    }

    /// Returns whether one of the [query tokens](query_tokens) of `text` is among `wanted`.
    pub fn holds_query_token(&mut self, text: &str, wanted: &HashSet<&str>) -> bool {
        let mut holds = false;
        let mut sink = |token: &str| holds |= wanted.contains(token);
        Tokeniser::new(TokenPurpose::Query, &mut self.stems, &mut sink).read(text);
        holds
    }
}

impl fmt::Debug for TextIndexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer").finish_non_exhaustive()
    }
}

/// Returns the distinct tokens to search for, in order of first appearance.
///
/// Each is among the index tokens of the same text.
pub fn query_tokens(text: &str) -> Vec<String> {
    let mut distinct = Vec::new();
    let mut seen = HashSet::new();
    Tokeniser::new(TokenPurpose::Query, &mut StemCache::for_query(), &mut |token| {
        // Asked twice, a word would count twice in every score.
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
