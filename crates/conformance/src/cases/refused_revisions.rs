//! Revisions that are refused: an error anywhere leaves every drawer and record as it was.

use std::sync::Arc;

use loci_core::{Collection, CollectionExt, DrawerCondition, ErrorKind, Get, Patch, Selection, Write};

use super::revisions::{add, adds};
use crate::case::refused;
use crate::revising::{all, done, forgetting, remember, revision};
use crate::samples::{delete, id, plain, vectored};
use crate::turning::declaring;
use crate::{Outcome, Scene};

cases! { "refused_revisions":
    "an error in a later part leaves every drawer and record as it was" [+Sources -ReadOnly] => later_part;
    "an error in a later revision leaves every drawer and record as it was" [+Sources -ReadOnly] => later_revision;
    "a vector of another dimension in a later part is refused and nothing is written" [+Sources +EmbeddingsPassthrough -ReadOnly] => later_dimension;
    "vectors of parts are admitted as those of batches are" [+Sources +EmbeddingsPassthrough -ReadOnly] => admitted;
    "a source without a name is refused and nothing is written" [+Sources -ReadOnly] => nameless;
    "a list without revisions is empty in return and changes nothing" [+Sources -ReadOnly] => nothing;
}

/// Everything a collection holds that a revision could change.
fn state(collection: &dyn Collection) -> Outcome<impl PartialEq + std::fmt::Debug + use<>> {
    Ok((
        collection.get(&Get::default())?,
        collection.require_sources()?.find_records(&all())?,
        collection.info()?,
    ))
}

/// Batches that are refused for what is in them.
fn defects() -> [Vec<Write>; 4] {
    let no_filter = Write::Delete(Selection::Matching(DrawerCondition::default()));
    [
        vec![add("x", "text"), add("x", "again")],
        vec![add("x", "text"), Write::Update(Patch::new(id("a")))],
        vec![add("x", "text"), no_filter],
        vec![add("x", "text"), Write::Delete(Selection::Ids(vec![]))],
    ]
}

/// A collection with drawers and records to lose.
fn furnished(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let drawers = scene.filled([plain("a", "text"), plain("b", "text")])?;
    remember(drawers.as_ref(), &["a.md", "b.md"])?;
    Ok(drawers)
}

fn later_part(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    let before = state(drawers.as_ref())?;
    let expects = Some(drawers.require_sources()?.find_records(&all())?[0].revision);
    for bad in defects() {
        for at in 0..3 {
            let mut parts = vec![
                adds(&["c", "d"]),
                vec![delete("a"), Write::Upsert(plain("b", "changed"))],
                adds(&["e"]),
            ];
            parts.insert(at, bad.clone());
            let revised = drawers
                .require_sources()?
                .revise(vec![revision("a.md", expects, "new", parts)]);
            refused(revised, ErrorKind::Invalid, &[])?;
            same!(state(drawers.as_ref())?, before, "what is stored");
        }
    }
    Ok(())
}

fn later_revision(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    let before = state(drawers.as_ref())?;
    let read = drawers.require_sources()?.find_records(&all())?;
    for bad in defects() {
        let revised = drawers.require_sources()?.revise(vec![
            revision("a.md", Some(read[0].revision), "new", [vec![delete("a")]]),
            revision("c.md", None, "new", [adds(&["c"])]),
            forgetting("b.md", Some(read[1].revision)),
            revision("d.md", None, "new", [adds(&["d"]), bad]),
        ]);
        refused(revised, ErrorKind::Invalid, &[])?;
        same!(state(drawers.as_ref())?, before, "what is stored");
    }
    Ok(())
}

fn with_vector(called: &str, vector: &[f32]) -> Write {
    Write::Add(vectored(called, "text", vector))
}

fn later_dimension(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    let (right, wrong) = ([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
    let before = state(drawers.as_ref())?;
    let parts = [
        vec![with_vector("c", &right), delete("a")],
        vec![with_vector("d", &right)],
        vec![with_vector("e", &wrong)],
    ];
    let revised = drawers.require_sources()?.revise(vec![
        revision("c.md", None, "new", [adds(&["f"])]),
        revision("d.md", None, "new", parts),
    ]);
    refused(revised, ErrorKind::DimensionMismatch, &[])?;
    same!(state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}

fn admitted(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    drawers.apply_batch(&[with_vector("v", &[1.0, 0.0, 0.0, 0.0])])?;
    let before = state(drawers.as_ref())?;
    let bad = [
        (with_vector("x", &[f32::NAN, 0.0, 0.0, 1.0]), ErrorKind::Invalid),
        (with_vector("x", &[0.0; 4]), ErrorKind::Invalid),
    ];
    for (write, kind) in bad {
        let revised = drawers.require_sources()?.revise(vec![revision(
            "c.md",
            None,
            "new",
            [adds(&["c"]), vec![write]],
        )]);
        refused(revised, kind, &[])?;
        same!(state(drawers.as_ref())?, before, "what is stored");
    }
    let undeclared = declaring(scene, None)?;
    let part = || vec![with_vector("x", &[0.0, 1.0, 0.0, 0.0])];
    let by_apply = undeclared.apply_batch(&part()).map_err(|error| error.kind());
    let by_revise =
        undeclared
            .require_sources()?
            .revise(vec![revision("c.md", None, "new", [adds(&["c"]), part()])]);
    match by_apply {
        Ok(_) => done(by_revise?.remove(0)).map(drop),
        Err(kind) => {
            refused(by_revise, kind, &[])?;
            same!(state(drawers.as_ref())?, before, "what is stored");
            Ok(())
        }
    }
}

fn nameless(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    let before = state(drawers.as_ref())?;
    let revised = drawers.require_sources()?.revise(vec![
        revision("c.md", None, "new", [adds(&["c"])]),
        revision("", None, "new", [adds(&["d"])]),
    ]);
    refused(revised, ErrorKind::Invalid, &[])?;
    same!(state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}

fn nothing(scene: &Scene<'_>) -> Outcome {
    let drawers = furnished(scene)?;
    let before = state(drawers.as_ref())?;
    same!(drawers.require_sources()?.revise(Vec::new())?, [], "answers");
    same!(state(drawers.as_ref())?, before, "what is stored");
    Ok(())
}
