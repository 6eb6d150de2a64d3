//! Making collections: opened where they exist, or exclusively made.

use std::sync::{Arc, Barrier};

use loci_core::{Backend, CollectionExt, CreateMode, ErrorKind, OpenOptions};

use crate::case::refused;
use crate::samples::{all_ids, name, plain};
use crate::scene::drawers;
use crate::{Failure, Outcome, Scene};

cases! { "creation":
    "exclusive creation makes a collection, and its palace where that is missing" [-ReadOnly] => made;
    "exclusive creation of a collection that exists is a conflict and leaves it unchanged" [-ReadOnly] => existing;
    "of several exclusive creations at once exactly one succeeds" [-ReadOnly] => at_once;
    "of several exclusive creations by processes at once exactly one succeeds" [+MultiProcess -ReadOnly] => at_once_elsewhere;
    "create opens to be written whatever the options say" [-ReadOnly] => writable;
    "create refuses what open refuses of a collection that exists" [-ReadOnly] => refuses;
}

fn exclusively(
    backend: &dyn Backend,
    scene: &Scene<'_>,
    options: &OpenOptions,
) -> loci_core::Result<Arc<dyn loci_core::Collection>> {
    backend.create(&scene.palace(), &drawers(), CreateMode::Exclusive, options)
}

fn made(scene: &Scene<'_>) -> Outcome {
    let made = exclusively(scene.backend().as_ref(), scene, &scene.how())?;
    made.add(plain("a", "text"))?;
    same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids");
    let (palace, other) = (scene.palace(), name("other"));
    scene
        .backend()
        .create(&palace, &other, CreateMode::Exclusive, &scene.how())?;
    same!(scene.backend().collections(&palace)?.len(), 2, "collections");
    Ok(())
}

fn existing(scene: &Scene<'_>) -> Outcome {
    let held = scene.filled([plain("a", "text")])?;
    let before = (held.info()?, scene.backend().collections(&scene.palace())?);
    let again = exclusively(scene.backend().as_ref(), scene, &scene.how());
    refused(again, ErrorKind::Conflict, &["drawers"])?;
    let after = (held.info()?, scene.backend().collections(&scene.palace())?);
    same!(after, before, "the collection and those beside it");
    same!(all_ids(held.as_ref())?, ["a"], "ids");
    Ok(())
}

fn at_once(scene: &Scene<'_>) -> Outcome {
    let backends: Vec<_> = (0..4).map(|_| scene.backend()).collect();
    one_succeeds(scene, &backends)
}

fn at_once_elsewhere(scene: &Scene<'_>) -> Outcome {
    let backends = (0..4).map(|_| scene.another()).collect::<Outcome<Vec<_>>>()?;
    one_succeeds(scene, &backends)
}

fn one_succeeds(scene: &Scene<'_>, backends: &[Arc<dyn Backend>]) -> Outcome {
    let start = Barrier::new(backends.len());
    let made = std::thread::scope(|threads| {
        let start = &start;
        let make = move |backend: &Arc<dyn Backend>| {
            start.wait();
            exclusively(backend.as_ref(), scene, &scene.how())
        };
        let running: Vec<_> = backends
            .iter()
            .map(|backend| threads.spawn(move || make(backend)))
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.map_err(|_| Failure::new("a maker panicked")))
            .collect::<Outcome<Vec<_>>>()
    })?;
    let (succeeded, others): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    same!(succeeded.len(), 1, "creations that succeeded");
    for other in others {
        refused(other, ErrorKind::Conflict, &[])?;
    }
    Ok(())
}

fn writable(scene: &Scene<'_>) -> Outcome {
    let options = OpenOptions {
        writable: false,
        ..scene.how()
    };
    for called in ["a", "b"] {
        scene.make(&drawers(), &options)?.add(plain(called, "text"))?;
    }
    same!(all_ids(scene.open()?.as_ref())?, ["a", "b"], "ids");
    Ok(())
}

fn refuses(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let metrics = &scene.descriptor().metrics;
    let Some(other) = metrics
        .iter()
        .find(|metric| **metric != loci_core::Metric::Cosine)
    else {
        return Err(Failure::NotApplicable(
            "only for backends with more than one metric".into(),
        ));
    };
    let options = OpenOptions {
        metric: Some(*other),
        ..scene.how()
    };
    refused(
        scene.make(&drawers(), &options),
        ErrorKind::Invalid,
        &[other.name()],
    )
}
