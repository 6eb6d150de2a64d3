//! Fusion: adds the normalised scores of both legs, the support of a source's other pieces and the boost of a time.

use std::cmp::Ordering;
use std::collections::HashMap;

use loci_core::{Drawer, DrawerId, Timestamp};

use super::legs::{LegAnswers, ScoredHits};
use super::literals::{AddedCandidate, HeldLiterals};
use super::plan::{LegWeights, SearchPlan};
use super::{HitEvidence, LegStanding, SourceEvidence, times, weights};

/// A candidate with its final score.
#[derive(Debug, Clone)]
pub(super) struct RankedCandidate {
    pub(super) id: DrawerId,
    pub(super) score: f32,
    pub(super) why: HitEvidence,
    /// The factor for speaker and age already in `score`; later additions are multiplied by it too.
    pub(super) factor: f32,
    /// The share of the query's literals that it holds.
    pub(super) literals: f32,
    /// The time it was said, or else filed; newer comes first among equals.
    at: Option<Timestamp>,
}

/// Ranks every candidate of both legs and every candidate added to them, best first.
pub(super) fn fuse_legs(
    plan: &SearchPlan<'_>,
    reached: &LegAnswers,
    added: &[AddedCandidate],
) -> Vec<RankedCandidate> {
    let mut pieces = FusedPieces::default();
    let balance = reached.weigh_legs();
    if let Ok(leg) = &reached.nearest {
        pieces.add_leg(leg, balance, LegKind::Nearest);
    }
    if let Ok(leg) = &reached.lexical {
        pieces.add_leg(leg, balance, LegKind::Lexical);
    }
    for candidate in added {
        if let Some(piece) = pieces.find_or_add(&candidate.drawer) {
            piece.held = candidate.held;
        }
    }
    // Only after both legs: the support of a source counts fused scores, not those of one leg.
    let sources = pieces.scores_by_source();
    let rank = |piece: &FusedPiece<'_>| rank_piece(plan, piece, &sources);
    let mut ranked: Vec<RankedCandidate> = pieces.list.iter().map(rank).collect();
    ranked.sort_by(compare_ranked);
    keep_leaders(&mut ranked);
    ranked
}

/// Moves the best hits of each leg into the first pool, if other evidence pushed them out of it: a drawer that one leg
/// ranks near its top is always read with its text, and shown among as many hits as a pool holds.
fn keep_leaders(ranked: &mut Vec<RankedCandidate>) {
    if ranked.len() <= weights::POOL {
        return;
    }
    let leads = |standing: Option<LegStanding>| standing.is_some_and(|one| one.rank <= weights::LEADERS);
    let is_leader = |one: &RankedCandidate| leads(one.why.nearest) || leads(one.why.lexical);
    let (leaders, mut behind): (Vec<_>, Vec<_>) = ranked.drain(weights::POOL..).partition(is_leader);
    // As many of the last places of the pool are given up; a leader among them keeps its place.
    let mut given_up = Vec::new();
    let mut at = ranked.len();
    while given_up.len() < leaders.len() && at > 0 {
        at -= 1;
        if !ranked.get(at).is_some_and(is_leader) {
            given_up.push(ranked.remove(at));
        }
    }
    given_up.reverse();
    ranked.extend(leaders);
    ranked.extend(given_up);
    ranked.append(&mut behind);
}

/// Orders candidates by score, then newest first, then by id, so that the same search gives the same answer.
pub(super) fn compare_ranked(a: &RankedCandidate, b: &RankedCandidate) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| b.at.cmp(&a.at))
        .then_with(|| a.id.cmp(&b.id))
}

/// A drawer that a leg found.
struct FusedPiece<'a> {
    drawer: &'a Drawer,
    /// Both legs' scores together, from 0 to 1.
    score: f32,
    nearest: Option<LegStanding>,
    lexical: Option<LegStanding>,
    held: HeldLiterals,
}

#[derive(Clone, Copy)]
enum LegKind {
    Nearest,
    Lexical,
}

/// The drawers that the legs found, each once.
#[derive(Default)]
struct FusedPieces<'a> {
    list: Vec<FusedPiece<'a>>,
    places: HashMap<&'a DrawerId, usize>,
}

impl<'a> FusedPieces<'a> {
    fn add_leg(&mut self, leg: &'a ScoredHits, balance: LegWeights, way: LegKind) {
        for (at, (hit, scaled)) in leg.hits.iter().zip(&leg.scaled).enumerate() {
            let standing = LegStanding {
                rank: at + 1,
                score: hit.score,
            };
            let Some(piece) = self.find_or_add(&hit.drawer) else {
                continue;
            };
            // The balance sums to one, so a piece that is best in both legs scores exactly 1.
            match way {
                LegKind::Nearest => {
                    piece.nearest = Some(standing);
                    piece.score += balance.nearest * scaled;
                }
                LegKind::Lexical => {
                    piece.lexical = Some(standing);
                    piece.score += balance.lexical * scaled;
                }
            }
        }
    }

    fn find_or_add(&mut self, drawer: &'a Drawer) -> Option<&mut FusedPiece<'a>> {
        let place = *self.places.entry(&drawer.id).or_insert(self.list.len());
        if place == self.list.len() {
            self.list.push(FusedPiece {
                drawer,
                score: 0.0,
                nearest: None,
                lexical: None,
                held: HeldLiterals::default(),
            });
        }
        self.list.get_mut(place)
    }

    /// Returns the scores of each source's pieces, best first.
    fn scores_by_source(&self) -> HashMap<&'a str, Vec<f32>> {
        let mut sources: HashMap<&str, Vec<f32>> = HashMap::new();
        for piece in &self.list {
            if let Some(source) = &piece.drawer.place.source {
                sources.entry(source).or_default().push(piece.score);
            }
        }
        for scores in sources.values_mut() {
            scores.sort_by(|a, b| b.total_cmp(a));
        }
        sources
    }
}

fn rank_piece(
    plan: &SearchPlan<'_>,
    piece: &FusedPiece<'_>,
    sources: &HashMap<&str, Vec<f32>>,
) -> RankedCandidate {
    let place = &piece.drawer.place;
    let at = place.said_at.or(piece.drawer.filed_at);
    // The best score is skipped for every piece, the best one included: it would otherwise count itself twice.
    let scores = place.source.as_deref().and_then(|source| sources.get(source));
    let source = scores.filter(|scores| scores.len() > 1).map(|scores| {
        let others: f32 = scores.iter().skip(1).take(weights::SOURCE_OF).sum();
        SourceEvidence {
            pieces: scores.len(),
            score: weights::SOURCE * others,
        }
    });
    let own_words = plan.own && place.kind.as_deref() == Some("human");
    let said = times::time_of_saying(piece.drawer).and_then(|time| {
        let gains = plan
            .dates
            .iter()
            .filter_map(|dated| Some((dated, dated.score_gain(time)?)));
        // Times in a query overlap ("in May, last week"); only the strongest boost counts, so they do not add up.
        gains.max_by(|a, b| a.1.total_cmp(&b.1))
    });
    let gain = said.map_or(0.0, |(_, gain)| gain);
    let mut factor = 1.0 + if own_words { weights::OWN_WORDS } else { 0.0 };
    if plan.request.recent {
        factor *= score_freshness(plan.request.now, at);
    }
    let literal = weights::LITERAL * piece.held.share
        + if piece.held.defines {
            weights::DEFINITION
        } else {
            0.0
        };
    RankedCandidate {
        id: piece.drawer.id.clone(),
        score: factor * (piece.score + source.map_or(0.0, |source| source.score) + gain + literal),
        factor,
        literals: piece.held.share,
        why: HitEvidence {
            nearest: piece.nearest,
            lexical: piece.lexical,
            words: 0.0,
            source,
            said: said.map(|(dated, _)| dated.words.clone()),
            literal: piece.held.share > 0.0,
            defines: piece.held.defines,
            own_words,
        },
        at,
    }
}

/// Returns the share of its score that a drawer of this age keeps, if recent drawers are preferred.
fn score_freshness(now: Timestamp, at: Option<Timestamp>) -> f32 {
    const DAY: f32 = 24.0 * 3600.0 * 1e6;
    // A drawer without any time ranks as the oldest, but is never lost.
    let Some(at) = at else { return weights::OLD_KEEPS };
    // Clocks of other machines may be ahead: a time in the future counts as now.
    let days = (now.as_micros().saturating_sub(at.as_micros()).max(0)) as f32 / DAY;
    weights::OLD_KEEPS + (1.0 - weights::OLD_KEEPS) * (-days / weights::HALF_LIFE_DAYS).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(number: usize, nearest: Option<usize>, lexical: Option<usize>) -> RankedCandidate {
        let standing = |rank| LegStanding { rank, score: 1.0 };
        RankedCandidate {
            id: DrawerId::new(format!("d{number:04}")).unwrap(),
            score: 1.0 / (number as f32 + 1.0),
            why: HitEvidence {
                nearest: nearest.map(standing),
                lexical: lexical.map(standing),
                ..HitEvidence::default()
            },
            factor: 1.0,
            literals: 0.0,
            at: None,
        }
    }

    #[test]
    fn the_first_hits_of_each_leg_are_in_the_first_pool_and_none_is_lost() {
        // Both legs agree on two hundred drawers; two that only one leg ranks first come far behind.
        let all = (0..200).map(|n| match n {
            150 => candidate(n, Some(1), None),
            170 => candidate(n, None, Some(weights::LEADERS)),
            180 => candidate(n, None, Some(weights::LEADERS + 1)),
            n => candidate(n, Some(n + 2), Some(n + weights::LEADERS + 2)),
        });
        let mut ranked: Vec<RankedCandidate> = all.collect();
        let before: std::collections::BTreeSet<DrawerId> = ranked.iter().map(|one| one.id.clone()).collect();
        keep_leaders(&mut ranked);
        let place = |number: usize| {
            let id = format!("d{number:04}");
            ranked.iter().position(|one| one.id.as_str() == id).unwrap()
        };
        assert_eq!((place(150), place(170)), (weights::POOL - 2, weights::POOL - 1));
        assert!(place(180) > weights::POOL);
        assert_eq!((place(0), place(weights::POOL - 1)), (0, weights::POOL + 1));
        let after: std::collections::BTreeSet<DrawerId> = ranked.iter().map(|one| one.id.clone()).collect();
        assert_eq!((ranked.len(), after), (200, before));
    }
}
