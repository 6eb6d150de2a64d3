//! Nearest and matching: one leg of a search alone, by vector or by words.

use loci_core::{Finding, Hit, Lexical, Query, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{Palace, PalaceSession};
use crate::search::{Standing, Why};
use crate::view::{DrawerScope, HitView};

/// A vector, or the text to make one of.
#[derive(Debug, Clone, PartialEq)]
pub enum NearestTo {
    /// This vector.
    Vector(Vec<f32>),
    /// The vector that the collection's model makes of this question.
    Text(String),
}

/// The hits of one leg, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LegReport {
    /// The hits.
    pub hits: Vec<HitView>,
    /// Damage, and names in the scope that no drawer has.
    #[schemars(skip)]
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Finds the drawers of a scope whose vectors are nearest.
    pub fn nearest(&self, to: &NearestTo, scope: &DrawerScope, limit: usize) -> Result<LegReport> {
        scope.check()?;
        self.read(|session| {
            let condition = scope.resolve(session.reader())?;
            let vector = match to {
                NearestTo::Vector(vector) => vector.clone(),
                NearestTo::Text(text) => session.question_embedder()?.query(text)?,
            };
            let answers = session.reader().query(&Query {
                filter: condition.filter,
                document: condition.document,
                ..Query::nearest(vector, limit)
            })?;
            let hits = answers.into_iter().next().unwrap_or_default();
            let view = |(at, hit): (usize, Hit)| {
                let distance = hit.score;
                let standing = Standing {
                    rank: at + 1,
                    score: -distance,
                };
                HitView {
                    distance: Some(distance),
                    ..single_leg(hit, |why| why.nearest = Some(standing))
                }
            };
            let hits = hits.into_iter().enumerate().map(view).collect();
            report_leg(session, scope, hits)
        })
    }

    /// Finds the drawers of a scope that best match some words.
    pub fn matching(&self, words: &str, scope: &DrawerScope, limit: usize) -> Result<LegReport> {
        scope.check()?;
        let request = Lexical::words(words, limit);
        request.check()?;
        self.read(|session| {
            let condition = scope.resolve(session.reader())?;
            let hits = session.reader().lexical(&Lexical {
                filter: condition.filter,
                document: condition.document,
                ..request.clone()
            })?;
            let view = |(at, hit): (usize, Hit)| {
                let standing = Standing {
                    rank: at + 1,
                    score: hit.score,
                };
                single_leg(hit, |why| why.lexical = Some(standing))
            };
            let hits = hits.into_iter().enumerate().map(view).collect();
            report_leg(session, scope, hits)
        })
    }
}

/// A hit of one leg, whose score is larger for better ones.
fn single_leg(hit: Hit, explain: impl Fn(&mut Why)) -> HitView {
    let mut why = Why::default();
    explain(&mut why);
    let standing = why.nearest.or(why.lexical);
    HitView {
        drawer: hit.drawer.into(),
        score: standing.map_or(0.0, |standing| standing.score),
        distance: None,
        why,
        also_in: Some(Vec::new()),
        before: Vec::new(),
        after: Vec::new(),
    }
}

fn report_leg(session: &PalaceSession<'_>, scope: &DrawerScope, hits: Vec<HitView>) -> Result<LegReport> {
    let mut warnings = session.noticed();
    if hits.is_empty() {
        warnings.extend(session.unknown_names(scope)?);
    }
    Ok(LegReport { hits, warnings })
}
