//! From making a backend to closing it, and what a sudden end leaves behind.

use std::sync::Arc;

use loci_core::{
    Backend, Capability, Collection, CollectionExt, Cursor, DrawerCondition, ErrorKind, Facets, Get,
    IdentityChange, Lexical, Pending, Query, Revision, Switch,
};

use crate::case::refused;
use crate::revising::{all, revision};
use crate::samples::{all_ids, id, plain};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "lifecycle":
    "making a backend does no i/o" [+Local] => no_io;
    "the descriptor never changes" [] => descriptor;
    "health says whether a palace can be used, and never creates anything" [] => health;
    "closing a palace that was never opened is fine" [] => never_opened;
    "the collections of a closed palace are closed" [] => closed_palace;
    "a closed palace can be opened again" [] => opened_again;
    "closing one palace leaves another open" [] => other_palace;
    "after close every call on the backend is closed" [] => closed_backend;
    "after close every call on its collections is closed" [] => closed_collections;
    "closing twice is fine" [] => closed_twice;
    "closing one instance leaves another open" [+MultiProcess] => other_instance;
    "every acknowledged write is there after everything is dropped without closing" [-ReadOnly] => dropped;
    "every acknowledged write is there after a crash" [-ReadOnly] => crashed;
}

fn no_io(scene: &Scene<'_>) -> Outcome {
    let palace = scene.palace();
    let folder = palace.folder()?;
    scene.world().reopen()?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    Ok(())
}

fn descriptor(scene: &Scene<'_>) -> Outcome {
    let before = scene.descriptor().clone();
    scene.filled([plain("a", "text")])?;
    same!(*scene.backend().descriptor(), before, "descriptor after writing");
    same!(
        *scene.world().reopen()?.descriptor(),
        before,
        "descriptor of another instance"
    );
    scene.backend().close();
    same!(*scene.backend().descriptor(), before, "descriptor after closing");
    Ok(())
}

fn health(scene: &Scene<'_>) -> Outcome {
    let backend = scene.backend();
    ensure!(
        backend.health(None).ok,
        "expected a usable backend, found {:?}",
        backend.health(None)
    );
    backend.health(Some(&scene.palace()));
    if let Some(folder) = &scene.palace().local_path {
        ensure!(
            !folder.exists(),
            "expected no folder at {}, found one",
            folder.display()
        );
    }
    refused(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    scene.filled([plain("a", "text")])?;
    let found = backend.health(Some(&scene.palace()));
    ensure!(found.ok, "expected a usable palace, found {found:?}");
    backend.close();
    let found = backend.health(None);
    ensure!(
        !found.ok,
        "expected a closed backend not to be usable, found {found:?}"
    );
    Ok(())
}

fn never_opened(scene: &Scene<'_>) -> Outcome {
    scene.backend().close_palace(&scene.palace());
    same!(
        all_ids(scene.filled([plain("a", "text")])?.as_ref())?,
        ["a"],
        "ids"
    );
    Ok(())
}

fn closed_palace(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([plain("a", "text")])?;
    scene.backend().close_palace(&scene.palace());
    every_call_closed(scene, collection.as_ref())
}

fn opened_again(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    for _ in 0..3 {
        scene.backend().close_palace(&scene.palace());
        same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids");
    }
    Ok(())
}

fn other_palace(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([plain("a", "text")])?;
    scene.backend().close_palace(&scene.world().another_palace());
    scene.open_in(&scene.world().another_palace(), "drawers")?;
    scene.backend().close_palace(&scene.world().another_palace());
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    Ok(())
}

fn closed_backend(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let backend: Arc<dyn Backend> = scene.backend();
    backend.close();
    let palace = scene.palace();
    refused(
        backend.open(&palace, &drawers(), &scene.how()),
        ErrorKind::Closed,
        &[],
    )?;
    refused(
        backend.open(&palace, &drawers(), &loci_core::OpenOptions::default()),
        ErrorKind::Closed,
        &[],
    )?;
    let made = scene.make(&drawers(), &scene.how());
    refused(made, ErrorKind::Closed, &[])?;
    refused(
        backend.drop_collection(&palace, &drawers()),
        ErrorKind::Closed,
        &[],
    )?;
    refused(backend.collections(&palace), ErrorKind::Closed, &[])?;
    backend.close_palace(&palace);
    Ok(())
}

fn closed_collections(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([plain("a", "text")])?;
    scene.backend().close();
    every_call_closed(scene, collection.as_ref())
}

/// Shows that each method of a collection is refused as closed, whatever the backend advertises.
fn every_call_closed(scene: &Scene<'_>, collection: &dyn Collection) -> Outcome {
    let closed = ErrorKind::Closed;
    refused(collection.add(plain("b", "text")), closed, &[])?;
    refused(collection.get(&Get::default()), closed, &[])?;
    refused(collection.query(&Query::nearest(vec![1.0; 4], 1)), closed, &[])?;
    refused(collection.lexical(&Lexical::words("text", 1)), closed, &[])?;
    refused(collection.count(&DrawerCondition::default()), closed, &[])?;
    refused(collection.facets(&Facets::by_room()), closed, &[])?;
    refused(collection.info(), closed, &[])?;
    refused(
        collection.set_identity(&model("model-a"), IdentityChange::Confirm),
        closed,
        &[],
    )?;
    refused(collection.moment(), closed, &[])?;
    every_call_of_a_sub_trait_closed(scene, collection)
}

/// Shows the same of each ability that is advertised.
fn every_call_of_a_sub_trait_closed(scene: &Scene<'_>, collection: &dyn Collection) -> Outcome {
    let closed = ErrorKind::Closed;
    if let Some(kind) = scene.descriptor().maintenance.first() {
        refused(collection.require_upkeep()?.state(), closed, &[])?;
        refused(collection.require_upkeep()?.run(kind), closed, &[])?;
    }
    if scene.can(Capability::ChangeFeed) {
        let changes = collection.require_feed()?.changes_since(Cursor(0), 1);
        refused(changes, closed, &[])?;
    }
    if let Some(eraser) = collection.eraser() {
        refused(eraser.erase(&[id("a")]), closed, &[])?;
    }
    if scene.can(Capability::Spaces) {
        refused(collection.require_spaces()?.list_spaces(), closed, &[])?;
        refused(
            collection.require_spaces()?.take_step(&Switch::Pause),
            closed,
            &[],
        )?;
        refused(
            collection.require_spaces()?.fill_vectors(&model("model-a"), &[]),
            closed,
            &[],
        )?;
        let request = Pending {
            identity: model("model-a"),
            after: 0,
            limit: 1,
        };
        refused(collection.require_spaces()?.list_pending(&request), closed, &[])?;
    }
    if scene.can(Capability::Sources) {
        refused(collection.require_sources()?.find_records(&all()), closed, &[])?;
        let forget = Revision {
            stamp: None,
            ..revision("a.md", None, "", [])
        };
        refused(collection.require_sources()?.revise(vec![forget]), closed, &[])?;
        refused(collection.require_sources()?.revise(Vec::new()), closed, &[])?;
    }
    Ok(())
}

fn closed_twice(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    scene.backend().close();
    scene.backend().close();
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["a"],
        "ids for another instance"
    );
    Ok(())
}

fn other_instance(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([plain("a", "text")])?;
    let other = scene.world().reopen()?;
    let elsewhere = other.open(&scene.palace(), &drawers(), &loci_core::OpenOptions::default())?;
    other.close();
    refused(
        elsewhere.count(&DrawerCondition::default()),
        ErrorKind::Closed,
        &[],
    )?;
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    Ok(())
}

fn dropped(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    scene.each_without_closing(5, |n, collection| {
        collection.add(plain(&format!("d{n}"), "text"))?;
        Ok(())
    })?;
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["d0", "d1", "d2", "d3", "d4"],
        "ids"
    );
    Ok(())
}

fn crashed(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    if !scene.world().crash() {
        return Err(crate::Failure::NotApplicable("this world cannot crash".into()));
    }
    same!(all_ids(scene.open_afterwards()?.as_ref())?, ["a"], "ids");
    Ok(())
}
