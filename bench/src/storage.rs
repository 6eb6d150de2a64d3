//! The embedded store at some size: bulk and single writes, queries plain and filtered, words, ids, counts, space.

use std::path::Path;
use std::sync::Arc;

use loci_core::*;
use loci_store::EmbeddedBackend;
use serde_json::{Map, Value as Json, json};

use crate::corpus::{self, BenchRandom, CorpusSample, DIMENSION};
use crate::measure::{self, RepeatedCost};

/// How many drawers one bulk batch holds.
const BATCH: u64 = 1000;

/// Fills a palace with `rows` drawers and measures everything; the figures by name.
pub(crate) fn run(folder: &Path, rows: u64, rounds: usize) -> Result<Json> {
    let mut figures = Map::new();
    let collection = open(folder)?;
    fill(&*collection, rows, &mut figures)?;
    for (name, measured) in reads(&*collection, rows, rounds, None) {
        figures.insert(name.to_owned(), repeated(&measured));
    }
    let single = measure::repeat(rounds, |round| {
        let _ = collection.upsert_drawer(drawer(&corpus::sample(rows + round as u64)));
    });
    figures.insert("single_write".to_owned(), repeated(&single));
    let bytes = std::fs::metadata(folder.join(EmbeddedBackend::FILE))
        .map(|file| file.len())
        .unwrap_or(0);
    let (now, peak) = measure::memory_mb();
    figures.insert("rows".to_owned(), json!(rows));
    figures.insert("bytes_per_drawer".to_owned(), json!(bytes as f64 / rows as f64));
    figures.insert("rss_mb".to_owned(), json!({"now": now, "peak": peak}));
    Ok(Json::Object(figures))
}

/// Measures the reads of a palace that is there.
pub(crate) fn measure_reads(folder: &Path, rows: u64, rounds: usize, only: Option<&str>) -> Result<Json> {
    let collection = open(folder)?;
    let measured = reads(&*collection, rows, rounds, only);
    Ok(measured
        .iter()
        .map(|(name, measured)| ((*name).to_owned(), repeated(measured)))
        .collect())
}

/// Opens, or makes, the palace the figures are taken on.
pub(crate) fn open(folder: &Path) -> Result<Arc<dyn Collection>> {
    let embedder = EmbedderIdentity {
        model: "bench".into(),
        revision: "1".into(),
        dimension: DIMENSION,
    };
    let how = OpenOptions {
        embedder: Some(embedder),
        ..OpenOptions::for_writing()
    };
    EmbeddedBackend::new().create(
        &PalaceRef::local(folder),
        &CollectionName::new(CollectionName::DEFAULT)?,
        CreateMode::OpenExisting,
        &how,
    )
}

pub(crate) fn drawer(sample: &CorpusSample) -> NewDrawer {
    let id = DrawerId::new(sample.id.clone()).expect("corpus ids are short");
    let place = DrawerPlace {
        wing: Some(sample.wing.clone()),
        room: Some(sample.room.clone()),
        source: Some(sample.source.clone()),
        said_at: Some(sample.said_at),
        ..DrawerPlace::default()
    };
    let metadata = Metadata::new()
        .with_entry("chunk_index", 3_i64)
        .with_entry("added_by", "bench")
        .with_entry("importance", 0.5);
    NewDrawer {
        place,
        metadata,
        embedding: Some(sample.vector.clone()),
        ..NewDrawer::new(id, sample.text.clone())
    }
}

/// Writes the corpus in batches; only the writing is measured, not the making of samples.
fn fill(collection: &dyn Collection, rows: u64, figures: &mut Map<String, Json>) -> Result<()> {
    let (mut cpu, mut wall) = (0.0, 0.0);
    for first in (0..rows).step_by(BATCH as usize) {
        let last = (first + BATCH).min(rows);
        let batch: Vec<Write> = (first..last)
            .map(|n| Write::Add(drawer(&corpus::sample(n))))
            .collect();
        let (done, spent) = measure::cost(|| collection.apply_batch(&batch));
        done?;
        cpu += spent.cpu;
        wall += spent.wall;
    }
    let per = rows as f64;
    figures.insert(
        "bulk".to_owned(),
        json!({"rows_per_cpu_second": per / cpu, "rows_per_second": per / wall}),
    );
    Ok(())
}

/// An activity to be repeated, by name.
type StorageActivity<'a> = (&'static str, Box<dyn Fn(usize) + 'a>);

fn activities(collection: &dyn Collection, rows: u64) -> Vec<StorageActivity<'_>> {
    let wing = Filter::text_equals("wing", "wing-7");
    let room = wing.clone().and(Filter::text_equals("room", "room-3"));
    let most = Filter::Compare(
        "wing".into(),
        FilterComparison::Ne(MetadataScalar::Text("wing-7".into())),
    );
    let counted = wing.clone();
    let query = move |filter: Filter| {
        move |round: usize| {
            let request = QueryRequest {
                filter: filter.clone(),
                ..QueryRequest::nearest_to(probe(round, rows), 10)
            };
            let hits = collection
                .query(&request)
                .map(|lists| lists.first().map_or(0, Vec::len));
            assert_eq!(hits.ok(), Some(10), "a query came back short");
        }
    };
    vec![
        ("query_plain", Box::new(query(Filter::All))),
        ("query_5_percent", Box::new(query(wing))),
        ("query_half_percent", Box::new(query(room))),
        ("query_95_percent", Box::new(query(most))),
        ("match_words", Box::new(|round| words(collection, round))),
        (
            "get_by_id",
            Box::new(move |round| get(collection, round as u64 * 7919 % rows)),
        ),
        ("count", Box::new(|_| count(collection, &Filter::All))),
        ("count_5_percent", Box::new(move |_| count(collection, &counted))),
        (
            "facets",
            Box::new(|_| {
                assert!(
                    collection
                        .facets(&FacetRequest::by_room())
                        .is_ok_and(|all| all.len() == 200)
                )
            }),
        ),
    ]
}

/// The vector of the query in a round; never one that is stored.
fn probe(round: usize, rows: u64) -> Vec<f32> {
    corpus::sample(rows * 3 + round as u64 * 7919).vector
}

fn reads(
    collection: &dyn Collection,
    rows: u64,
    rounds: usize,
    only: Option<&str>,
) -> Vec<(&'static str, RepeatedCost)> {
    // Making the vectors is not part of a query, so it is measured and left out.
    let making = measure::repeat(rounds, |round| drop(probe(round, rows)));
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let chosen = activities(collection, rows)
        .into_iter()
        .filter(|(name, _)| wanted(name));
    chosen
        .map(|(name, activity)| {
            let measured = measure::repeat(rounds, activity);
            let made = if name.starts_with("query") {
                making.cpu_ms
            } else {
                0.0
            };
            (
                name,
                RepeatedCost {
                    cpu_ms: measured.cpu_ms - made,
                    ..measured
                },
            )
        })
        .collect()
}

fn count(collection: &dyn Collection, filter: &Filter) {
    assert!(
        collection
            .count(&filter.clone().into())
            .is_ok_and(|count| count > 0),
        "nothing was counted"
    );
}

/// Matches three to eight words, drawn as texts draw them.
pub(crate) fn words(collection: &dyn Collection, round: usize) {
    let mut random = BenchRandom::new(round as u64 + 99);
    let words: Vec<String> = (0..3 + round % 6)
        .map(|_| corpus::draw_word(&mut random))
        .collect();
    let hits = collection.lexical(&LexicalRequest::for_words(words.join(" "), 10));
    assert!(
        hits.is_ok_and(|hits| !hits.is_empty()),
        "no drawer matches {words:?}"
    );
}

fn get(collection: &dyn Collection, n: u64) {
    let id = DrawerId::new(format!("drawer-{n:08}")).expect("corpus ids are short");
    assert!(
        collection.find_drawer(&id).is_ok_and(|found| found.is_some()),
        "drawer {n} is missing"
    );
}

pub(crate) fn repeated(measured: &RepeatedCost) -> Json {
    let [p50, p95, min] = measured.wall_ms;
    json!({"cpu_ms": measured.cpu_ms, "p50_ms": p50, "p95_ms": p95, "min_ms": min})
}
