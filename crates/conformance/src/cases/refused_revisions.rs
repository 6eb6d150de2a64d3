//! Refused revisions: an error anywhere leaves every drawer and record unchanged.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DrawerCondition, DrawerPatch, ErrorKind, GetRequest, Write,
};

use super::revisions::{add_write, add_writes};
use crate::case::expect_refusal;
use crate::revising::{every_record, expect_done, forgetting_revision, new_revision, store_records};
use crate::samples::{delete_write, id, text_drawer, vector_drawer};
use crate::switching::open_declaring;
use crate::{CaseOutcome, CaseScene};

cases! { "refused_revisions":
    "an error in a later part leaves every drawer and record as it was" [+Sources -ReadOnly] => later_part;
    "an error in a later revision leaves every drawer and record as it was" [+Sources -ReadOnly] => later_revision;
    "a vector of another dimension in a later part is refused and nothing is written" [+Sources +EmbeddingsPassthrough -ReadOnly] => later_dimension;
    "vectors of parts are admitted as those of batches are" [+Sources +EmbeddingsPassthrough -ReadOnly] => vectors_admitted_alike;
    "a source without a name is refused and nothing is written" [+Sources -ReadOnly] => refuses_nameless;
    "a list without revisions is empty in return and changes nothing" [+Sources -ReadOnly] => empty_list_changes_nothing;
}

/// Everything a collection holds that a revision could change.
fn read_state(collection: &dyn Collection) -> CaseOutcome<impl PartialEq + std::fmt::Debug + use<>> {
    // `info` holds the sequence number, which shows a write that was made and undone.
    Ok((
        collection.get(&GetRequest::default())?,
        collection.require_sources()?.find_records(&every_record())?,
        collection.info()?,
    ))
}

/// Batches that are invalid in themselves.
fn defective_batches() -> [Vec<Write>; 4] {
    let no_filter = Write::Delete(DeleteSelection::Matching(DrawerCondition::default()));
    [
        // Each begins with a valid write and fails at the second.
        vec![add_write("x", "text"), add_write("x", "again")],
        vec![add_write("x", "text"), Write::Update(DrawerPatch::new(id("a")))],
        vec![add_write("x", "text"), no_filter],
        vec![
            add_write("x", "text"),
            Write::Delete(DeleteSelection::Ids(vec![])),
        ],
    ]
}

/// A collection with drawers and records to lose.
fn open_furnished(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let drawers = scene.open_filled([text_drawer("a", "text"), text_drawer("b", "text")])?;
    store_records(drawers.as_ref(), &["a.md", "b.md"])?;
    Ok(drawers)
}

fn later_part(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    let before = read_state(drawers.as_ref())?;
    let expects = Some(drawers.require_sources()?.find_records(&every_record())?[0].revision);
    for bad in defective_batches() {
        // In every position among valid parts: parts are applied one after the other, so earlier ones have
        // to be rolled back.
        for at in 0..3 {
            let mut parts = vec![
                add_writes(&["c", "d"]),
                vec![delete_write("a"), Write::Upsert(text_drawer("b", "changed"))],
                add_writes(&["e"]),
            ];
            parts.insert(at, bad.clone());
            let revised = drawers
                .require_sources()?
                .revise(vec![new_revision("a.md", expects, "new", parts)]);
            expect_refusal(revised, ErrorKind::Invalid, &[])?;
            same!(read_state(drawers.as_ref())?, before, "what is stored");
        }
    }
    Ok(())
}

fn later_revision(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    let before = read_state(drawers.as_ref())?;
    let read = drawers.require_sources()?.find_records(&every_record())?;
    for bad in defective_batches() {
        let revised = drawers.require_sources()?.revise(vec![
            // A change, a new source and a forgotten one come first; all three must be undone, records
            // included.
            new_revision("a.md", Some(read[0].revision), "new", [vec![delete_write("a")]]),
            new_revision("c.md", None, "new", [add_writes(&["c"])]),
            forgetting_revision("b.md", Some(read[1].revision)),
            new_revision("d.md", None, "new", [add_writes(&["d"]), bad]),
        ]);
        expect_refusal(revised, ErrorKind::Invalid, &[])?;
        same!(read_state(drawers.as_ref())?, before, "what is stored");
    }
    Ok(())
}

fn with_vector(called: &str, vector: &[f32]) -> Write {
    Write::Add(vector_drawer(called, "text", vector))
}

fn later_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    let (right, wrong) = ([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
    let before = read_state(drawers.as_ref())?;
    let parts = [
        // Valid vectors in the parts before it: parts are checked one after the other, so these have been
        // applied when the last one is refused.
        vec![with_vector("c", &right), delete_write("a")],
        vec![with_vector("d", &right)],
        vec![with_vector("e", &wrong)],
    ];
    let revised = drawers.require_sources()?.revise(vec![
        new_revision("c.md", None, "new", [add_writes(&["f"])]),
        new_revision("d.md", None, "new", parts),
    ]);
    expect_refusal(revised, ErrorKind::DimensionMismatch, &[])?;
    same!(read_state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}

fn vectors_admitted_alike(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    drawers.apply_batch(&[with_vector("v", &[1.0, 0.0, 0.0, 0.0])])?;
    let before = read_state(drawers.as_ref())?;
    let bad = [
        (with_vector("x", &[f32::NAN, 0.0, 0.0, 1.0]), ErrorKind::Invalid),
        (with_vector("x", &[0.0; 4]), ErrorKind::Invalid),
    ];
    for (write, kind) in bad {
        let revised = drawers.require_sources()?.revise(vec![new_revision(
            "c.md",
            None,
            "new",
            [add_writes(&["c"]), vec![write]],
        )]);
        expect_refusal(revised, kind, &[])?;
        same!(read_state(drawers.as_ref())?, before, "what is stored");
    }
    let undeclared = open_declaring(scene, None)?;
    let part = || vec![with_vector("x", &[0.0, 1.0, 0.0, 0.0])];
    // The rule depends on the backend's record of the model; whichever answer `apply` gives, `revise` must
    // give the same, or mining would be a way around the check.
    let by_apply = undeclared.apply_batch(&part()).map_err(|error| error.kind());
    let by_revise = undeclared.require_sources()?.revise(vec![new_revision(
        "c.md",
        None,
        "new",
        [add_writes(&["c"]), part()],
    )]);
    match by_apply {
        Ok(_) => expect_done(by_revise?.remove(0)).map(drop),
        Err(kind) => {
            expect_refusal(by_revise, kind, &[])?;
            same!(read_state(drawers.as_ref())?, before, "what is stored");
            Ok(())
        }
    }
}

fn refuses_nameless(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    let before = read_state(drawers.as_ref())?;
    let revised = drawers.require_sources()?.revise(vec![
        new_revision("c.md", None, "new", [add_writes(&["c"])]),
        // Second in the list, so that the first revision has to stay unwritten as well.
        new_revision("", None, "new", [add_writes(&["d"])]),
    ]);
    expect_refusal(revised, ErrorKind::Invalid, &[])?;
    same!(read_state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}

fn empty_list_changes_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_furnished(scene)?;
    let before = read_state(drawers.as_ref())?;
    same!(drawers.require_sources()?.revise(Vec::new())?, [], "answers");
    same!(read_state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}
