//! One question asked in three ways: by words, by nearness, and as `loci search` answers it.

use std::collections::HashSet;

use loci_core::{Drawer, DrawerFields, Filter, LexicalRequest, QueryRequest};
use loci_engine::search::{MentionedTime, PlanReport};
use loci_engine::{SearchRequest, search_collection};
use loci_index::tokenise;

use super::embedding::EvalEmbedder;
use super::palace::EvalPalace;
use super::sets::{EvalQuestion, EvalSet};
use super::{EvalResult, EvalSettings};
use crate::measure::cost;

/// A way of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetrievalWay {
    /// The words of the question alone.
    Lexical,
    /// Nearness of vectors alone.
    Nearest,
    /// `search`, which uses both.
    Fused,
}

impl RetrievalWay {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Lexical, Self::Nearest, Self::Fused];

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Nearest => "nearest",
            Self::Fused => "fused",
        }
    }
}

/// What one way found, best first, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EvalRanking {
    pub(crate) sessions: Vec<String>,
    pub(crate) turns: Vec<String>,
}

impl EvalRanking {
    /// The sessions and messages of some hits, by when they first come.
    pub(crate) fn new(origins: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut ranking = Self::default();
        let mut seen = HashSet::new();
        for (session, turn) in origins {
            if seen.insert(session.clone()) {
                ranking.sessions.push(session);
            }
            if seen.insert(turn.clone()) {
                ranking.turns.push(turn);
            }
        }
        ranking
    }
}

/// What came of one question.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    /// By the order of [`RetrievalWay::ALL`].
    pub(crate) rankings: [EvalRanking; 3],
    /// The times that the search saw in the question.
    pub(crate) dates: Vec<MentionedTime>,
    /// CPU milliseconds of the search.
    pub(crate) cpu_ms: f64,
}

/// Asks a question in all ways.
pub(crate) fn ask(
    palace: &EvalPalace,
    embedders: &EvalEmbedder,
    set: &EvalSet,
    how: EvalSettings,
    question: &EvalQuestion,
) -> EvalResult<AskedQuestion> {
    let collection = palace.collection.as_ref();
    let request = SearchRequest {
        limit: how.hits,
        scope: Filter::text_equals("wing", set.wing_of(question, how.wings)).into(),
        ..SearchRequest::new(question.text.as_str(), question.now)
    };
    let (answer, spent) = cost(|| search_collection(collection, embedders, &request));
    let answer = answer?;
    let include = DrawerFields {
        metadata: true,
        ..DrawerFields::NOTHING
    };
    let searched = request
        .searched_condition(&request.scope.filter.clone().into())
        .filter;
    let by_words = collection.lexical(&LexicalRequest {
        filter: searched.clone(),
        include,
        ..LexicalRequest::for_words(telling(&question.text, &answer.plan).as_str(), how.hits)
    })?;
    let vector = embedders.embed_question(&question.text)?;
    let nearest = collection.query(&QueryRequest {
        filter: searched,
        include,
        ..QueryRequest::nearest_to(vector, how.hits)
    })?;
    let ranked = |drawers: &mut dyn Iterator<Item = &Drawer>| -> EvalResult<EvalRanking> {
        let origins: Vec<_> = drawers
            .map(|drawer| palace.origin(drawer))
            .collect::<EvalResult<_>>()?;
        Ok(EvalRanking::new(origins))
    };
    Ok(AskedQuestion {
        rankings: [
            ranked(&mut by_words.iter().map(|hit| &hit.drawer))?,
            ranked(&mut nearest.iter().flatten().map(|hit| &hit.drawer))?,
            ranked(&mut answer.hits.iter().map(|hit| &hit.drawer))?,
        ],
        dates: answer.dates,
        cpu_ms: spent.cpu * 1e3,
    })
}

/// The words of a question that its search matched, as they were written.
fn telling(question: &str, plan: &PlanReport) -> String {
    let matched = |word: &&str| {
        tokenise::query_tokens(word)
            .iter()
            .any(|token| plan.words.contains(token))
    };
    question
        .split_whitespace()
        .filter(matched)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_messages_are_ranked_by_their_first_hit() {
        let hit = |session: &str, turn: &str| (session.to_owned(), turn.to_owned());
        let ranking = EvalRanking::new([hit("b", "b#2"), hit("a", "a#1"), hit("b", "b#1"), hit("b", "b#2")]);
        assert_eq!(ranking.sessions, ["b", "a"]);
        assert_eq!(ranking.turns, ["b#2", "a#1", "b#1"]);
    }
}
