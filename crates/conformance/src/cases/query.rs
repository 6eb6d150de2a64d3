//! Query by vector: one list for each vector, nearest first, exact under any filter.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, CollectionName, CollectionReaderExt, DocumentFilter, DrawerFields, DrawerHit,
    DrawerPatch, ErrorKind, Filter, Metadata, Metric, NewDrawer, OpenOptions, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::reference::exact_distance;
use crate::samples::{hit_ids, id, text_drawer, vector_drawer, wing_drawer};
use crate::scene::default_collection;
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "query":
    "for each vector its own list of hits, nearest first" [+EmbeddingsPassthrough] => nearest_first;
    "for each vector its own list, even when all are empty" [+EmbeddingsPassthrough] => all_empty;
    "a query without vectors is refused" [+EmbeddingsPassthrough] => no_vectors;
    "a query for no hits is refused" [+EmbeddingsPassthrough] => no_hits;
    "a query with a vector that is not finite or, under the metric cosine, all zero is refused" [+EmbeddingsPassthrough] => bad_vectors;
    "a query with a vector of another length is a dimension mismatch" [+EmbeddingsPassthrough] => wrong_dimension;
    "a query for more hits than there are drawers returns them all" [+EmbeddingsPassthrough] => more_than_all;
    "a drawer without a vector is never a hit of a query" [+EmbeddingsPassthrough] => without_vector;
    "the answer is the nearest of those the filter accepts, never fewer because others were nearer" [+EmbeddingsPassthrough] => nearest_of_accepted;
    "a query finds only drawers whose text the document filter accepts" [+EmbeddingsPassthrough] => document_filtered;
    "hits hold the fields the request included" [+EmbeddingsPassthrough] => holds_included_fields;
    "hits hold the exact vector if asked for" [+EmbeddingsPassthrough +EmbeddingsOut] => vector_included;
    "cosine is one minus the cosine of the angle" [+EmbeddingsPassthrough -ReadOnly] => cosine_distance;
    "l2 is the squared euclidean distance" [+EmbeddingsPassthrough -ReadOnly] => squared_distance;
    "ip is one minus the inner product" [+EmbeddingsPassthrough -ReadOnly] => inner_product;
    "under l2 and ip a vector of zeros is stored and found like any other" [+EmbeddingsPassthrough -ReadOnly] => zero_vectors;
    "vectors of any finite size are compared by their angle" [+EmbeddingsPassthrough] => any_size;
    "a query sees vectors as they are now: replaced, changed and removed" [+EmbeddingsPassthrough -ReadOnly] => sees_vectors_of_now;
    "a filtered query equals the filtered unfiltered-exact answer, over many drawers" [+EmbeddingsPassthrough -ApproximateQuery] => many_drawers;
}

const EAST: [f32; 4] = [1.0, 0.0, 0.0, 0.0];
const NORTH: [f32; 4] = [0.0, 1.0, 0.0, 0.0];
const NORTH_EAST: [f32; 4] = [1.0, 1.0, 0.0, 0.0];

fn open_compass(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    // Four directions whose order by angle is known for every question.
    scene.open_filled([
        vector_drawer("east", "text of east", &EAST),
        vector_drawer("north", "text of north", &NORTH),
        vector_drawer("north-east", "text of north-east", &NORTH_EAST),
        vector_drawer("west", "text of west", &[-1.0, 0.0, 0.0, 0.0]),
    ])
}

/// Returns the only list of the answer to one vector.
fn query_one(collection: &dyn Collection, request: &QueryRequest) -> CaseOutcome<Vec<DrawerHit>> {
    let mut lists = collection.query(request)?;
    same!(lists.len(), 1, "lists for one vector");
    Ok(lists.remove(0))
}

fn nearest_first(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    let lists = collection.query(&QueryRequest {
        // Two vectors with opposite answers, so that lists in the wrong order or merged into one show.
        vectors: vec![vec![1.0, 0.1, 0.0, 0.0], vec![0.1, 1.0, 0.0, 0.0]],
        ..QueryRequest::nearest_to(Vec::new(), 3)
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

fn all_empty(scene: &CaseScene<'_>) -> CaseOutcome {
    let two = QueryRequest {
        vectors: vec![EAST.to_vec(), NORTH.to_vec()],
        ..QueryRequest::nearest_to(Vec::new(), 3)
    };
    let none: Vec<Vec<DrawerHit>> = vec![Vec::new(), Vec::new()];
    same!(scene.open()?.query(&two)?, none, "lists of an empty collection");
    // Empty for two different reasons: no drawers, and none accepted. A backend that returns early tends to
    // return no lists at all.
    let filtered = QueryRequest {
        filter: Filter::text_equals("wing", "no such wing"),
        ..two.clone()
    };
    same!(
        open_compass(scene)?.query(&filtered)?,
        none,
        "lists under a filter that accepts nothing"
    );
    let everything = QueryRequest {
        include: scene.every_field(),
        ..filtered
    };
    same!(
        scene.open()?.query(&everything)?,
        none,
        "lists with every field asked for"
    );
    Ok(())
}

fn no_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let none = QueryRequest {
        vectors: Vec::new(),
        ..QueryRequest::nearest_to(Vec::new(), 3)
    };
    expect_refusal(open_compass(scene)?.query(&none), ErrorKind::Invalid, &["vector"])
}

fn no_hits(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_refusal(
        open_compass(scene)?.query(&QueryRequest::nearest_to(EAST.to_vec(), 0)),
        ErrorKind::Invalid,
        &["hit"],
    )
}

fn bad_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    for bad in [
        [f32::NAN, 0.0, 0.0, 0.0],
        [f32::INFINITY, 0.0, 0.0, 0.0],
        [0.0; 4],
    ] {
        let query = QueryRequest {
            // The bad one second, so that it is refused before the first is answered.
            vectors: vec![EAST.to_vec(), bad.to_vec()],
            ..QueryRequest::nearest_to(Vec::new(), 3)
        };
        expect_refusal(collection.query(&query), ErrorKind::Invalid, &["vector"])?;
    }
    Ok(())
}

fn wrong_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    for bad in [vec![1.0; 3], vec![1.0; 5]] {
        let query = QueryRequest {
            vectors: vec![EAST.to_vec(), bad],
            ..QueryRequest::nearest_to(Vec::new(), 3)
        };
        expect_refusal(collection.query(&query), ErrorKind::DimensionMismatch, &["4"])?;
    }
    Ok(())
}

fn more_than_all(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    // A large k must neither fail nor reserve memory for hits that cannot exist.
    for k in [4, 5, 1_000, 100_000] {
        let found = query_one(collection.as_ref(), &QueryRequest::nearest_to(EAST.to_vec(), k))?;
        same!(found.len(), 4, "hits of {k} asked for");
    }
    same!(
        query_one(collection.as_ref(), &QueryRequest::nearest_to(EAST.to_vec(), 1))?.len(),
        1,
        "hits of one asked for"
    );
    Ok(())
}

fn without_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([vector_drawer("a", "text", &EAST), text_drawer("b", "text")])?;
    let found = query_one(collection.as_ref(), &QueryRequest::nearest_to(EAST.to_vec(), 10))?;
    same!(hit_ids(&found), ["a"], "hits");
    // It is stored nonetheless; otherwise the answer above would be right for the wrong reason.
    ensure!(
        collection.find_drawer(&id("b"))?.is_some(),
        "expected b by its id, found nothing"
    );
    Ok(())
}

fn nearest_of_accepted(scene: &CaseScene<'_>) -> CaseOutcome {
    // The three accepted drawers are the farthest of sixty: a search that takes a few nearest candidates
    // first and filters them afterwards may find none of the three.
    let at = |n: usize| vec![1.0, n as f32 / 100.0, 0.0, 0.0];
    let given = (0..60).map(|n| NewDrawer {
        embedding: Some(at(n)),
        ..wing_drawer(&format!("d{n:02}"), if n >= 57 { "far" } else { "near" })
    });
    let collection = scene.open_filled(given)?;
    let query = QueryRequest {
        filter: Filter::text_equals("wing", "far"),
        ..QueryRequest::nearest_to(at(0), 3)
    };
    let found = query_one(collection.as_ref(), &query)?;
    same!(hit_ids(&found), ["d57", "d58", "d59"], "hits");
    Ok(())
}

fn document_filtered(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    let query = |document| QueryRequest {
        document,
        ..QueryRequest::nearest_to(EAST.to_vec(), 2)
    };
    let with = query(DocumentFilter::Contains("north".into()));
    same!(
        hit_ids(&query_one(collection.as_ref(), &with)?),
        ["north-east", "north"],
        "hits whose text holds north"
    );
    // The text of north-east holds both words, so it belongs to the first answer and not to the second.
    let without = query(DocumentFilter::NotContains("east".into()));
    same!(
        hit_ids(&query_one(collection.as_ref(), &without)?),
        ["north", "west"],
        "hits whose text holds no east"
    );
    Ok(())
}

fn holds_included_fields(scene: &CaseScene<'_>) -> CaseOutcome {
    let given = NewDrawer {
        metadata: Metadata::new().with_entry("n", 1_i64),
        ..vector_drawer("a", "text", &EAST)
    };
    let collection = scene.open_filled([given])?;
    let only = |include| {
        let query = QueryRequest {
            include,
            ..QueryRequest::nearest_to(EAST.to_vec(), 1)
        };
        let hits = query_one(collection.as_ref(), &query)?;
        let hit = hits
            .into_iter()
            .next()
            .ok_or_else(|| CaseFailure::new("expected a hit, found none"))?;
        Ok::<_, CaseFailure>(hit.drawer)
    };
    let usual = only(DrawerFields::default())?;
    same!(usual.document.as_deref(), Some("text"), "document");
    same!(
        usual.metadata,
        Some(Metadata::new().with_entry("n", 1_i64)),
        "metadata"
    );
    same!(usual.embedding, None, "vector not asked for");
    let bare = only(DrawerFields::NOTHING)?;
    same!(
        (&bare.document, &bare.metadata),
        (&None, &None),
        "fields that were not asked for"
    );
    Ok(())
}

fn vector_included(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    let query = QueryRequest {
        include: DrawerFields::EVERYTHING,
        ..QueryRequest::nearest_to(EAST.to_vec(), 2)
    };
    let found = query_one(collection.as_ref(), &query)?;
    let vectors: Vec<_> = found.into_iter().map(|hit| hit.drawer.embedding).collect();
    same!(
        vectors,
        [Some(EAST.to_vec()), Some(NORTH_EAST.to_vec())],
        "vectors"
    );
    Ok(())
}

fn expect_distances(scene: &CaseScene<'_>, metric: Metric) -> CaseOutcome {
    if !scene.descriptor().metrics.contains(&metric) {
        let why = format!("only for backends that compare by {}", metric.name());
        return Err(CaseFailure::NotApplicable(why));
    }
    let how = OpenOptions {
        metric: Some(metric),
        ..scene.usual_options()
    };
    let collection = scene.make_collection(&default_collection(), &how)?;
    same!(collection.info()?.metric, metric, "metric");
    // Not normalised, with negative parts: a backend that normalises vectors when it stores them gets l2
    // and inner product wrong.
    let vectors = [
        [3.0, 4.0, 0.0, 0.0],
        [-1.0, 0.5, 2.0, 0.25],
        [0.5, 0.0, 0.0, -0.5],
        [10.0, -7.0, 1.0, 2.0],
    ];
    let called = |at: usize| format!("d{at}");
    let stored = vectors.iter().enumerate();
    let batch: Vec<Write> = stored
        .map(|(at, vector)| Write::Add(vector_drawer(&called(at), "text", vector)))
        .collect();
    collection.apply_batch(&batch)?;
    let asked = [0.6, 0.8, -0.2, 1.5];
    for hit in query_one(collection.as_ref(), &QueryRequest::nearest_to(asked.to_vec(), 4))? {
        let at = (0..4)
            .find(|at| called(*at) == hit.drawer.id.as_str())
            .unwrap_or_default();
        let expected = exact_distance(metric, &asked, &vectors[at]);
        let apart = (f64::from(hit.score) - expected).abs();
        // Relative to the size of the distance; backends may compute in single precision.
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

fn cosine_distance(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_distances(scene, Metric::Cosine)
}

fn squared_distance(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_distances(scene, Metric::L2)
}

fn inner_product(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_distances(scene, Metric::Ip)
}

fn zero_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let metrics = [Metric::L2, Metric::Ip].into_iter();
    let supported: Vec<Metric> = metrics
        .filter(|metric| scene.descriptor().metrics.contains(metric))
        .collect();
    if supported.is_empty() {
        let why = "only for backends that compare by l2 or ip".to_owned();
        return Err(CaseFailure::NotApplicable(why));
    }
    for metric in supported {
        let how = OpenOptions {
            metric: Some(metric),
            ..scene.usual_options()
        };
        let collection = scene.make_collection(&CollectionName::new(metric.name())?, &how)?;
        let stored = [("east", EAST), ("none", [0.0; 4]), ("north", NORTH)];
        let batch = stored.map(|(name, vector)| Write::Add(vector_drawer(name, "text", &vector)));
        collection.apply_batch(&batch)?;
        // Changed to zeros and not only filed with them: an update checks its vector by itself.
        collection.apply_batch(&[Write::Update(DrawerPatch {
            embedding: Some(vec![0.0; 4]),
            ..DrawerPatch::new(id("north"))
        })])?;
        for asked in [[0.0; 4], [2.0, 0.0, 0.0, 0.0]] {
            let found = query_one(collection.as_ref(), &QueryRequest::nearest_to(asked.to_vec(), 3))?;
            let mut expected = vec![
                (exact_distance(metric, &asked, &EAST), "east"),
                (exact_distance(metric, &asked, &[0.0; 4]), "none"),
                (exact_distance(metric, &asked, &[0.0; 4]), "north"),
            ];
            expected.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
            let expected: Vec<(f64, &str)> = expected;
            let found: Vec<(f64, &str)> = found
                .iter()
                .map(|hit| (f64::from(hit.score), hit.drawer.id.as_str()))
                .collect();
            same!(found, expected, "distances from {asked:?} by {}", metric.name());
        }
    }
    Ok(())
}

fn any_size(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([
        // Squares of these overflow or vanish in single precision, so that a naive norm is infinite or
        // zero.
        vector_drawer("huge", "text", &[1.0e30, 0.0, 0.0, 0.0]),
        vector_drawer("tiny", "text", &[1.0e-30, 1.0e-30, 0.0, 0.0]),
        vector_drawer("usual", "text", &NORTH),
    ])?;
    for asked in [1.0e30_f32, 1.0e-30, 1.0] {
        let found = query_one(
            collection.as_ref(),
            &QueryRequest::nearest_to(vec![asked, 0.0, 0.0, 0.0], 3),
        )?;
        same!(
            hit_ids(&found),
            ["huge", "tiny", "usual"],
            "hits for a vector of size {asked}"
        );
        let scores: Vec<f32> = found.iter().map(|hit| hit.score).collect();
        // Along the axis, at 45 degrees and at a right angle, whatever the length.
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

fn sees_vectors_of_now(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_compass(scene)?;
    let patch = DrawerPatch {
        embedding: Some(EAST.to_vec()),
        ..DrawerPatch::new(id("west"))
    };
    collection.apply_batch(&[
        Write::Upsert(vector_drawer("east", "text", &[0.0, 0.0, 0.0, 1.0])),
        Write::Update(patch),
        crate::samples::delete_write("north-east"),
    ])?;
    let found = query_one(
        collection.as_ref(),
        &QueryRequest::nearest_to(vec![1.0, 0.2, 0.1, 0.0], 10),
    )?;
    same!(hit_ids(&found), ["west", "north", "east"], "hits");
    // An index held in memory by another process must notice all three changes.
    let elsewhere = scene.open_elsewhere()?;
    let there = query_one(
        elsewhere.as_ref(),
        &QueryRequest::nearest_to(vec![1.0, 0.2, 0.1, 0.0], 10),
    )?;
    same!(there, found, "hits of another process");
    Ok(())
}

/// A pseudo-random vector for `n`, the same in every run.
fn scattered_vector(n: u32) -> [f32; 4] {
    let mut state = u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    })
}

fn many_drawers(scene: &CaseScene<'_>) -> CaseOutcome {
    // More than two full segments of the embedded store and an unsealed tail, so that sealed and unsealed
    // vectors are searched together.
    const DRAWERS: u32 = 2_300;
    let wing = |n: u32| format!("wing-{}", n % 7);
    let given = (0..DRAWERS).map(|n| NewDrawer {
        embedding: Some(scattered_vector(n).to_vec()),
        ..wing_drawer(&format!("d{n:05}"), &wing(n))
    });
    let collection = scene.open_filled(given)?;
    // Without a filter, and with one that accepts a seventh: the candidate lists differ in size.
    for (asked, only) in [(90_001, None), (90_002, Some(3)), (90_003, Some(6))] {
        let vector = scattered_vector(asked);
        let mut exact: Vec<f64> = (0..DRAWERS)
            .filter(|n| only.is_none_or(|only| n % 7 == only))
            .map(|n| exact_distance(Metric::Cosine, &vector, &scattered_vector(n)))
            .collect();
        exact.sort_by(f64::total_cmp);
        let query = QueryRequest {
            filter: only.map_or(Filter::All, |only| Filter::text_equals("wing", wing(only))),
            ..QueryRequest::nearest_to(vector.to_vec(), 20)
        };
        let found = query_one(collection.as_ref(), &query)?;
        same!(found.len(), 20, "hits");
        // Distances are compared instead of ids, because single precision may swap near ties.
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
