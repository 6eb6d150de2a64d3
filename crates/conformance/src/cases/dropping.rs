//! Dropping collections: everything they held is gone, and nothing else changes.

use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, Collection, CollectionExt, DrawerCondition, ErrorKind, FacetRequest,
    GetRequest, IdempotencyKey, IdentityChange, LexicalRequest, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::revising::{every_record, store_records};
use crate::samples::{all_ids, collection_name, read_drawer, text_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "dropping":
    "a dropped collection is gone from the collections of its palace" [-ReadOnly] => dropped_is_gone;
    "a missing palace or collection is not found" [-ReadOnly] => missing_is_not_found;
    "other collections are unchanged" [-ReadOnly] => others_are_unchanged;
    "handles on the dropped collection are not found from then on" [-ReadOnly] => handles_are_not_found;
    "handles on the dropped collection in other processes are not found from then on" [+MultiProcess -ReadOnly] => handles_elsewhere;
    "a collection of that name that is made again is empty" [-ReadOnly] => made_again;
    "handles on the dropped collection are not found after a collection of that name was made again" [-ReadOnly] => old_handles;
    "handles in other processes are not found after a collection of that name was made again" [+MultiProcess -ReadOnly] => old_handles_elsewhere;
}

fn drop_drawers(scene: &CaseScene<'_>) -> CaseOutcome {
    Ok(scene
        .backend()
        .drop_collection(&scene.palace(), &default_collection())?)
}

fn dropped_is_gone(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    // A second collection keeps the palace itself alive, so that its list of collections can still be read.
    scene.open_named("others")?;
    drop_drawers(scene)?;
    let listed = scene.backend().collections(&scene.palace())?;
    let names: Vec<&str> = listed.iter().map(|info| info.name.as_str()).collect();
    same!(names, ["others"], "collections");
    let opened = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &scene.usual_options());
    expect_refusal(opened, ErrorKind::NotFound, &[])
}

fn missing_is_not_found(scene: &CaseScene<'_>) -> CaseOutcome {
    let backend = scene.backend();
    expect_refusal(
        backend.drop_collection(&scene.palace(), &default_collection()),
        ErrorKind::NotFound,
        &[],
    )?;
    // A failed drop must not create the palace on its way.
    expect_refusal(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    scene.open()?;
    expect_refusal(
        backend.drop_collection(&scene.palace(), &collection_name("others")),
        ErrorKind::NotFound,
        &["others"],
    )?;
    // Dropping twice: the second must not be reported as a success.
    drop_drawers(scene)?;
    expect_refusal(
        backend.drop_collection(&scene.palace(), &default_collection()),
        ErrorKind::NotFound,
        &[],
    )
}

fn others_are_unchanged(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text of drawers")])?;
    // The same id in both: a drop that removes rows by id, or that shares an index between collections,
    // damages this one.
    let other = scene.fill_in(
        &scene.palace(),
        "others",
        [text_drawer("a", "text of others"), text_drawer("b", "text")],
    )?;
    let before = (other.info()?, other.get(&GetRequest::default())?);
    drop_drawers(scene)?;
    same!(
        (other.info()?, other.get(&GetRequest::default())?),
        before,
        "another collection"
    );
    // Word statistics are often shared by the collections of a file and are easily forgotten in a drop.
    if scene.can(Capability::Lexical) {
        same!(
            other.lexical(&LexicalRequest::for_words("text", 10))?.len(),
            2,
            "hits in another collection"
        );
    }
    // Still writable: the drop may not leave a lock or a broken counter behind.
    other.add_drawer(text_drawer("c", "text"))?;
    same!(
        all_ids(other.as_ref())?,
        ["a", "b", "c"],
        "ids of another collection"
    );
    Ok(())
}

/// Checks that each method of a collection is refused as not found.
fn expect_not_found(scene: &CaseScene<'_>, held: &dyn Collection) -> CaseOutcome {
    let kind = ErrorKind::NotFound;
    // Every method by itself: each has its own path to the rows, and an empty answer from any of them would
    // look like an empty collection to the caller.
    expect_refusal(held.get(&GetRequest::default()), kind, &[])?;
    expect_refusal(held.count(&DrawerCondition::default()), kind, &[])?;
    expect_refusal(held.facets(&FacetRequest::by_room()), kind, &[])?;
    expect_refusal(held.info(), kind, &[])?;
    expect_refusal(held.add_drawer(text_drawer("new", "text")), kind, &[])?;
    expect_refusal(
        held.set_identity(&model_called("model-a"), IdentityChange::Confirm),
        kind,
        &[],
    )?;
    if scene.can(Capability::EmbeddingsPassthrough) {
        expect_refusal(held.query(&QueryRequest::nearest_to(vec![1.0; 4], 1)), kind, &[])?;
    }
    if scene.can(Capability::Lexical) {
        expect_refusal(held.lexical(&LexicalRequest::for_words("text", 1)), kind, &[])?;
    }
    if scene.can(Capability::Moment) {
        expect_refusal(held.moment().map(drop), kind, &[])?;
    }
    if let Some(feed) = held.feed() {
        expect_refusal(feed.changes_since(loci_core::Cursor(0), 1), kind, &[])?;
    }
    if let Some(spaces) = held.spaces() {
        expect_refusal(spaces.list_spaces(), kind, &[])?;
    }
    if let Some(sources) = held.sources() {
        expect_refusal(sources.find_records(&every_record()), kind, &[])?;
    }
    Ok(())
}

fn handles_are_not_found(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = scene.open_filled([text_drawer("a", "text")])?;
    drop_drawers(scene)?;
    expect_not_found(scene, held.as_ref())
}

fn handles_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let elsewhere = scene.open_elsewhere()?;
    // Read first, so that the other process holds prepared statements or caches that are about to become
    // stale.
    same!(all_ids(elsewhere.as_ref())?, ["a"], "ids before");
    drop_drawers(scene)?;
    expect_not_found(scene, elsewhere.as_ref())
}

fn made_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = scene.open_filled([text_drawer("a", "text")])?;
    // Keys and source records are kept beside the drawers and outlive a drop that deletes only rows.
    let key = IdempotencyKey::new("key 1")?;
    let batch = [Write::Add(text_drawer("b", "text"))];
    held.apply(&ApplyRequest::from_writes(&batch).under_key(&key))?;
    if scene.can(Capability::Sources) {
        store_records(held.as_ref(), &["a.md"])?;
    }
    drop_drawers(scene)?;
    let again = scene.open()?;
    same!(all_ids(again.as_ref())?, Vec::<String>::new(), "ids");
    same!(again.info()?.drawers, 0, "drawers by info");
    if let Some(sources) = again.sources() {
        same!(sources.find_records(&every_record())?, [], "records of sources");
    }
    // A key that survived would return the old receipt, and the drawer would never be written.
    let receipt = again.apply(&ApplyRequest::from_writes(&batch).under_key(&key))?;
    same!(
        receipt.added.len(),
        1,
        "drawers added under a key of the dropped collection"
    );
    Ok(())
}

/// Drops the collection and makes one of the same name that holds a different drawer.
fn drop_and_make_again(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    drop_drawers(scene)?;
    let again = scene.open()?;
    // The same id with another text: an old handle that follows the name would read this text.
    again.add_drawer(text_drawer("a", "another text"))?;
    Ok(again)
}

fn old_handles(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = scene.open_filled([text_drawer("a", "text")])?;
    let again = drop_and_make_again(scene)?;
    expect_not_found(scene, held.as_ref())?;
    same!(all_ids(again.as_ref())?, ["a"], "ids");
    same!(
        read_drawer(again.as_ref(), "a")?.document.as_deref(),
        Some("another text"),
        "text"
    );
    Ok(())
}

fn old_handles_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let elsewhere = scene.open_elsewhere()?;
    same!(all_ids(elsewhere.as_ref())?, ["a"], "ids before");
    drop_and_make_again(scene)?;
    expect_not_found(scene, elsewhere.as_ref())
}
