//! A connection that is cut after any number of bytes gives an error or a success, and never a lie.

use loci_core::{Backend as _, ErrorKind};
use loci_testkit::{FreshDatabase, PostgresServer, campaign_seed, campaign_setting};

use super::proxy::{CutDirection, CuttingProxy};
use super::workload::WorkloadRun;
use super::{apply, batch, check_feed, check_words, new_backend, open, stored_ids};

/// The distance between two cuts, in bytes; `LOCI_CUT_STEP=1` tries every byte.
fn step() -> usize {
    campaign_setting("LOCI_CUT_STEP", 149) as usize
}

/// Tries a write through a proxy that cuts after `bytes`, and returns whether the cut came before its end.
fn try_cut(database: &FreshDatabase, direction: CutDirection, bytes: i64, turn: usize) -> bool {
    let server = database.server();
    let proxy = CuttingProxy::start(server, direction, bytes, false);
    let through = format!("{}&palace=cuts", proxy.url(server, database.name()));
    let backend = new_backend();
    let writes = batch(0, turn);
    let key = format!("turn {turn}");
    let outcome = open(&backend, &through).and_then(|collection| apply(collection.as_ref(), &writes, &key));
    let was_cut = proxy.has_cut();
    let direct = new_backend();
    let collection = open(&direct, &palace_url(database)).unwrap();
    let stored = stored_ids(collection.as_ref());
    let count = stored
        .iter()
        .filter(|id| id.starts_with(&format!("w0-t{turn}-")))
        .count();
    assert!(
        count == 0 || count == 2,
        "half a batch after {bytes} bytes {direction:?}: {stored:?}"
    );
    match outcome {
        Ok(receipt) => {
            assert_eq!(receipt.added.len(), 2, "{bytes} bytes {direction:?}");
            assert_eq!(
                count, 2,
                "acknowledged and lost after {bytes} bytes {direction:?}"
            );
        }
        Err(error) => {
            assert_eq!(
                error.kind(),
                ErrorKind::Unavailable,
                "{bytes} bytes {direction:?}: {error}"
            );
            let unknown = error.context().iter().any(|(key, _)| *key == "outcome");
            assert!(
                unknown || count == 0,
                "stored, though the error says it is not: {error}"
            );
        }
    }
    // The repetition under its key stores the batch once, whatever happened before.
    let receipt = apply(collection.as_ref(), &writes, &key).unwrap();
    assert_eq!(receipt.added.len(), 2);
    was_cut
}

fn palace_url(database: &FreshDatabase) -> String {
    format!("{}&palace=cuts", database.url())
}

fn cut_everywhere(direction: CutDirection) {
    let server = PostgresServer::shared();
    let database = server.create_database();
    let url = palace_url(&database);
    // The tables are made first: a cut there is a case of its own.
    open(&new_backend(), &url).unwrap();
    let whole = CuttingProxy::start(server, direction, i64::MAX, false);
    let through = format!("{}&palace=cuts", whole.url(server, database.name()));
    let collection = open(&new_backend(), &through).unwrap();
    apply(collection.as_ref(), &batch(9, 9), "whole").unwrap();
    let total = usize::try_from(whole.passed()).unwrap();
    let mut cuts = 0;
    for (turn, bytes) in (0..total).step_by(step()).enumerate() {
        cuts += usize::from(try_cut(&database, direction, bytes as i64, turn));
    }
    assert!(cuts > 5, "only {cuts} of the connections were cut");
    let collection = open(&new_backend(), &url).unwrap();
    check_feed(collection.as_ref());
    check_words(&url);
}

#[test]
fn a_request_that_is_cut_anywhere_is_stored_whole_or_not_at_all() {
    cut_everywhere(CutDirection::ToServer);
}

#[test]
fn an_answer_that_is_cut_anywhere_is_never_taken_for_another() {
    cut_everywhere(CutDirection::ToClient);
}

#[test]
fn an_outcome_that_cannot_be_asked_for_is_reported_as_unknown() {
    let server = PostgresServer::shared();
    let database = server.create_database();
    let url = palace_url(&database);
    open(&new_backend(), &url).unwrap();
    let answers = |bytes: i64, refuses: bool| {
        let proxy = CuttingProxy::start(server, CutDirection::ToClient, bytes, refuses);
        let through = format!("{}&palace=cuts", proxy.url(server, database.name()));
        (proxy, through)
    };
    let (whole, through) = answers(i64::MAX, false);
    let backend = new_backend();
    let collection = open(&backend, &through).unwrap();
    apply(collection.as_ref(), &batch(1, 0), "whole").unwrap();
    // The answer to the commit is the last thing that comes; without its last bytes the commit is done and not told.
    let (_proxy, through) = answers(whole.passed() - 3, true);
    let backend = new_backend();
    let collection = open(&backend, &through).unwrap();
    let error = apply(collection.as_ref(), &batch(1, 1), "lost").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("unknown"), "{error}");
    let direct = open(&new_backend(), &url).unwrap();
    let receipt = apply(direct.as_ref(), &batch(1, 1), "lost").unwrap();
    assert_eq!(
        receipt.added.len(),
        2,
        "the repetition under its key is told what was stored"
    );
    assert_eq!(stored_ids(direct.as_ref()).len(), 4);
}

/// Runs the whole workload again and again, each time in a palace of its own, with a cut after ever more bytes.
fn cut_workload(direction: CutDirection) {
    let server = PostgresServer::shared();
    let database = server.create_database();
    database.run_sql("CREATE EXTENSION vector");
    let run = |bytes: i64, palace: &str| {
        let proxy = CuttingProxy::start(server, direction, bytes, false);
        let address = |url: &str| format!("{url}&palace={palace}");
        let through = address(&proxy.url(server, database.name()));
        let mut run = WorkloadRun::new(&address(&database.url()), &through);
        run.run();
        let backend = new_backend();
        let palace = backend.adopt_url(&address(&database.url())).unwrap();
        assert_eq!(backend.list_damage(&palace), []);
        (proxy, run)
    };
    let (whole, untouched) = run(i64::MAX, "whole");
    assert_eq!(untouched.failed, 0, "without a cut nothing fails");
    let total = usize::try_from(whole.passed()).unwrap();
    let (seed, step) = (campaign_seed(), campaign_setting("LOCI_CUT_STEP", 3999) as usize);
    let (mut tried, mut failed, mut unknown) = (0, 0, 0);
    // Not the same places every time.
    for bytes in (seed as usize % step..total).step_by(step) {
        let (_proxy, cut) = run(bytes as i64, &format!("cut-{bytes}"));
        tried += 1;
        failed += usize::from(cut.failed > 0);
        unknown += cut.unknown;
    }
    println!(
        "{direction:?}: {total} bytes, {tried} cuts, {failed} with a failed step, {unknown} unknown outcomes, seed {seed}"
    );
    assert!(tried > 5, "only {tried} cuts, seed {seed}");
    assert!(failed > 0, "no cut was noticed, seed {seed}");
}

#[test]
fn a_workload_whose_requests_are_cut_anywhere_is_never_lied_to() {
    cut_workload(CutDirection::ToServer);
}

#[test]
fn a_workload_whose_answers_are_cut_anywhere_is_never_lied_to() {
    cut_workload(CutDirection::ToClient);
}
