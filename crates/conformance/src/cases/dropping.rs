//! Dropping collections: everything they held is gone, and nothing else is.

use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, Collection, CollectionExt, DrawerCondition, ErrorKind, Facets, Get,
    IdempotencyKey, IdentityChange, Lexical, Query, Write,
};

use crate::case::refused;
use crate::revising::{all, remember};
use crate::samples::{all_ids, name, plain, read};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "dropping":
    "a dropped collection is gone from the collections of its palace" [-ReadOnly] => gone;
    "a missing palace or collection is not found" [-ReadOnly] => missing;
    "other collections are unchanged" [-ReadOnly] => others;
    "handles on the dropped collection are not found from then on" [-ReadOnly] => handles;
    "handles on the dropped collection in other processes are not found from then on" [+MultiProcess -ReadOnly] => handles_elsewhere;
    "a collection of that name that is made again is empty" [-ReadOnly] => made_again;
    "handles on the dropped collection are not found after a collection of that name was made again" [-ReadOnly] => old_handles;
    "handles in other processes are not found after a collection of that name was made again" [+MultiProcess -ReadOnly] => old_handles_elsewhere;
}

fn drop_drawers(scene: &Scene<'_>) -> Outcome {
    Ok(scene.backend().drop_collection(&scene.palace(), &drawers())?)
}

fn gone(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    scene.open_named("others")?;
    drop_drawers(scene)?;
    let listed = scene.backend().collections(&scene.palace())?;
    let names: Vec<&str> = listed.iter().map(|info| info.name.as_str()).collect();
    same!(names, ["others"], "collections");
    let opened = scene.backend().open(&scene.palace(), &drawers(), &scene.how());
    refused(opened, ErrorKind::NotFound, &[])
}

fn missing(scene: &Scene<'_>) -> Outcome {
    let backend = scene.backend();
    refused(
        backend.drop_collection(&scene.palace(), &drawers()),
        ErrorKind::NotFound,
        &[],
    )?;
    refused(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    scene.open()?;
    refused(
        backend.drop_collection(&scene.palace(), &name("others")),
        ErrorKind::NotFound,
        &["others"],
    )?;
    drop_drawers(scene)?;
    refused(
        backend.drop_collection(&scene.palace(), &drawers()),
        ErrorKind::NotFound,
        &[],
    )
}

fn others(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text of drawers")])?;
    let other = scene.fill_in(
        &scene.palace(),
        "others",
        [plain("a", "text of others"), plain("b", "text")],
    )?;
    let before = (other.info()?, other.get(&Get::default())?);
    drop_drawers(scene)?;
    same!(
        (other.info()?, other.get(&Get::default())?),
        before,
        "another collection"
    );
    if scene.can(Capability::Lexical) {
        same!(
            other.lexical(&Lexical::words("text", 10))?.len(),
            2,
            "hits in another collection"
        );
    }
    other.add(plain("c", "text"))?;
    same!(
        all_ids(other.as_ref())?,
        ["a", "b", "c"],
        "ids of another collection"
    );
    Ok(())
}

/// Shows that each method of a collection is refused as not found.
fn every_call_not_found(scene: &Scene<'_>, held: &dyn Collection) -> Outcome {
    let kind = ErrorKind::NotFound;
    refused(held.get(&Get::default()), kind, &[])?;
    refused(held.count(&DrawerCondition::default()), kind, &[])?;
    refused(held.facets(&Facets::by_room()), kind, &[])?;
    refused(held.info(), kind, &[])?;
    refused(held.add(plain("new", "text")), kind, &[])?;
    refused(
        held.set_identity(&model("model-a"), IdentityChange::Confirm),
        kind,
        &[],
    )?;
    if scene.can(Capability::EmbeddingsPassthrough) {
        refused(held.query(&Query::nearest(vec![1.0; 4], 1)), kind, &[])?;
    }
    if scene.can(Capability::Lexical) {
        refused(held.lexical(&Lexical::words("text", 1)), kind, &[])?;
    }
    if scene.can(Capability::Moment) {
        refused(held.moment().map(drop), kind, &[])?;
    }
    if let Some(feed) = held.feed() {
        refused(feed.changes_since(loci_core::Cursor(0), 1), kind, &[])?;
    }
    if let Some(spaces) = held.spaces() {
        refused(spaces.list_spaces(), kind, &[])?;
    }
    if let Some(sources) = held.sources() {
        refused(sources.find_records(&all()), kind, &[])?;
    }
    Ok(())
}

fn handles(scene: &Scene<'_>) -> Outcome {
    let held = scene.filled([plain("a", "text")])?;
    drop_drawers(scene)?;
    every_call_not_found(scene, held.as_ref())
}

fn handles_elsewhere(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let elsewhere = scene.open_elsewhere()?;
    same!(all_ids(elsewhere.as_ref())?, ["a"], "ids before");
    drop_drawers(scene)?;
    every_call_not_found(scene, elsewhere.as_ref())
}

fn made_again(scene: &Scene<'_>) -> Outcome {
    let held = scene.filled([plain("a", "text")])?;
    let key = IdempotencyKey::new("key 1")?;
    let batch = [Write::Add(plain("b", "text"))];
    held.apply(&ApplyRequest::batch(&batch).under_key(&key))?;
    if scene.can(Capability::Sources) {
        remember(held.as_ref(), &["a.md"])?;
    }
    drop_drawers(scene)?;
    let again = scene.open()?;
    same!(all_ids(again.as_ref())?, Vec::<String>::new(), "ids");
    same!(again.info()?.drawers, 0, "drawers by info");
    if let Some(sources) = again.sources() {
        same!(sources.find_records(&all())?, [], "records of sources");
    }
    let receipt = again.apply(&ApplyRequest::batch(&batch).under_key(&key))?;
    same!(
        receipt.added.len(),
        1,
        "drawers added under a key of the dropped collection"
    );
    Ok(())
}

/// Drops the collection and makes one of the same name that holds another drawer.
fn drop_and_make_again(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    drop_drawers(scene)?;
    let again = scene.open()?;
    again.add(plain("a", "another text"))?;
    Ok(again)
}

fn old_handles(scene: &Scene<'_>) -> Outcome {
    let held = scene.filled([plain("a", "text")])?;
    let again = drop_and_make_again(scene)?;
    every_call_not_found(scene, held.as_ref())?;
    same!(all_ids(again.as_ref())?, ["a"], "ids");
    same!(
        read(again.as_ref(), "a")?.document.as_deref(),
        Some("another text"),
        "text"
    );
    Ok(())
}

fn old_handles_elsewhere(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let elsewhere = scene.open_elsewhere()?;
    same!(all_ids(elsewhere.as_ref())?, ["a"], "ids before");
    drop_and_make_again(scene)?;
    every_call_not_found(scene, elsewhere.as_ref())
}
