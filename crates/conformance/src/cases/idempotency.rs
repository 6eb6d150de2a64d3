//! Idempotency keys: a repetition is harmless, whichever process makes it.

use std::sync::Barrier;
use std::time::Duration;

use loci_core::{
    ApplyRequest, Collection, CollectionExt, ErrorKind, Filter, IdempotencyKey, NewDrawer, Patch, Receipt,
    Selection, Write,
};

use super::visibility::work;
use crate::case::refused;
use crate::samples::{all_ids, delete, id, plain, read, texts, winged};
use crate::{Failure, Outcome, Scene};

cases! { "idempotency":
    "a batch applied before under its key is not applied again and its receipt is returned as it was" [-ReadOnly] => repeated;
    "a batch applied before by another process is not applied again and its receipt is returned as it was" [+MultiProcess -ReadOnly] => repeated_elsewhere;
    "a key is remembered after its palace was closed" [-ReadOnly] => remembered;
    "the key together with other writes is a conflict and nothing is written" [-ReadOnly] => other_writes;
    "a batch that failed leaves its key unused" [-ReadOnly] => failed;
    "a batch that timed out leaves its key unused" [-ReadOnly] => timed_out;
    "of those who apply a batch under one key at once one applies it, and all have its receipt" [-ReadOnly] => at_once;
    "of processes that apply a batch under one key at once one applies it, and all have its receipt" [+MultiProcess -ReadOnly] => at_once_elsewhere;
    "each collection has keys of its own" [-ReadOnly] => own_keys;
    "a receipt under a key tells a restricted handle nothing of drawers out of sight" [-ReadOnly] => out_of_sight;
    "without a key a batch is applied each time" [-ReadOnly] => keyless;
}

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("the cases use keys within the limit")
}

fn apply(collection: &dyn Collection, called: &str, writes: &[Write]) -> loci_core::Result<Receipt> {
    collection.apply(&ApplyRequest::batch(writes).under_key(&key(called)))
}

/// A batch whose second application would show: it replaces, changes, removes and lists as missing.
fn batch() -> Vec<Write> {
    let patch = Patch {
        document: Some("changed once".into()),
        ..Patch::new(id("b"))
    };
    vec![
        Write::Add(plain("new", "text")),
        Write::Upsert(plain("a", "replaced once")),
        Write::Update(patch),
        delete("c"),
        delete("never"),
    ]
}

fn house() -> [NewDrawer; 3] {
    ["a", "b", "c"].map(|called| plain(called, "text"))
}

/// Changes what the batch did, so that a second application would be seen.
fn write_after(collection: &dyn Collection) -> Outcome {
    collection.apply_batch(&[
        Write::Upsert(plain("a", "later")),
        Write::Upsert(plain("c", "filed again")),
        delete("new"),
    ])?;
    Ok(())
}

/// Shows that nothing has happened since [`write_after`].
fn untouched(collection: &dyn Collection) -> Outcome {
    same!(all_ids(collection)?, ["a", "b", "c"], "ids after a repetition");
    same!(
        read(collection, "a")?.document.as_deref(),
        Some("later"),
        "text after a repetition"
    );
    Ok(())
}

fn repeated(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let first = apply(drawers.as_ref(), "key 1", &batch())?;
    same!(texts(&first.added), ["new"], "added");
    write_after(drawers.as_ref())?;
    let seq = drawers.info()?.seq;
    for _ in 0..2 {
        same!(
            apply(drawers.as_ref(), "key 1", &batch())?,
            first,
            "the receipt of a repetition"
        );
        untouched(drawers.as_ref())?;
    }
    same!(drawers.info()?.seq, seq, "the number of the last change");
    Ok(())
}

fn repeated_elsewhere(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let first = apply(drawers.as_ref(), "key 1", &batch())?;
    write_after(drawers.as_ref())?;
    let elsewhere = scene.open_elsewhere()?;
    same!(
        apply(elsewhere.as_ref(), "key 1", &batch())?,
        first,
        "the receipt of a repetition elsewhere"
    );
    untouched(drawers.as_ref())
}

fn remembered(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let first = apply(drawers.as_ref(), "key 1", &batch())?;
    write_after(drawers.as_ref())?;
    drop(drawers);
    scene.backend().close_palace(&scene.palace());
    let again = scene.open()?;
    same!(
        apply(again.as_ref(), "key 1", &batch())?,
        first,
        "the receipt of a repetition"
    );
    untouched(again.as_ref())
}

fn other_writes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    apply(drawers.as_ref(), "key 1", &batch())?;
    let before = drawers.info()?;
    let mut longer = batch();
    longer.push(Write::Add(plain("more", "text")));
    let mut other_text = batch();
    other_text[0] = Write::Add(plain("new", "other text"));
    for other in [
        longer,
        other_text,
        vec![Write::Add(plain("x", "text"))],
        batch()[..2].to_vec(),
    ] {
        refused(
            apply(drawers.as_ref(), "key 1", &other),
            ErrorKind::Conflict,
            &["key 1"],
        )?;
        same!(drawers.info()?, before, "info after a refusal");
    }
    apply(drawers.as_ref(), "key 2", &[Write::Add(plain("x", "text"))])?;
    same!(all_ids(drawers.as_ref())?, ["a", "b", "new", "x"], "ids");
    Ok(())
}

fn failed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let twice = [Write::Add(plain("x", "text")), Write::Add(plain("x", "text"))];
    refused(apply(drawers.as_ref(), "key 1", &twice), ErrorKind::Invalid, &[])?;
    refused(apply(drawers.as_ref(), "key 1", &twice), ErrorKind::Invalid, &[])?;
    let receipt = apply(drawers.as_ref(), "key 1", &twice[..1])?;
    same!(
        texts(&receipt.added),
        ["x"],
        "added under the key of a batch that failed"
    );
    Ok(())
}

fn timed_out(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let (key, batch) = (key("key 1"), [Write::Add(plain("x", "text"))]);
    let request = ApplyRequest::batch(&batch).under_key(&key);
    refused(
        drawers.apply(&request.within(Duration::ZERO)),
        ErrorKind::TimedOut,
        &[],
    )?;
    same!(
        texts(&drawers.apply(&request)?.added),
        ["x"],
        "added after it timed out"
    );
    Ok(())
}

fn at_once(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    let handles = (0..4).map(|_| scene.open()).collect::<Outcome<Vec<_>>>()?;
    applied_once(&handles)
}

fn at_once_elsewhere(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    let handles = (0..4)
        .map(|_| scene.open_elsewhere())
        .collect::<Outcome<Vec<_>>>()?;
    applied_once(&handles)
}

fn applied_once(handles: &[std::sync::Arc<dyn Collection>]) -> Outcome {
    for round in 0..8 {
        let batch = [Write::Upsert(plain("a", &format!("round {round}")))];
        let start = Barrier::new(handles.len());
        let receipts = std::thread::scope(|threads| {
            let (start, batch) = (&start, &batch);
            let apply_one = |handle: &'_ std::sync::Arc<dyn Collection>| {
                start.wait();
                apply(handle.as_ref(), &format!("round {round}"), batch)
            };
            let running: Vec<_> = handles
                .iter()
                .map(|handle| threads.spawn(move || apply_one(handle)))
                .collect();
            let ended = running.into_iter().map(|one| one.join());
            let ended = ended.map(|one| one.map_err(|_| Failure::new("a writer panicked")));
            ended.map(|one| Ok(one??)).collect::<Outcome<Vec<Receipt>>>()
        })?;
        ensure!(
            receipts.iter().all(|receipt| *receipt == receipts[0]),
            "expected one receipt for all, found {receipts:?}"
        );
        same!(
            handles[0].info()?.seq.0,
            receipts[0].seq,
            "the number of the only change"
        );
    }
    Ok(())
}

fn own_keys(scene: &Scene<'_>) -> Outcome {
    let (here, there) = (scene.open()?, scene.open_named("others")?);
    apply(here.as_ref(), "key 1", &[Write::Add(plain("a", "text"))])?;
    let receipt = apply(there.as_ref(), "key 1", &[Write::Add(plain("a", "text"))])?;
    same!(
        texts(&receipt.added),
        ["a"],
        "added to another collection under the same key"
    );
    same!(all_ids(there.as_ref())?, ["a"], "ids there");
    Ok(())
}

fn out_of_sight(scene: &Scene<'_>) -> Outcome {
    let whole = scene.filled([winged("secret", "home"), winged("open", "work")])?;
    let matching = Filter::Or(vec![Filter::text("wing", "home"), Filter::text("wing", "work")]);
    let batch = [Write::Delete(Selection::Matching(matching.into()))];
    let receipt = apply(whole.as_ref(), "key 1", &batch)?;
    same!(receipt.deleted.len(), 2, "deleted by the whole handle");
    let told = apply(scene.open_seeing(work())?.as_ref(), "key 1", &batch);
    let words = format!("{told:?}");
    ensure!(
        !words.contains("secret"),
        "expected no id out of sight, found {words}"
    );
    Ok(())
}

fn keyless(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let batch = [Write::Upsert(plain("a", "again"))];
    let first = drawers.apply_batch(&batch)?;
    let second = drawers.apply_batch(&batch)?;
    ensure!(
        second.seq > first.seq,
        "expected a number above {}, found {}",
        first.seq,
        second.seq
    );
    Ok(())
}
