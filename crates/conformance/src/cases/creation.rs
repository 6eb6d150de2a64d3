//! Creating collections: `create` opens an existing one, unless exclusive creation is asked for.

use std::sync::{Arc, Barrier};

use loci_core::{Backend, CollectionExt, CreateMode, ErrorKind, OpenOptions};

use crate::case::expect_refusal;
use crate::samples::{all_ids, collection_name, text_drawer};
use crate::scene::default_collection;
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "creation":
    "exclusive creation makes a collection, and its palace where that is missing" [-ReadOnly] => makes_collection_and_palace;
    "exclusive creation of a collection that exists is a conflict and leaves it unchanged" [-ReadOnly] => existing_is_a_conflict;
    "of several exclusive creations at once exactly one succeeds" [-ReadOnly] => one_instance_succeeds;
    "of several exclusive creations by processes at once exactly one succeeds" [+MultiProcess -ReadOnly] => one_process_succeeds;
    "create opens to be written whatever the options say" [-ReadOnly] => opens_to_be_written;
    "create refuses what open refuses of a collection that exists" [-ReadOnly] => refuses_like_open;
}

fn create_exclusively(
    backend: &dyn Backend,
    scene: &CaseScene<'_>,
    options: &OpenOptions,
) -> loci_core::Result<Arc<dyn loci_core::Collection>> {
    backend.create(
        &scene.palace(),
        &default_collection(),
        CreateMode::Exclusive,
        options,
    )
}

fn makes_collection_and_palace(scene: &CaseScene<'_>) -> CaseOutcome {
    let made = create_exclusively(scene.backend().as_ref(), scene, &scene.usual_options())?;
    // The handle that `create` returns must be usable itself, and must be on the collection that a later
    // open finds.
    made.add_drawer(text_drawer("a", "text"))?;
    same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids");
    let (palace, other) = (scene.palace(), collection_name("other"));
    scene
        .backend()
        .create(&palace, &other, CreateMode::Exclusive, &scene.usual_options())?;
    same!(scene.backend().collections(&palace)?.len(), 2, "collections");
    Ok(())
}

fn existing_is_a_conflict(scene: &CaseScene<'_>) -> CaseOutcome {
    let held = scene.open_filled([text_drawer("a", "text")])?;
    // The list of collections as well: a failed creation must not leave an entry behind or change the
    // options.
    let before = (held.info()?, scene.backend().collections(&scene.palace())?);
    let again = create_exclusively(scene.backend().as_ref(), scene, &scene.usual_options());
    expect_refusal(again, ErrorKind::Conflict, &["drawers"])?;
    let after = (held.info()?, scene.backend().collections(&scene.palace())?);
    same!(after, before, "the collection and those beside it");
    same!(all_ids(held.as_ref())?, ["a"], "ids");
    Ok(())
}

fn one_instance_succeeds(scene: &CaseScene<'_>) -> CaseOutcome {
    // Handles of one instance: a lock that only keeps other processes out does not help here.
    let backends: Vec<_> = (0..4).map(|_| scene.backend()).collect();
    expect_one_creation(scene, &backends)
}

fn one_process_succeeds(scene: &CaseScene<'_>) -> CaseOutcome {
    let backends = (0..4)
        .map(|_| scene.another_backend())
        .collect::<CaseOutcome<Vec<_>>>()?;
    expect_one_creation(scene, &backends)
}

fn expect_one_creation(scene: &CaseScene<'_>, backends: &[Arc<dyn Backend>]) -> CaseOutcome {
    let start = Barrier::new(backends.len());
    let made = std::thread::scope(|threads| {
        let start = &start;
        let make = move |backend: &Arc<dyn Backend>| {
            start.wait();
            create_exclusively(backend.as_ref(), scene, &scene.usual_options())
        };
        let running: Vec<_> = backends
            .iter()
            .map(|backend| threads.spawn(move || make(backend)))
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.map_err(|_| CaseFailure::new("a maker panicked")))
            .collect::<CaseOutcome<Vec<_>>>()
    })?;
    let (succeeded, others): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    same!(succeeded.len(), 1, "creations that succeeded");
    for other in others {
        // `Conflict`, not `Locked` or an I/O error: the losers must be able to tell that the collection
        // exists now.
        expect_refusal(other, ErrorKind::Conflict, &[])?;
    }
    Ok(())
}

fn opens_to_be_written(scene: &CaseScene<'_>) -> CaseOutcome {
    let options = OpenOptions {
        writable: false,
        ..scene.usual_options()
    };
    // Once when the collection is created and once when it exists already.
    for called in ["a", "b"] {
        scene
            .make_collection(&default_collection(), &options)?
            .add_drawer(text_drawer(called, "text"))?;
    }
    same!(all_ids(scene.open()?.as_ref())?, ["a", "b"], "ids");
    Ok(())
}

fn refuses_like_open(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let metrics = &scene.descriptor().metrics;
    // The collection was created with the default, cosine; any other advertised metric contradicts it.
    let Some(other) = metrics
        .iter()
        .find(|metric| **metric != loci_core::Metric::Cosine)
    else {
        return Err(CaseFailure::NotApplicable(
            "only for backends with more than one metric".into(),
        ));
    };
    let options = OpenOptions {
        metric: Some(*other),
        ..scene.usual_options()
    };
    expect_refusal(
        scene.make_collection(&default_collection(), &options),
        ErrorKind::Invalid,
        &[other.name()],
    )
}
