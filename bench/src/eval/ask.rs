//! One question asked in three ways: by words, by nearness, and as `loci search` answers it.

use std::collections::HashSet;

use loci_core::{Drawer, Filter, Include, Lexical, Query};
use loci_engine::search::{Dated, PlanReport};
use loci_engine::{SearchRequest, search};
use loci_index::tokenise;

use super::embedding::Only;
use super::palace::Palace;
use super::sets::{Question, Set};
use super::{How, Outcome};
use crate::measure::cost;

/// A way of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The words of the question alone.
    Lexical,
    /// Nearness of vectors alone.
    Nearest,
    /// `search`, which uses both.
    Fused,
}

impl Way {
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
pub(crate) struct Ranking {
    pub(crate) sessions: Vec<String>,
    pub(crate) turns: Vec<String>,
}

impl Ranking {
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
pub(crate) struct Asked {
    /// By the order of [`Way::ALL`].
    pub(crate) rankings: [Ranking; 3],
    /// The times that the search saw in the question.
    pub(crate) dates: Vec<Dated>,
    /// CPU milliseconds of the search.
    pub(crate) cpu_ms: f64,
}

/// Asks a question in all ways.
pub(crate) fn ask(
    palace: &Palace,
    embedders: &Only,
    set: &Set,
    how: How,
    question: &Question,
) -> Outcome<Asked> {
    let collection = palace.collection.as_ref();
    let request = SearchRequest {
        limit: how.hits,
        scope: Filter::text("wing", set.wing_of(question, how.wings)).into(),
        ..SearchRequest::new(question.text.as_str(), question.now)
    };
    let (answer, spent) = cost(|| search(collection, embedders, &request));
    let answer = answer?;
    let include = Include {
        metadata: true,
        ..Include::NOTHING
    };
    let searched = request.searched(&request.scope.filter.clone().into()).filter;
    let by_words = collection.lexical(&Lexical {
        filter: searched.clone(),
        include,
        ..Lexical::words(telling(&question.text, &answer.plan).as_str(), how.hits)
    })?;
    let vector = embedders.embed_question(&question.text)?;
    let nearest = collection.query(&Query {
        filter: searched,
        include,
        ..Query::nearest(vector, how.hits)
    })?;
    let ranked = |drawers: &mut dyn Iterator<Item = &Drawer>| -> Outcome<Ranking> {
        let origins: Vec<_> = drawers
            .map(|drawer| palace.origin(drawer))
            .collect::<Outcome<_>>()?;
        Ok(Ranking::new(origins))
    };
    Ok(Asked {
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
        let ranking = Ranking::new([hit("b", "b#2"), hit("a", "a#1"), hit("b", "b#1"), hit("b", "b#2")]);
        assert_eq!(ranking.sessions, ["b", "a"]);
        assert_eq!(ranking.turns, ["b#2", "a#1", "b#1"]);
    }
}
