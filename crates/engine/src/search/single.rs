//! One retriever alone: the nearest vectors or the best matching words, ranked as that retriever ranks them.

use loci_core::{
    CollectionReader, Drawer, DrawerCondition, DrawerHit, LexicalRequest, PalaceFinding, QueryRequest, Result,
};
use loci_index::tokenise::{self, TextIndexer};

use super::legs::{SearchedScope, report_lexical, report_nearest};
use super::text::{ComparedText, hash_bytes, score_own_words};
use super::{
    HitEvidence, LegStanding, LegStatus, LegWeights, PlanReport, SearchLegs, SearchReport, SearchRequest,
    weights,
};
use crate::neighbours::{self, NeighbourDrawers};
use crate::palace::PalaceSession;
use crate::view::{DrawerView, HitView};

/// A way to find drawers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchRetriever {
    /// By the distance of vectors.
    Meaning,
    /// By the words of the drawers' own texts, scored with BM25.
    Words,
}

/// Answers a request by one retriever. Nothing is fused, boosted for its time or folded into a near twin, so the order
/// is exactly that of the distances or scores shown.
pub(super) fn search_single(
    session: &PalaceSession<'_>,
    request: &SearchRequest,
    retriever: SearchRetriever,
    shown_before: usize,
) -> Result<SearchReport> {
    let reader = session.reader();
    let asked = request.scope.resolve(reader)?;
    let searched = request.searched_condition(&asked);
    let in_scope = reader.count(&searched)?;
    // One hit more than the page holds tells whether there is a next page.
    let depth = shown_before.saturating_add(request.limit).saturating_add(1);
    let scope = SearchedScope {
        condition: &searched,
        in_scope,
    };
    let mut warnings = Vec::new();
    // Unlike in a fused search, a retriever that cannot run is an error: no other one could answer instead.
    let (hits, legs) = match retriever {
        SearchRetriever::Meaning => rank_by_meaning(session, request, &scope, depth, &mut warnings)?,
        SearchRetriever::Words => rank_by_words(session, request, &scope, depth, &mut warnings)?,
    };
    // Read after the search: a damaged row is noticed only when it is read.
    warnings.extend(session.collect_findings());
    let tool_output_left_out = if request.includes_tool_output() {
        0
    } else {
        reader.count(&asked)?.saturating_sub(in_scope)
    };
    Ok(SearchReport {
        query: request.query.clone(),
        hits: view_hits(session, request, retriever, hits)?,
        legs,
        in_scope,
        tool_output_left_out,
        dates: Vec::new(),
        verdict: None,
        plan: Some(report_plan(request, retriever, depth)),
        next: None,
        warnings,
    })
}

fn rank_by_meaning(
    session: &PalaceSession<'_>,
    request: &SearchRequest,
    scope: &SearchedScope<'_>,
    depth: usize,
    warnings: &mut Vec<PalaceFinding>,
) -> Result<(Vec<DrawerHit>, SearchLegs)> {
    let vector = match &request.vector {
        Some(vector) => vector.clone(),
        None => session.question_embedder()?.embed_query(&request.query)?,
    };
    let DrawerCondition { filter, document } = scope.condition.clone();
    let answers = session.reader().query(&QueryRequest {
        filter,
        document,
        exact: request.exact,
        ..QueryRequest::nearest_to(vector.clone(), depth)
    })?;
    let hits = answers.into_iter().next().unwrap_or_default();
    let all_hits = (hits.len() < depth).then_some(hits.len() as u64);
    let info = session.reader().info()?;
    let missing = scope.count_without_vector(session.reader(), &info, Some(&vector), all_hits)?;
    let legs = SearchLegs {
        nearest: report_nearest(
            missing,
            scope.in_scope,
            info.approximate && !request.exact,
            warnings,
        ),
        lexical: report_skipped_leg(),
    };
    Ok((hits, legs))
}

fn rank_by_words(
    session: &PalaceSession<'_>,
    request: &SearchRequest,
    scope: &SearchedScope<'_>,
    depth: usize,
    warnings: &mut Vec<PalaceFinding>,
) -> Result<(Vec<DrawerHit>, SearchLegs)> {
    let hits = OwnWordRanking::new(session.reader(), request, scope.condition)?.find_best(depth)?;
    let info = session.reader().info()?;
    let legs = SearchLegs {
        nearest: report_skipped_leg(),
        lexical: report_lexical(&info, scope.in_scope, warnings),
    };
    Ok((hits, legs))
}

/// Ranks drawers by the words of their own text.
///
/// The index sees a drawer with the edges of its neighbours, so its best matches include drawers that hold none of the
/// words themselves. Those are left out, and the others are scored by what they hold.
struct OwnWordRanking<'a> {
    reader: &'a dyn CollectionReader,
    lexical: LexicalRequest,
    /// The hashes of the words.
    words: Vec<u64>,
    indexer: TextIndexer,
}

impl<'a> OwnWordRanking<'a> {
    fn new(
        reader: &'a dyn CollectionReader,
        request: &SearchRequest,
        scope: &DrawerCondition,
    ) -> Result<Self> {
        let DrawerCondition { filter, document } = scope.clone();
        let lexical = LexicalRequest {
            filter,
            document,
            ..LexicalRequest::for_words(request.query.as_str(), weights::WORDS_ROUND)
        };
        lexical.check_request()?;
        let words = tokenise::query_tokens(&request.query);
        Ok(Self {
            reader,
            lexical,
            words: words.iter().map(|word| hash_bytes(word.as_bytes())).collect(),
            indexer: TextIndexer::default(),
        })
    }

    /// Returns the best hits. The index is asked for ever more drawers, and each round is ranked by itself behind the
    /// rounds before, whatever the number of hits wanted: the first hits of a long answer are those of a short one.
    fn find_best(mut self, wanted: usize) -> Result<Vec<DrawerHit>> {
        let mut best: Vec<DrawerHit> = Vec::new();
        let mut done = 0;
        loop {
            let found = self.reader.lexical(&self.lexical)?;
            let ended = found.len() < self.lexical.k;
            // The order of the index does not depend on the depth, so a deeper answer begins with the one before.
            let new: Vec<DrawerHit> = found.into_iter().skip(done).collect();
            done += new.len();
            let last = best.last().map_or(f32::INFINITY, |hit| hit.score);
            best.extend(self.rank_round(new).into_iter().map(|hit| DrawerHit {
                score: hit.score.min(last),
                ..hit
            }));
            if ended || best.len() >= wanted {
                best.truncate(wanted);
                return Ok(best);
            }
            self.lexical.k = self.lexical.k.saturating_mul(weights::DEEPER);
        }
    }

    /// Scores the drawers of a round with BM25 over their own texts, and leaves out those without any of the words.
    fn rank_round(&mut self, hits: Vec<DrawerHit>) -> Vec<DrawerHit> {
        let texts: Vec<ComparedText> = hits
            .iter()
            .map(|hit| {
                let text = hit.drawer.document.as_deref().unwrap_or_default();
                ComparedText::from_text(&mut self.indexer, text)
            })
            .collect();
        let scores = score_own_words(&self.words, &texts.iter().collect::<Vec<_>>());
        let mut ranked: Vec<DrawerHit> = hits
            .into_iter()
            .zip(scores)
            .filter_map(|(hit, score)| (score > 0.0).then_some(DrawerHit { score, ..hit }))
            .collect();
        ranked.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.drawer.id.cmp(&b.drawer.id))
        });
        ranked
    }
}

/// Turns the hits of a retriever into views, with their neighbours if requested.
fn view_hits(
    session: &PalaceSession<'_>,
    request: &SearchRequest,
    retriever: SearchRetriever,
    hits: Vec<DrawerHit>,
) -> Result<Vec<HitView>> {
    let around = if request.context > 0 {
        let drawers: Vec<&Drawer> = hits.iter().map(|hit| &hit.drawer).collect();
        neighbours::find_neighbours_of_many(session.reader(), &drawers, request.context, request.context)?
    } else {
        vec![NeighbourDrawers::default(); hits.len()]
    };
    let ranked = hits.into_iter().zip(around).enumerate();
    Ok(ranked
        .map(|(at, (hit, around))| view_hit(at + 1, hit, around, retriever))
        .collect())
}

fn view_hit(rank: usize, hit: DrawerHit, around: NeighbourDrawers, retriever: SearchRetriever) -> HitView {
    let mut why = HitEvidence::default();
    let mut distance = None;
    let score = match retriever {
        SearchRetriever::Meaning => {
            distance = Some(hit.score);
            // Larger scores are better in every view, while smaller distances are.
            let score = -hit.score;
            why.nearest = Some(LegStanding { rank, score });
            score
        }
        SearchRetriever::Words => {
            why.lexical = Some(LegStanding {
                rank,
                score: hit.score,
            });
            hit.score
        }
    };
    let views = |drawers: Vec<Drawer>| drawers.into_iter().map(DrawerView::from).collect();
    HitView {
        drawer: hit.drawer.into(),
        score,
        distance,
        why,
        also_in: Some(Vec::new()),
        before: views(around.before),
        after: views(around.after),
    }
}

/// Reports the words of the query, stop words included, since nothing weighs them here; a search by meaning matches
/// none.
fn report_plan(request: &SearchRequest, retriever: SearchRetriever, depth: usize) -> PlanReport {
    let (words, weights) = match retriever {
        SearchRetriever::Meaning => (
            Vec::new(),
            LegWeights {
                nearest: 1.0,
                lexical: 0.0,
            },
        ),
        SearchRetriever::Words => {
            let words = tokenise::query_tokens(&request.query);
            (
                words,
                LegWeights {
                    nearest: 0.0,
                    lexical: 1.0,
                },
            )
        }
    };
    PlanReport {
        text: request.query.clone(),
        words,
        left_out: Vec::new(),
        weights,
        depth,
    }
}

fn report_skipped_leg() -> LegStatus {
    LegStatus {
        reason: Some("the other retriever was requested".to_owned()),
        ..LegStatus::default()
    }
}
