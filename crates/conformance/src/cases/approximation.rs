//! Exactness of queries: the exact answer, or nearly all of it if a backend advertises approximation; and ties.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, Filter, LexicalRequest, QueryPrecision, QueryRequest,
};

use crate::reference::exact_distance;
use crate::samples::{hit_ids, vector_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "approximation":
    "the answer equals an exact comparison with every vector" [+EmbeddingsPassthrough -ApproximateQuery] => equals_exact_scan;
    "with approximate_query at least nine in ten of the true nearest are found" [+EmbeddingsPassthrough +ApproximateQuery] => finds_nine_in_ten;
    "with approximate_query no hit is reported with a wrong distance" [+EmbeddingsPassthrough +ApproximateQuery] => reports_true_distances;
    "a collection says whether its queries are approximate" [+EmbeddingsPassthrough] => says_whether_approximate;
    "where approximate answers were chosen a query that must be exact is exact" [+EmbeddingsPassthrough] => exact_on_request;
    "after exact was chosen every answer is exact" [+EmbeddingsPassthrough -ReadOnly] => exact_by_choice;
    "hits of a query with equal distance come in the byte order of their ids" [+EmbeddingsPassthrough] => distance_ties_by_id;
    "hits of a lexical match with equal score come in the byte order of their ids" [+Lexical] => score_ties_by_id;
}

// Enough that a graph or cluster index prunes candidates; with a handful it would compare all and always be
// exact.
const DRAWERS: usize = 200;

/// Vectors spread over all directions, from a fixed sequence.
fn spread_vector(n: usize) -> [f32; 4] {
    // Knuth's multiplicative hash: neighbouring numbers must not get neighbouring vectors, or an index that
    // probes only one cluster would still find all of the nearest.
    let part = |salt: usize| {
        let mixed = (n * 4 + salt + 1).wrapping_mul(2_654_435_761) % 10_007;
        mixed as f32 / 5_003.5 - 1.0
    };
    [part(0), part(1), part(2), part(3)]
}

fn drawer_name(n: usize) -> String {
    format!("d{n:03}")
}

fn open_cloud(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    scene.open_filled((0..DRAWERS).map(|n| {
        let mut drawer = vector_drawer(&drawer_name(n), "text", &spread_vector(n));
        // Two interleaved halves: a backend that filters after the search loses about half of its hits.
        drawer.place.wing = Some(if n % 2 == 0 { "even" } else { "odd" }.into());
        drawer
    }))
}

/// The questions: vectors that no drawer has, over all drawers and over every second one.
fn list_questions() -> impl Iterator<Item = (QueryRequest, usize)> {
    (0..20).map(|n| {
        // Numbers beyond the stored ones, so that no answer is a drawer at distance zero, which every index
        // finds.
        let mut query = QueryRequest::nearest_to(spread_vector(DRAWERS + n).to_vec(), 10);
        let every = 1 + n % 2;
        if every == 2 {
            query.filter = Filter::text_equals("wing", "even");
        }
        (query, every)
    })
}

/// Returns the nearest ids with their distances, by a comparison with every vector.
fn true_nearest(
    collection: &dyn Collection,
    query: &QueryRequest,
    every: usize,
) -> CaseOutcome<Vec<(String, f64)>> {
    // The collection's own metric: a backend may offer only one, and it need not be cosine.
    let metric = collection.info()?.metric;
    let mut all: Vec<(String, f64)> = (0..DRAWERS)
        .step_by(every)
        .map(|n| {
            (
                drawer_name(n),
                exact_distance(metric, &query.vectors[0], &spread_vector(n)),
            )
        })
        .collect();
    // The same tie-break as the contract, so that the expected order is unique.
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    Ok(all)
}

fn equals_exact_scan(scene: &CaseScene<'_>) -> CaseOutcome {
    compare_with_scan(open_cloud(scene)?.as_ref(), false)
}

/// Asks every question and compares the answers with those of a scan.
fn compare_with_scan(cloud: &dyn Collection, exact: bool) -> CaseOutcome {
    for (mut query, every) in list_questions() {
        query.exact = exact;
        let found = cloud.query(&query)?;
        let nearest = true_nearest(cloud, &query, every)?;
        let nearest: Vec<&str> = nearest.iter().take(query.k).map(|(id, _)| id.as_str()).collect();
        same!(hit_ids(&found[0]), nearest, "the nearest");
    }
    Ok(())
}

fn says_whether_approximate(scene: &CaseScene<'_>) -> CaseOutcome {
    let cloud = open_cloud(scene)?;
    same!(
        cloud.info()?.approximate,
        scene.can(Capability::ApproximateQuery),
        "whether the collection says that its queries are approximate"
    );
    Ok(())
}

/// Whether the backend can answer exactly: one that advertises approximate answers promises no others.
fn answers_exactly(scene: &CaseScene<'_>) -> bool {
    let backend = scene.backend();
    !backend.descriptor().has_capability(&Capability::ApproximateQuery)
}

fn exact_on_request(scene: &CaseScene<'_>) -> CaseOutcome {
    let cloud = open_cloud(scene)?;
    if answers_exactly(scene) {
        compare_with_scan(cloud.as_ref(), true)?;
    }
    Ok(())
}

fn exact_by_choice(scene: &CaseScene<'_>) -> CaseOutcome {
    let cloud = open_cloud(scene)?;
    if !answers_exactly(scene) || scene.descriptor().maintenance.is_empty() {
        return Ok(());
    }
    // Another process makes the choice, and this one must follow.
    let elsewhere = scene.open_elsewhere()?;
    elsewhere
        .require_upkeep()?
        .choose_precision(QueryPrecision::Exact)?;
    same!(
        cloud.info()?.approximate,
        false,
        "whether it still says approximate"
    );
    compare_with_scan(cloud.as_ref(), false)
}

fn finds_nine_in_ten(scene: &CaseScene<'_>) -> CaseOutcome {
    let cloud = open_cloud(scene)?;
    let (mut found, mut asked) = (0, 0);
    for (query, every) in list_questions() {
        let hits = cloud.query(&query)?.remove(0);
        let ids: BTreeSet<&str> = hit_ids(&hits).into_iter().collect();
        // Repeating an easy hit must not make up for one that was missed.
        same!(ids.len(), hits.len(), "different drawers among the hits");
        let nearest = true_nearest(cloud.as_ref(), &query, every)?;
        found += nearest
            .iter()
            .take(query.k)
            .filter(|(id, _)| ids.contains(id.as_str()))
            .count();
        asked += query.k;
    }
    // Over all questions together: the promise is about recall, and a single question of ten hits would be
    // too coarse a measure of it.
    ensure!(
        found * 10 >= asked * 9,
        "expected nine in ten of {asked} nearest drawers, found {found}"
    );
    Ok(())
}

fn reports_true_distances(scene: &CaseScene<'_>) -> CaseOutcome {
    let cloud = open_cloud(scene)?;
    for (query, every) in list_questions() {
        let hits = cloud.query(&query)?.remove(0);
        ensure!(
            hits.is_sorted_by(|a, b| a.score <= b.score),
            "expected nearest first, found {hits:?}"
        );
        let all = true_nearest(cloud.as_ref(), &query, every)?;
        for hit in &hits {
            // Looked up by id, not by rank: an approximate answer may skip drawers, but the distance it
            // reports for a drawer must be the distance of that drawer, not one estimated from quantised
            // codes.
            let own = all.iter().find(|(id, _)| id == hit.drawer.id.as_str());
            let right = own.is_some_and(|(_, distance)| (f64::from(hit.score) - distance).abs() < 1e-4);
            ensure!(
                right,
                "expected a drawer of those asked for at {own:?}, found {hit:?}"
            );
        }
    }
    Ok(())
}

fn distance_ties_by_id(scene: &CaseScene<'_>) -> CaseOutcome {
    // Ids whose byte order differs from insertion order, from letter order and from case-insensitive order.
    let names = ["é", "b", "抽屉", "a", "Z", "ab"];
    let drawers = scene.open_filled(names.map(|name| vector_drawer(name, "text", &[1.0, 1.0, 0.0, 0.0])))?;
    let mut expected = names;
    expected.sort_unstable();
    // With k below the number of ties a backend that sorts only the hits it kept, after cutting at k by
    // some other order, returns the wrong two.
    for k in [2, 6] {
        let found = drawers.query(&QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], k))?;
        same!(
            hit_ids(&found[0]),
            expected[..k],
            "the {k} nearest of those that tie"
        );
    }
    Ok(())
}

fn score_ties_by_id(scene: &CaseScene<'_>) -> CaseOutcome {
    let names = ["é", "b", "抽屉", "a", "Z", "ab"];
    // The same text everywhere, so that all scores are equal to the last bit in any scoring scheme.
    let drawers =
        names.map(|name| scene.fit_drawer(vector_drawer(name, "alpha bravo", &[1.0, 0.0, 0.0, 0.0])));
    let drawers = scene.open_filled(drawers)?;
    let mut expected = names;
    expected.sort_unstable();
    for k in [2, 6] {
        let found = drawers.lexical(&LexicalRequest::for_words("alpha", k))?;
        same!(hit_ids(&found), expected[..k], "the {k} best of those that tie");
    }
    Ok(())
}
