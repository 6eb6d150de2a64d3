//! Query by vector: one list each, nearest first, exact under any filter.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, CollectionReaderExt, DocumentFilter, ErrorKind, Filter, Hit, Include,
    Metadata, Metric, NewDrawer, OpenOptions, Patch, Query, Write,
};

use crate::case::refused;
use crate::reference::distance;
use crate::samples::{hit_ids, id, plain, vectored, winged};
use crate::scene::drawers;
use crate::{Failure, Outcome, Scene};

cases! { "query":
    "for each vector its own list of hits, nearest first" [+EmbeddingsPassthrough] => nearest_first;
    "for each vector its own list, even when all are empty" [+EmbeddingsPassthrough] => all_empty;
    "a query without vectors is refused" [+EmbeddingsPassthrough] => no_vectors;
    "a query for no hits is refused" [+EmbeddingsPassthrough] => no_hits;
    "a query with a vector that is not finite or all zero is refused" [+EmbeddingsPassthrough] => bad_vectors;
    "a query with a vector of another length is a dimension mismatch" [+EmbeddingsPassthrough] => wrong_dimension;
    "a query for more hits than there are drawers returns them all" [+EmbeddingsPassthrough] => more_than_all;
    "a drawer without a vector is never a hit of a query" [+EmbeddingsPassthrough] => without_vector;
    "the answer is the nearest of those the filter accepts, never fewer because others were nearer" [+EmbeddingsPassthrough] => filtered;
    "a query finds only drawers whose text the document filter accepts" [+EmbeddingsPassthrough] => document_filtered;
    "hits hold the fields the request included" [+EmbeddingsPassthrough] => included;
    "hits hold the exact vector if asked for" [+EmbeddingsPassthrough +EmbeddingsOut] => vector_included;
    "cosine is one minus the cosine of the angle" [+EmbeddingsPassthrough -ReadOnly] => cosine;
    "l2 is the squared euclidean distance" [+EmbeddingsPassthrough -ReadOnly] => euclidean;
    "ip is one minus the inner product" [+EmbeddingsPassthrough -ReadOnly] => inner_product;
    "vectors of any finite size are compared by their angle" [+EmbeddingsPassthrough] => any_size;
    "a query sees vectors as they are now: replaced, changed and removed" [+EmbeddingsPassthrough -ReadOnly] => as_they_are;
    "a filtered query equals the filtered unfiltered-exact answer, over many drawers" [+EmbeddingsPassthrough -ApproximateQuery] => many_drawers;
}

const EAST: [f32; 4] = [1.0, 0.0, 0.0, 0.0];
const NORTH: [f32; 4] = [0.0, 1.0, 0.0, 0.0];
const NORTH_EAST: [f32; 4] = [1.0, 1.0, 0.0, 0.0];

fn compass(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    scene.filled([
        vectored("east", "text of east", &EAST),
        vectored("north", "text of north", &NORTH),
        vectored("north-east", "text of north-east", &NORTH_EAST),
        vectored("west", "text of west", &[-1.0, 0.0, 0.0, 0.0]),
    ])
}

/// The only list of an answer to one vector.
fn nearest(collection: &dyn Collection, request: &Query) -> Outcome<Vec<Hit>> {
    let mut lists = collection.query(request)?;
    same!(lists.len(), 1, "lists for one vector");
    Ok(lists.remove(0))
}

fn nearest_first(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    let lists = collection.query(&Query {
        vectors: vec![vec![1.0, 0.1, 0.0, 0.0], vec![0.1, 1.0, 0.0, 0.0]],
        ..Query::nearest(Vec::new(), 3)
    })?;
    let found: Vec<Vec<&str>> = lists.iter().map(|hits| hit_ids(hits)).collect();
    same!(
        found,
        [["east", "north-east", "north"], ["north", "north-east", "east"]],
        "hits"
    );
    for hits in &lists {
        ensure!(
            hits.is_sorted_by_key(|hit| hit.score),
            "expected ascending distances, found {hits:?}"
        );
    }
    Ok(())
}

fn all_empty(scene: &Scene<'_>) -> Outcome {
    let two = Query {
        vectors: vec![EAST.to_vec(), NORTH.to_vec()],
        ..Query::nearest(Vec::new(), 3)
    };
    let none: Vec<Vec<Hit>> = vec![Vec::new(), Vec::new()];
    same!(scene.open()?.query(&two)?, none, "lists of an empty collection");
    let filtered = Query {
        filter: Filter::text("wing", "no such wing"),
        ..two.clone()
    };
    same!(
        compass(scene)?.query(&filtered)?,
        none,
        "lists under a filter that accepts nothing"
    );
    let everything = Query {
        include: scene.everything(),
        ..filtered
    };
    same!(
        scene.open()?.query(&everything)?,
        none,
        "lists with every field asked for"
    );
    Ok(())
}

fn no_vectors(scene: &Scene<'_>) -> Outcome {
    let none = Query {
        vectors: Vec::new(),
        ..Query::nearest(Vec::new(), 3)
    };
    refused(compass(scene)?.query(&none), ErrorKind::Invalid, &["vector"])
}

fn no_hits(scene: &Scene<'_>) -> Outcome {
    refused(
        compass(scene)?.query(&Query::nearest(EAST.to_vec(), 0)),
        ErrorKind::Invalid,
        &["hit"],
    )
}

fn bad_vectors(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    for bad in [
        [f32::NAN, 0.0, 0.0, 0.0],
        [f32::INFINITY, 0.0, 0.0, 0.0],
        [0.0; 4],
    ] {
        let query = Query {
            vectors: vec![EAST.to_vec(), bad.to_vec()],
            ..Query::nearest(Vec::new(), 3)
        };
        refused(collection.query(&query), ErrorKind::Invalid, &["vector"])?;
    }
    Ok(())
}

fn wrong_dimension(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    for bad in [vec![1.0; 3], vec![1.0; 5]] {
        let query = Query {
            vectors: vec![EAST.to_vec(), bad],
            ..Query::nearest(Vec::new(), 3)
        };
        refused(collection.query(&query), ErrorKind::DimensionMismatch, &["4"])?;
    }
    Ok(())
}

fn more_than_all(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    for k in [4, 5, 1_000, 100_000] {
        let found = nearest(collection.as_ref(), &Query::nearest(EAST.to_vec(), k))?;
        same!(found.len(), 4, "hits of {k} asked for");
    }
    same!(
        nearest(collection.as_ref(), &Query::nearest(EAST.to_vec(), 1))?.len(),
        1,
        "hits of one asked for"
    );
    Ok(())
}

fn without_vector(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([vectored("a", "text", &EAST), plain("b", "text")])?;
    let found = nearest(collection.as_ref(), &Query::nearest(EAST.to_vec(), 10))?;
    same!(hit_ids(&found), ["a"], "hits");
    ensure!(
        collection.find(&id("b"))?.is_some(),
        "expected b by its id, found nothing"
    );
    Ok(())
}

fn filtered(scene: &Scene<'_>) -> Outcome {
    let at = |n: usize| vec![1.0, n as f32 / 100.0, 0.0, 0.0];
    let given = (0..60).map(|n| NewDrawer {
        embedding: Some(at(n)),
        ..winged(&format!("d{n:02}"), if n >= 57 { "far" } else { "near" })
    });
    let collection = scene.filled(given)?;
    let query = Query {
        filter: Filter::text("wing", "far"),
        ..Query::nearest(at(0), 3)
    };
    let found = nearest(collection.as_ref(), &query)?;
    same!(hit_ids(&found), ["d57", "d58", "d59"], "hits");
    Ok(())
}

fn document_filtered(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    let query = |document| Query {
        document,
        ..Query::nearest(EAST.to_vec(), 2)
    };
    let with = query(DocumentFilter::Contains("north".into()));
    same!(
        hit_ids(&nearest(collection.as_ref(), &with)?),
        ["north-east", "north"],
        "hits whose text holds north"
    );
    let without = query(DocumentFilter::NotContains("east".into()));
    same!(
        hit_ids(&nearest(collection.as_ref(), &without)?),
        ["north", "west"],
        "hits whose text holds no east"
    );
    Ok(())
}

fn included(scene: &Scene<'_>) -> Outcome {
    let given = NewDrawer {
        metadata: Metadata::new().with("n", 1_i64),
        ..vectored("a", "text", &EAST)
    };
    let collection = scene.filled([given])?;
    let only = |include| {
        let query = Query {
            include,
            ..Query::nearest(EAST.to_vec(), 1)
        };
        let hits = nearest(collection.as_ref(), &query)?;
        let hit = hits
            .into_iter()
            .next()
            .ok_or_else(|| Failure::new("expected a hit, found none"))?;
        Ok::<_, Failure>(hit.drawer)
    };
    let usual = only(Include::default())?;
    same!(usual.document.as_deref(), Some("text"), "document");
    same!(usual.metadata, Some(Metadata::new().with("n", 1_i64)), "metadata");
    same!(usual.embedding, None, "vector not asked for");
    let bare = only(Include::NOTHING)?;
    same!(
        (&bare.document, &bare.metadata),
        (&None, &None),
        "fields that were not asked for"
    );
    Ok(())
}

fn vector_included(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    let query = Query {
        include: Include::EVERYTHING,
        ..Query::nearest(EAST.to_vec(), 2)
    };
    let found = nearest(collection.as_ref(), &query)?;
    let vectors: Vec<_> = found.into_iter().map(|hit| hit.drawer.embedding).collect();
    same!(
        vectors,
        [Some(EAST.to_vec()), Some(NORTH_EAST.to_vec())],
        "vectors"
    );
    Ok(())
}

fn distances(scene: &Scene<'_>, metric: Metric) -> Outcome {
    if !scene.descriptor().metrics.contains(&metric) {
        let why = format!("only for backends that compare by {}", metric.name());
        return Err(Failure::NotApplicable(why));
    }
    let how = OpenOptions {
        metric: Some(metric),
        ..scene.how()
    };
    let collection = scene.make(&drawers(), &how)?;
    same!(collection.info()?.metric, metric, "metric");
    let vectors = [
        [3.0, 4.0, 0.0, 0.0],
        [-1.0, 0.5, 2.0, 0.25],
        [0.5, 0.0, 0.0, -0.5],
        [10.0, -7.0, 1.0, 2.0],
    ];
    let called = |at: usize| format!("d{at}");
    let stored = vectors.iter().enumerate();
    let batch: Vec<Write> = stored
        .map(|(at, vector)| Write::Add(vectored(&called(at), "text", vector)))
        .collect();
    collection.apply_batch(&batch)?;
    let asked = [0.6, 0.8, -0.2, 1.5];
    for hit in nearest(collection.as_ref(), &Query::nearest(asked.to_vec(), 4))? {
        let at = (0..4)
            .find(|at| called(*at) == hit.drawer.id.as_str())
            .unwrap_or_default();
        let expected = distance(metric, &asked, &vectors[at]);
        let apart = (f64::from(hit.score) - expected).abs();
        ensure!(
            apart <= 1e-4 * expected.abs().max(1.0),
            "{} distance to {:?}: expected {expected}, found {}",
            metric.name(),
            vectors[at],
            hit.score
        );
    }
    Ok(())
}

fn cosine(scene: &Scene<'_>) -> Outcome {
    distances(scene, Metric::Cosine)
}

fn euclidean(scene: &Scene<'_>) -> Outcome {
    distances(scene, Metric::L2)
}

fn inner_product(scene: &Scene<'_>) -> Outcome {
    distances(scene, Metric::Ip)
}

fn any_size(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([
        vectored("huge", "text", &[1.0e30, 0.0, 0.0, 0.0]),
        vectored("tiny", "text", &[1.0e-30, 1.0e-30, 0.0, 0.0]),
        vectored("usual", "text", &NORTH),
    ])?;
    for asked in [1.0e30_f32, 1.0e-30, 1.0] {
        let found = nearest(
            collection.as_ref(),
            &Query::nearest(vec![asked, 0.0, 0.0, 0.0], 3),
        )?;
        same!(
            hit_ids(&found),
            ["huge", "tiny", "usual"],
            "hits for a vector of size {asked}"
        );
        let scores: Vec<f32> = found.iter().map(|hit| hit.score).collect();
        let expected = [0.0, 1.0 - 0.5_f32.sqrt(), 1.0];
        let near = scores
            .iter()
            .zip(expected)
            .all(|(score, expected)| (score - expected).abs() < 1e-4);
        ensure!(
            near,
            "distances for a vector of size {asked}: expected {expected:?}, found {scores:?}"
        );
    }
    Ok(())
}

fn as_they_are(scene: &Scene<'_>) -> Outcome {
    let collection = compass(scene)?;
    let patch = Patch {
        embedding: Some(EAST.to_vec()),
        ..Patch::new(id("west"))
    };
    collection.apply_batch(&[
        Write::Upsert(vectored("east", "text", &[0.0, 0.0, 0.0, 1.0])),
        Write::Update(patch),
        crate::samples::delete("north-east"),
    ])?;
    let found = nearest(collection.as_ref(), &Query::nearest(vec![1.0, 0.2, 0.1, 0.0], 10))?;
    same!(hit_ids(&found), ["west", "north", "east"], "hits");
    let elsewhere = scene.open_elsewhere()?;
    let there = nearest(elsewhere.as_ref(), &Query::nearest(vec![1.0, 0.2, 0.1, 0.0], 10))?;
    same!(there, found, "hits of another process");
    Ok(())
}

/// A vector for `n` that looks random and is the same each time.
fn scattered(n: u32) -> [f32; 4] {
    let mut state = u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    })
}

fn many_drawers(scene: &Scene<'_>) -> Outcome {
    const DRAWERS: u32 = 2_300;
    let wing = |n: u32| format!("wing-{}", n % 7);
    let given = (0..DRAWERS).map(|n| NewDrawer {
        embedding: Some(scattered(n).to_vec()),
        ..winged(&format!("d{n:05}"), &wing(n))
    });
    let collection = scene.filled(given)?;
    for (asked, only) in [(90_001, None), (90_002, Some(3)), (90_003, Some(6))] {
        let vector = scattered(asked);
        let mut exact: Vec<f64> = (0..DRAWERS)
            .filter(|n| only.is_none_or(|only| n % 7 == only))
            .map(|n| distance(Metric::Cosine, &vector, &scattered(n)))
            .collect();
        exact.sort_by(f64::total_cmp);
        let query = Query {
            filter: only.map_or(Filter::All, |only| Filter::text("wing", wing(only))),
            ..Query::nearest(vector.to_vec(), 20)
        };
        let found = nearest(collection.as_ref(), &query)?;
        same!(found.len(), 20, "hits");
        for (hit, expected) in found.iter().zip(&exact) {
            let wrong_wing = only.is_some_and(|only| hit.drawer.place.wing != Some(wing(only)));
            ensure!(
                !wrong_wing,
                "a hit that the filter does not accept: {:?}",
                hit.drawer.place
            );
            let apart = (f64::from(hit.score) - expected).abs();
            ensure!(
                apart < 1e-4,
                "expected a distance of {expected}, found {} ({})",
                hit.score,
                hit.drawer.id
            );
        }
    }
    Ok(())
}
