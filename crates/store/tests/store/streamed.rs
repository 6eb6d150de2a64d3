//! Codes that are not kept in memory are read past SQLite, and give the same answers wherever their pages are by then.

use std::path::Path;

use crate::scene::{raw, truth};
use loci_core::*;
use loci_index::distance;
use loci_store::{EmbeddedBackend, testing};
use loci_testkit::{SeededRandom, campaign_rounds};

const DIMENSION: usize = 48;

/// Asks for the nearest drawers and compares their distances with those of all drawers.
fn check(collection: &dyn Collection, random: &mut SeededRandom, why: &str) {
    let probe = random.vector(DIMENSION);
    let everything = GetRequest {
        include: DrawerFields {
            embedding: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::default()
    };
    let drawers = collection.get(&everything).unwrap();
    let vectors = drawers.iter().filter_map(|drawer| drawer.embedding.as_deref());
    let mut expected: Vec<f32> = vectors
        .map(|vector| distance::measure_distance(Metric::Cosine, &probe, vector))
        .collect();
    expected.sort_by(f32::total_cmp);
    expected.truncate(10);
    let hits = collection.query(&QueryRequest::nearest_to(probe, 10)).unwrap();
    let found: Vec<f32> = hits[0].iter().map(|hit| hit.score).collect();
    assert_eq!(found.len(), expected.len(), "{why}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5, "{why}: {found} {expected}");
    }
}

fn some_drawers(random: &mut SeededRandom, from: usize, n: usize) -> Vec<Write> {
    let drawer = |n: usize| NewDrawer {
        embedding: Some(random.vector(DIMENSION)),
        ..NewDrawer::new(truth::id(n), "word ".repeat(n % 300))
    };
    (from..from + n).map(drawer).map(Write::Upsert).collect()
}

/// Moves pages from the end of the file to free ones before them, and cuts the file.
fn shrink(folder: &Path) {
    let connection = raw::connect(folder);
    let mut statement = connection.prepare("PRAGMA incremental_vacuum").unwrap();
    let mut rows = statement.query([]).unwrap();
    // One page for each row of the answer.
    while rows.next().unwrap().is_some() {}
}

/// Copies the log into the file.
fn checkpoint(folder: &Path) {
    let connection = raw::connect(folder);
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

/// Long texts without vectors.
fn long_texts(from: usize) -> Vec<Write> {
    let drawer = |n: usize| NewDrawer::new(truth::id(n), format!("{n} ").repeat(1500));
    (from..from + 400).map(drawer).map(Write::Add).collect()
}

#[test]
fn codes_whose_pages_hold_something_else_by_now_are_read_where_they_are() {
    testing::keep_codes_up_to(0);
    let mut random = SeededRandom::new(1);
    let folder = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
    collection.apply_batch(&long_texts(10_000)).unwrap();
    collection
        .apply_batch(&some_drawers(&mut random, 0, 2100))
        .unwrap();
    checkpoint(folder.path());
    for why in ["verified", "learned", "known"] {
        check(&*collection, &mut random, why);
    }
    // The texts leave free pages before those of the segments, which move there; other texts take their places.
    let gone = (10_000..10_400).map(truth::id).collect();
    let delete = Write::Delete(DeleteSelection::Ids(gone));
    collection.apply_batch(&[delete]).unwrap();
    let length = |folder: &Path| std::fs::metadata(raw::file(folder)).unwrap().len();
    checkpoint(folder.path());
    let before = length(folder.path());
    shrink(folder.path());
    checkpoint(folder.path());
    assert!(length(folder.path()) < before, "no page was moved");
    collection.apply_batch(&long_texts(20_000)).unwrap();
    checkpoint(folder.path());
    assert!(length(folder.path()) >= before, "the old places are not taken");
    for why in ["moved", "learned again", "known again"] {
        check(&*collection, &mut random, why);
    }
}

#[test]
fn codes_read_past_sqlite_give_the_answers_of_an_exact_scan() {
    testing::keep_codes_up_to(0);
    for round in 0..campaign_rounds(3) {
        let mut random = SeededRandom::new(round + 3);
        let folder = tempfile::tempdir().unwrap();
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
        for part in 0..4 {
            let writes = some_drawers(&mut random, part * 800, 800);
            collection.apply_batch(&writes).unwrap();
        }
        checkpoint(folder.path());
        check(&*collection, &mut random, "verified");
        check(&*collection, &mut random, "learned");
        let learned = testing::runs_read();
        check(&*collection, &mut random, "known");
        assert!(testing::runs_read() > learned, "nothing was read past SQLite");
        // Pages are freed, taken by others and moved, in the log and in the file, by this and by another process.
        for step in 0..12 {
            let n = random.below(3200);
            match random.below(4) {
                0 => {
                    let gone = (n..n + 300).map(truth::id).collect();
                    let delete = Write::Delete(DeleteSelection::Ids(gone));
                    collection.apply_batch(&[delete]).unwrap();
                }
                1 => drop(
                    collection
                        .apply_batch(&some_drawers(&mut random, n, 200))
                        .unwrap(),
                ),
                2 => shrink(folder.path()),
                _ => {
                    let upkeep = collection.require_upkeep().unwrap();
                    drop(upkeep.run(&MaintenanceKind::COMPACT).unwrap());
                }
            }
            for look in 0..3 {
                check(
                    &*collection,
                    &mut random,
                    &format!("round {round}, step {step}, look {look}"),
                );
            }
            if random.below(3) == 0 {
                checkpoint(folder.path());
            }
        }
    }
}
