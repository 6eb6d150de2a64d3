//! Many writers and readers at once, each as a process of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use loci_core::{Collection, CollectionExt, DrawerCondition, Get, Include, Patch, Receipt, Write};

use crate::samples::{all_ids, id, plain, read};
use crate::{Failure, Outcome, Scene};

cases! { "concurrency":
    "writers in different processes lose nothing" [+MultiProcess -ReadOnly] => lose_nothing;
    "writers of one process lose nothing" [-MultiProcess -ReadOnly] => lose_nothing;
    "an id filed by many at once is added by one and kept by the others" [-ReadOnly] => one_adds;
    "palaces opened by many at once are made once" [-ReadOnly] => made_once;
    "a reader sees a batch whole or not at all" [+AtomicBatch -ReadOnly] => whole_batches;
    "an update is one step that no other writer comes between" [+AtomicUpdate -ReadOnly] => whole_updates;
}

/// Lets four writers work at once, each on a handle of its own process, and returns what each returned.
pub(super) fn at_once<T: Send>(
    scene: &Scene<'_>,
    work: impl Fn(usize, &dyn Collection) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>> {
    let handles = (0..4)
        .map(|_| scene.open_elsewhere())
        .collect::<Outcome<Vec<Arc<dyn Collection>>>>()?;
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
            .map(|one| one.unwrap_or_else(|_| Err(Failure::new("a writer panicked"))))
            .collect()
    })
}

fn lose_nothing(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    at_once(scene, |writer, drawers| {
        for n in 0..15 {
            let receipt = drawers.apply_batch(&[
                Write::Add(plain(&format!("w{writer}-{n:02}"), "text")),
                Write::Upsert(plain(&format!("mine-{writer}"), &format!("text {n}"))),
            ])?;
            ensure!(
                receipt.added.iter().any(|id| id.as_str().starts_with('w')),
                "expected one added, found {receipt:?}"
            );
        }
        Ok(())
    })?;
    let found = all_ids(drawers.as_ref())?;
    same!(found.len(), 4 * 16, "drawers");
    for writer in 0..4 {
        let mine = read(drawers.as_ref(), &format!("mine-{writer}"))?;
        same!(
            mine.document.as_deref(),
            Some("text 14"),
            "the last text of writer {writer}"
        );
    }
    if !scene.can(loci_core::Capability::EstimatedCount) {
        same!(drawers.count(&DrawerCondition::default())?, 64, "count");
    }
    Ok(())
}

fn one_adds(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let receipts: Vec<Vec<Receipt>> = at_once(scene, |writer, drawers| {
        let adds = (0..10).map(|n| Ok(drawers.add(plain(&format!("d{n}"), &format!("by {writer}")))?));
        adds.collect()
    })?;
    for n in 0..10 {
        let of_n: Vec<&Receipt> = receipts.iter().map(|own| &own[n]).collect();
        let added: Vec<usize> = (0..4).filter(|writer| of_n[*writer].added.len() == 1).collect();
        let kept = of_n.iter().filter(|receipt| receipt.kept.len() == 1).count();
        same!((added.len(), kept), (1, 3), "how many added and kept d{n}");
        let text = read(drawers.as_ref(), &format!("d{n}"))?.document;
        same!(
            text,
            Some(format!("by {}", added[0])),
            "the text of the one that added d{n}"
        );
    }
    Ok(())
}

fn made_once(scene: &Scene<'_>) -> Outcome {
    let backends = (0..4).map(|_| scene.another()).collect::<Outcome<Vec<_>>>()?;
    let start = Barrier::new(backends.len());
    std::thread::scope(|threads| {
        let start = &start;
        let running: Vec<_> = backends
            .iter()
            .enumerate()
            .map(|(writer, backend)| {
                threads.spawn(move || -> loci_core::Result<()> {
                    start.wait();
                    let drawers = crate::scene::make(
                        backend.as_ref(),
                        &scene.palace(),
                        &crate::scene::drawers(),
                        &scene.how(),
                    )?;
                    drawers.add(plain(&format!("d{writer}"), "text")).map(drop)
                })
            })
            .collect();
        for one in running {
            one.join().map_err(|_| Failure::new("a writer panicked"))??;
        }
        Ok::<_, Failure>(())
    })?;
    same!(all_ids(scene.open()?.as_ref())?, ["d0", "d1", "d2", "d3"], "ids");
    same!(
        scene.backend().collections(&scene.palace())?.len(),
        1,
        "collections"
    );
    Ok(())
}

/// Says that the writer has ended when it is dropped, even by a panic.
pub(super) struct Ended<'a>(pub(super) &'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn whole_batches(scene: &Scene<'_>) -> Outcome {
    const BATCH: usize = 20;
    scene.open()?;
    let ended = AtomicBool::new(false);
    let ids_only = Get {
        include: Include::NOTHING,
        ..Get::default()
    };
    at_once(scene, |who, drawers| {
        if who == 0 {
            let _ended = Ended(&ended);
            let written = (0..8).try_for_each(|round| {
                let called = |n| format!("r{round}-{n:02}");
                let batch: Vec<Write> = (0..BATCH)
                    .map(|n| Write::Add(plain(&called(n), "text")))
                    .collect();
                drawers.apply_batch(&batch).map(drop)
            });
            return Ok(written?);
        }
        loop {
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

fn whole_updates(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    at_once(scene, |writer, drawers| {
        for n in 0..10_i64 {
            let mut patch = Patch::new(id("a"));
            patch.metadata.insert(format!("w{writer}-{n}"), Some(n.into()));
            drawers.apply_batch(&[Write::Update(patch)])?;
        }
        Ok(())
    })?;
    let metadata = read(drawers.as_ref(), "a")?.metadata.unwrap_or_default();
    same!(metadata.len(), 40, "keys set by four writers");
    Ok(())
}
