//! How much a reply may say.
//!
//! A reply is sent twice, as words and as a value, and an agent reads one or both. Neither may cost more tokens than the
//! budget, and both together no more than four bytes for each.

use loci_core::{Error, Result};
use loci_engine::tokens::estimate;
use serde::Serialize;

/// What a reply may cost where nobody says.
const USUAL: usize = 2_000;
/// The least that says anything, and the most that anybody means.
const LEAST: usize = 300;
const MOST: usize = 200_000;
/// How many bytes a token has at most, words and value taken together.
const BYTES: usize = 4;
/// What braces, names and an ending may still cost, in tokens.
const FRAME: usize = 100;

/// What a reply may still cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    words: usize,
    value: usize,
    bytes: usize,
}

impl Budget {
    /// A whole budget.
    pub(crate) fn of(tokens: Option<usize>) -> Result<Self> {
        let tokens = tokens.unwrap_or(USUAL);
        if !(LEAST..=MOST).contains(&tokens) {
            return Err(
                Error::invalid(format!("`tokens` must be from {LEAST} to {MOST}, not {tokens}"))
                    .hint("nothing was done; leave it out for 2000"),
            );
        }
        Ok(Self {
            words: tokens - FRAME,
            value: tokens - FRAME,
            bytes: (tokens - FRAME) * BYTES,
        })
    }

    /// Spends what these words and this value cost; false, and nothing spent, if that is too much.
    pub(crate) fn spend(&mut self, words: &str, value: &impl Serialize) -> bool {
        let json = serde_json::to_string(value).unwrap_or_default();
        // Words are sent within JSON, too, where a character may take six bytes.
        let sent = serde_json::to_string(words).unwrap_or_default();
        let left = |left: usize, cost: usize| left.checked_sub(cost + 1);
        let rest = (
            left(self.words, estimate(words)),
            left(self.value, estimate(&json)),
            left(self.bytes, sent.len() + json.len()),
        );
        match rest {
            (Some(words), Some(value), Some(bytes)) => {
                *self = Self { words, value, bytes };
                true
            }
            _ => false,
        }
    }

    /// About how many bytes of text fit, said once as words and once in a value.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes / 2
    }

    /// What words said twice may cost, in tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.words.min(self.value).min(self.bytes / 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_spent_that_does_not_fit() {
        let mut budget = Budget::of(Some(LEAST)).unwrap();
        let words = "word ".repeat(30);
        assert!(budget.spend(&words, &"value"));
        let before = budget.words;
        assert!(!budget.spend(&"word ".repeat(300), &"value"));
        assert_eq!(budget.words, before);
        assert!(Budget::of(Some(LEAST - 1)).is_err());
        assert!(Budget::of(Some(MOST + 1)).is_err());
    }
}
