//! The plan of a search: its scope, its words, the times it mentions.

use std::collections::HashSet;

use loci_core::{CollectionReader, Comparison, DrawerCondition, Filter, Result, Scalar, Timestamp};
use loci_index::tokenise;
use schemars::JsonSchema;
use serde::Serialize;

use super::legs::Reached;
use super::stop_words::{is_empty_word, is_own};
use super::{SearchRequest, weights};
use loci_when::{self as when, Exactness};

/// What a request comes to.
#[derive(Debug, Clone)]
pub(super) struct Plan<'a> {
    pub(super) request: &'a SearchRequest,
    /// The drawers of the request's scope.
    pub(super) asked: DrawerCondition,
    /// The drawers searched.
    pub(super) scope: DrawerCondition,
    /// How many drawers that is.
    pub(super) in_scope: u64,
    /// The words that are matched, as they were written.
    pub(super) text: String,
    /// The same as the index keeps them.
    pub(super) words: Vec<String>,
    /// The words that say nothing.
    left_out: Vec<String>,
    /// Whether the query speaks of "I" or "my".
    pub(super) own: bool,
    /// The times it mentions.
    pub(super) dates: Vec<Dated>,
    /// How many more it mentions that count for nothing.
    pub(super) more_dates: usize,
}

/// A time that words of the query mention.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Dated {
    /// The words.
    pub words: String,
    /// Its first moment.
    #[schemars(with = "String")]
    pub from: Timestamp,
    /// The first moment after it.
    #[schemars(with = "String")]
    pub before: Timestamp,
    /// Whether the words name it, rather than lean towards it.
    pub named: bool,
    /// How many drawers in scope were said in it; those count more.
    pub drawers: u64,
}

impl Dated {
    /// Drawers said in this time.
    fn filter(&self) -> Filter {
        let at = |time: Timestamp| Scalar::Int(time.as_micros());
        Filter::Compare("said_at".into(), Comparison::Gte(at(self.from)))
            .and(Filter::Compare("said_at".into(), Comparison::Lt(at(self.before))))
    }

    /// What is added to what was said at `time`.
    pub(super) fn gain(&self, time: Timestamp) -> Option<f32> {
        let told = self.before.as_micros().saturating_add(weights::TOLD_LATER);
        let within = (self.from.as_micros()..told).contains(&time.as_micros());
        within.then_some(match self.named {
            true => weights::NAMED_TIME,
            false => weights::ABOUT_TIME,
        })
    }
}

/// How a query was understood, for those who ask.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanReport {
    /// The words that were matched, as the index keeps them.
    pub words: Vec<String>,
    /// The words that say nothing and were not.
    pub left_out: Vec<String>,
    /// How much each leg counted; together one.
    pub weights: Balance,
    /// How many hits each leg was asked for.
    pub depth: usize,
}

/// How much each leg counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Balance {
    /// By meaning.
    pub nearest: f32,
    /// By words.
    pub lexical: f32,
}

impl<'a> Plan<'a> {
    pub(super) fn new(collection: &dyn CollectionReader, request: &'a SearchRequest) -> Result<Self> {
        let asked = request.scope.resolve(collection)?;
        let scope = request.searched(&asked);
        let in_scope = collection.count(&scope)?;
        let tokens = tokenise::query_tokens(&request.query);
        let own = tokens.iter().any(|token| is_own(token));
        let telling = telling(&request.query);
        // "To be or not to be" is looked for as it is.
        let text = match telling.is_empty() {
            true => request.query.clone(),
            false => telling,
        };
        let words = tokenise::query_tokens(&text);
        let kept: HashSet<&String> = words.iter().collect();
        let left_out = tokens.into_iter().filter(|token| !kept.contains(token)).collect();
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

    /// The same plan for a request that differs in how many hits it wants.
    pub(super) fn asking<'b>(&'b self, request: &'b SearchRequest) -> Plan<'b> {
        Plan {
            request,
            ..self.clone()
        }
    }

    fn read_dates(&self, collection: &dyn CollectionReader) -> Result<(Vec<Dated>, usize)> {
        let mut mentions = when::mentions(&self.request.query, self.request.now);
        let mut seen = HashSet::new();
        mentions.retain(|mention| seen.insert((mention.from, mention.before)));
        let more = mentions.len().saturating_sub(weights::MOST_TIMES);
        let dated = mentions.into_iter().take(weights::MOST_TIMES).map(|mention| {
            let words = self.request.query.get(mention.words.clone());
            let mut dated = Dated {
                words: words.unwrap_or_default().to_owned(),
                from: mention.from,
                before: mention.before,
                named: mention.exact == Exactness::Named,
                drawers: 0,
            };
            dated.drawers = collection.count(&self.within(&dated))?;
            Ok(dated)
        });
        Ok((dated.collect::<Result<_>>()?, more))
    }

    /// What is searched of a time.
    pub(super) fn within(&self, dated: &Dated) -> DrawerCondition {
        DrawerCondition {
            filter: self.scope.filter.clone().and(dated.filter()),
            document: self.scope.document.clone(),
        }
    }

    /// How many hits each leg is asked for at first.
    pub(super) fn depth(&self) -> usize {
        let wanted = self.request.limit.saturating_mul(weights::DEPTH_FOR_EACH);
        let all = usize::try_from(self.in_scope).unwrap_or(usize::MAX);
        wanted.max(weights::DEPTH).min(all.max(1))
    }

    pub(super) fn report(&self, reached: &Reached) -> PlanReport {
        PlanReport {
            words: self.words.clone(),
            left_out: self.left_out.clone(),
            weights: reached.balance(),
            depth: reached.depth,
        }
    }
}

/// The words of `query` that say something of what is looked for, as they were written.
fn telling(query: &str) -> String {
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
