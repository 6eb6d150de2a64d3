//! The change feed: complete, in order, without repeats.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Change, ChangeKind, Collection, CollectionExt, Cursor, Filter, Patch, Selection, Write};

use crate::follower::Follower;
use crate::samples::{all_ids, cut, id, plain, winged};
use crate::{Failure, Outcome, Scene};

cases! { "changes":
    "changes come oldest first, the newest change of each drawer only" [+ChangeFeed] => oldest_first;
    "at most limit changes come at once, and the next cursor goes on without repeats" [+ChangeFeed] => limited;
    "none means that there are none after the cursor" [+ChangeFeed] => none_after;
    "a removed drawer is listed as removed" [+ChangeFeed -ReadOnly] => removed;
    "a drawer filed again after it was removed is listed as put" [+ChangeFeed -ReadOnly] => filed_again;
    "a changed drawer is listed again, after what was changed before it" [+ChangeFeed -ReadOnly] => changed;
    "what changed nothing is not listed" [+ChangeFeed -ReadOnly] => unchanged;
    "a delete by filter lists each drawer it removed" [+ChangeFeed -ReadOnly] => removed_by_filter;
    "changes name their collection and nothing of another is listed" [+ChangeFeed] => own_collection;
    "whoever follows the feed has the same ids as the collection" [+ChangeFeed -ReadOnly] => mirror;
    "whoever follows the feed while others write misses nothing" [+ChangeFeed -ReadOnly] => mirror_under_way;
    "every process sees the same feed" [+ChangeFeed +MultiProcess] => everywhere;
}

fn listed(changes: &[Change]) -> Vec<(ChangeKind, &str)> {
    changes
        .iter()
        .map(|change| (change.op, change.id.as_str()))
        .collect()
}

fn all(drawers: &dyn Collection) -> Outcome<Vec<Change>> {
    Ok(drawers.require_feed()?.changes_since(Cursor(0), 10_000)?.changes)
}

fn oldest_first(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(["b", "a", "c"].map(|called| plain(called, "text")))?;
    let changes = all(drawers.as_ref())?;
    same!(
        listed(&changes),
        ["b", "a", "c"].map(|called| (ChangeKind::Put, called)),
        "changes"
    );
    let ascending = changes.is_sorted_by(|a, b| a.seq < b.seq);
    ensure!(
        ascending,
        "expected strictly ascending sequence numbers, found {changes:?}"
    );
    let newest = changes.last().map_or(0, |change| change.seq);
    same!(
        drawers.info()?.seq,
        Cursor(newest),
        "sequence number of the collection"
    );
    Ok(())
}

fn limited(scene: &Scene<'_>) -> Outcome {
    let names: Vec<String> = (0..10).map(|n| format!("d{n}")).collect();
    let drawers = scene.filled(names.iter().map(|called| plain(called, "text")))?;
    let (mut cursor, mut seen) = (Cursor(0), Vec::new());
    for expected in [3, 3, 3, 1, 0, 0] {
        let page = drawers.require_feed()?.changes_since(cursor, 3)?;
        same!(page.changes.len(), expected, "changes at once");
        ensure!(
            page.next >= cursor,
            "expected a cursor from {cursor:?} on, found {:?}",
            page.next
        );
        seen.extend(page.changes.into_iter().map(|change| String::from(change.id)));
        cursor = page.next;
    }
    same!(seen, names, "ids of all changes");
    Ok(())
}

fn none_after(scene: &Scene<'_>) -> Outcome {
    let empty = scene.open()?.require_feed()?.changes_since(Cursor(0), 10)?;
    same!(empty.changes, Vec::new(), "changes of an empty collection");
    let drawers = scene.filled([plain("a", "text")])?;
    let seq = drawers.info()?.seq;
    let end = drawers.require_feed()?.changes_since(seq, 10)?;
    same!(end.changes, Vec::new(), "changes after the newest");
    ensure!(
        end.next >= seq,
        "expected a cursor from {seq:?} on, found {:?}",
        end.next
    );
    let beyond = drawers.require_feed()?.changes_since(Cursor(seq.0 + 1_000), 10)?;
    same!(beyond.changes, Vec::new(), "changes far after the newest");
    Ok(())
}

fn removed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text"), plain("b", "text")])?;
    let seen = drawers.info()?.seq;
    drawers.delete(id("a"))?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    same!(listed(&changes), [(ChangeKind::Delete, "a")], "changes since");
    let changes = all(drawers.as_ref())?;
    same!(
        listed(&changes),
        [(ChangeKind::Put, "b"), (ChangeKind::Delete, "a")],
        "all changes"
    );
    Ok(())
}

fn filed_again(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text"), plain("b", "text")])?;
    drawers.delete(id("a"))?;
    drawers.add(plain("a", "new"))?;
    let changes = all(drawers.as_ref())?;
    same!(
        listed(&changes),
        [(ChangeKind::Put, "b"), (ChangeKind::Put, "a")],
        "changes"
    );
    Ok(())
}

fn changed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(["a", "b", "c"].map(|called| plain(called, "text")))?;
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    drawers.upsert(plain("b", "new"))?;
    let changes = all(drawers.as_ref())?;
    same!(
        listed(&changes),
        ["c", "a", "b"].map(|called| (ChangeKind::Put, called)),
        "changes"
    );
    Ok(())
}

fn unchanged(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0)])?;
    let before = all(drawers.as_ref())?;
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("gone"))
    };
    drawers.apply_batch(&[
        Write::Add(plain("a", "kept")),
        Write::Add(cut("twin", "text", "book", 0)),
        Write::Update(patch),
        crate::samples::delete("gone too"),
    ])?;
    same!(all(drawers.as_ref())?, before, "changes");
    Ok(())
}

fn removed_by_filter(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([winged("a", "x"), winged("b", "y"), winged("c", "x")])?;
    let seen = drawers.info()?.seq;
    drawers.apply_batch(&[Write::Delete(Selection::Matching(
        Filter::text("wing", "x").into(),
    ))])?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    let removed: BTreeSet<_> = changes
        .iter()
        .map(|change| (change.op == ChangeKind::Delete, change.id.as_str()))
        .collect();
    same!(
        removed,
        BTreeSet::from([(true, "a"), (true, "c")]),
        "removed drawers"
    );
    Ok(())
}

fn own_collection(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let others = scene.fill_in(&scene.palace(), "others", [plain("b", "text")])?;
    for (collection, name, expected) in [(drawers, "drawers", "a"), (others, "others", "b")] {
        let changes = all(collection.as_ref())?;
        same!(
            listed(&changes),
            [(ChangeKind::Put, expected)],
            "changes of {name}"
        );
        same!(changes[0].collection.as_str(), name, "collection of the change");
    }
    Ok(())
}

fn mirror(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let mut follower = Follower::default();
    for round in 0..4 {
        let batch: Vec<Write> = (0..10)
            .map(|n| Write::Upsert(plain(&format!("d{}", round * 5 + n), "text")))
            .collect();
        drawers.apply_batch(&batch)?;
        drawers.delete(id(&format!("d{}", round * 5 + 2)))?;
        follower.follow(drawers.as_ref())?;
        let expected: BTreeSet<String> = all_ids(drawers.as_ref())?.into_iter().collect();
        same!(follower.ids, expected, "ids of the follower");
    }
    Ok(())
}

/// Counts a writer as ended when it is dropped, even by a panic.
struct Ended<'a>(&'a AtomicUsize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn mirror_under_way(scene: &Scene<'_>) -> Outcome {
    const WRITERS: usize = 3;
    let drawers = scene.open()?;
    let writers = (0..WRITERS)
        .map(|_| scene.open_elsewhere())
        .collect::<Outcome<Vec<_>>>()?;
    let ended = AtomicUsize::new(0);
    let follower = std::thread::scope(|threads| {
        let ended = &ended;
        let running: Vec<_> = writers
            .iter()
            .enumerate()
            .map(|(writer, drawers)| {
                threads.spawn(move || {
                    let _ended = Ended(ended);
                    (0..12).try_for_each(|n| drawers.add(plain(&format!("w{writer}-{n}"), "text")).map(drop))
                })
            })
            .collect();
        let mut follower = Follower::default();
        let followed = loop {
            // Read before following: what was acknowledged by then must be in the feed.
            let all_ended = ended.load(Ordering::SeqCst) == WRITERS;
            let seen = follower.follow(drawers.as_ref());
            if all_ended || seen.is_err() {
                break seen;
            }
        };
        for one in running {
            one.join().map_err(|_| Failure::new("a writer panicked"))??;
        }
        followed.map(|()| follower)
    })?;
    let expected: BTreeSet<String> = all_ids(drawers.as_ref())?.into_iter().collect();
    same!(expected.len(), WRITERS * 12, "drawers");
    same!(follower.ids, expected, "ids of the follower");
    Ok(())
}

fn everywhere(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(["b", "a", "c"].map(|called| plain(called, "text")))?;
    same!(
        all(scene.open_elsewhere()?.as_ref())?,
        all(drawers.as_ref())?,
        "changes in another process"
    );
    Ok(())
}
