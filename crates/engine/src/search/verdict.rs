//! The verdict: how likely a hit holds an answer, on a scale that means the same from query to query.
//!
//! The probability of a hit follows from three things that need no other hit to compare with: the share of the query's
//! words in its own text, its similarity by meaning, and the number of drawers searched. The curve was fitted on the development parts of LoCoMo and
//! LongMemEval, each question asked twice: of its haystack, and of the same haystack without the sessions that hold
//! its evidence, and among 312,000 drawers in the same way. Fitted on some conversations and measured on the others, it tells the two apart with an area under
//! the curve of .90 on LongMemEval and .76 on LoCoMo, whose two people talk about the same things all the time.

use std::collections::HashSet;

use loci_core::{CollectionReader, DrawerFields, FindingSeverity, LexicalRequest, PalaceFinding, Result};
use loci_index::tokenise;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::SearchPlan;
use super::text::hash_bytes;
use super::{SearchHit, weights};
use crate::view::shorten_name;

/// How likely it is that a search found an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SearchVerdict {
    /// Whether a hit is likely to hold an answer; if not, nothing found speaks for one.
    pub likely: bool,
    /// The probability that one does, from 0 to 1.
    pub confidence: f32,
    /// The words of the query that no drawer in scope contains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_words: Vec<String>,
    /// Whether those are all of its words.
    #[serde(skip)]
    pub all_unknown: bool,
}

/// What is known of a hit when its probability is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct HitSigns {
    /// The weighted share of the query's words in its own text, words that no candidate holds included.
    pub(super) words: f32,
    /// The number of drawers searched: the more there are, the more alike is the best of those that do not matter.
    pub(super) in_scope: u64,
    /// Its similarity by meaning; `None` if it has no vector that was compared.
    pub(super) similarity: Option<f32>,
    /// The share of the query's literals that it holds, or one if it holds the whole query as a phrase.
    pub(super) literal: f32,
    /// Whether it was said in the time that the query asks for, and the query asks for little else.
    pub(super) of_time: bool,
}

impl HitSigns {
    /// Estimates the probability that the hit holds an answer.
    pub(super) fn estimate_likelihood(self) -> f32 {
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        // The largest of n values that mean nothing grows with this root.
        let crowd = 0.268 * (2.0 * (self.in_scope as f32 + 1.0).ln()).sqrt();
        let likelihood = match self.similarity {
            // Clamped: a model that calls two texts opposites says no more than that they differ.
            Some(similarity) => sigmoid(3.17 * (self.words + similarity.clamp(0.0, 1.0)) - crowd - 1.61),
            None => sigmoid(4.43 * self.words - crowd - 1.1),
        };
        let literal = weights::LITERAL_LIKELIHOOD * self.literal;
        let of_time = if self.of_time {
            weights::TIME_LIKELIHOOD
        } else {
            0.0
        };
        likelihood.max(literal).max(of_time)
    }
}

impl SearchVerdict {
    /// Judges the hits of a search.
    pub(super) fn new(
        collection: &dyn CollectionReader,
        plan: &SearchPlan<'_>,
        hits: &[SearchHit],
        unheld: &HashSet<u64>,
    ) -> Result<Self> {
        let confidence = hits.first().map_or(0.0, |hit| hit.score);
        // In an empty scope no word says more than that it is empty.
        let unknown_words = if plan.in_scope > 0 && !plan.asks_for_time {
            find_unknown_words(collection, plan, unheld)?
        } else {
            Vec::new()
        };
        let words = plan.text.split_whitespace().count();
        Ok(Self {
            likely: confidence >= weights::LIKELY,
            confidence,
            all_unknown: words > 0 && unknown_words.len() == words,
            unknown_words,
        })
    }
}

impl SearchVerdict {
    /// Returns whether any word of the query is known, or something else speaks for an answer.
    pub fn speaks_for_answer(&self) -> bool {
        self.likely || !self.all_unknown
    }

    /// Says what a reader of the hits should know.
    pub(super) fn list_findings(&self, found: bool) -> Vec<PalaceFinding> {
        let mut findings = Vec::new();
        if !self.unknown_words.is_empty() {
            let words: Vec<String> = self
                .unknown_words
                .iter()
                .map(|word| format!("{word:?}"))
                .collect();
            let message = format!("no drawer in scope contains {}", words.join(", "));
            findings.push(PalaceFinding::new(
                "unknown_words",
                FindingSeverity::Note,
                message,
            ));
        }
        if found && !self.likely {
            let message = format!(
                "nothing found speaks for an answer; the best hit has a probability of {:.2}",
                self.confidence
            );
            let finding = PalaceFinding::new("unlikely_answer", FindingSeverity::Note, message);
            findings.push(finding.with_hint("try other words, or see what there is with `loci list`"));
        }
        findings
    }
}

/// Returns the words of the query that no drawer in scope contains, as the query spells them. Only words that none of the
/// best candidates holds are looked up: each costs a search.
pub(super) fn find_unknown_words(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    unheld: &HashSet<u64>,
) -> Result<Vec<String>> {
    let mut unknown: Vec<String> = Vec::new();
    for word in plan.text.split_whitespace().take(weights::MOST_WORDS_LOOKED_UP) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_held = |token: String| !unheld.contains(&hash_bytes(token.as_bytes()));
        let held = tokenise::query_tokens(bare).into_iter().any(is_held);
        if bare.is_empty() || held || unknown.iter().any(|other| other == bare) {
            continue;
        }
        let hits = collection.lexical(&LexicalRequest {
            filter: plan.scope.filter.clone(),
            document: plan.scope.document.clone(),
            include: DrawerFields::NOTHING,
            ..LexicalRequest::for_words(bare, 1)
        })?;
        if hits.is_empty() {
            unknown.push(shorten_name(bare));
        }
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(words: f32, similarity: Option<f32>) -> HitSigns {
        HitSigns {
            words,
            similarity,
            in_scope: 500,
            ..HitSigns::default()
        }
    }

    #[test]
    fn more_words_and_more_similarity_are_never_less_likely() {
        let all = [-1.0, 0.0, 0.2, 0.5, 0.8, 1.0, 1.5];
        for words in all {
            for pair in all.windows(2) {
                let [less, more] =
                    [pair[0], pair[1]].map(|value| signs(words, Some(value)).estimate_likelihood());
                assert!(less <= more && (0.0..=1.0).contains(&more));
                let [less, more] = [pair[0], pair[1]].map(|value| signs(value, None).estimate_likelihood());
                assert!(less <= more && (0.0..=1.0).contains(&more));
            }
        }
    }

    #[test]
    fn nothing_in_common_is_unlikely_and_everything_is_likely() {
        assert!(signs(0.0, Some(0.3)).estimate_likelihood() < weights::LIKELY);
        assert!(signs(0.0, None).estimate_likelihood() < weights::LIKELY);
        assert!(signs(1.0, Some(0.0)).estimate_likelihood() > 0.5);
        assert!(signs(1.0, None).estimate_likelihood() > 0.5);
        let literal = HitSigns {
            literal: 1.0,
            ..HitSigns::default()
        };
        assert!(literal.estimate_likelihood() > 0.9);
    }
}
