//! Opening: what is made, what is not, and what an opener may declare.

use loci_core::{Capability, CollectionExt, ErrorKind, IdentityState, Metric, OpenOptions};

use crate::case::refused;
use crate::samples::{all_ids, name, plain, vectored};
use crate::scene::{drawers, make, model};
use crate::{Failure, Outcome, Scene};

cases! { "open":
    "a missing palace is not found and nothing is created" [] => missing_palace;
    "of a missing palace not even a folder is created" [+Local] => no_folder;
    "a missing collection is not found and nothing is created" [] => missing_collection;
    "create opens a collection that exists" [-ReadOnly] => idempotent;
    "local folders are made private to their owner (0700)" [+Local -ReadOnly] => private_folder;
    "a new collection compares by cosine if no metric is given" [-ReadOnly] => cosine_by_default;
    "a declared metric that is not the collection's is invalid" [-ReadOnly] => other_metric;
    "a metric that is not advertised is refused" [-ReadOnly] => unknown_metric;
    "a declared dimension other than the stored vectors' is a dimension mismatch" [+EmbeddingsPassthrough -ReadOnly] => other_dimension;
    "a declared embedder of another dimension is refused" [+EmbeddingsPassthrough -ReadOnly] => embedder_of_other_dimension;
    "a dimension given for a new collection is checked on first write" [+EmbeddingsPassthrough -ReadOnly] => dimension_on_first_write;
    "the collections of a palace are listed by name" [] => collections_listed;
    "the collections of a missing palace are not found" [] => no_collections;
    "a collection is found again by another process" [+MultiProcess] => found_elsewhere;
    "a palace that another process made after it was not found is found" [+MultiProcess -ReadOnly] => made_elsewhere;
}

fn existing() -> OpenOptions {
    OpenOptions::default()
}

fn missing_palace(scene: &Scene<'_>) -> Outcome {
    let backend = scene.backend();
    for _ in 0..2 {
        refused(
            backend.open(&scene.palace(), &drawers(), &existing()),
            ErrorKind::NotFound,
            &[],
        )?;
        refused(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    }
    Ok(())
}

fn no_folder(scene: &Scene<'_>) -> Outcome {
    let palace = scene.palace();
    let folder = palace.folder()?;
    let beside = || -> Vec<_> {
        let entries = folder
            .parent()
            .map(std::fs::read_dir)
            .into_iter()
            .flatten()
            .flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    };
    let before = beside();
    refused(
        scene.backend().open(&palace, &drawers(), &existing()),
        ErrorKind::NotFound,
        &[],
    )?;
    refused(scene.backend().collections(&palace), ErrorKind::NotFound, &[])?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    same!(beside(), before, "what stands beside the palace");
    Ok(())
}

fn missing_collection(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    let other = name("other");
    refused(
        scene.backend().open(&scene.palace(), &other, &existing()),
        ErrorKind::NotFound,
        &[],
    )?;
    let listed = scene.backend().collections(&scene.palace())?;
    same!(listed.len(), 1, "collections");
    Ok(())
}

fn idempotent(scene: &Scene<'_>) -> Outcome {
    let first = scene.open()?;
    first.add(plain("a", "text"))?;
    for _ in 0..3 {
        same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids after opening again");
    }
    let elsewhere = make(
        scene.another()?.as_ref(),
        &scene.palace(),
        &drawers(),
        &scene.how(),
    )?;
    same!(
        all_ids(elsewhere.as_ref())?,
        ["a"],
        "ids after creating again in another process"
    );
    same!(all_ids(first.as_ref())?, ["a"], "ids of the first handle");
    same!(
        scene.backend().collections(&scene.palace())?.len(),
        1,
        "collections"
    );
    Ok(())
}

fn private_folder(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    let palace = scene.palace();
    let folder = palace.folder()?;
    ensure!(
        folder.is_dir(),
        "expected a folder at {}, found none",
        folder.display()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.metadata()?.permissions().mode() & 0o777;
        ensure!(mode == 0o700, "expected the folder to be 0700, found {mode:o}");
    }
    Ok(())
}

fn cosine_by_default(scene: &Scene<'_>) -> Outcome {
    same!(scene.open()?.info()?.metric, Metric::Cosine, "metric");
    Ok(())
}

fn other_metric(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    let metrics = &scene.descriptor().metrics;
    let Some(other) = metrics.iter().find(|metric| **metric != Metric::Cosine) else {
        return Err(Failure::NotApplicable(
            "only for backends with more than one metric".into(),
        ));
    };
    let declaring = |metric| {
        let how = OpenOptions {
            metric: Some(metric),
            ..scene.how()
        };
        scene.backend().open(&scene.palace(), &drawers(), &how)
    };
    refused(declaring(*other), ErrorKind::Invalid, &[other.name(), "cosine"])?;
    declaring(Metric::Cosine)?;
    Ok(())
}

fn unknown_metric(scene: &Scene<'_>) -> Outcome {
    let metrics = &scene.descriptor().metrics;
    let Some(unknown) = Metric::ALL.into_iter().find(|metric| !metrics.contains(metric)) else {
        return Err(Failure::NotApplicable(
            "only for backends that lack a metric".into(),
        ));
    };
    let how = OpenOptions {
        metric: Some(unknown),
        ..scene.how()
    };
    let made = scene.make(&drawers(), &how);
    refused(made, ErrorKind::Unsupported, &[unknown.name()])?;
    refused(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )
}

fn other_dimension(scene: &Scene<'_>) -> Outcome {
    scene.filled([vectored("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let declaring = |dimension| {
        let how = OpenOptions {
            dimension: Some(dimension),
            ..existing()
        };
        scene.backend().open(&scene.palace(), &drawers(), &how)
    };
    refused(declaring(3), ErrorKind::DimensionMismatch, &["3", "4"])?;
    declaring(4)?;
    Ok(())
}

fn embedder_of_other_dimension(scene: &Scene<'_>) -> Outcome {
    let unnamed = scene.make(&drawers(), &OpenOptions::writable())?;
    unnamed.add(vectored("a", "text", &[1.0, 0.0, 0.0, 0.0]))?;
    same!(unnamed.info()?.identity, IdentityState::Unknown, "identity");
    let mut smaller = model("model-a");
    smaller.dimension = 3;
    let how = OpenOptions {
        embedder: Some(smaller),
        ..existing()
    };
    let opened = scene.backend().open(&scene.palace(), &drawers(), &how);
    refused(opened, ErrorKind::DimensionMismatch, &["3", "4"])
}

fn dimension_on_first_write(scene: &Scene<'_>) -> Outcome {
    let how = OpenOptions {
        dimension: Some(4),
        ..OpenOptions::writable()
    };
    let given = scene.make(&drawers(), &how)?;
    refused(
        given.add(vectored("a", "text", &[1.0; 3])),
        ErrorKind::DimensionMismatch,
        &["3", "4"],
    )?;
    given.add(vectored("a", "text", &[1.0; 4]))?;
    let how = OpenOptions {
        embedder: Some(model("model-a")),
        ..OpenOptions::writable()
    };
    let declared = scene.make(&name("declared"), &how)?;
    refused(
        declared.add(vectored("a", "text", &[1.0; 3])),
        ErrorKind::DimensionMismatch,
        &["3", "4"],
    )?;
    declared.add(vectored("a", "text", &[1.0; 4]))?;
    Ok(())
}

fn collections_listed(scene: &Scene<'_>) -> Outcome {
    let palace = scene.palace();
    for collection in ["notes", "drawers", "0", "a.b-c_d"] {
        scene.fill_in(&palace, collection, [plain("a", "text")])?;
    }
    let listed = scene.backend().collections(&palace)?;
    let names: Vec<&str> = listed.iter().map(|info| info.name.as_str()).collect();
    same!(names, ["0", "a.b-c_d", "drawers", "notes"], "collections");
    let drawers: Vec<u64> = listed.iter().map(|info| info.drawers).collect();
    if !scene.can(Capability::EstimatedCount) {
        same!(drawers, [1; 4], "drawers of each");
    }
    Ok(())
}

fn no_collections(scene: &Scene<'_>) -> Outcome {
    refused(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )
}

fn found_elsewhere(scene: &Scene<'_>) -> Outcome {
    let here = scene.filled([plain("a", "text")])?;
    let there = scene.open_elsewhere()?;
    same!(all_ids(there.as_ref())?, all_ids(here.as_ref())?, "ids");
    same!(there.info()?.metric, here.info()?.metric, "metric");
    same!(there.info()?.identity, here.info()?.identity, "identity");
    Ok(())
}

fn made_elsewhere(scene: &Scene<'_>) -> Outcome {
    let looked = scene.backend().open(&scene.palace(), &drawers(), &existing());
    refused(looked, ErrorKind::NotFound, &[])?;
    let other = make(
        scene.another()?.as_ref(),
        &scene.palace(),
        &drawers(),
        &scene.how(),
    )?;
    other.add(plain("a", "text"))?;
    let found = scene.backend().open(&scene.palace(), &drawers(), &existing())?;
    same!(all_ids(found.as_ref())?, ["a"], "ids");
    Ok(())
}
