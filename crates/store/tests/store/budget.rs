//! Time budgets where conformance cannot look: other processes' locks, work within SQLite, and connections used again.

use std::time::{Duration, Instant};

use crate::scene::{raw, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 4;
const SHORT: Duration = Duration::from_millis(80);

fn filled(drawers: usize) -> (tempfile::TempDir, std::sync::Arc<dyn Collection>) {
    let folder = tempfile::tempdir().unwrap();
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, true).unwrap();
    let batch: Vec<Write> = (0..drawers)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    collection.apply_batch(&batch).unwrap();
    (folder, collection)
}

#[test]
fn a_write_that_waits_for_another_process_ends_with_its_budget() {
    let (folder, collection) = filled(1);
    let holder = raw::connect(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let batch = [Write::Add(truth::drawer(2, 0, DIMENSION))];
    let begun = Instant::now();
    let error = collection
        .apply(&ApplyRequest::from_writes(&batch).within_budget(SHORT))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(collection.count(&Filter::All.into()).unwrap(), 1);
    assert_eq!(collection.apply_batch(&batch).unwrap().added.len(), 1);
}

#[test]
fn a_write_that_waits_for_another_of_its_process_ends_with_its_budget() {
    let (_folder, collection) = filled(1);
    let waiting = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The parts of a revision are asked for while the palace is locked, all but the first.
            let parts = [vec![], vec![]].into_iter().inspect({
                let mut asked = 0;
                let waiting = &waiting;
                move |_| {
                    asked += 1;
                    if asked == 2 {
                        waiting.wait();
                        waiting.wait();
                    }
                }
            });
            let revision = SourceRevision {
                source: "a.md".into(),
                expects: None,
                stamp: None,
                parts: Box::new(parts),
            };
            collection
                .require_sources()
                .unwrap()
                .revise(vec![revision])
                .unwrap();
        });
        waiting.wait();
        let batch = [Write::Add(truth::drawer(2, 0, DIMENSION))];
        let timed = collection.apply(&ApplyRequest::from_writes(&batch).within_budget(SHORT));
        waiting.wait();
        assert_eq!(timed.unwrap_err().kind(), ErrorKind::TimedOut);
    });
    assert_eq!(collection.count(&Filter::All.into()).unwrap(), 1);
}

#[test]
fn work_that_takes_longer_than_its_budget_is_given_up_and_the_connection_serves_the_next_call() {
    let (_folder, collection) = filled(4000);
    let slow = DocumentFilter::Contains("never there".into());
    let budget = Some(Duration::from_millis(1));
    let calls: [&dyn Fn(Option<Duration>) -> Result<usize>; 3] = [
        &|budget| {
            let request = GetRequest {
                document: slow.clone(),
                budget,
                ..GetRequest::default()
            };
            Ok(collection.get(&request)?.len())
        },
        &|budget| {
            let request = QueryRequest {
                document: slow.clone(),
                budget,
                ..QueryRequest::nearest_to(vec![1.0; DIMENSION], 3)
            };
            Ok(collection.query(&request)?[0].len())
        },
        &|budget| {
            let request = LexicalRequest {
                document: slow.clone(),
                budget,
                ..LexicalRequest::for_words("harbour", 3)
            };
            Ok(collection.lexical(&request)?.len())
        },
    ];
    for (n, call) in calls.iter().enumerate() {
        assert_eq!(call(budget).unwrap_err().kind(), ErrorKind::TimedOut, "call {n}");
        assert_eq!(call(None).unwrap(), 0, "call {n}");
        assert_eq!(call(Some(Duration::from_secs(600))).unwrap(), 0, "call {n}");
    }
    let batch: Vec<Write> = (4000..8000)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    let error = collection
        .apply(&ApplyRequest::from_writes(&batch).within_budget(Duration::from_millis(5)))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(collection.count(&Filter::All.into()).unwrap(), 4000);
    assert_eq!(collection.apply_batch(&batch).unwrap().added.len(), 4000);
}

#[test]
fn a_moment_keeps_its_state_after_a_read_of_it_timed_out() {
    let (_folder, collection) = filled(2000);
    let moment = collection.moment().unwrap().unwrap();
    let slow = GetRequest {
        document: DocumentFilter::Contains("never there".into()),
        budget: Some(Duration::from_millis(1)),
        ..GetRequest::default()
    };
    collection.delete_drawer(truth::id(1)).unwrap();
    assert_eq!(moment.get(&slow).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(moment.count(&Filter::All.into()).unwrap(), 2000);
    assert_eq!(moment.info().unwrap().drawers, 2000);
    drop(moment);
    assert_eq!(collection.count(&Filter::All.into()).unwrap(), 1999);
}
