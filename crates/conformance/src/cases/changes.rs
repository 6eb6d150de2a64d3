//! The change feed: complete, in order, without repeats.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{
    ChangeKind, Collection, CollectionExt, Cursor, DeleteSelection, DrawerChange, DrawerPatch, Filter, Write,
};

use crate::follower::FeedFollower;
use crate::samples::{all_ids, id, source_piece, text_drawer, wing_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "changes":
    "changes come oldest first, the newest change of each drawer only" [+ChangeFeed] => oldest_first;
    "at most limit changes come at once, and the next cursor goes on without repeats" [+ChangeFeed] => pages_are_limited;
    "none means that there are none after the cursor" [+ChangeFeed] => none_after;
    "a removed drawer is listed as removed" [+ChangeFeed -ReadOnly] => lists_removal;
    "a drawer filed again after it was removed is listed as put" [+ChangeFeed -ReadOnly] => filed_again;
    "a changed drawer is listed again, after what was changed before it" [+ChangeFeed -ReadOnly] => lists_change_again;
    "what changed nothing is not listed" [+ChangeFeed -ReadOnly] => skips_unchanged;
    "a delete by filter lists each drawer it removed" [+ChangeFeed -ReadOnly] => removed_by_filter;
    "changes name their collection and nothing of another is listed" [+ChangeFeed] => own_collection;
    "whoever follows the feed has the same ids as the collection" [+ChangeFeed -ReadOnly] => follower_mirrors_ids;
    "whoever follows the feed while others write misses nothing" [+ChangeFeed -ReadOnly] => follower_misses_nothing;
    "every process sees the same feed" [+ChangeFeed +MultiProcess] => same_feed_everywhere;
}

fn list_changes(changes: &[DrawerChange]) -> Vec<(ChangeKind, &str)> {
    changes
        .iter()
        .map(|change| (change.op, change.id.as_str()))
        .collect()
}

fn read_all_changes(drawers: &dyn Collection) -> CaseOutcome<Vec<DrawerChange>> {
    // A limit far above any case, so that a single page holds the whole feed.
    Ok(drawers.require_feed()?.changes_since(Cursor(0), 10_000)?.changes)
}

fn oldest_first(scene: &CaseScene<'_>) -> CaseOutcome {
    // Filed in another order than that of their ids: a feed sorted by id would fail here.
    let drawers = scene.open_filled(["b", "a", "c"].map(|called| text_drawer(called, "text")))?;
    let changes = read_all_changes(drawers.as_ref())?;
    same!(
        list_changes(&changes),
        ["b", "a", "c"].map(|called| (ChangeKind::Put, called)),
        "changes"
    );
    let ascending = changes.is_sorted_by(|a, b| a.seq < b.seq);
    ensure!(
        ascending,
        "expected strictly ascending sequence numbers, found {changes:?}"
    );
    // A caller stores `info().seq` as its starting cursor; if it were ahead of the feed, the changes in
    // between would be lost, and if it were behind, they would be repeated.
    let newest = changes.last().map_or(0, |change| change.seq);
    same!(
        drawers.info()?.seq,
        Cursor(newest),
        "sequence number of the collection"
    );
    Ok(())
}

fn pages_are_limited(scene: &CaseScene<'_>) -> CaseOutcome {
    let names: Vec<String> = (0..10).map(|n| format!("d{n}")).collect();
    let drawers = scene.open_filled(names.iter().map(|called| text_drawer(called, "text")))?;
    let (mut cursor, mut seen) = (Cursor(0), Vec::new());
    // Two empty pages at the end: a cursor that jumps back once the feed is exhausted would repeat changes
    // on the second.
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

fn none_after(scene: &CaseScene<'_>) -> CaseOutcome {
    let empty = scene.open()?.require_feed()?.changes_since(Cursor(0), 10)?;
    same!(empty.changes, Vec::new(), "changes of an empty collection");
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let seq = drawers.info()?.seq;
    let end = drawers.require_feed()?.changes_since(seq, 10)?;
    same!(end.changes, Vec::new(), "changes after the newest");
    ensure!(
        end.next >= seq,
        "expected a cursor from {seq:?} on, found {:?}",
        end.next
    );
    // A cursor from a restored backup or another palace may lie beyond the newest change; it must not wrap
    // around or fail.
    let beyond = drawers.require_feed()?.changes_since(Cursor(seq.0 + 1_000), 10)?;
    same!(beyond.changes, Vec::new(), "changes far after the newest");
    Ok(())
}

fn lists_removal(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text"), text_drawer("b", "text")])?;
    // Read between the two writes, as a follower does that was up to date before the removal.
    let seen = drawers.info()?.seq;
    drawers.delete_drawer(id("a"))?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    same!(
        list_changes(&changes),
        [(ChangeKind::Delete, "a")],
        "changes since"
    );
    let changes = read_all_changes(drawers.as_ref())?;
    // Only the newest change of each drawer: a feed that keeps the put of `a` would make a late follower
    // store a drawer that is gone.
    same!(
        list_changes(&changes),
        [(ChangeKind::Put, "b"), (ChangeKind::Delete, "a")],
        "all changes"
    );
    Ok(())
}

fn filed_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text"), text_drawer("b", "text")])?;
    drawers.delete_drawer(id("a"))?;
    drawers.add_drawer(text_drawer("a", "new"))?;
    // A backend that keeps removals in a separate list may report both, and a follower that sees the
    // removal last loses the drawer.
    let changes = read_all_changes(drawers.as_ref())?;
    same!(
        list_changes(&changes),
        [(ChangeKind::Put, "b"), (ChangeKind::Put, "a")],
        "changes"
    );
    Ok(())
}

fn lists_change_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(["a", "b", "c"].map(|called| text_drawer(called, "text")))?;
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    // Both ways to change a drawer; `c` stays and must move to the front of the list.
    drawers.upsert_drawer(text_drawer("b", "new"))?;
    let changes = read_all_changes(drawers.as_ref())?;
    same!(
        list_changes(&changes),
        ["c", "a", "b"].map(|called| (ChangeKind::Put, called)),
        "changes"
    );
    Ok(())
}

fn skips_unchanged(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0)])?;
    let before = read_all_changes(drawers.as_ref())?;
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("gone"))
    };
    // One write of each kind that changes nothing: kept, twin, update of a missing id, delete of a missing
    // id. Each would wake up every follower for nothing.
    drawers.apply_batch(&[
        Write::Add(text_drawer("a", "kept")),
        Write::Add(source_piece("twin", "text", "book", 0)),
        Write::Update(patch),
        crate::samples::delete_write("gone too"),
    ])?;
    same!(read_all_changes(drawers.as_ref())?, before, "changes");
    Ok(())
}

fn removed_by_filter(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        wing_drawer("a", "x"),
        wing_drawer("b", "y"),
        wing_drawer("c", "x"),
    ])?;
    let seen = drawers.info()?.seq;
    drawers.apply_batch(&[Write::Delete(DeleteSelection::Matching(
        Filter::text_equals("wing", "x").into(),
    ))])?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    // As a set: the order among the drawers of one delete by filter is not promised.
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

fn own_collection(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // In the same palace, where a backend is likely to keep one sequence of changes for all collections.
    let others = scene.fill_in(&scene.palace(), "others", [text_drawer("b", "text")])?;
    for (collection, name, expected) in [(drawers, "drawers", "a"), (others, "others", "b")] {
        let changes = read_all_changes(collection.as_ref())?;
        same!(
            list_changes(&changes),
            [(ChangeKind::Put, expected)],
            "changes of {name}"
        );
        same!(changes[0].collection.as_str(), name, "collection of the change");
    }
    Ok(())
}

fn follower_mirrors_ids(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let mut follower = FeedFollower::default();
    for round in 0..4 {
        let batch: Vec<Write> = (0..10)
            // Half of the ids overlap with those of the round before, so that puts of new and of known
            // drawers mix.
            .map(|n| Write::Upsert(text_drawer(&format!("d{}", round * 5 + n), "text")))
            .collect();
        drawers.apply_batch(&batch)?;
        drawers.delete_drawer(id(&format!("d{}", round * 5 + 2)))?;
        follower.follow_feed(drawers.as_ref())?;
        let expected: BTreeSet<String> = all_ids(drawers.as_ref())?.into_iter().collect();
        same!(follower.ids, expected, "ids of the follower");
    }
    Ok(())
}

/// Counts a writer as ended when it is dropped, even by a panic, so that the follower stops waiting.
struct EndedWriterGuard<'a>(&'a AtomicUsize);

impl Drop for EndedWriterGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn follower_misses_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    // Several writers: numbers that are assigned before the commit may become visible out of order, and a
    // follower that has passed the higher one never sees the lower.
    const WRITERS: usize = 3;
    let drawers = scene.open()?;
    let writers = (0..WRITERS)
        .map(|_| scene.open_elsewhere())
        .collect::<CaseOutcome<Vec<_>>>()?;
    let ended = AtomicUsize::new(0);
    let follower = std::thread::scope(|threads| {
        let ended = &ended;
        let running: Vec<_> = writers
            .iter()
            .enumerate()
            .map(|(writer, drawers)| {
                threads.spawn(move || {
                    let _ended = EndedWriterGuard(ended);
                    (0..12).try_for_each(|n| {
                        drawers
                            .add_drawer(text_drawer(&format!("w{writer}-{n}"), "text"))
                            .map(drop)
                    })
                })
            })
            .collect();
        let mut follower = FeedFollower::default();
        let followed = loop {
            // Read before following: what was acknowledged by then must be in the feed.
            let all_ended = ended.load(Ordering::SeqCst) == WRITERS;
            let seen = follower.follow_feed(drawers.as_ref());
            if all_ended || seen.is_err() {
                break seen;
            }
        };
        for one in running {
            one.join().map_err(|_| CaseFailure::new("a writer panicked"))??;
        }
        followed.map(|()| follower)
    })?;
    let expected: BTreeSet<String> = all_ids(drawers.as_ref())?.into_iter().collect();
    same!(expected.len(), WRITERS * 12, "drawers");
    same!(follower.ids, expected, "ids of the follower");
    Ok(())
}

fn same_feed_everywhere(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(["b", "a", "c"].map(|called| text_drawer(called, "text")))?;
    // Sequence numbers included: a follower may continue in another process with the cursor it has.
    same!(
        read_all_changes(scene.open_elsewhere()?.as_ref())?,
        read_all_changes(drawers.as_ref())?,
        "changes in another process"
    );
    Ok(())
}
