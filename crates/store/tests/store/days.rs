//! Counts by day, source and wing against the drawers themselves, on random drawers that change between the looks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::scene::raw;
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds};
use tempfile::TempDir;

const DAY: i64 = 86_400_000_000;

fn some_time(random: &mut SeededRandom) -> Option<Timestamp> {
    let day = random.below(5) as i64 - 2;
    // The ends of days on both sides of 1970, and moments within them.
    let within = [0, 1, DAY / 2, DAY - 1][random.below(4)];
    Timestamp::from_micros(day * DAY + within).ok()
}

fn some_drawer(random: &mut SeededRandom, n: usize) -> NewDrawer {
    let mut metadata = Metadata::new().with_entry("n", n as i64);
    let said_at = some_time(random).filter(|_| random.below(3) > 0);
    let wing = (random.below(4) > 0).then(|| format!("wing{}", random.below(3)));
    // Values under the names of a place that are not the place: a filter looks at them all the same.
    match random.below(24) {
        0 if said_at.is_none() => metadata.insert("said_at", random.below(9) as i64),
        1 if wing.is_none() => metadata.insert(
            "wing",
            MetadataValue::Many(vec![MetadataScalar::Text("wing1".into())]),
        ),
        _ => {}
    }
    let sources = ["", "notes/a.md", "\u{65e5}"];
    NewDrawer {
        place: DrawerPlace {
            wing,
            source: sources.get(random.below(5)).map(|name| (*name).to_owned()),
            said_at,
            ..DrawerPlace::default()
        },
        metadata,
        filed_at: some_time(random),
        ..NewDrawer::new(truth::id(n), format!("text {n}"))
    }
}

fn some_filter(random: &mut SeededRandom) -> Filter {
    let text = |name: &str| MetadataScalar::Text(name.to_owned());
    let compare = |key: &str, comparison| Filter::Compare(key.to_owned(), comparison);
    let one = |random: &mut SeededRandom| {
        let time = MetadataScalar::Int(some_time(random).map_or(0, Timestamp::as_micros));
        let clock = ["said_at", "filed_at"][random.below(2)];
        match random.below(9) {
            0 => compare("wing", FilterComparison::Eq(text("wing1"))),
            1 => compare("wing", FilterComparison::Ne(text("wing1"))),
            2 => compare("wing", FilterComparison::In(vec![text("wing0"), text("wing1")])),
            3 => compare("source", FilterComparison::Eq(text("notes/a.md"))),
            4 => compare(clock, FilterComparison::Gte(time)),
            5 => compare(clock, FilterComparison::Gt(time)),
            6 => compare(clock, FilterComparison::Lt(time)),
            7 => compare(clock, FilterComparison::Lte(time)),
            _ => Filter::All,
        }
    };
    let parts: Vec<Filter> = (0..random.below(4)).map(|_| one(random)).collect();
    parts.into_iter().fold(Filter::All, Filter::and)
}

const KEYS: [&[FacetKey]; 7] = [
    &[FacetKey::SaidDay],
    &[FacetKey::FiledDay],
    &[FacetKey::Source],
    &[FacetKey::SaidDay, FacetKey::Source],
    &[FacetKey::Source, FacetKey::FiledDay],
    &[FacetKey::Wing, FacetKey::Source],
    &[FacetKey::SaidDay, FacetKey::Wing, FacetKey::FiledDay],
];

/// Counts the drawers that a filter accepts by looking at each.
fn counted_singly(drawers: &[Drawer], by: &[FacetKey], filter: &Filter) -> Vec<FacetCount> {
    let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    for drawer in drawers.iter().filter(|drawer| filter.accepts(drawer)) {
        let values = by.iter().map(|key| key.value_of(drawer)).collect();
        *counted.entry(values).or_default() += 1;
    }
    let counted = counted.into_iter();
    counted
        .map(|(values, drawers)| FacetCount { values, drawers })
        .collect()
}

fn check(collection: &dyn Collection, random: &mut SeededRandom) {
    let everything = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let drawers = collection.get(&everything).unwrap();
    for by in KEYS {
        for _ in 0..12 {
            let filter = some_filter(random);
            let request = FacetRequest {
                by: by.to_vec(),
                filter: filter.clone(),
                document: DocumentFilter::All,
            };
            assert_eq!(
                collection.facets(&request).unwrap(),
                counted_singly(&drawers, by, &filter),
                "{by:?} {filter:?}"
            );
        }
    }
}

fn open(backend: &EmbeddedBackend, folder: &Path) -> Arc<dyn Collection> {
    truth::open(backend, folder, 3, true).unwrap()
}

/// Makes a palace of random drawers, some of them changed and some removed.
fn build(backend: &EmbeddedBackend, random: &mut SeededRandom) -> (TempDir, Arc<dyn Collection>) {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(backend, folder.path());
    for _ in 0..4 {
        let batch: Vec<Write> = (0..40)
            .map(|_| {
                let n = random.below(60);
                match random.below(8) {
                    0 => Write::Delete(DeleteSelection::Ids(vec![truth::id(n)])),
                    _ => Write::Upsert(some_drawer(random, n)),
                }
            })
            .collect();
        for write in batch {
            collection.apply_batch(&[write]).unwrap();
        }
    }
    (folder, collection)
}

#[test]
fn counts_by_day_source_and_wing_are_those_of_the_drawers() {
    for round in 0..campaign_rounds(6) {
        let mut random = SeededRandom::new(round + 17);
        let backend = EmbeddedBackend::new();
        let (_folder, collection) = build(&backend, &mut random);
        check(&*collection, &mut random);
    }
}

#[test]
fn many_drawers_added_at_once_are_counted_as_if_one_by_one() {
    let mut random = SeededRandom::new(9);
    let backend = EmbeddedBackend::new();
    let (folder, collection) = build(&backend, &mut random);
    let add = |random: &mut SeededRandom, numbers: std::ops::Range<usize>| -> Vec<Write> {
        numbers.map(|n| Write::Add(some_drawer(random, n))).collect()
    };
    // Some of them are there already, and stay as they are.
    let receipt = collection.apply_batch(&add(&mut random, 0..300)).unwrap();
    assert!(!receipt.kept.is_empty() && receipt.added.len() >= 200);
    check(&*collection, &mut random);
    for n in 200..220 {
        collection
            .apply_batch(&[Write::Upsert(some_drawer(&mut random, n))])
            .unwrap();
    }
    check(&*collection, &mut random);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}

#[test]
fn a_batch_that_fails_halfway_leaves_the_counts_and_the_counting_as_they_were() {
    let mut random = SeededRandom::new(10);
    let backend = EmbeddedBackend::new();
    let (folder, collection) = build(&backend, &mut random);
    let wing = MetadataScalar::Text("wing1".into());
    let narrow = OpenOptions {
        visible: Filter::Compare("wing".into(), FilterComparison::Eq(wing)),
        ..OpenOptions::for_writing()
    };
    let name = CollectionName::new("drawers").unwrap();
    let narrow = backend
        .open(&PalaceRef::local(folder.path()), &name, &narrow)
        .unwrap();
    let drawer = |n: usize, wing: &str| {
        let mut drawer = NewDrawer::new(truth::id(n), format!("text {n}"));
        drawer.place.wing = Some(wing.to_owned());
        Write::Add(drawer)
    };
    let mut batch: Vec<Write> = (1000..1100).map(|n| drawer(n, "wing1")).collect();
    batch.push(drawer(1100, "wing2"));
    assert!(narrow.apply_batch(&batch).is_err(), "one is out of sight");
    check(&*collection, &mut random);
    collection.add_drawer(some_drawer(&mut random, 1200)).unwrap();
    check(&*collection, &mut random);
}

#[test]
fn a_file_of_format_5_is_counted_when_it_is_opened_and_read_as_it_is_where_it_may_not_change() {
    let mut random = SeededRandom::new(5);
    let backend = EmbeddedBackend::new();
    let (folder, collection) = build(&backend, &mut random);
    drop(collection);
    backend.close();
    // All that format 6 adds to format 5.
    let removed =
        "DROP TRIGGER days_insert; DROP TRIGGER days_delete; DROP TRIGGER days_update; DROP TABLE days;
        PRAGMA user_version = 5";
    raw::execute(folder.path(), removed);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    assert_eq!(
        raw::number(folder.path(), "PRAGMA user_version"),
        5,
        "an examination changes nothing"
    );
    let backend = EmbeddedBackend::new();
    let collection = open(&backend, folder.path());
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 6);
    check(&*collection, &mut random);
    collection.add_drawer(some_drawer(&mut random, 77)).unwrap();
    check(&*collection, &mut random);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}

#[test]
fn counts_that_differ_from_the_rows_are_named_and_counted_again_by_a_reindex() {
    let mut random = SeededRandom::new(6);
    let backend = EmbeddedBackend::new();
    let (folder, collection) = build(&backend, &mut random);
    drop(collection);
    backend.close();
    let sound = std::fs::read(raw::file(folder.path())).unwrap();
    for sql in [
        "DELETE FROM days",
        "UPDATE days SET drawers = drawers + 1 WHERE clock = 1",
        "UPDATE days SET wing = 'elsewhere' WHERE wing = 'wing1'",
    ] {
        let folder = raw::folder_with(&sound);
        raw::execute(folder.path(), sql);
        let findings = EmbeddedBackend::new().examine(folder.path()).unwrap().findings;
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, ["days_differ"], "{sql}");
        let backend = EmbeddedBackend::new();
        let collection = open(&backend, folder.path());
        let upkeep = collection.require_upkeep().unwrap();
        upkeep.run(&MaintenanceKind::REINDEX).unwrap();
        check(&*collection, &mut random);
        assert_eq!(
            EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
            []
        );
    }
}

#[test]
fn drawers_that_are_not_counted_are_looked_at() {
    let mut random = SeededRandom::new(7);
    let backend = EmbeddedBackend::new();
    let (folder, collection) = build(&backend, &mut random);
    drop(collection);
    backend.close();
    raw::execute(
        folder.path(),
        "DELETE FROM days; INSERT INTO palace(key, value) SELECT 'bare_days_' || collection, 1 FROM collections",
    );
    let backend = EmbeddedBackend::new();
    check(&*open(&backend, folder.path()), &mut random);
}
