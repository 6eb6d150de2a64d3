//! Packed segments never change an answer: recall is exact on easy, hard and adversarial vectors, filtered or not.

use std::sync::Arc;

use loci_core::*;
use loci_index::distance;
use loci_store::EmbeddedBackend;
use loci_testkit::SeededRandom;

const DIMENSION: usize = 32;

/// A small deterministic generator, so that a failure can be repeated.
fn vector(random: &mut SeededRandom) -> Vec<f32> {
    random.vector(DIMENSION)
}

fn near(random: &mut SeededRandom, centre: &[f32], spread: f32) -> Vec<f32> {
    centre
        .iter()
        .map(|value| value + spread * random.next_unit())
        .collect()
}

fn open(folder: &std::path::Path, metric: Metric) -> Arc<dyn Collection> {
    let how = OpenOptions {
        metric: Some(metric),
        embedder: Some(EmbedderIdentity {
            model: "test".into(),
            revision: "1".into(),
            dimension: DIMENSION,
        }),
        ..OpenOptions::default()
    };
    let name = CollectionName::new("drawers").unwrap();
    EmbeddedBackend::new()
        .create(&PalaceRef::local(folder), &name, CreateMode::OpenExisting, &how)
        .unwrap()
}

fn fill(collection: &dyn Collection, vectors: &[Vec<f32>]) {
    let writes: Vec<Write> = vectors
        .iter()
        .enumerate()
        .map(|(n, vector)| {
            let mut drawer = NewDrawer::new(DrawerId::new(format!("{n:06}")).unwrap(), format!("drawer {n}"));
            drawer.metadata = Metadata::new()
                .with_entry("n", n as i64)
                .with_entry("tenth", (n % 10) as i64);
            drawer.embedding = Some(vector.clone());
            Write::Add(drawer)
        })
        .collect();
    for batch in writes.chunks(700) {
        collection.apply_batch(batch).unwrap();
    }
}

/// The distances of the exact answer over the vectors that `keep` accepts.
fn exact(
    metric: Metric,
    vectors: &[Vec<f32>],
    probe: &[f32],
    k: usize,
    keep: impl Fn(usize) -> bool,
) -> Vec<f32> {
    let kept = vectors.iter().enumerate().filter(|(n, _)| keep(*n));
    let mut distances: Vec<f32> = kept
        .map(|(_, vector)| distance::measure_distance(metric, probe, vector))
        .collect();
    distances.sort_by(f32::total_cmp);
    distances.truncate(k);
    distances
}

fn check(metric: Metric, vectors: &[Vec<f32>], probes: &[Vec<f32>]) {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(&folder.path().join("palace"), metric);
    fill(&*collection, vectors);
    let packed = collection.info().unwrap().coverage.packed;
    assert_eq!(
        packed,
        (vectors.len() as u64 / 1024) * 1024,
        "full segments are sealed by the writer that fills them"
    );
    type Keep = Box<dyn Fn(usize) -> bool>;
    let filters: [(&str, Keep); 5] = [
        ("{}", Box::new(|_| true)),
        (r#"{"tenth": 3}"#, Box::new(|n| n % 10 == 3)),
        (r#"{"tenth": {"$ne": 3}}"#, Box::new(|n| n % 10 != 3)),
        (r#"{"n": {"$lt": 15}}"#, Box::new(|n| n < 15)),
        (
            r#"{"$or": [{"n": {"$gte": 2000}}, {"tenth": {"$in": [0, 1]}}]}"#,
            Box::new(|n| n >= 2000 || n % 10 < 2),
        ),
    ];
    for probe in probes {
        for (filter, keep) in &filters {
            let request = QueryRequest {
                filter: Filter::parse_str(filter).unwrap(),
                ..QueryRequest::nearest_to(probe.clone(), 10)
            };
            let hits = collection.query(&request).unwrap().remove(0);
            let found: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
            let expected = exact(metric, vectors, probe, 10, keep);
            assert_eq!(found.len(), expected.len(), "{filter}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= 1e-5 * expected.abs().max(1.0),
                    "{metric:?} {filter}: {found} {expected}"
                );
            }
        }
    }
}

fn check_all_metrics(vectors: &[Vec<f32>], probes: &[Vec<f32>]) {
    Metric::ALL
        .into_iter()
        .for_each(|metric| check(metric, vectors, probes));
}

#[test]
fn clustered_vectors_are_found_exactly() {
    let mut random = SeededRandom::new(1);
    let centres: Vec<Vec<f32>> = (0..60).map(|_| vector(&mut random)).collect();
    let vectors: Vec<Vec<f32>> = (0..2500)
        .map(|n| near(&mut random, &centres[n % 60], 0.1))
        .collect();
    let probes: Vec<Vec<f32>> = (0..8).map(|n| near(&mut random, &centres[n * 7], 0.1)).collect();
    check_all_metrics(&vectors, &probes);
}

#[test]
fn vectors_of_zeros_are_found_exactly_where_they_have_a_distance() {
    let mut random = SeededRandom::new(3);
    let nothing = vec![0.0; DIMENSION];
    // One in seven, so that both the packed segments and the tail hold some.
    let vectors: Vec<Vec<f32>> = (0..2500)
        .map(|n| {
            if n % 7 == 0 {
                nothing.clone()
            } else {
                vector(&mut random)
            }
        })
        .collect();
    let mut probes: Vec<Vec<f32>> = (0..4).map(|_| vector(&mut random)).collect();
    probes.push(nothing);
    for metric in [Metric::L2, Metric::Ip] {
        check(metric, &vectors, &probes);
    }
}

#[test]
fn unclustered_vectors_are_found_exactly() {
    let mut random = SeededRandom::new(2);
    let vectors: Vec<Vec<f32>> = (0..2500).map(|_| vector(&mut random)).collect();
    let probes: Vec<Vec<f32>> = (0..8).map(|_| vector(&mut random)).collect();
    check_all_metrics(&vectors, &probes);
}

#[test]
fn near_duplicates_are_found_exactly() {
    let mut random = SeededRandom::new(3);
    let centre = vector(&mut random);
    // Closer together than one step of the packed codes, so that only the exact vectors tell them apart.
    let vectors: Vec<Vec<f32>> = (0..2500).map(|_| near(&mut random, &centre, 1e-4)).collect();
    let probes: Vec<Vec<f32>> = (0..4).map(|_| near(&mut random, &centre, 1e-4)).collect();
    check_all_metrics(&vectors, &probes);
}

#[test]
fn spikes_and_tiny_values_are_found_exactly() {
    let mut random = SeededRandom::new(4);
    let vectors: Vec<Vec<f32>> = (0..2500)
        .map(|n| {
            let mut vector: Vec<f32> = vector(&mut random)
                .into_iter()
                .map(|value| value * 1e-3)
                .collect();
            vector[n % DIMENSION] = if n % 2 == 0 { 50.0 } else { -1e-6 };
            vector
        })
        .collect();
    let probes: Vec<Vec<f32>> = (0..8).map(|n| vectors[n * 31].clone()).collect();
    check_all_metrics(&vectors, &probes);
}

#[test]
fn updates_and_deletes_of_sealed_rows_are_seen_at_once_and_after_compaction() {
    let mut random = SeededRandom::new(5);
    let folder = tempfile::tempdir().unwrap();
    let collection = open(&folder.path().join("palace"), Metric::Cosine);
    let mut vectors: Vec<Vec<f32>> = (0..3000).map(|_| vector(&mut random)).collect();
    fill(&*collection, &vectors);
    let id = |n: usize| DrawerId::new(format!("{n:06}")).unwrap();
    let gone: Vec<DrawerId> = (0..3000).filter(|n| n % 3 == 0).map(id).collect();
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
        .unwrap();
    for n in (1..3000).step_by(50).filter(|n| n % 3 != 0) {
        vectors[n] = vector(&mut random);
        collection
            .apply_batch(&[Write::Update(DrawerPatch {
                embedding: Some(vectors[n].clone()),
                ..DrawerPatch::new(id(n))
            })])
            .unwrap();
    }
    for round in 0..2 {
        for _ in 0..10 {
            let probe = vector(&mut random);
            let hits = collection
                .query(&QueryRequest::nearest_to(probe.clone(), 10))
                .unwrap()
                .remove(0);
            let found: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
            let expected = exact(Metric::Cosine, &vectors, &probe, 10, |n| n % 3 != 0);
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < 1e-5,
                    "round {round}: {found} {expected}"
                );
            }
        }
        let report = collection
            .require_upkeep()
            .unwrap()
            .run(&MaintenanceKind::COMPACT)
            .unwrap();
        assert_eq!(
            report.status,
            if round == 0 {
                MaintenanceStatus::Ran
            } else {
                MaintenanceStatus::NothingToDo
            }
        );
    }
    let info = collection.info().unwrap();
    assert_eq!(info.coverage.nearest, 2000);
    let diagnosis = EmbeddedBackend::new()
        .examine(&folder.path().join("palace"))
        .unwrap();
    assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
}
