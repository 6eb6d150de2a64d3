//! Idempotency keys: repeating a batch under its key is harmless, from any process.

use std::sync::Barrier;
use std::time::Duration;

use loci_core::{
    ApplyRequest, Collection, CollectionExt, DeleteSelection, DrawerPatch, ErrorKind, Filter, IdempotencyKey,
    NewDrawer, Receipt, Write,
};

use super::visibility::work_filter;
use crate::case::expect_refusal;
use crate::samples::{all_ids, delete_write, id, id_texts, read_drawer, text_drawer, wing_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "idempotency":
    "a batch applied before under its key is not applied again and its receipt is returned as it was" [-ReadOnly] => repetition_is_harmless;
    "a batch applied before by another process is not applied again and its receipt is returned as it was" [+MultiProcess -ReadOnly] => repeated_elsewhere;
    "a key is remembered after its palace was closed" [-ReadOnly] => key_survives_closing;
    "the key together with other writes is a conflict and nothing is written" [-ReadOnly] => other_writes;
    "a batch that failed leaves its key unused" [-ReadOnly] => failure_leaves_key_unused;
    "a batch that timed out leaves its key unused" [-ReadOnly] => timeout_leaves_key_unused;
    "of those who apply a batch under one key at once one applies it, and all have its receipt" [-ReadOnly] => at_once;
    "of processes that apply a batch under one key at once one applies it, and all have its receipt" [+MultiProcess -ReadOnly] => at_once_elsewhere;
    "each collection has keys of its own" [-ReadOnly] => own_keys;
    "a receipt under a key tells a restricted handle nothing of drawers out of sight" [-ReadOnly] => receipt_hides_the_unseen;
    "without a key a batch is applied each time" [-ReadOnly] => without_key_applies_again;
}

fn idempotency_key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("the cases use keys within the limit")
}

fn apply_under_key(
    collection: &dyn Collection,
    called: &str,
    writes: &[Write],
) -> loci_core::Result<Receipt> {
    collection.apply(&ApplyRequest::from_writes(writes).under_key(&idempotency_key(called)))
}

/// A batch that adds, replaces, changes, removes and names a missing id, so that a second application would show.
fn telling_batch() -> Vec<Write> {
    let patch = DrawerPatch {
        document: Some("changed once".into()),
        ..DrawerPatch::new(id("b"))
    };
    // Fills most lists of a receipt, so that a receipt rebuilt from the present state instead of the stored
    // one differs in at least one of them.
    vec![
        Write::Add(text_drawer("new", "text")),
        Write::Upsert(text_drawer("a", "replaced once")),
        Write::Update(patch),
        delete_write("c"),
        delete_write("never"),
    ]
}

fn three_drawers() -> [NewDrawer; 3] {
    ["a", "b", "c"].map(|called| text_drawer(called, "text"))
}

/// Changes the drawers of the batch again, so that a second application would show.
fn write_after(collection: &dyn Collection) -> CaseOutcome {
    // Undoes each effect of the batch; a repetition that is applied would bring back `new`, overwrite `a`
    // and remove `c` again.
    collection.apply_batch(&[
        Write::Upsert(text_drawer("a", "later")),
        Write::Upsert(text_drawer("c", "filed again")),
        delete_write("new"),
    ])?;
    Ok(())
}

/// Checks that nothing has changed since [`write_after`].
fn expect_untouched(collection: &dyn Collection) -> CaseOutcome {
    same!(all_ids(collection)?, ["a", "b", "c"], "ids after a repetition");
    same!(
        read_drawer(collection, "a")?.document.as_deref(),
        Some("later"),
        "text after a repetition"
    );
    Ok(())
}

fn repetition_is_harmless(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let first = apply_under_key(drawers.as_ref(), "key 1", &telling_batch())?;
    same!(id_texts(&first.added), ["new"], "added");
    write_after(drawers.as_ref())?;
    let seq = drawers.info()?.seq;
    // Twice, because a backend may consume the stored receipt when it returns it.
    for _ in 0..2 {
        same!(
            apply_under_key(drawers.as_ref(), "key 1", &telling_batch())?,
            first,
            "the receipt of a repetition"
        );
        expect_untouched(drawers.as_ref())?;
    }
    // A repetition that writes the same bytes again would show in the change feed.
    same!(drawers.info()?.seq, seq, "the number of the last change");
    Ok(())
}

fn repeated_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let first = apply_under_key(drawers.as_ref(), "key 1", &telling_batch())?;
    write_after(drawers.as_ref())?;
    // The usual reason for a repetition: the first process died after the write and before it learned of
    // it. A key kept in memory is of no use then.
    let elsewhere = scene.open_elsewhere()?;
    same!(
        apply_under_key(elsewhere.as_ref(), "key 1", &telling_batch())?,
        first,
        "the receipt of a repetition elsewhere"
    );
    expect_untouched(drawers.as_ref())
}

fn key_survives_closing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let first = apply_under_key(drawers.as_ref(), "key 1", &telling_batch())?;
    write_after(drawers.as_ref())?;
    // Without handles and with the palace closed, nothing in memory can answer for the store.
    drop(drawers);
    scene.backend().close_palace(&scene.palace());
    let again = scene.open()?;
    same!(
        apply_under_key(again.as_ref(), "key 1", &telling_batch())?,
        first,
        "the receipt of a repetition"
    );
    expect_untouched(again.as_ref())
}

fn other_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    apply_under_key(drawers.as_ref(), "key 1", &telling_batch())?;
    let before = drawers.info()?;
    let mut longer = telling_batch();
    longer.push(Write::Add(text_drawer("more", "text")));
    // The same ids and kinds with another text: comparing only ids or lengths would return the old receipt
    // and lose the new text.
    let mut other_text = telling_batch();
    other_text[0] = Write::Add(text_drawer("new", "other text"));
    for other in [
        longer,
        other_text,
        vec![Write::Add(text_drawer("x", "text"))],
        // A prefix of the batch is another batch.
        telling_batch()[..2].to_vec(),
    ] {
        expect_refusal(
            apply_under_key(drawers.as_ref(), "key 1", &other),
            ErrorKind::Conflict,
            &["key 1"],
        )?;
        same!(drawers.info()?, before, "info after a refusal");
    }
    // The refused writes are fine under a key of their own.
    apply_under_key(drawers.as_ref(), "key 2", &[Write::Add(text_drawer("x", "text"))])?;
    same!(all_ids(drawers.as_ref())?, ["a", "b", "new", "x"], "ids");
    Ok(())
}

fn failure_leaves_key_unused(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let twice = [
        Write::Add(text_drawer("x", "text")),
        Write::Add(text_drawer("x", "text")),
    ];
    // Twice with the same error: the second attempt must fail for its content, not because the key was
    // used.
    expect_refusal(
        apply_under_key(drawers.as_ref(), "key 1", &twice),
        ErrorKind::Invalid,
        &[],
    )?;
    expect_refusal(
        apply_under_key(drawers.as_ref(), "key 1", &twice),
        ErrorKind::Invalid,
        &[],
    )?;
    let receipt = apply_under_key(drawers.as_ref(), "key 1", &twice[..1])?;
    same!(
        id_texts(&receipt.added),
        ["x"],
        "added under the key of a batch that failed"
    );
    Ok(())
}

fn timeout_leaves_key_unused(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let (key, batch) = (idempotency_key("key 1"), [Write::Add(text_drawer("x", "text"))]);
    // A caller that times out repeats with the same key and more time; if the key were used up it could
    // never succeed.
    let request = ApplyRequest::from_writes(&batch).under_key(&key);
    expect_refusal(
        drawers.apply(&request.within_budget(Duration::ZERO)),
        ErrorKind::TimedOut,
        &[],
    )?;
    same!(
        id_texts(&drawers.apply(&request)?.added),
        ["x"],
        "added after it timed out"
    );
    Ok(())
}

fn at_once(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    let handles = (0..4).map(|_| scene.open()).collect::<CaseOutcome<Vec<_>>>()?;
    expect_applied_once(&handles)
}

fn at_once_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    let handles = (0..4)
        .map(|_| scene.open_elsewhere())
        .collect::<CaseOutcome<Vec<_>>>()?;
    expect_applied_once(&handles)
}

fn expect_applied_once(handles: &[std::sync::Arc<dyn Collection>]) -> CaseOutcome {
    // Several rounds, each with a new key: a race is not lost every time.
    for round in 0..8 {
        // A replacement succeeds every time, so only the sequence number shows whether it was applied more
        // than once.
        let batch = [Write::Upsert(text_drawer("a", &format!("round {round}")))];
        let start = Barrier::new(handles.len());
        let receipts = std::thread::scope(|threads| {
            let (start, batch) = (&start, &batch);
            let apply_one = |handle: &'_ std::sync::Arc<dyn Collection>| {
                start.wait();
                apply_under_key(handle.as_ref(), &format!("round {round}"), batch)
            };
            let running: Vec<_> = handles
                .iter()
                .map(|handle| threads.spawn(move || apply_one(handle)))
                .collect();
            let ended = running.into_iter().map(|one| one.join());
            let ended = ended.map(|one| one.map_err(|_| CaseFailure::new("a writer panicked")));
            ended.map(|one| Ok(one??)).collect::<CaseOutcome<Vec<Receipt>>>()
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

fn own_keys(scene: &CaseScene<'_>) -> CaseOutcome {
    let (here, there) = (scene.open()?, scene.open_named("others")?);
    apply_under_key(here.as_ref(), "key 1", &[Write::Add(text_drawer("a", "text"))])?;
    // The same key and the same writes: a table of keys per palace would return the receipt of the other
    // collection and write nothing here.
    let receipt = apply_under_key(there.as_ref(), "key 1", &[Write::Add(text_drawer("a", "text"))])?;
    same!(
        id_texts(&receipt.added),
        ["a"],
        "added to another collection under the same key"
    );
    same!(all_ids(there.as_ref())?, ["a"], "ids there");
    Ok(())
}

fn receipt_hides_the_unseen(scene: &CaseScene<'_>) -> CaseOutcome {
    let whole = scene.open_filled([wing_drawer("secret", "home"), wing_drawer("open", "work")])?;
    let matching = Filter::Or(vec![
        Filter::text_equals("wing", "home"),
        Filter::text_equals("wing", "work"),
    ]);
    let batch = [Write::Delete(DeleteSelection::Matching(matching.into()))];
    // The receipt of the unrestricted handle names both drawers; a restricted handle that repeats the batch
    // under the same key must not be given it.
    let receipt = apply_under_key(whole.as_ref(), "key 1", &batch)?;
    same!(receipt.deleted.len(), 2, "deleted by the whole handle");
    let told = apply_under_key(scene.open_seeing(work_filter())?.as_ref(), "key 1", &batch);
    // Whether it is applied or refused is left open; in either case no hidden id may appear, also not in an
    // error.
    let words = format!("{told:?}");
    ensure!(
        !words.contains("secret"),
        "expected no id out of sight, found {words}"
    );
    Ok(())
}

fn without_key_applies_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(three_drawers())?;
    let batch = [Write::Upsert(text_drawer("a", "again"))];
    let first = drawers.apply_batch(&batch)?;
    // A backend that derives a key from the content would treat this as a repetition.
    let second = drawers.apply_batch(&batch)?;
    ensure!(
        second.seq > first.seq,
        "expected a number above {}, found {}",
        first.seq,
        second.seq
    );
    Ok(())
}
