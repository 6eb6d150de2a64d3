//! A run over real backends: its phases and figures, and that nothing else in the palace is touched.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are only ever tests: a panic is a red line"
)]

use std::sync::Arc;

use loci_benchmark::{
    BenchmarkCorpus, BenchmarkPlace, BenchmarkReport, BenchmarkRequest, BenchmarkStep, BenchmarkWorkload,
    CorpusShape, compare_reports, run_benchmark, write_html,
};
use loci_conformance::Reference;
use loci_core::{
    Backend, CollectionExt, CollectionName, CreateMode, DrawerId, ErrorKind, NewDrawer, OpenOptions,
    PalaceRef, Timestamp,
};
use loci_engine::PalaceAddress;
use loci_store::EmbeddedBackend;

const ROWS: u64 = 300;

fn clock() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000).unwrap()
}

fn request(shape: CorpusShape) -> BenchmarkRequest {
    BenchmarkRequest {
        corpus: BenchmarkCorpus {
            seed: 1,
            rows: ROWS,
            dimension: 24,
            shape,
        },
        workload: BenchmarkWorkload {
            rounds: 6,
            batch: 70,
            filters: vec![5.0, 50.0],
            shape,
            ..BenchmarkWorkload::default()
        },
    }
}

fn place(address: &PalaceAddress) -> BenchmarkPlace<'static> {
    BenchmarkPlace {
        address: address.clone(),
        collection: CollectionName::new("bench-1").unwrap(),
        size: &|| Some(30_000),
        clock,
        should_stop: &|| false,
    }
}

/// A palace with a collection that holds one drawer, in each backend.
fn palaces() -> Vec<(PalaceAddress, tempfile::TempDir)> {
    let backends: [Arc<dyn Backend>; 2] = [Arc::new(EmbeddedBackend::new()), Arc::new(Reference::new())];
    backends
        .into_iter()
        .map(|backend| {
            let folder = tempfile::tempdir().unwrap();
            let reference = PalaceRef::local(folder.path().join("palace"));
            let own = CollectionName::new("drawers").unwrap();
            let options = OpenOptions::for_writing();
            let made = backend
                .create(&reference, &own, CreateMode::Exclusive, &options)
                .unwrap();
            made.add_drawer(NewDrawer::new(DrawerId::new("own").unwrap(), "words"))
                .unwrap();
            (PalaceAddress { backend, reference }, folder)
        })
        .collect()
}

fn list_collections(address: &PalaceAddress) -> Vec<(String, u64)> {
    let listed = address.backend.collections(&address.reference).unwrap();
    listed
        .into_iter()
        .map(|info| (info.name.as_str().to_owned(), info.drawers))
        .collect()
}

#[test]
fn every_phase_has_its_figures_and_the_palace_is_as_before() {
    for (address, _folder) in palaces() {
        let mut steps = Vec::new();
        let report = run_benchmark(&request(CorpusShape::Clustered), &place(&address), &mut |step| {
            steps.push(step);
        })
        .unwrap();
        let mut expected = vec!["loaded".to_owned(), "settled".to_owned()];
        let kinds = &address.backend.descriptor().maintenance;
        expected.extend(kinds.iter().map(|kind| format!("after {kind}")));
        let names: Vec<&str> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, expected);
        for phase in &report.phases {
            for figure in [
                "write",
                "query",
                "query 5 %",
                "recall",
                "recall 50 %",
                "words",
                "words 5 %",
                "hybrid",
                "get",
                "list",
                "facets",
                "size",
            ] {
                let found = phase.figures.get(figure);
                let found =
                    found.unwrap_or_else(|| panic!("{figure} of {}: {:?}", phase.name, phase.missing));
                assert!(
                    found.median > 0.0 && found.low <= found.high,
                    "{figure}: {found:?}"
                );
            }
            assert_eq!(phase.figures["query"].samples.len(), 6);
            assert_eq!(phase.figures["recall"].median, 1.0, "both backends are exact");
            assert_eq!(phase.figures["size"].median, 100.0);
            assert_eq!(phase.maintenance_state.is_null(), kinds.is_empty());
        }
        assert_eq!(report.phases[0].figures["load"].samples.len(), 5);
        assert!(steps.contains(&BenchmarkStep::Loading(70, ROWS)), "{steps:?}");
        assert_eq!(list_collections(&address), [("drawers".to_owned(), 1)]);
    }
}

#[test]
fn a_collection_that_exists_is_refused_and_left_as_it_was() {
    for (address, _folder) in palaces() {
        let mut place = place(&address);
        place.collection = CollectionName::new("drawers").unwrap();
        let refused = run_benchmark(&request(CorpusShape::Uniform), &place, &mut |_| {}).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(list_collections(&address), [("drawers".to_owned(), 1)]);
    }
}

#[test]
fn the_collection_is_removed_after_an_error_too() {
    for (address, _folder) in palaces() {
        let mut request = request(CorpusShape::Uniform);
        // Refused by the first query, after the load.
        request.workload.k = 0;
        assert!(run_benchmark(&request, &place(&address), &mut |_| {}).is_err());
        assert_eq!(list_collections(&address), [("drawers".to_owned(), 1)]);
    }
}

#[test]
fn a_report_is_read_back_compared_and_shown() {
    let (address, _folder) = palaces().remove(0);
    let report = run_benchmark(&request(CorpusShape::Duplicates), &place(&address), &mut |_| {}).unwrap();
    let read = BenchmarkReport::from_json(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(read, report);
    let compared = compare_reports(&report, &read);
    assert_eq!(compared.differences, Vec::<String>::new());
    assert!(compared.figures.len() > 40);
    assert!(
        compared.figures.iter().all(|figure| figure.verdict == "same"),
        "{compared:?}"
    );
    let other = BenchmarkReport {
        rows: 7,
        ..report.clone()
    };
    assert_eq!(compare_reports(&report, &other).differences, ["rows: 300 and 7"]);
    let page = write_html(&report);
    assert!(page.contains("after reindex") && page.contains("<svg"));
    for outside in ["http:", "https:", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(
        BenchmarkReport::from_json("{}").unwrap_err().kind(),
        ErrorKind::Format
    );
}
