//! Files that vanish or are replaced under open handles: no stale answer, no write into nowhere.

use std::sync::Arc;

use loci_core::{Collection, CollectionExt, CollectionReaderExt, ErrorKind, Get, OpenOptions};

use crate::case::refused;
use crate::samples::{all_ids, id, ids, plain};
use crate::scene::{drawers, make};
use crate::{Failure, Outcome, Scene};

cases! { "replaced_files":
    "a palace whose files vanished is not found" [+Local -ReadOnly] => vanished;
    "a palace made anew where one vanished is empty" [+Local -ReadOnly] => made_anew;
    "a handle on files that vanished never answers with what is gone" [+Local -ReadOnly] => no_stale_reads;
    "a handle on files that vanished never acknowledges a write that nobody can read" [+Local -ReadOnly] => no_lost_writes;
    "a palace whose files were replaced answers with what they hold now" [+Local -ReadOnly] => replaced;
    "a handle on files that were replaced never answers with what is gone" [+Local -ReadOnly] => no_stale_reads_replaced;
    "a handle on files that were replaced never acknowledges a write that nobody can read" [+Local -ReadOnly] => no_lost_writes_replaced;
}

fn done(world: Result<bool, String>) -> Outcome {
    match world? {
        true => Ok(()),
        false => Err(Failure::new(
            "the backend advertises local, so its world must be able to take files away and to replace them",
        )),
    }
}

/// An open handle on a palace whose files have just vanished.
fn vanish(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let held = scene.filled([plain("old", "text")])?;
    same!(all_ids(held.as_ref())?, ["old"], "ids before");
    done(scene.world().vanish())?;
    Ok(held)
}

/// An open handle on a palace whose files have just been replaced by those of another.
fn replace(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let held = scene.filled([plain("old", "text")])?;
    let other = scene.world().reopen()?;
    let filled = make(
        other.as_ref(),
        &scene.world().another_palace(),
        &drawers(),
        &scene.how(),
    )?;
    filled.add(plain("new", "text"))?;
    drop(filled);
    other.close();
    drop(other);
    same!(all_ids(held.as_ref())?, ["old"], "ids before");
    done(scene.world().replace())?;
    Ok(held)
}

fn vanished(scene: &Scene<'_>) -> Outcome {
    let _held = vanish(scene)?;
    let existing = OpenOptions::default();
    refused(
        scene.backend().open(&scene.palace(), &drawers(), &existing),
        ErrorKind::NotFound,
        &[],
    )?;
    refused(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )?;
    let palace = scene.palace();
    let folder = palace.folder()?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    Ok(())
}

fn made_anew(scene: &Scene<'_>) -> Outcome {
    let _held = vanish(scene)?;
    let anew = scene.open()?;
    same!(
        all_ids(anew.as_ref())?,
        Vec::<String>::new(),
        "ids of the new palace"
    );
    anew.add(plain("a", "text"))?;
    same!(
        all_ids(scene.open_elsewhere()?.as_ref())?,
        ["a"],
        "ids for another process"
    );
    Ok(())
}

/// Shows that a handle refuses to answer, or answers without the drawer that is gone.
fn not_stale(held: &dyn Collection) -> Outcome {
    if let Ok(found) = held.get(&Get::default()) {
        ensure!(
            !ids(&found).contains(&"old"),
            "expected no answer with what is gone, found {:?}",
            ids(&found)
        );
    }
    if let Ok(found) = held.find(&id("old")) {
        same!(found, None, "a drawer that is gone");
    }
    Ok(())
}

/// Shows that a handle refuses a write, or that another process can read it.
fn not_lost(scene: &Scene<'_>, held: &dyn Collection) -> Outcome {
    if held.add(plain("late", "text")).is_ok() {
        let elsewhere = scene.open_elsewhere()?;
        let found = elsewhere.find(&id("late"))?;
        ensure!(
            found.is_some(),
            "expected an acknowledged write to be there, found nothing"
        );
    }
    Ok(())
}

fn no_stale_reads(scene: &Scene<'_>) -> Outcome {
    let held = vanish(scene)?;
    not_stale(held.as_ref())?;
    scene.open()?;
    not_stale(held.as_ref())
}

fn no_lost_writes(scene: &Scene<'_>) -> Outcome {
    let held = vanish(scene)?;
    not_lost(scene, held.as_ref())?;
    scene.open()?;
    not_lost(scene, held.as_ref())
}

fn replaced(scene: &Scene<'_>) -> Outcome {
    let _held = replace(scene)?;
    same!(all_ids(scene.open()?.as_ref())?, ["new"], "ids");
    same!(
        all_ids(scene.open_elsewhere()?.as_ref())?,
        ["new"],
        "ids for another process"
    );
    Ok(())
}

fn no_stale_reads_replaced(scene: &Scene<'_>) -> Outcome {
    let held = replace(scene)?;
    not_stale(held.as_ref())?;
    scene.open()?;
    not_stale(held.as_ref())
}

fn no_lost_writes_replaced(scene: &Scene<'_>) -> Outcome {
    let held = replace(scene)?;
    not_lost(scene, held.as_ref())?;
    scene.open()?;
    not_lost(scene, held.as_ref())
}
