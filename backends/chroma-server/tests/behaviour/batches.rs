//! Batches beyond the server's limit, and batches that are interrupted.

use loci_core::{CollectionExt as _, DrawerCondition, Error, ErrorKind, PalaceRef};
use loci_testkit::ChromaServer;

use crate::proxy::{FaultyProxy, RequestFate};
use crate::support::{NEWEST, backend, create_for_vectors, fresh_url, many_adds};

/// The most records that the newest server takes in one write.
const LIMIT: usize = 5461;

/// Returns the ids that an error lists under `key`.
fn listed(error: &Error, key: &str) -> Vec<String> {
    let found = error.context().iter().find(|(name, _)| *name == key);
    let (_, ids) = found.unwrap_or_else(|| panic!("no {key:?} in {error:?}"));
    serde_json::from_str(ids).unwrap()
}

#[test]
fn a_batch_beyond_the_limit_is_sent_in_parts_and_an_interruption_is_reported_exactly() {
    let server = ChromaServer::shared(NEWEST);
    let proxy = FaultyProxy::start(server);
    let backend = backend();
    let palace = PalaceRef::from_id(fresh_url(proxy.port));
    let drawers = create_for_vectors(&backend, &palace);
    let batch = many_adds(LIMIT + 40);
    // The second part never reaches the server; reading goes on.
    proxy.decide_by(|path, upserts| {
        if path.ends_with("/upsert") && upserts > 1 {
            RequestFate::Lose
        } else {
            RequestFate::Pass
        }
    });
    let error = drawers.apply_batch(&batch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let said = format!("{LIMIT} of {} changes were written", batch.len());
    assert!(error.message().contains(&said), "{error}");
    let (written, unwritten) = (listed(&error, "written"), listed(&error, "not written"));
    assert_eq!((written.len(), unwritten.len()), (LIMIT, 40));
    assert_eq!((written[0].as_str(), unwritten[0].as_str()), ("d00000", "d05461"));
    assert_eq!(drawers.count(&DrawerCondition::default()).unwrap(), LIMIT as u64);
    // The same batch completes it.
    proxy.decide_by(|_, _| RequestFate::Pass);
    let receipt = drawers.apply_batch(&batch).unwrap();
    assert_eq!((receipt.kept.len(), receipt.added.len()), (LIMIT, 40));
    assert_eq!(proxy.count_upserts(), 1);
}

#[test]
fn a_lost_answer_is_asked_for_again_and_a_server_that_is_gone_leaves_the_outcome_open() {
    let server = ChromaServer::shared(NEWEST);
    let proxy = FaultyProxy::start(server);
    let backend = backend();
    let palace = PalaceRef::from_id(fresh_url(proxy.port));
    let drawers = create_for_vectors(&backend, &palace);
    // The first answer is lost: the write is repeated, which changes nothing more.
    proxy.decide_by(|path, upserts| {
        if path.ends_with("/upsert") && upserts == 1 {
            RequestFate::LoseAnswer
        } else {
            RequestFate::Pass
        }
    });
    let receipt = drawers.apply_batch(&many_adds(3)).unwrap();
    assert_eq!((receipt.added.len(), proxy.count_upserts()), (3, 2));
    // The write arrives, and then nobody answers any more.
    proxy.decide_by(|_, upserts| match upserts {
        0 => RequestFate::Pass,
        1 => RequestFate::LoseAnswer,
        _ => RequestFate::Lose,
    });
    let error = drawers.apply_batch(&many_adds(5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(listed(&error, "unsure"), ["d00003", "d00004"]);
    assert_eq!(listed(&error, "written"), Vec::<String>::new());
    proxy.decide_by(|_, _| RequestFate::Pass);
    assert_eq!(drawers.count(&DrawerCondition::default()).unwrap(), 5);
}

#[test]
fn a_write_that_never_arrives_says_that_nothing_was_written() {
    let proxy = FaultyProxy::start(ChromaServer::shared(NEWEST));
    let backend = backend();
    let palace = PalaceRef::from_id(fresh_url(proxy.port));
    let drawers = create_for_vectors(&backend, &palace);
    proxy.decide_by(|path, _| {
        if path.ends_with("/upsert") {
            RequestFate::Lose
        } else {
            RequestFate::Pass
        }
    });
    let error = drawers.apply_batch(&many_adds(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.hint_text(), Some("nothing was written"));
    proxy.decide_by(|_, _| RequestFate::Pass);
    assert_eq!(drawers.count(&DrawerCondition::default()).unwrap(), 0);
}
