//! Batches that expect drawers to be as they were read: applied then and only then.

use std::collections::BTreeMap;

use loci_core::{
    ApplyRequest, Collection, CollectionExt, Drawer, DrawerContext, DrawerFields, DrawerPatch, DrawerPlace,
    ErrorKind, FilingDoor, IdempotencyKey, OriginKind, Provenance, Receipt, Write,
};

use super::concurrency::run_at_once;
use super::visibility::work_filter;
use crate::case::expect_refusal;
use crate::samples::{
    all_ids, delete_write, id, id_texts, read_fields, text_drawer, vector_drawer, wing_drawer,
};
use crate::{CaseOutcome, CaseScene};

cases! { "expectations":
    "a batch that expects drawers as they are stored is applied" [+ConditionalBatch -ReadOnly] => applied_as_read;
    "if one of them was changed or removed nothing is written and the call is a conflict" [+ConditionalBatch -ReadOnly] => nothing_over_a_change;
    "a drawer that only got another vector is as it was read" [+ConditionalBatch +EmbeddingsPassthrough -ReadOnly] => vectors_do_not_count;
    "a drawer out of sight is expected in vain" [+ConditionalBatch -ReadOnly] => out_of_sight;
    "a repetition under its key is not compared again" [+ConditionalBatch -ReadOnly] => repetition;
    "of those who expect one drawer and change it at once one succeeds" [+ConditionalBatch -ReadOnly] => one_of_many;
    "without conditional_batch a batch that expects drawers is unsupported and nothing is written" [-ConditionalBatch -ReadOnly] => not_offered;
}

const WITHOUT_VECTOR: DrawerFields = DrawerFields {
    embedding: false,
    ..DrawerFields::EVERYTHING
};

fn read_whole(collection: &dyn Collection, called: &str) -> CaseOutcome<Drawer> {
    read_fields(collection, called, WITHOUT_VECTOR)
}

fn reworded(called: &str, text: &str) -> Write {
    Write::Update(DrawerPatch {
        document: Some(text.into()),
        ..DrawerPatch::new(id(called))
    })
}

fn applied_as_read(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(["a", "b", "c"].map(|called| text_drawer(called, "text")))?;
    let read = [
        read_whole(drawers.as_ref(), "a")?,
        read_whole(drawers.as_ref(), "b")?,
    ];
    // `b` is only expected, and `c` only written.
    let batch = [
        reworded("a", "new"),
        delete_write("c"),
        Write::Add(text_drawer("d", "text")),
    ];
    let receipt = drawers.apply(&ApplyRequest::from_writes(&batch).expecting(&read))?;
    same!(
        (
            id_texts(&receipt.updated),
            id_texts(&receipt.deleted),
            id_texts(&receipt.added)
        ),
        (vec!["a"], vec!["c"], vec!["d"]),
        "the receipt"
    );
    same!(
        read_whole(drawers.as_ref(), "a")?.document.as_deref(),
        Some("new"),
        "the text"
    );
    Ok(())
}

/// Every way in which a drawer may change.
fn changes() -> Vec<Write> {
    let patch = || DrawerPatch::new(id("a"));
    let place = DrawerPlace {
        room: Some("elsewhere".into()),
        ..DrawerPlace::default()
    };
    let context = DrawerContext {
        before: "before".into(),
        after: String::new(),
    };
    let mut used = text_drawer("a", "text");
    used.uses = 7;
    vec![
        reworded("a", "changed"),
        Write::Update(DrawerPatch { place, ..patch() }),
        Write::Update(DrawerPatch {
            metadata: BTreeMap::from([("n".to_owned(), Some(1_i64.into()))]),
            ..patch()
        }),
        Write::Update(DrawerPatch {
            context: Some(context),
            ..patch()
        }),
        Write::Update(DrawerPatch {
            provenance: Some(Provenance::new(FilingDoor::Library, OriginKind::Note)),
            ..patch()
        }),
        Write::Upsert(used),
        delete_write("a"),
    ]
}

fn nothing_over_a_change(scene: &CaseScene<'_>) -> CaseOutcome {
    for (nth, change) in changes().into_iter().enumerate() {
        let given = ["a", "b"].map(|called| text_drawer(called, "text"));
        let drawers = scene.fill_in(&scene.palace(), &format!("drawers-{nth}"), given)?;
        let read = [
            read_whole(drawers.as_ref(), "b")?,
            read_whole(drawers.as_ref(), "a")?,
        ];
        drawers.apply_batch(std::slice::from_ref(&change))?;
        let before = drawers.get(&loci_core::GetRequest::default())?;
        // The write before the one that collides must not be applied either.
        let batch = [Write::Add(text_drawer("c", "text")), reworded("a", "mine")];
        let refused = drawers.apply(&ApplyRequest::from_writes(&batch).expecting(&read));
        expect_refusal(refused, ErrorKind::Conflict, &["\"a\""])?;
        let after = drawers.get(&loci_core::GetRequest::default())?;
        same!(after, before, "the drawers after {change:?}");
    }
    Ok(())
}

fn vectors_do_not_count(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let read = [read_whole(drawers.as_ref(), "a")?];
    // A model that is exchanged gives every drawer another vector; its words are still those that were read.
    let mut patch = DrawerPatch::new(id("a"));
    patch.embedding = Some(vec![0.0, 1.0, 0.0, 0.0]);
    drawers.apply_batch(&[Write::Update(patch)])?;
    let batch = [delete_write("a")];
    let receipt = drawers.apply(&ApplyRequest::from_writes(&batch).expecting(&read))?;
    same!(id_texts(&receipt.deleted), ["a"], "deleted");
    Ok(())
}

fn out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let whole = scene.open_filled([wing_drawer("w", "work"), wing_drawer("h", "home")])?;
    let restricted = scene.open_seeing(work_filter())?;
    let hidden = [read_whole(whole.as_ref(), "h")?];
    let seen = [read_whole(whole.as_ref(), "w")?];
    let batch = [reworded("w", "new")];
    // Even if it is guessed right: the answer must not confirm a guess.
    let refused = restricted.apply(&ApplyRequest::from_writes(&batch).expecting(&hidden));
    expect_refusal(refused, ErrorKind::Conflict, &["removed"])?;
    same!(read_whole(whole.as_ref(), "w")?, seen[0], "the drawer in sight");
    restricted.apply(&ApplyRequest::from_writes(&batch).expecting(&seen))?;
    same!(
        read_whole(whole.as_ref(), "w")?.document.as_deref(),
        Some("new"),
        "the text"
    );
    Ok(())
}

fn repetition(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let read = [read_whole(drawers.as_ref(), "a")?];
    let key = IdempotencyKey::new("key 1").expect("the key is short");
    let batch = [reworded("a", "mine")];
    let request = ApplyRequest::from_writes(&batch).under_key(&key).expecting(&read);
    let first: Receipt = drawers.apply(&request)?;
    // The batch itself has changed the drawer that it expects.
    same!(drawers.apply(&request)?, first, "the receipt of a repetition");
    // A conflict leaves the key unused.
    let other = IdempotencyKey::new("key 2").expect("the key is short");
    let refused = drawers.apply(
        &ApplyRequest::from_writes(&batch)
            .under_key(&other)
            .expecting(&read),
    );
    expect_refusal(refused, ErrorKind::Conflict, &["\"a\""])?;
    let now = [read_whole(drawers.as_ref(), "a")?];
    drawers.apply(
        &ApplyRequest::from_writes(&batch)
            .under_key(&other)
            .expecting(&now),
    )?;
    Ok(())
}

fn one_of_many(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let read = [read_whole(drawers.as_ref(), "a")?];
    let done: Vec<bool> = run_at_once(scene, |writer, drawers| {
        let batch = [reworded("a", &format!("by {writer}"))];
        match drawers.apply(&ApplyRequest::from_writes(&batch).expecting(&read)) {
            Ok(_) => Ok(true),
            refused => expect_refusal(refused, ErrorKind::Conflict, &["\"a\""]).map(|()| false),
        }
    })?;
    let winners: Vec<usize> = (0..done.len()).filter(|writer| done[*writer]).collect();
    same!(winners.len(), 1, "those who succeeded");
    same!(
        read_whole(drawers.as_ref(), "a")?.document,
        Some(format!("by {}", winners[0])),
        "the text"
    );
    Ok(())
}

fn not_offered(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let read = [read_whole(drawers.as_ref(), "a")?];
    let batch = [delete_write("a")];
    // Ignored, it would let the batch overwrite what the caller wanted to keep.
    let refused = drawers.apply(&ApplyRequest::from_writes(&batch).expecting(&read));
    expect_refusal(refused, ErrorKind::Unsupported, &["conditional_batch"])?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}
