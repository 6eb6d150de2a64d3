//! What was found of what should be: recall of sessions and messages, all and any, over questions.

use super::ask::EvalRanking;
use super::sets::EvalQuestion;

/// How far recall is followed.
pub(crate) const DEEPEST: usize = 20;

/// A figure that is averaged over questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvalMetric {
    /// The share of the evidence sessions among the first so many different sessions.
    SessionRecall(usize),
    /// The share of the evidence messages among the first so many different messages.
    TurnRecall(usize),
    /// Whether every evidence session is among the first so many.
    All(usize),
    /// Whether one of them is.
    Any(usize),
}

impl EvalMetric {
    /// What it is called.
    pub(crate) fn name(self) -> String {
        match self {
            Self::SessionRecall(k) => format!("session recall@{k}"),
            Self::TurnRecall(k) => format!("turn recall@{k}"),
            Self::All(k) => format!("all@{k}"),
            Self::Any(k) => format!("any@{k}"),
        }
    }

    /// Its value for one question, from 0 to 1.
    pub(crate) fn of(self, question: &EvalQuestion, found: &EvalRanking) -> f64 {
        let sessions = |k| share(&question.sessions, &found.sessions, k);
        match self {
            Self::SessionRecall(k) => sessions(k),
            Self::TurnRecall(k) => share(&question.turns, &found.turns, k),
            Self::All(k) => f64::from(u8::from(sessions(k) >= 1.0)),
            Self::Any(k) => f64::from(u8::from(sessions(k) > 0.0)),
        }
    }
}

/// What is shown of a set.
pub(crate) fn of_set(name: &str) -> Vec<EvalMetric> {
    use EvalMetric::{All, Any, SessionRecall, TurnRecall};
    match name {
        "locomo" => vec![SessionRecall(5), SessionRecall(10), TurnRecall(5), TurnRecall(10)],
        _ => vec![All(5), Any(5), All(10), SessionRecall(5), SessionRecall(10)],
    }
}

/// The share of `wanted` among the first `k` of `found`.
fn share(wanted: &[String], found: &[String], k: usize) -> f64 {
    let first = found.get(..k).unwrap_or(found);
    let there = wanted.iter().filter(|one| first.contains(one)).count();
    there as f64 / wanted.len().max(1) as f64
}

/// Where each of `wanted` stands in `found`, 1 being the first.
pub(crate) fn ranks(wanted: &[String], found: &[String]) -> Vec<Option<usize>> {
    let rank = |one: &String| found.iter().position(|found| found == one).map(|at| at + 1);
    wanted.iter().map(rank).collect()
}

/// The mean over questions; 0 of none.
pub(crate) fn mean<'a>(
    metric: EvalMetric,
    of: impl IntoIterator<Item = (&'a EvalQuestion, &'a EvalRanking)>,
) -> f64 {
    let values: Vec<f64> = of
        .into_iter()
        .map(|(question, found)| metric.of(question, found))
        .collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn question(sessions: &[&str], turns: &[&str]) -> EvalQuestion {
        EvalQuestion {
            id: "q".into(),
            kind: "k".into(),
            text: "Where?".into(),
            now: "2026-01-01".parse().expect("a date"),
            haystack: 0,
            sessions: names(sessions),
            turns: names(turns),
        }
    }

    fn found(sessions: &[&str], turns: &[&str]) -> EvalRanking {
        EvalRanking {
            sessions: names(sessions),
            turns: names(turns),
        }
    }

    #[test]
    fn recall_counts_the_share_that_all_and_any_round_down_and_up() {
        let question = question(&["a", "b"], &["a#1", "a#2", "b#1", "b#9"]);
        let found = found(&["a", "x", "y", "z", "v", "b"], &["a#1", "x#1", "b#1"]);
        let check = |metric: EvalMetric, value: f64| {
            assert_eq!(metric.of(&question, &found), value, "{}", metric.name())
        };
        check(EvalMetric::SessionRecall(5), 0.5);
        check(EvalMetric::SessionRecall(10), 1.0);
        check(EvalMetric::TurnRecall(1), 0.25);
        check(EvalMetric::TurnRecall(10), 0.5);
        check(EvalMetric::All(5), 0.0);
        check(EvalMetric::All(6), 1.0);
        check(EvalMetric::Any(5), 1.0);
        assert_eq!(
            ranks(&question.turns, &found.turns),
            [Some(1), None, Some(3), None]
        );
    }

    #[test]
    fn what_is_not_found_counts_in_the_mean() {
        let (easy, hard) = (question(&["a"], &[]), question(&["b"], &[]));
        let ranking = found(&["x", "a"], &[]);
        let asked = [(&easy, &ranking), (&hard, &ranking)];
        assert_eq!(mean(EvalMetric::Any(2), asked), 0.5);
        assert_eq!(mean(EvalMetric::Any(1), asked), 0.0);
        assert_eq!(mean(EvalMetric::Any(1), []), 0.0);
    }
}
