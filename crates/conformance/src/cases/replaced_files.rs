//! Files that vanish or are replaced under open handles: no stale answers, no lost writes.

use std::sync::Arc;

use loci_core::{Collection, CollectionExt, CollectionReaderExt, ErrorKind, GetRequest, OpenOptions};

use crate::case::expect_refusal;
use crate::samples::{all_ids, drawer_ids, id, text_drawer};
use crate::scene::{default_collection, make_collection};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "replaced_files":
    "a palace whose files vanished is not found" [+Local -ReadOnly] => vanished_is_not_found;
    "a palace that vanished under an instance is not made anew by it" [+Local -ReadOnly] => not_made_anew;
    "a palace made anew where one vanished is empty" [+Local -ReadOnly] => made_anew;
    "a handle on files that vanished never answers with what is gone" [+Local -ReadOnly] => no_stale_reads;
    "a handle on files that vanished never acknowledges a write that nobody can read" [+Local -ReadOnly] => no_lost_writes;
    "another palace in the place of one that an instance has used is refused by it" [+Local -ReadOnly] => refuses_another;
    "a palace whose files were replaced answers a new instance with what they hold now" [+Local -ReadOnly] => answers_with_new_files;
    "a handle on files that were replaced never answers with what is gone" [+Local -ReadOnly] => no_stale_reads_replaced;
    "a handle on files that were replaced never acknowledges a write that nobody can read" [+Local -ReadOnly] => no_lost_writes_replaced;
}

fn expect_done(world: Result<bool, String>) -> CaseOutcome {
    if world? {
        Ok(())
    } else {
        Err(CaseFailure::new(
            "the backend advertises local, so its world must be able to remove and to replace files",
        ))
    }
}

/// An open handle on a palace whose files have just vanished.
fn open_and_vanish(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let held = scene.open_filled([text_drawer("old", "text")])?;
    // A read makes sure that files are open and caches are warm.
    same!(all_ids(held.as_ref())?, ["old"], "ids before");
    expect_done(scene.world().remove_files())?;
    Ok(held)
}

/// An open handle on a palace whose files have just been replaced by those of another.
fn open_and_replace(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let held = scene.open_filled([text_drawer("old", "text")])?;
    // Filled by another instance that is closed again, so that the one under test has never seen these
    // files.
    let other = scene.world().reopen()?;
    let filled = make_collection(
        other.as_ref(),
        &scene.world().another_palace(),
        &default_collection(),
        &scene.usual_options(),
    )?;
    filled.add_drawer(text_drawer("new", "text"))?;
    drop(filled);
    other.close();
    drop(other);
    same!(all_ids(held.as_ref())?, ["old"], "ids before");
    expect_done(scene.world().replace_files())?;
    Ok(held)
}

fn vanished_is_not_found(scene: &CaseScene<'_>) -> CaseOutcome {
    let _held = open_and_vanish(scene)?;
    let existing = OpenOptions::default();
    expect_refusal(
        scene
            .backend()
            .open(&scene.palace(), &default_collection(), &existing),
        ErrorKind::NotFound,
        &[],
    )?;
    expect_refusal(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )?;
    // Looking for the palace must not create its folder again.
    expect_no_folder(scene)
}

fn expect_no_folder(scene: &CaseScene<'_>) -> CaseOutcome {
    let palace = scene.palace();
    let folder = palace.require_folder()?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    Ok(())
}

fn not_made_anew(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_vanish(scene)?;
    // The palace was moved or deleted by hand. A server that quietly begins a new one would file what its clients send
    // where no reader looks for it.
    let made = scene.make_collection(&default_collection(), &scene.usual_options());
    expect_refusal(made, ErrorKind::NotFound, &[])?;
    expect_refusal(
        held.add_drawer(text_drawer("late", "text")),
        ErrorKind::NotFound,
        &[],
    )?;
    expect_no_folder(scene)
}

fn refuses_another(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_replace(scene)?;
    expect_refusal(held.get(&GetRequest::default()), ErrorKind::Conflict, &[])?;
    expect_refusal(
        held.add_drawer(text_drawer("late", "text")),
        ErrorKind::Conflict,
        &[],
    )?;
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["new"],
        "ids for a new instance"
    );
    Ok(())
}

/// A new palace in the place of the one that vanished, made by another instance.
fn make_anew(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let other = scene.world().reopen()?;
    Ok(make_collection(
        other.as_ref(),
        &scene.palace(),
        &default_collection(),
        &scene.usual_options(),
    )?)
}

fn made_anew(scene: &CaseScene<'_>) -> CaseOutcome {
    let _held = open_and_vanish(scene)?;
    let anew = make_anew(scene)?;
    same!(
        all_ids(anew.as_ref())?,
        Vec::<String>::new(),
        "ids of the new palace"
    );
    anew.add_drawer(text_drawer("a", "text"))?;
    drop(anew);
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["a"],
        "ids for a new instance"
    );
    Ok(())
}

/// Checks that a handle refuses to answer, or answers without the drawer that is gone.
fn expect_not_stale(held: &dyn Collection) -> CaseOutcome {
    // An error is fine, and so is an answer from the new files; only data that is gone must not appear.
    // Unix keeps deleted files readable for processes that have them open.
    if let Ok(found) = held.get(&GetRequest::default()) {
        ensure!(
            !drawer_ids(&found).contains(&"old"),
            "expected no answer with what is gone, found {:?}",
            drawer_ids(&found)
        );
    }
    if let Ok(found) = held.find_drawer(&id("old")) {
        same!(found, None, "a drawer that is gone");
    }
    Ok(())
}

/// Checks that a handle refuses a write, or that another process can read it.
fn expect_not_lost(scene: &CaseScene<'_>, held: &dyn Collection) -> CaseOutcome {
    // Writing to an unlinked file succeeds, and the data disappears when it is closed.
    if held.add_drawer(text_drawer("late", "text")).is_ok() {
        let elsewhere = scene.open_elsewhere()?;
        let found = elsewhere.find_drawer(&id("late"))?;
        ensure!(
            found.is_some(),
            "expected an acknowledged write to be there, found nothing"
        );
    }
    Ok(())
}

fn no_stale_reads(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_vanish(scene)?;
    expect_not_stale(held.as_ref())?;
    // Again once a new palace stands in the same place: a check for existence alone would now pass.
    make_anew(scene)?;
    expect_not_stale(held.as_ref())
}

fn no_lost_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_vanish(scene)?;
    expect_not_lost(scene, held.as_ref())?;
    make_anew(scene)?;
    expect_not_lost(scene, held.as_ref())
}

fn answers_with_new_files(scene: &CaseScene<'_>) -> CaseOutcome {
    let _held = open_and_replace(scene)?;
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["new"],
        "ids for a new instance"
    );
    Ok(())
}

fn no_stale_reads_replaced(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_replace(scene)?;
    expect_not_stale(held.as_ref())?;
    // Without several processes at a time the backend under test itself answers, and may refuse.
    let _ = scene.open_elsewhere();
    expect_not_stale(held.as_ref())
}

fn no_lost_writes_replaced(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = open_and_replace(scene)?;
    expect_not_lost(scene, held.as_ref())?;
    // Without several processes at a time the backend under test itself answers, and may refuse.
    let _ = scene.open_elsewhere();
    expect_not_lost(scene, held.as_ref())
}
