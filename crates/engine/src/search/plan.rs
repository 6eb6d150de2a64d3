//! The plan of a search: its scope, its words, the times it mentions.

use std::collections::HashSet;

use loci_core::{
    CollectionReader, DrawerCondition, Filter, FilterComparison, MetadataScalar, Result, Timestamp,
};
use loci_index::tokenise;
use schemars::JsonSchema;
use serde::Serialize;

use super::legs::LegAnswers;
use super::stop_words::{is_empty_word, is_first_person};
use super::{SearchRequest, weights};
use loci_when::{self as when, TimeExactness};

/// A request resolved against a collection.
#[derive(Debug, Clone)]
pub(super) struct SearchPlan<'a> {
    pub(super) request: &'a SearchRequest,
    /// The drawers of the request's scope.
    pub(super) asked: DrawerCondition,
    /// The drawers searched.
    pub(super) scope: DrawerCondition,
    /// The number of drawers searched.
    pub(super) in_scope: u64,
    /// The words that are matched, as the query spells them.
    pub(super) text: String,
    /// The same words as the index stores them.
    pub(super) words: Vec<String>,
    /// The stop words, which are not matched.
    left_out: Vec<String>,
    /// Whether the query contains "I" or "my".
    pub(super) own: bool,
    /// The times the query mentions.
    pub(super) dates: Vec<MentionedTime>,
    /// The number of further times, which are ignored.
    pub(super) more_dates: usize,
}

/// A time that words of the query mention.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MentionedTime {
    /// The words.
    pub words: String,
    /// Its first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub before: Timestamp,
    /// Whether the words name it exactly, rather than vaguely.
    pub named: bool,
    /// The number of drawers in scope that were said in it; those are boosted.
    pub drawers: u64,
}

impl MentionedTime {
    /// Returns a filter for the drawers said in this time.
    fn time_filter(&self) -> Filter {
        let at = |time: Timestamp| MetadataScalar::Int(time.as_micros());
        Filter::Compare("said_at".into(), FilterComparison::Gte(at(self.from))).and(Filter::Compare(
            "said_at".into(),
            FilterComparison::Lt(at(self.before)),
        ))
    }

    /// Returns the boost of a drawer said at `time`, if it falls into this time or shortly after.
    pub(super) fn score_gain(&self, time: Timestamp) -> Option<f32> {
        // People report things later than they happen; see `TOLD_LATER`.
        let told = self.before.as_micros().saturating_add(weights::TOLD_LATER);
        let within = (self.from.as_micros()..told).contains(&time.as_micros());
        within.then_some(if self.named {
            weights::NAMED_TIME
        } else {
            weights::ABOUT_TIME
        })
    }
}

/// The query as it was parsed and weighted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanReport {
    /// The words that were matched, as the query spells them.
    pub text: String,
    /// The same words as the index stores them: folded and stemmed.
    pub words: Vec<String>,
    /// The stop words of the query, which were not matched.
    pub left_out: Vec<String>,
    /// The weight of each leg; the weights sum to one.
    pub weights: LegWeights,
    /// The number of hits each leg was asked for.
    pub depth: usize,
}

/// The weight of each leg.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct LegWeights {
    /// By meaning.
    pub nearest: f32,
    /// By words.
    pub lexical: f32,
}

impl<'a> SearchPlan<'a> {
    pub(super) fn new(collection: &dyn CollectionReader, request: &'a SearchRequest) -> Result<Self> {
        let asked = request.scope.resolve(collection)?;
        let scope = request.searched_condition(&asked);
        let in_scope = collection.count(&scope)?;
        // From the whole query: "I" and "my" are stop words and would be gone from the matched text.
        let tokens = tokenise::query_tokens(&request.query);
        let own = tokens.iter().any(|token| is_first_person(token));
        let telling = keep_telling_words(&request.query);
        // "To be or not to be" is nothing but stop words, and is searched as it is.
        let text = if telling.is_empty() {
            request.query.clone()
        } else {
            telling
        };
        let words = tokenise::query_tokens(&text);
        let left_out = words_left_out(&request.query, &text);
        let mut plan = Self {
            request,
            asked,
            scope,
            in_scope,
            left_out,
            text,
            words,
            own,
            dates: Vec::new(),
            more_dates: 0,
        };
        if request.dates {
            (plan.dates, plan.more_dates) = plan.read_dates(collection)?;
        }
        Ok(plan)
    }

    /// Returns the same plan for a request that differs only in its limit.
    pub(super) fn with_request<'b>(&'b self, request: &'b SearchRequest) -> SearchPlan<'b> {
        SearchPlan {
            request,
            ..self.clone()
        }
    }

    fn read_dates(&self, collection: &dyn CollectionReader) -> Result<(Vec<MentionedTime>, usize)> {
        let mut mentions = when::find_mentions(&self.request.query, self.request.now);
        let mut seen = HashSet::new();
        // Before the limit, so that one time mentioned twice does not use up two of the few that count.
        mentions.retain(|mention| seen.insert((mention.from, mention.before)));
        let more = mentions.len().saturating_sub(weights::MOST_TIMES);
        let dated = mentions.into_iter().take(weights::MOST_TIMES).map(|mention| {
            let words = self.request.query.get(mention.words.clone());
            let mut dated = MentionedTime {
                words: words.unwrap_or_default().to_owned(),
                from: mention.from,
                before: mention.before,
                named: mention.exact == TimeExactness::Named,
                drawers: 0,
            };
            dated.drawers = collection.count(&self.condition_within(&dated))?;
            Ok(dated)
        });
        Ok((dated.collect::<Result<_>>()?, more))
    }

    /// Returns the condition of the drawers searched that were said in a time.
    pub(super) fn condition_within(&self, dated: &MentionedTime) -> DrawerCondition {
        DrawerCondition {
            filter: self.scope.filter.clone().and(dated.time_filter()),
            document: self.scope.document.clone(),
        }
    }

    /// Returns the number of hits each leg is asked for at first.
    pub(super) fn first_depth(&self) -> usize {
        // At least one even in an empty scope: the contract refuses a query for no hits.
        let wanted = self.request.limit.saturating_mul(weights::DEPTH_FOR_EACH);
        let all = usize::try_from(self.in_scope).unwrap_or(usize::MAX);
        wanted.max(weights::DEPTH).min(all.max(1))
    }

    pub(super) fn report(&self, reached: &LegAnswers) -> PlanReport {
        PlanReport {
            text: self.text.clone(),
            words: self.words.clone(),
            left_out: self.left_out.clone(),
            weights: reached.weigh_legs(),
            depth: reached.depth,
        }
    }
}

/// Returns the words of `query` that were not matched, without the punctuation around them.
fn words_left_out(query: &str, matched: &str) -> Vec<String> {
    let kept: HashSet<&str> = matched.split_whitespace().collect();
    let dropped = query.split_whitespace().filter(|word| !kept.contains(word));
    let bare = dropped.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    bare.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns `query` without its stop words, as it was spelled.
fn keep_telling_words(query: &str) -> String {
    // One token that is not a stop word keeps the whole written word, so that "in-house" stays together.
    let says = |word: &&str| {
        let tokens = tokenise::query_tokens(word);
        tokens.iter().any(|token| !is_empty_word(token))
    };
    query
        .split_whitespace()
        .filter(says)
        .collect::<Vec<_>>()
        .join(" ")
}
