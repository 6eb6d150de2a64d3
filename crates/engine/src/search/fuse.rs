//! Fusion: the scores of both legs on one scale, added, with what the rest of a source and the time say.

use std::cmp::Ordering;
use std::collections::HashMap;

use loci_core::{Drawer, DrawerId, Timestamp};

use super::legs::{Reached, Scored};
use super::plan::{Balance, Plan};
use super::{SourceEvidence, Standing, Why, weights};

/// A candidate with its final score.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) id: DrawerId,
    pub(super) score: f32,
    pub(super) why: Why,
    /// What its score was multiplied by for speaker and age; what is added later is too.
    pub(super) factor: f32,
    /// When it was said, or else filed; newer comes first among equals.
    at: Option<Timestamp>,
}

/// Every candidate, best first.
pub(super) fn fuse(plan: &Plan<'_>, reached: &Reached) -> Vec<Ranked> {
    let mut pieces = Pieces::default();
    let balance = reached.balance();
    if let Ok(leg) = &reached.nearest {
        pieces.take(leg, balance, Way::Nearest);
    }
    if let Ok(leg) = &reached.lexical {
        pieces.take(leg, balance, Way::Lexical);
    }
    let sources = pieces.sources();
    let rank = |piece: &Piece<'_>| rank(plan, piece, &sources);
    let mut ranked: Vec<Ranked> = pieces.list.iter().map(rank).collect();
    ranked.sort_by(order);
    ranked
}

/// Best first; then the newest; then by id, so that the same search gives the same answer.
pub(super) fn order(a: &Ranked, b: &Ranked) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| b.at.cmp(&a.at))
        .then_with(|| a.id.cmp(&b.id))
}

/// A drawer that a leg found.
struct Piece<'a> {
    drawer: &'a Drawer,
    /// Both legs' scores together, from 0 to 1.
    score: f32,
    nearest: Option<Standing>,
    lexical: Option<Standing>,
}

#[derive(Clone, Copy)]
enum Way {
    Nearest,
    Lexical,
}

/// What the legs found, each drawer once.
#[derive(Default)]
struct Pieces<'a> {
    list: Vec<Piece<'a>>,
    places: HashMap<&'a DrawerId, usize>,
}

impl<'a> Pieces<'a> {
    fn take(&mut self, leg: &'a Scored, balance: Balance, way: Way) {
        for (at, (hit, scaled)) in leg.hits.iter().zip(&leg.scaled).enumerate() {
            let standing = Standing {
                rank: at + 1,
                score: hit.score,
            };
            let place = *self.places.entry(&hit.drawer.id).or_insert(self.list.len());
            if place == self.list.len() {
                self.list.push(Piece {
                    drawer: &hit.drawer,
                    score: 0.0,
                    nearest: None,
                    lexical: None,
                });
            }
            let Some(piece) = self.list.get_mut(place) else {
                continue;
            };
            match way {
                Way::Nearest => {
                    piece.nearest = Some(standing);
                    piece.score += balance.nearest * scaled;
                }
                Way::Lexical => {
                    piece.lexical = Some(standing);
                    piece.score += balance.lexical * scaled;
                }
            }
        }
    }

    /// The scores of each source's pieces, best first.
    fn sources(&self) -> HashMap<&'a str, Vec<f32>> {
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

fn rank(plan: &Plan<'_>, piece: &Piece<'_>, sources: &HashMap<&str, Vec<f32>>) -> Ranked {
    let place = &piece.drawer.place;
    let at = place.said_at.or(piece.drawer.filed_at);
    let scores = place.source.as_deref().and_then(|source| sources.get(source));
    let source = scores.filter(|scores| scores.len() > 1).map(|scores| {
        let others: f32 = scores.iter().skip(1).take(weights::SOURCE_OF).sum();
        SourceEvidence {
            pieces: scores.len(),
            score: weights::SOURCE * others,
        }
    });
    let own_words = plan.own && place.kind.as_deref() == Some("human");
    let said = place.said_at.and_then(|time| {
        let gains = plan
            .dates
            .iter()
            .filter_map(|dated| Some((dated, dated.gain(time)?)));
        gains.max_by(|a, b| a.1.total_cmp(&b.1))
    });
    let gain = said.map_or(0.0, |(_, gain)| gain);
    let mut factor = 1.0 + if own_words { weights::OWN_WORDS } else { 0.0 };
    if plan.request.recent {
        factor *= freshness(plan.request.now, at);
    }
    Ranked {
        id: piece.drawer.id.clone(),
        score: factor * (piece.score + source.map_or(0.0, |source| source.score) + gain),
        factor,
        why: Why {
            nearest: piece.nearest,
            lexical: piece.lexical,
            words: 0.0,
            source,
            said: said.map(|(dated, _)| dated.words.clone()),
            own_words,
        },
        at,
    }
}

/// What is left of a score at some age, where the newest are asked for.
fn freshness(now: Timestamp, at: Option<Timestamp>) -> f32 {
    const DAY: f32 = 24.0 * 3600.0 * 1e6;
    let Some(at) = at else { return weights::OLD_KEEPS };
    let days = (now.as_micros().saturating_sub(at.as_micros()).max(0)) as f32 / DAY;
    weights::OLD_KEEPS + (1.0 - weights::OLD_KEEPS) * (-days / weights::HALF_LIFE_DAYS).exp2()
}
