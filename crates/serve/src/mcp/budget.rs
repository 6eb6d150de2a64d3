//! The token budget of a reply.
//!
//! A reply is sent twice, as text and as structured content, and a client passes one or both to its agent.
//! Neither may cost more tokens than the budget, and both together no more than four bytes per token of it.

use loci_core::{Error, Result};
use loci_engine::tokens::estimate_tokens;
use serde::Serialize;

/// The budget of a reply if the caller names none.
const DEFAULT_TOKENS: usize = 2_000;
/// The smallest budget that holds a useful reply, and the largest that is plausible.
const LEAST: usize = 300;
pub(crate) const MOST: usize = 200_000;
/// The most bytes per token, text and structured content together.
const BYTES_PER_TOKEN: usize = 4;
/// Tokens reserved for braces, names and the ending of a reply.
const FRAME_TOKENS: usize = 100;

/// The part of a budget that is not spent yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyBudget {
    words: usize,
    value: usize,
    bytes: usize,
}

impl ReplyBudget {
    /// Returns a full budget of `tokens`, or of the default.
    pub(crate) fn from_tokens(tokens: Option<usize>) -> Result<Self> {
        let tokens = tokens.unwrap_or(DEFAULT_TOKENS);
        if !(LEAST..=MOST).contains(&tokens) {
            return Err(Error::invalid(format!(
                "`tokens` must be between {LEAST} and {MOST}, not {tokens}"
            ))
            .with_hint("nothing was done; leave it out for 2000"));
        }
        Ok(Self {
            words: tokens - FRAME_TOKENS,
            value: tokens - FRAME_TOKENS,
            bytes: (tokens - FRAME_TOKENS) * BYTES_PER_TOKEN,
        })
    }

    /// Spends the cost of a text and a value. Returns false and spends nothing if they do not fit.
    pub(crate) fn spend(&mut self, words: &str, value: &impl Serialize) -> bool {
        let json = serde_json::to_string(value).unwrap_or_default();
        // The text travels inside JSON as well, where escaping may turn one character into six bytes.
        let sent = serde_json::to_string(words).unwrap_or_default();
        // One more than the estimate, for the comma or line break that joins this item to the next.
        let left = |left: usize, cost: usize| left.checked_sub(cost + 1);
        let rest = (
            left(self.words, estimate_tokens(words)),
            left(self.value, estimate_tokens(&json)),
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

    /// Returns about how many bytes of text fit, sent once as text and once in the value.
    pub(crate) fn text_bytes(&self) -> usize {
        self.bytes / 2
    }

    /// Returns the tokens that a text sent in both forms may cost.
    pub(crate) fn spoken_tokens(&self) -> usize {
        // The estimate counts about three bytes of prose to a token, and both copies count against the bytes.
        self.words.min(self.value).min(self.bytes / 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_spent_that_does_not_fit() {
        let mut budget = ReplyBudget::from_tokens(Some(LEAST)).unwrap();
        let words = "word ".repeat(30);
        assert!(budget.spend(&words, &"value"));
        let before = budget.words;
        assert!(!budget.spend(&"word ".repeat(300), &"value"));
        assert_eq!(budget.words, before);
        assert!(ReplyBudget::from_tokens(Some(LEAST - 1)).is_err());
        assert!(ReplyBudget::from_tokens(Some(MOST + 1)).is_err());
    }
}
