//! Concurrent writers and readers, each in its own process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use loci_core::{
    Collection, CollectionExt, DrawerCondition, DrawerFields, DrawerPatch, GetRequest, Receipt, Write,
};

use crate::samples::{all_ids, id, read_drawer, text_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "concurrency":
    "writers in different processes lose nothing" [+MultiProcess -ReadOnly] => lose_nothing;
    "writers of one process lose nothing" [-MultiProcess -ReadOnly] => lose_nothing;
    "an id filed by many at once is added by one and kept by the others" [-ReadOnly] => one_adds;
    "palaces opened by many at once are made once" [-ReadOnly] => palace_is_made_once;
    "a reader sees a batch whole or not at all" [+AtomicBatch -ReadOnly] => whole_batches;
    "an update is one step that no other writer comes between" [+AtomicUpdate -ReadOnly] => whole_updates;
}

/// Runs `work` on four threads at once, each with a handle of another process, and returns their results.
pub(super) fn run_at_once<T: Send>(
    scene: &CaseScene<'_>,
    work: impl Fn(usize, &dyn Collection) -> CaseOutcome<T> + Sync,
) -> CaseOutcome<Vec<T>> {
    // Opened before the threads start, so that opening does not serialise them.
    let handles = (0..4)
        .map(|_| scene.open_elsewhere())
        .collect::<CaseOutcome<Vec<Arc<dyn Collection>>>>()?;
    // Without a common start the first thread is often done before the last one begins.
    let start = Barrier::new(handles.len());
    std::thread::scope(|threads| {
        let (work, start) = (&work, &start);
        let running: Vec<_> = handles
            .iter()
            .enumerate()
            .map(|(writer, drawers)| {
                threads.spawn(move || {
                    start.wait();
                    work(writer, drawers.as_ref())
                })
            })
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.unwrap_or_else(|_| Err(CaseFailure::new("a writer panicked"))))
            .collect()
    })
}

fn lose_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    run_at_once(scene, |writer, drawers| {
        for n in 0..15 {
            // A new id each time and one that each writer replaces: lost inserts and lost replacements have
            // different causes.
            let receipt = drawers.apply_batch(&[
                Write::Add(text_drawer(&format!("w{writer}-{n:02}"), "text")),
                Write::Upsert(text_drawer(&format!("mine-{writer}"), &format!("text {n}"))),
            ])?;
            ensure!(
                receipt.added.iter().any(|id| id.as_str().starts_with('w')),
                "expected one added, found {receipt:?}"
            );
        }
        Ok(())
    })?;
    let found = all_ids(drawers.as_ref())?;
    // Fifteen new drawers and one replaced drawer for each writer.
    same!(found.len(), 4 * 16, "drawers");
    for writer in 0..4 {
        let mine = read_drawer(drawers.as_ref(), &format!("mine-{writer}"))?;
        same!(
            mine.document.as_deref(),
            Some("text 14"),
            "the last text of writer {writer}"
        );
    }
    // Counters are often kept beside the rows, where concurrent increments get lost although the rows do
    // not.
    if !scene.can(loci_core::Capability::EstimatedCount) {
        same!(drawers.count(&DrawerCondition::default())?, 64, "count");
    }
    Ok(())
}

fn one_adds(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let receipts: Vec<Vec<Receipt>> = run_at_once(scene, |writer, drawers| {
        // The text names the writer, so that the drawer itself shows which of the four was first.
        let adds =
            (0..10).map(|n| Ok(drawers.add_drawer(text_drawer(&format!("d{n}"), &format!("by {writer}")))?));
        adds.collect()
    })?;
    for n in 0..10 {
        let of_n: Vec<&Receipt> = receipts.iter().map(|own| &own[n]).collect();
        let added: Vec<usize> = (0..4).filter(|writer| of_n[*writer].added.len() == 1).collect();
        let kept = of_n.iter().filter(|receipt| receipt.kept.len() == 1).count();
        // A backend that checks and then inserts lets two writers add; one that fails on a duplicate key
        // returns an error instead of `kept`.
        same!((added.len(), kept), (1, 3), "how many added and kept d{n}");
        // A receipt that says `kept` while its text overwrote the other is the lost update that add must
        // never cause.
        let text = read_drawer(drawers.as_ref(), &format!("d{n}"))?.document;
        same!(
            text,
            Some(format!("by {}", added[0])),
            "the text of the one that added d{n}"
        );
    }
    Ok(())
}

fn palace_is_made_once(scene: &CaseScene<'_>) -> CaseOutcome {
    // New instances and no palace yet: the folder, its files and the schema are all created in a race.
    let backends = (0..4)
        .map(|_| scene.another_backend())
        .collect::<CaseOutcome<Vec<_>>>()?;
    let start = Barrier::new(backends.len());
    std::thread::scope(|threads| {
        let start = &start;
        let running: Vec<_> = backends
            .iter()
            .enumerate()
            .map(|(writer, backend)| {
                threads.spawn(move || -> loci_core::Result<()> {
                    start.wait();
                    let drawers = crate::scene::make_collection(
                        backend.as_ref(),
                        &scene.palace(),
                        &crate::scene::default_collection(),
                        &scene.usual_options(),
                    )?;
                    drawers
                        .add_drawer(text_drawer(&format!("d{writer}"), "text"))
                        .map(drop)
                })
            })
            .collect();
        for one in running {
            one.join().map_err(|_| CaseFailure::new("a writer panicked"))??;
        }
        Ok::<_, CaseFailure>(())
    })?;
    // If two creators each made their own file, the drawers of all but one would be gone.
    same!(all_ids(scene.open()?.as_ref())?, ["d0", "d1", "d2", "d3"], "ids");
    same!(
        scene.backend().collections(&scene.palace())?.len(),
        1,
        "collections"
    );
    Ok(())
}

/// Sets the flag when it is dropped, even by a panic, so that readers stop waiting for the writer.
pub(super) struct EndFlagGuard<'a>(pub(super) &'a AtomicBool);

impl Drop for EndFlagGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn whole_batches(scene: &CaseScene<'_>) -> CaseOutcome {
    // Large enough that a backend which commits row by row is likely to be caught in the middle.
    const BATCH: usize = 20;
    scene.open()?;
    let ended = AtomicBool::new(false);
    let ids_only = GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    run_at_once(scene, |who, drawers| {
        if who == 0 {
            let _ended = EndFlagGuard(&ended);
            let written = (0..8).try_for_each(|round| {
                let called = |n| format!("r{round}-{n:02}");
                let batch: Vec<Write> = (0..BATCH)
                    .map(|n| Write::Add(text_drawer(&called(n), "text")))
                    .collect();
                drawers.apply_batch(&batch).map(drop)
            });
            return Ok(written?);
        }
        loop {
            // Loaded before the read: only a read that began after the writer ended must see everything.
            let last = ended.load(Ordering::SeqCst);
            let seen = drawers.get(&ids_only)?.len();
            ensure!(
                seen.is_multiple_of(BATCH),
                "expected whole batches of {BATCH}, found {seen} drawers"
            );
            if last {
                same!(seen, 8 * BATCH, "drawers at last");
                return Ok(());
            }
        }
    })
    .map(drop)
}

fn whole_updates(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    run_at_once(scene, |writer, drawers| {
        for n in 0..10_i64 {
            let mut patch = DrawerPatch::new(id("a"));
            // Every update sets its own key: a backend that reads the drawer, changes it and writes it back
            // outside a transaction loses the keys that others set in between.
            patch.metadata.insert(format!("w{writer}-{n}"), Some(n.into()));
            drawers.apply_batch(&[Write::Update(patch)])?;
        }
        Ok(())
    })?;
    let metadata = read_drawer(drawers.as_ref(), "a")?.metadata.unwrap_or_default();
    same!(metadata.len(), 40, "keys set by four writers");
    Ok(())
}
