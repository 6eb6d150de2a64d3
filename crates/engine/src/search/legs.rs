//! The two legs of a search, by meaning and by words, each over everything in scope, and what they covered.

use std::collections::HashSet;
use std::sync::Arc;

use loci_core::{
    CollectionInfo, CollectionReader, DrawerCondition, DrawerFields, DrawerHit, DrawerId, Error,
    FindingSeverity, LexicalRequest, Metric, PalaceFinding, QueryRequest, Result,
};

use super::foresight::ForeseenSearch;
use super::plan::{LegWeights, SearchPlan};
use super::{LegStanding, LegStatus, SearchLegs, weights};
use crate::EmbedderCatalog;
use crate::palace::question_embedder;

/// The embedded query and the state of the collection. Made once, however often the legs run: embedding can cost a call
/// to a server.
#[derive(Debug)]
pub(super) struct AskedQuery {
    /// The collection's info before the search.
    info: CollectionInfo,
    /// The query as a vector of the collection's model, or the reason there is none.
    question: std::result::Result<QueryVector, Arc<Error>>,
}

/// A query as a vector.
#[derive(Debug, Clone)]
pub(super) struct QueryVector {
    vector: Vec<f32>,
    /// The weight of the leg by meaning for this model and query, where keywords weigh one.
    weight: f32,
    /// How far similarities to this query can be believed, from 0 to 1.
    known: f32,
}

impl AskedQuery {
    pub(super) fn new(
        collection: &dyn CollectionReader,
        embedders: &dyn EmbedderCatalog,
        query: &str,
        foreseen: Option<&ForeseenSearch>,
    ) -> Result<Self> {
        let info = collection.info()?;
        let ready = foreseen.and_then(|foreseen| foreseen.question_for(&info.identity));
        let question = match ready {
            Some(question) => Ok(question.clone()),
            // A missing or unknown model stops only the leg by meaning; the error becomes that leg's reason.
            None => QueryVector::new(&info, embedders, query).map_err(Arc::new),
        };
        Ok(Self { info, question })
    }
}

impl AskedQuery {
    /// Returns whether nothing was written since the search began.
    pub(super) fn is_same_state(&self, now: &CollectionInfo) -> bool {
        self.info.seq == now.seq
    }
}

impl QueryVector {
    pub(super) fn new(info: &CollectionInfo, embedders: &dyn EmbedderCatalog, query: &str) -> Result<Self> {
        let embedder = question_embedder(&info.identity, embedders)?;
        let (nothing, enough) = weights::KNOWN;
        let known = ((embedder.known_share(query) - nothing) / (enough - nothing)).clamp(0.0, 1.0);
        Ok(Self {
            vector: embedder.embed_query(query)?,
            weight: weights::NEAREST * embedder.nearness_weight() * known,
            known,
        })
    }

    /// Returns the query by meaning in some scope.
    pub(super) fn to_request(&self, scope: DrawerCondition, k: usize, exact: bool) -> QueryRequest {
        QueryRequest {
            filter: scope.filter,
            document: scope.document,
            include: DrawerFields::NOTHING,
            exact,
            ..QueryRequest::nearest_to(self.vector.clone(), k)
        }
    }
}

/// Returns the query by words in some scope.
pub(super) fn words_request(text: &str, scope: DrawerCondition, k: usize) -> LexicalRequest {
    LexicalRequest {
        filter: scope.filter,
        document: scope.document,
        include: DrawerFields::NOTHING,
        ..LexicalRequest::for_words(text, k)
    }
}

/// Returns the number of hits by meaning that are asked for where `depth` hits by words are: fewer where answers are
/// approximate, in proportion to the first round.
pub(super) fn choose_nearest_depth(depth: usize, first: usize, is_approximate: bool) -> usize {
    if is_approximate && first > weights::APPROXIMATE_DEPTH {
        (depth / first).max(1).saturating_mul(weights::APPROXIMATE_DEPTH)
    } else {
        depth
    }
}

/// The answers of both legs.
#[derive(Debug)]
pub(super) struct LegAnswers {
    /// The hits by meaning, or the reason that leg did not run; empty if nothing is in scope.
    pub(super) nearest: std::result::Result<ScoredHits, Arc<Error>>,
    /// The hits by words, or the reason that leg did not run.
    pub(super) lexical: std::result::Result<ScoredHits, Error>,
    /// The number of hits each leg was asked for.
    pub(super) depth: usize,
    /// How far similarities can be believed, from 0 to 1.
    known: f32,
}

/// The hits of one leg, best first; larger scores are better.
#[derive(Debug, Default)]
pub(super) struct ScoredHits {
    pub(super) hits: Vec<DrawerHit>,
    /// Each hit's score between 0 and 1, the best being 1.
    pub(super) scaled: Vec<f32>,
    /// Whether there are more hits than were requested.
    pub(super) cut: bool,
    /// The number of hits that were requested.
    depth: usize,
    /// The leg's weight before sharpness, where keywords weigh one.
    weight: f32,
}

impl ScoredHits {
    /// Normalises the scores of a leg. `floor` is the score of a drawer that was not found, used if nothing was cut
    /// off.
    fn new(hits: Vec<DrawerHit>, (cut, depth): (bool, usize), floor: Option<f32>, weight: f32) -> Self {
        let best = hits.first().map_or(0.0, |hit| hit.score);
        let last = hits.last().map_or(0.0, |hit| hit.score);
        // The last of a cut list says how good the drawers behind it may be; zero would flatter every hit.
        let floor = floor.filter(|_| !cut).unwrap_or(last);
        let scale = |hit: &DrawerHit| {
            if best > floor {
                ((hit.score - floor) / (best - floor)).clamp(0.0, 1.0)
            } else {
                // A single hit, or all equal: nothing to divide by, and none is worse than the best.
                1.0
            }
        };
        Self {
            scaled: hits.iter().map(scale).collect(),
            hits,
            cut,
            depth,
            weight,
        }
    }

    /// Measures how far the first hit stands out: 0 if the best hits all score the same, towards 1 if it is alone.
    fn measure_sharpness(&self) -> f32 {
        // Divided by the full number even if there are fewer hits: a leg that finds only three is sharp.
        let best: f32 = self.scaled.iter().take(weights::SHARP_OF).sum();
        1.0 - best / weights::SHARP_OF as f32
    }
}

impl LegAnswers {
    /// Returns whether a leg has more hits than were requested.
    pub(super) fn is_cut_short(&self) -> bool {
        let cut = |leg: Option<&ScoredHits>| leg.is_some_and(|leg| leg.cut && leg.hits.len() >= leg.depth);
        cut(self.nearest.as_ref().ok()) || cut(self.lexical.as_ref().ok())
    }

    /// Returns how far the model knows the query, from 0 to 1; 0 if nothing was searched by meaning.
    pub(super) fn known_share(&self) -> f32 {
        if self.nearest.is_ok() { self.known } else { 0.0 }
    }

    /// Returns how similar a drawer is to the query, if its similarity is known, as far as that can be believed.
    pub(super) fn believed_similarity(&self, nearest: Option<LegStanding>) -> Option<f32> {
        let leg = self.nearest.as_ref().ok()?;
        match nearest {
            Some(standing) => Some(standing.score * self.known),
            // A leg that was not cut found every drawer with a vector.
            None => leg.cut.then_some(0.0),
        }
    }

    /// Weighs the legs: the sharper a leg is on this query, the more it counts. A leg without hits counts nothing.
    pub(super) fn weigh_legs(&self) -> LegWeights {
        // The weight of an empty leg would only shrink the scores of the other one.
        let found = |leg: Option<&ScoredHits>| {
            leg.filter(|leg| !leg.hits.is_empty())
                .map(|leg| (leg.weight, leg.measure_sharpness() + weights::SHARPNESS_FLOOR))
        };
        let legs = (self.nearest.as_ref().ok(), self.lexical.as_ref().ok());
        match (found(legs.0), found(legs.1)) {
            (Some((weight, near)), Some((_, word))) => {
                // Keywords weigh one by definition; the quotients make both weights sum to one.
                let nearest = weight * (near / word).powf(weights::SHARPNESS);
                LegWeights {
                    nearest: nearest / (1.0 + nearest),
                    lexical: 1.0 / (1.0 + nearest),
                }
            }
            (Some(_), None) => LegWeights {
                nearest: 1.0,
                lexical: 0.0,
            },
            (None, Some(_)) => LegWeights {
                nearest: 0.0,
                lexical: 1.0,
            },
            (None, None) => LegWeights::default(),
        }
    }
}

/// Runs both legs. A leg that cannot answer carries its error. If neither can, the error of the leg by words is
/// returned: it needs no model, so its failure is the more serious.
pub(super) fn run_legs(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    asked: &AskedQuery,
    depth: usize,
) -> Result<LegAnswers> {
    let nearest = match &asked.question {
        Ok(question) => run_nearest(collection, plan, &asked.info, question, depth).map_err(Arc::new),
        Err(error) => Err(Arc::clone(error)),
    };
    match (nearest, run_lexical(collection, plan, depth)) {
        (Err(_), Err(error)) => Err(error),
        (nearest, lexical) => Ok(LegAnswers {
            nearest,
            lexical,
            depth,
            known: asked.question.as_ref().map_or(0.0, |question| question.known),
        }),
    }
}

fn run_nearest(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    info: &CollectionInfo,
    question: &QueryVector,
    depth: usize,
) -> Result<ScoredHits> {
    let is_approximate = info.approximate && !plan.request.exact;
    let depth = choose_nearest_depth(depth, plan.first_depth(), is_approximate);
    let ask = |scope: DrawerCondition, k| {
        let request = question.to_request(scope, k, plan.request.exact);
        Ok::<_, Error>(collection.query(&request)?.into_iter().next().unwrap_or_default())
    };
    let mut hits = ask(plan.scope.clone(), depth)?;
    let cut = hits.len() >= depth && (depth as u64) < plan.in_scope;
    if cut {
        // Drawers said in a mentioned time may lie beyond the depth, where no boost could lift them, so each such time
        // is searched by itself. Distances are comparable across these queries.
        for dated in plan.dates.iter().filter(|dated| dated.drawers > 0) {
            hits.extend(ask(plan.condition_within(dated), depth)?);
        }
    }
    let mut hits = deduplicate_hits(hits);
    // Backends return distances; ranking needs scores of which the larger is better.
    for hit in &mut hits {
        hit.score = match info.metric {
            Metric::Cosine | Metric::Ip => 1.0 - hit.score,
            Metric::L2 => -hit.score,
        };
    }
    // No floor: the distance of an unrelated text differs from model to model, so the last hit sets it.
    Ok(ScoredHits::new(hits, (cut, depth), None, question.weight))
}

fn run_lexical(collection: &dyn CollectionReader, plan: &SearchPlan<'_>, depth: usize) -> Result<ScoredHits> {
    let ask = |scope: DrawerCondition| collection.lexical(&words_request(&plan.text, scope, depth));
    let mut hits = ask(plan.scope.clone())?;
    let cut = hits.len() >= depth && (depth as u64) < plan.in_scope;
    if cut {
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let mut seen: HashSet<DrawerId> = hits.iter().map(|hit| hit.drawer.id.clone()).collect();
        for dated in plan.dates.iter().filter(|dated| dated.drawers > 0) {
            let said = ask(plan.condition_within(dated))?;
            // A word is rarer or commoner within a time than elsewhere, so these scores are not quite those of the
            // whole scope; none may be better than its best.
            hits.extend(
                said.into_iter()
                    .filter(|hit| seen.insert(hit.drawer.id.clone()))
                    .map(|hit| DrawerHit {
                        score: hit.score.min(best),
                        ..hit
                    }),
            );
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| compare_ids(a, b)));
    // A drawer with none of the words has a BM25 score of zero.
    Ok(ScoredHits::new(hits, (cut, depth), Some(0.0), 1.0))
}

/// Sorts hits nearest first and keeps each drawer once. A drawer that got another vector between two calls has two
/// distances, which need not be adjacent; the nearer counts.
fn deduplicate_hits(mut hits: Vec<DrawerHit>) -> Vec<DrawerHit> {
    hits.sort_by(|a, b| a.score.total_cmp(&b.score).then_with(|| compare_ids(a, b)));
    let mut seen = HashSet::new();
    hits.retain(|hit| seen.insert(hit.drawer.id.clone()));
    hits
}

/// Orders equal hits by id, not by the order in which a backend happens to store them.
fn compare_ids(a: &DrawerHit, b: &DrawerHit) -> std::cmp::Ordering {
    a.drawer.id.cmp(&b.drawer.id)
}

/// Reports the legs that ran and the share of the drawers in scope that each covered, with a warning if that is not
/// all.
pub(super) fn report_coverage(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    asked: &AskedQuery,
    reached: &LegAnswers,
) -> Result<(SearchLegs, Vec<PalaceFinding>)> {
    let info = &asked.info;
    let mut warnings = Vec::new();
    let nearest = match &reached.nearest {
        Ok(leg) => {
            let searched = SearchedScope {
                condition: &plan.scope,
                in_scope: plan.in_scope,
            };
            let vector = asked
                .question
                .as_ref()
                .ok()
                .map(|question| question.vector.as_slice());
            // A leg that was not cut returned every drawer in scope that has a vector.
            let all_hits = (!leg.cut).then_some(leg.hits.len() as u64);
            let missing = searched.count_without_vector(collection, info, vector, all_hits)?;
            let is_approximate = info.approximate && !plan.request.exact;
            report_nearest(missing, plan.in_scope, is_approximate, &mut warnings)
        }
        Err(error) => report_missing_leg("nearest", "by meaning", error, &mut warnings),
    };
    let lexical = match &reached.lexical {
        Ok(_) => report_lexical(info, plan.in_scope, &mut warnings),
        Err(error) => report_missing_leg("lexical", "by words", error, &mut warnings),
    };
    Ok((SearchLegs { nearest, lexical }, warnings))
}

/// Reports the leg by meaning, with a warning if drawers in scope have no vector, and a note if some of the nearest may
/// be missing.
pub(super) fn report_nearest(
    missing: u64,
    in_scope: u64,
    is_approximate: bool,
    warnings: &mut Vec<PalaceFinding>,
) -> LegStatus {
    let hint = "embed them with `loci embedder switch`; see `loci status`";
    let status = report_run_leg("nearest", missing, in_scope, "have no vector yet", hint, warnings);
    if is_approximate {
        let message = "the search by meaning was approximate and may have missed a drawer";
        warnings.push(
            PalaceFinding::new("approximate", FindingSeverity::Note, message)
                .with_hint("`loci search --exact` compares every drawer"),
        );
    }
    LegStatus {
        approximate: is_approximate,
        ..status
    }
}

/// Reports the leg by words, with a warning if the index does not cover every drawer.
pub(super) fn report_lexical(
    info: &CollectionInfo,
    in_scope: u64,
    warnings: &mut Vec<PalaceFinding>,
) -> LegStatus {
    // The index reports only how many drawers it lacks, not which; in the worst case all of them are in scope.
    let missing = info.drawers.saturating_sub(info.coverage.lexical).min(in_scope);
    let hint = "rebuild the index with `loci maintain reindex`";
    let why = "are missing from the word index";
    report_run_leg("lexical", missing, in_scope, why, hint, warnings)
}

fn report_run_leg(
    name: &str,
    missing: u64,
    in_scope: u64,
    why: &str,
    hint: &str,
    warnings: &mut Vec<PalaceFinding>,
) -> LegStatus {
    if missing == 0 {
        return LegStatus {
            ran: true,
            coverage: 1.0,
            ..LegStatus::default()
        };
    }
    let reason = format!("{missing} of {in_scope} drawers in scope {why}");
    warnings.push(
        PalaceFinding::new(format!("{name}_incomplete"), FindingSeverity::Warning, &reason).with_hint(hint),
    );
    LegStatus {
        ran: true,
        coverage: in_scope.saturating_sub(missing) as f64 / in_scope.max(1) as f64,
        reason: Some(reason),
        ..LegStatus::default()
    }
}

fn report_missing_leg(name: &str, how: &str, error: &Error, warnings: &mut Vec<PalaceFinding>) -> LegStatus {
    let message = format!("nothing was searched {how}: {error}");
    let finding = PalaceFinding::new(format!("{name}_missing"), FindingSeverity::Warning, message);
    warnings.push(match error.hint_text() {
        Some(hint) => finding.with_hint(hint),
        None => finding,
    });
    LegStatus {
        reason: Some(error.to_string()),
        ..LegStatus::default()
    }
}

/// The drawers a search runs over.
pub(super) struct SearchedScope<'a> {
    pub(super) condition: &'a DrawerCondition,
    pub(super) in_scope: u64,
}

impl SearchedScope<'_> {
    /// Counts the drawers in scope that have no vector. `all_hits` is the number that have one, if a query already
    /// returned all of them.
    pub(super) fn count_without_vector(
        &self,
        collection: &dyn CollectionReader,
        info: &CollectionInfo,
        vector: Option<&[f32]>,
        all_hits: Option<u64>,
    ) -> Result<u64> {
        let missing = info.drawers.saturating_sub(info.coverage.nearest);
        if missing == 0 {
            return Ok(0);
        }
        if let Some(hits) = all_hits {
            return Ok(self.in_scope.saturating_sub(hits));
        }
        if self.condition.is_unrestricted() {
            return Ok(missing);
        }
        let Some(vector) = vector else {
            // An upper bound: without a vector to query with, the missing ones cannot be counted under the filter.
            return Ok(missing.min(self.in_scope));
        };
        // The contract has no count of vectors under a filter, so a query that wants every hit is counted instead.
        // It runs only while some drawer lacks a vector, which is rare and temporary.
        let wanted = usize::try_from(self.in_scope).unwrap_or(usize::MAX).max(1);
        let request = QueryRequest {
            filter: self.condition.filter.clone(),
            document: self.condition.document.clone(),
            include: DrawerFields::NOTHING,
            ..QueryRequest::nearest_to(vector.to_vec(), wanted)
        };
        let found = collection.query(&request)?.into_iter().next().unwrap_or_default();
        Ok(self.in_scope.saturating_sub(found.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{Drawer, DrawerId};

    fn hit(id: &str, score: f32) -> DrawerHit {
        let drawer = Drawer::with_id_only(DrawerId::new(id).unwrap());
        DrawerHit { drawer, score }
    }

    #[test]
    fn a_drawer_with_two_distances_is_one_hit_at_the_nearer() {
        let hits = vec![hit("b", 0.2), hit("a", 0.3), hit("a", 0.1), hit("c", 0.2)];
        let once = deduplicate_hits(hits);
        let told: Vec<(&str, f32)> = once
            .iter()
            .map(|hit| (hit.drawer.id.as_str(), hit.score))
            .collect();
        assert_eq!(told, [("a", 0.1), ("b", 0.2), ("c", 0.2)]);
    }
}
