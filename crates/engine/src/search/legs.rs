//! The two legs: the nearest by meaning and the best by words, each over everything in scope, and how far they reached.

use std::collections::HashSet;
use std::sync::Arc;

use loci_core::{
    CollectionInfo, CollectionReader, DrawerCondition, Error, Finding, Hit, Include, Lexical, Metric, Query,
    Result, Severity,
};

use super::plan::{Balance, Plan};
use super::{Leg, Legs, weights};
use crate::EmbedderCatalog;
use crate::palace::question_embedder;

/// What a search is asked with. Made once, however often its legs run: embedding can cost a call to a server.
#[derive(Debug)]
pub(super) struct Asked {
    /// What the collection said of itself before.
    info: CollectionInfo,
    /// The query as the collection's model puts it, or why there is none.
    question: std::result::Result<Question, Arc<Error>>,
}

/// A query as a vector.
#[derive(Debug)]
struct Question {
    vector: Vec<f32>,
    /// What its model's nearness counts against keywords.
    weight: f32,
}

impl Asked {
    pub(super) fn new(
        collection: &dyn CollectionReader,
        embedders: &dyn EmbedderCatalog,
        query: &str,
    ) -> Result<Self> {
        let info = collection.info()?;
        let question = Question::new(&info, embedders, query).map_err(Arc::new);
        Ok(Self { info, question })
    }
}

impl Question {
    fn new(info: &CollectionInfo, embedders: &dyn EmbedderCatalog, query: &str) -> Result<Self> {
        let embedder = question_embedder(&info.identity, embedders)?;
        Ok(Self {
            vector: embedder.query(query)?,
            weight: weights::NEAREST * embedder.weight(),
        })
    }
}

/// What the legs gave.
#[derive(Debug)]
pub(super) struct Reached {
    /// The nearest, best first, or why there are none; empty where nothing is in scope.
    pub(super) nearest: std::result::Result<Scored, Arc<Error>>,
    /// Those that match the words, best first, or why there are none.
    pub(super) lexical: std::result::Result<Scored, Error>,
    /// How many hits each was asked for.
    pub(super) depth: usize,
}

/// The hits of one leg, best first, with scores of which the larger is better.
#[derive(Debug, Default)]
pub(super) struct Scored {
    pub(super) hits: Vec<Hit>,
    /// Each hit's score between 0 and 1, the best being 1.
    pub(super) scaled: Vec<f32>,
    /// Whether there is more than was asked for.
    pub(super) cut: bool,
    /// What it counts against keywords, before sharpness.
    weight: f32,
}

impl Scored {
    /// `floor` is the score of what was not found, where nothing was cut off.
    fn new(hits: Vec<Hit>, cut: bool, floor: Option<f32>, weight: f32) -> Self {
        let best = hits.first().map_or(0.0, |hit| hit.score);
        let last = hits.last().map_or(0.0, |hit| hit.score);
        let floor = floor.filter(|_| !cut).unwrap_or(last);
        let scale = |hit: &Hit| match best > floor {
            true => ((hit.score - floor) / (best - floor)).clamp(0.0, 1.0),
            false => 1.0,
        };
        Self {
            scaled: hits.iter().map(scale).collect(),
            hits,
            cut,
            weight,
        }
    }

    /// From 0, where the best hits are all as good as the first, towards 1, where the first stands alone.
    fn sharpness(&self) -> f32 {
        let best: f32 = self.scaled.iter().take(weights::SHARP_OF).sum();
        1.0 - best / weights::SHARP_OF as f32
    }
}

impl Reached {
    /// Whether a leg has more to give than `depth`.
    pub(super) fn is_cut_short(&self, depth: usize) -> bool {
        let cut = |leg: Option<&Scored>| leg.is_some_and(|leg| leg.cut && leg.hits.len() >= depth);
        cut(self.nearest.as_ref().ok()) || cut(self.lexical.as_ref().ok())
    }

    /// How much each leg counts: more, the sharper it is on this query. A leg that found nothing counts nothing.
    pub(super) fn balance(&self) -> Balance {
        let found = |leg: Option<&Scored>| {
            leg.filter(|leg| !leg.hits.is_empty())
                .map(|leg| (leg.weight, leg.sharpness() + weights::SHARPNESS_FLOOR))
        };
        let legs = (self.nearest.as_ref().ok(), self.lexical.as_ref().ok());
        match (found(legs.0), found(legs.1)) {
            (Some((weight, near)), Some((_, word))) => {
                let nearest = weight * (near / word).powf(weights::SHARPNESS);
                Balance {
                    nearest: nearest / (1.0 + nearest),
                    lexical: 1.0 / (1.0 + nearest),
                }
            }
            (Some(_), None) => Balance {
                nearest: 1.0,
                lexical: 0.0,
            },
            (None, Some(_)) => Balance {
                nearest: 0.0,
                lexical: 1.0,
            },
            (None, None) => Balance::default(),
        }
    }
}

/// Runs both legs. A leg that cannot answer says why. Where neither can, what stopped the words is returned: words need
/// no model, so that is the graver.
pub(super) fn run(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    asked: &Asked,
    depth: usize,
) -> Result<Reached> {
    let nearest = match &asked.question {
        Ok(question) => nearest(collection, plan, asked.info.metric, question, depth).map_err(Arc::new),
        Err(error) => Err(Arc::clone(error)),
    };
    match (nearest, lexical(collection, plan, depth)) {
        (Err(_), Err(error)) => Err(error),
        (nearest, lexical) => Ok(Reached {
            nearest,
            lexical,
            depth,
        }),
    }
}

fn nearest(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    metric: Metric,
    question: &Question,
    depth: usize,
) -> Result<Scored> {
    let ask = |scope: DrawerCondition, k| {
        let request = Query {
            filter: scope.filter,
            document: scope.document,
            include: Include::NOTHING,
            ..Query::nearest(question.vector.clone(), k)
        };
        Ok::<_, Error>(collection.query(&request)?.into_iter().next().unwrap_or_default())
    };
    let mut hits = ask(plan.scope.clone(), depth)?;
    let cut = hits.len() >= depth && (depth as u64) < plan.in_scope;
    if cut {
        // What was said in a time the query mentions is looked for in that time too; distances compare.
        for dated in plan.dates.iter().filter(|dated| dated.drawers > 0) {
            hits.extend(ask(plan.within(dated), depth)?);
        }
    }
    let mut hits = each_once(hits);
    for hit in &mut hits {
        hit.score = match metric {
            Metric::Cosine | Metric::Ip => 1.0 - hit.score,
            Metric::L2 => -hit.score,
        };
    }
    Ok(Scored::new(hits, cut, None, question.weight))
}

fn lexical(collection: &dyn CollectionReader, plan: &Plan<'_>, depth: usize) -> Result<Scored> {
    let mut hits = collection.lexical(&Lexical {
        filter: plan.scope.filter.clone(),
        document: plan.scope.document.clone(),
        include: Include::NOTHING,
        ..Lexical::words(plan.text.as_str(), depth)
    })?;
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| by_id(a, b)));
    let cut = hits.len() >= depth && (depth as u64) < plan.in_scope;
    Ok(Scored::new(hits, cut, Some(0.0), 1.0))
}

/// The nearest first, each drawer once. One that was given another vector between two calls has two distances, which
/// need not stand side by side; the nearer counts.
fn each_once(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by(|a, b| a.score.total_cmp(&b.score).then_with(|| by_id(a, b)));
    let mut seen = HashSet::new();
    hits.retain(|hit| seen.insert(hit.drawer.id.clone()));
    hits
}

/// Among equals the id decides, not the order in which a backend happens to keep them.
fn by_id(a: &Hit, b: &Hit) -> std::cmp::Ordering {
    a.drawer.id.cmp(&b.drawer.id)
}

/// Which legs ran and what share of the drawers in scope each reached, with a warning where that is not all.
pub(super) fn coverage(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    asked: &Asked,
    reached: &Reached,
) -> Result<(Legs, Vec<Finding>)> {
    let info = &asked.info;
    let mut warnings = Vec::new();
    let nearest = match &reached.nearest {
        Ok(leg) => {
            let missing = without_vector(collection, plan, asked, leg)?;
            let hint = "make their vectors with `loci embedder switch`; see `loci status`";
            ran(
                "nearest",
                missing,
                plan.in_scope,
                "have no vector yet",
                hint,
                &mut warnings,
            )
        }
        Err(error) => did_not_run("nearest", "by meaning", error, &mut warnings),
    };
    let lexical = match &reached.lexical {
        Ok(_) => {
            let missing = info.drawers.saturating_sub(info.coverage.lexical);
            let missing = missing.min(plan.in_scope);
            let hint = "rebuild the index with `loci maintain reindex`";
            ran(
                "lexical",
                missing,
                plan.in_scope,
                "have no words in the index",
                hint,
                &mut warnings,
            )
        }
        Err(error) => did_not_run("lexical", "by words", error, &mut warnings),
    };
    Ok((Legs { nearest, lexical }, warnings))
}

fn ran(name: &str, missing: u64, in_scope: u64, why: &str, hint: &str, warnings: &mut Vec<Finding>) -> Leg {
    if missing == 0 {
        return Leg {
            ran: true,
            coverage: 1.0,
            reason: None,
        };
    }
    let reason = format!("{missing} of {in_scope} drawers in scope {why}");
    warnings.push(Finding::new(format!("{name}_incomplete"), Severity::Warning, &reason).hint(hint));
    Leg {
        ran: true,
        coverage: in_scope.saturating_sub(missing) as f64 / in_scope.max(1) as f64,
        reason: Some(reason),
    }
}

fn did_not_run(name: &str, how: &str, error: &Error, warnings: &mut Vec<Finding>) -> Leg {
    let message = format!("nothing was searched {how}: {error}");
    let finding = Finding::new(format!("{name}_missing"), Severity::Warning, message);
    warnings.push(match error.hint_text() {
        Some(hint) => finding.hint(hint),
        None => finding,
    });
    Leg {
        ran: false,
        coverage: 0.0,
        reason: Some(error.to_string()),
    }
}

/// How many drawers in scope have no vector.
fn without_vector(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    asked: &Asked,
    leg: &Scored,
) -> Result<u64> {
    let info = &asked.info;
    let missing = info.drawers.saturating_sub(info.coverage.nearest);
    if missing == 0 {
        return Ok(0);
    }
    // A leg that was not cut gave every drawer in scope that has a vector.
    if !leg.cut {
        return Ok(plan.in_scope.saturating_sub(leg.hits.len() as u64));
    }
    if plan.scope.asks_nothing() {
        return Ok(missing);
    }
    let Ok(question) = &asked.question else {
        return Ok(missing.min(plan.in_scope));
    };
    // Every drawer in scope that has a vector is a hit of a query that wants them all.
    let wanted = usize::try_from(plan.in_scope).unwrap_or(usize::MAX).max(1);
    let request = Query {
        filter: plan.scope.filter.clone(),
        document: plan.scope.document.clone(),
        include: Include::NOTHING,
        ..Query::nearest(question.vector.clone(), wanted)
    };
    let found = collection.query(&request)?.into_iter().next().unwrap_or_default();
    Ok(plan.in_scope.saturating_sub(found.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{Drawer, DrawerId};

    fn hit(id: &str, score: f32) -> Hit {
        let drawer = Drawer::bare(DrawerId::new(id).unwrap());
        Hit { drawer, score }
    }

    #[test]
    fn a_drawer_with_two_distances_is_one_hit_at_the_nearer() {
        let hits = vec![hit("b", 0.2), hit("a", 0.3), hit("a", 0.1), hit("c", 0.2)];
        let once = each_once(hits);
        let told: Vec<(&str, f32)> = once
            .iter()
            .map(|hit| (hit.drawer.id.as_str(), hit.score))
            .collect();
        assert_eq!(told, [("a", 0.1), ("b", 0.2), ("c", 0.2)]);
    }
}
