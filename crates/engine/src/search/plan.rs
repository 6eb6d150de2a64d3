//! The plan of a search: its scope, its words, the times it mentions.

use std::collections::HashSet;

use loci_core::{CollectionReader, DrawerCondition, Filter, Result};
use loci_index::tokenise;
use schemars::JsonSchema;
use serde::Serialize;

use super::legs::LegAnswers;
use super::literals::{self, HeldLiterals, QueryLiteral};
use super::stop_words::{is_empty_word, is_first_person, is_happening};
use super::times::MentionedTime;
use super::{SearchRequest, weights};
use loci_when::{self as when, TimeExactness, TimeMention};

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
    /// Those that say what the query is about: without the words of a time in which drawers were said, unless there are
    /// no others.
    pub(super) subject: Vec<String>,
    /// The stop words, which are not matched.
    left_out: Vec<String>,
    /// Whether the query contains "I" or "my".
    pub(super) own: bool,
    /// The times the query mentions.
    pub(super) dates: Vec<MentionedTime>,
    /// The number of further times, which are ignored.
    pub(super) more_dates: usize,
    /// The parts of the query that are meant letter for letter.
    pub(super) literals: Vec<QueryLiteral>,
    /// The whole query, if it is short enough to be a phrase.
    pub(super) phrase: Option<QueryLiteral>,
    /// Whether the query asks for a time and little else, so that only drawers of that time are searched.
    pub(super) asks_for_time: bool,
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
        let text = choose_matched_text(&request.query);
        let words = tokenise::query_tokens(&text);
        let left_out = words_left_out(&request.query, &text);
        let mut plan = Self {
            request,
            asked,
            scope,
            in_scope,
            left_out,
            text,
            subject: words.clone(),
            words,
            own,
            dates: Vec::new(),
            more_dates: 0,
            literals: literals::find_literals(&request.query),
            phrase: literals::find_phrase(&request.query),
            asks_for_time: false,
        };
        if request.dates {
            plan.read_dates(collection)?;
        }
        Ok(plan)
    }

    /// Returns the way in which a text holds the query's literals.
    pub(super) fn hold_literals(&self, text: &str) -> HeldLiterals {
        literals::hold_literals(&self.literals, text)
    }

    /// Returns the same plan for a request that differs only in its limit.
    pub(super) fn with_request<'b>(&'b self, request: &'b SearchRequest) -> SearchPlan<'b> {
        SearchPlan {
            request,
            ..self.clone()
        }
    }

    /// Reads the times that the query mentions. If it asks for little else, narrows the search to them.
    fn read_dates(&mut self, collection: &dyn CollectionReader) -> Result<()> {
        let (query, now) = (&self.request.query, self.request.now);
        let mut mentions = when::find_mentions(query, now);
        let left = when::find_words_left(query, &mentions);
        let asks_for_more = left
            .into_iter()
            .filter_map(|word| query.get(word))
            .flat_map(tokenise::query_tokens)
            .any(|token| !is_empty_word(&token) && !is_happening(&token));
        let mut seen = HashSet::new();
        // Before the limit, so that one time mentioned twice does not use up two of the few that count.
        mentions.retain(|mention| seen.insert((mention.from, mention.before)));
        self.more_dates = mentions.len().saturating_sub(weights::MOST_TIMES);
        mentions.truncate(weights::MOST_TIMES);
        let dates = mentions.iter().map(|mention| self.read_date(collection, mention));
        self.dates = dates.collect::<Result<_>>()?;
        self.read_subject(&mentions);
        let said: Vec<Filter> = self
            .dates
            .iter()
            .filter(|dated| dated.drawers > 0)
            .map(MentionedTime::time_filter)
            .collect();
        self.asks_for_time = !asks_for_more && !said.is_empty();
        if self.asks_for_time {
            self.dates.iter_mut().for_each(|dated| dated.alone = true);
            self.in_scope = self.count_in_times(collection)?;
            self.scope.filter = self.scope.filter.clone().and(Filter::Or(said));
        }
        Ok(())
    }

    /// Takes the words of times that have drawers out of the subject: a drawer said then need not name the time.
    fn read_subject(&mut self, mentions: &[TimeMention]) {
        let known = mentions
            .iter()
            .zip(&self.dates)
            .filter(|(_, dated)| dated.drawers > 0);
        let known: Vec<TimeMention> = known.map(|(mention, _)| mention.clone()).collect();
        let query = &self.request.query;
        let left = when::find_words_left(query, &known);
        let left: HashSet<String> = left
            .into_iter()
            .filter_map(|word| query.get(word))
            .flat_map(tokenise::query_tokens)
            .collect();
        let subject: Vec<String> = self
            .words
            .iter()
            .filter(|word| left.contains(*word))
            .cloned()
            .collect();
        if !known.is_empty() && !subject.is_empty() {
            self.subject = subject;
        }
    }

    /// Counts the drawers of a time. Of a time without its year or week, the last one with drawers is taken.
    fn read_date(&self, collection: &dyn CollectionReader, mention: &TimeMention) -> Result<MentionedTime> {
        let words = self.request.query.get(mention.words.clone());
        let mut dated = MentionedTime {
            words: words.unwrap_or_default().to_owned(),
            from: mention.from,
            before: mention.before,
            named: mention.exact == TimeExactness::Named,
            drawers: 0,
            assumed: false,
            alone: false,
        };
        dated.drawers = self.count_within(collection, &dated)?;
        let Some(recurrence) = mention.recurrence else {
            return Ok(dated);
        };
        for (from, before) in recurrence
            .occurrences(self.request.now)
            .take(weights::MOST_OCCURRENCES)
        {
            if dated.drawers > 0 {
                break;
            }
            let earlier = MentionedTime {
                from,
                before,
                ..dated.clone()
            };
            let drawers = self.count_within(collection, &earlier)?;
            if drawers > 0 {
                dated = MentionedTime { drawers, ..earlier };
            }
        }
        dated.assumed = dated.drawers > 0;
        Ok(dated)
    }

    /// Returns the number of hits each leg is asked for at first. It follows the scope and never the number of hits
    /// wanted: the first hits of a long answer are those of a short one.
    pub(super) fn first_depth(&self) -> usize {
        choose_depth(self.in_scope)
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

/// Returns the number of hits each leg is asked for at first, among so many drawers.
pub(super) fn choose_depth(in_scope: u64) -> usize {
    let all = usize::try_from(in_scope).unwrap_or(usize::MAX);
    let share = (all / weights::DEPTH_SHARE).clamp(weights::DEPTH, weights::DEEPEST);
    // At least one even in an empty scope: the contract refuses a query for no hits.
    share.min(all.max(1))
}

/// Returns the words of a query that are matched.
pub(super) fn choose_matched_text(query: &str) -> String {
    let telling = keep_telling_words(query);
    // "To be or not to be" is nothing but stop words, and is searched as it is.
    if telling.is_empty() {
        query.to_owned()
    } else {
        telling
    }
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
