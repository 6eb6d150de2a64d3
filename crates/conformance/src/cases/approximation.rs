//! Exactness of queries: the exact answer, or nearly all of it where a backend says that it approximates; and ties.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{Collection, Filter, Lexical, Query};

use crate::reference::distance;
use crate::samples::{hit_ids, vectored};
use crate::{Outcome, Scene};

cases! { "approximation":
    "the answer equals an exact comparison with every vector" [+EmbeddingsPassthrough -ApproximateQuery] => exact;
    "with approximate_query at least nine in ten of the true nearest are found" [+EmbeddingsPassthrough +ApproximateQuery] => nearly_all;
    "with approximate_query no hit is reported with a wrong distance" [+EmbeddingsPassthrough +ApproximateQuery] => right_distances;
    "hits of a query with equal distance come in the byte order of their ids" [+EmbeddingsPassthrough] => equal_distances;
    "hits of a lexical match with equal score come in the byte order of their ids" [+Lexical] => equal_scores;
}

const DRAWERS: usize = 200;

/// Vectors spread over all directions, from a fixed sequence.
fn vector(n: usize) -> [f32; 4] {
    let part = |salt: usize| {
        let mixed = (n * 4 + salt + 1).wrapping_mul(2_654_435_761) % 10_007;
        mixed as f32 / 5_003.5 - 1.0
    };
    [part(0), part(1), part(2), part(3)]
}

fn name_of(n: usize) -> String {
    format!("d{n:03}")
}

fn cloud(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    scene.filled((0..DRAWERS).map(|n| {
        let mut drawer = vectored(&name_of(n), "text", &vector(n));
        drawer.place.wing = Some(if n % 2 == 0 { "even" } else { "odd" }.into());
        drawer
    }))
}

/// The questions: vectors of no drawer, over every drawer and over every second one.
fn questions() -> impl Iterator<Item = (Query, usize)> {
    (0..20).map(|n| {
        let mut query = Query::nearest(vector(DRAWERS + n).to_vec(), 10);
        let every = 1 + n % 2;
        if every == 2 {
            query.filter = Filter::text("wing", "even");
        }
        (query, every)
    })
}

/// The nearest ids by a comparison with every vector, and how far each is.
fn true_nearest(collection: &dyn Collection, query: &Query, every: usize) -> Outcome<Vec<(String, f64)>> {
    let metric = collection.info()?.metric;
    let mut all: Vec<(String, f64)> = (0..DRAWERS)
        .step_by(every)
        .map(|n| (name_of(n), distance(metric, &query.vectors[0], &vector(n))))
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    Ok(all)
}

fn exact(scene: &Scene<'_>) -> Outcome {
    let cloud = cloud(scene)?;
    for (query, every) in questions() {
        let found = cloud.query(&query)?;
        let nearest = true_nearest(cloud.as_ref(), &query, every)?;
        let nearest: Vec<&str> = nearest.iter().take(query.k).map(|(id, _)| id.as_str()).collect();
        same!(hit_ids(&found[0]), nearest, "the nearest");
    }
    Ok(())
}

fn nearly_all(scene: &Scene<'_>) -> Outcome {
    let cloud = cloud(scene)?;
    let (mut found, mut asked) = (0, 0);
    for (query, every) in questions() {
        let hits = cloud.query(&query)?.remove(0);
        let ids: BTreeSet<&str> = hit_ids(&hits).into_iter().collect();
        same!(ids.len(), hits.len(), "different drawers among the hits");
        let nearest = true_nearest(cloud.as_ref(), &query, every)?;
        found += nearest
            .iter()
            .take(query.k)
            .filter(|(id, _)| ids.contains(id.as_str()))
            .count();
        asked += query.k;
    }
    ensure!(
        found * 10 >= asked * 9,
        "expected nine in ten of {asked} nearest drawers, found {found}"
    );
    Ok(())
}

fn right_distances(scene: &Scene<'_>) -> Outcome {
    let cloud = cloud(scene)?;
    for (query, every) in questions() {
        let hits = cloud.query(&query)?.remove(0);
        ensure!(
            hits.is_sorted_by(|a, b| a.score <= b.score),
            "expected nearest first, found {hits:?}"
        );
        let all = true_nearest(cloud.as_ref(), &query, every)?;
        for hit in &hits {
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

fn equal_distances(scene: &Scene<'_>) -> Outcome {
    let names = ["é", "b", "抽屉", "a", "Z", "ab"];
    let drawers = scene.filled(names.map(|name| vectored(name, "text", &[1.0, 1.0, 0.0, 0.0])))?;
    let mut expected = names;
    expected.sort_unstable();
    for k in [2, 6] {
        let found = drawers.query(&Query::nearest(vec![1.0, 0.0, 0.0, 0.0], k))?;
        same!(
            hit_ids(&found[0]),
            expected[..k],
            "the {k} nearest of those that tie"
        );
    }
    Ok(())
}

fn equal_scores(scene: &Scene<'_>) -> Outcome {
    let names = ["é", "b", "抽屉", "a", "Z", "ab"];
    let drawers = names.map(|name| scene.fit(vectored(name, "alpha bravo", &[1.0, 0.0, 0.0, 0.0])));
    let drawers = scene.filled(drawers)?;
    let mut expected = names;
    expected.sort_unstable();
    for k in [2, 6] {
        let found = drawers.lexical(&Lexical::words("alpha", k))?;
        same!(hit_ids(&found), expected[..k], "the {k} best of those that tie");
    }
    Ok(())
}
