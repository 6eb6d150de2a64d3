//! Many writers at once: nothing is lost, nothing is double, and no reader of the feed skips a slower writer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use loci_core::{Collection, Cursor};
use loci_testkit::{PostgresServer, campaign_rounds};

use super::{apply, batch, check_feed, check_words, new_backend, open, stored_ids};

const WRITERS: usize = 8;

/// Follows the feed until `is_over`, and returns the ids in the order seen.
pub(super) fn follow(collection: &dyn Collection, is_over: &AtomicBool) -> Vec<String> {
    let mut seen = Vec::new();
    let mut cursor = Cursor(0);
    loop {
        // Asked before the page: what was written until then is on it.
        let is_last = is_over.load(Ordering::SeqCst);
        let page = collection.feed().unwrap().changes_since(cursor, 1000).unwrap();
        seen.extend(page.changes.iter().map(|change| change.id.to_string()));
        cursor = page.next;
        if is_last && page.changes.is_empty() {
            return seen;
        }
    }
}

#[test]
fn writers_at_once_lose_nothing_and_a_follower_skips_none_of_them() {
    let turns = campaign_rounds(12) as usize;
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=writers", database.url());
    open(&new_backend(), &url).unwrap();
    let is_over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let backend = new_backend();
            follow(open(&backend, &url).unwrap().as_ref(), &is_over)
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let url = &url;
                scope.spawn(move || {
                    let backend = new_backend();
                    let collection = open(&backend, url).unwrap();
                    for turn in 0..turns {
                        let receipt = apply(
                            collection.as_ref(),
                            &batch(writer, turn),
                            &format!("{writer} {turn}"),
                        )
                        .unwrap();
                        assert_eq!(receipt.added.len(), 2);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        // Before the results: a failed writer must not leave the follower waiting.
        is_over.store(true, Ordering::SeqCst);
        ended.into_iter().for_each(|ended| ended.unwrap());
        follower.join().unwrap()
    });
    let collection = open(&new_backend(), &url).unwrap();
    assert_eq!(stored_ids(collection.as_ref()).len(), WRITERS * turns * 2);
    let once: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(
        (once.len(), seen.len()),
        (WRITERS * turns * 2, WRITERS * turns * 2)
    );
    check_feed(collection.as_ref());
    check_words(&url);
}
