//! Opening: it creates nothing, and it checks the metric, dimension and embedder that the caller declares.

use loci_core::{Capability, CollectionExt, ErrorKind, IdentityState, Metric, OpenOptions};

use crate::case::expect_refusal;
use crate::samples::{all_ids, collection_name, text_drawer, vector_drawer};
use crate::scene::{default_collection, make_collection, model_called};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "open":
    "a missing palace is not found and nothing is created" [] => missing_palace;
    "of a missing palace not even a folder is created" [+Local] => no_folder;
    "a missing collection is not found and nothing is created" [] => missing_collection;
    "a palace keeps its id, and no other palace has it" [-ReadOnly] => palace_id_is_its_own;
    "create opens a collection that exists" [-ReadOnly] => create_opens_existing;
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

fn read_options() -> OpenOptions {
    OpenOptions::default()
}

fn missing_palace(scene: &CaseScene<'_>) -> CaseOutcome {
    let backend = scene.backend();
    // The second attempt shows whether the first one created something.
    for _ in 0..2 {
        expect_refusal(
            backend.open(&scene.palace(), &default_collection(), &read_options()),
            ErrorKind::NotFound,
            &[],
        )?;
        expect_refusal(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    }
    Ok(())
}

fn no_folder(scene: &CaseScene<'_>) -> CaseOutcome {
    let palace = scene.palace();
    let folder = palace.require_folder()?;
    // Also beside the folder: lock files and temporary files are easily left in the parent.
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
    expect_refusal(
        scene
            .backend()
            .open(&palace, &default_collection(), &read_options()),
        ErrorKind::NotFound,
        &[],
    )?;
    expect_refusal(scene.backend().collections(&palace), ErrorKind::NotFound, &[])?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    same!(beside(), before, "what stands beside the palace");
    Ok(())
}

fn missing_collection(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    let other = collection_name("other");
    expect_refusal(
        scene.backend().open(&scene.palace(), &other, &read_options()),
        ErrorKind::NotFound,
        &[],
    )?;
    // A failed open must not register the name.
    let listed = scene.backend().collections(&scene.palace())?;
    same!(listed.len(), 1, "collections");
    Ok(())
}

fn palace_id_is_its_own(scene: &CaseScene<'_>) -> CaseOutcome {
    let missing = scene.backend().palace_id(&scene.palace());
    expect_refusal(missing, ErrorKind::NotFound, &[])?;
    scene.open()?;
    let id = scene.backend().palace_id(&scene.palace())?;
    same!(
        scene.another_backend()?.palace_id(&scene.palace())?,
        id,
        "the id seen by another"
    );
    let elsewhere = scene.world().another_palace();
    scene.open_in(&elsewhere, "drawers")?;
    let other = scene.backend().palace_id(&elsewhere)?;
    ensure!(
        id.is_none() || id != other,
        "expected another palace to have another id than {id:?}"
    );
    Ok(())
}

fn create_opens_existing(scene: &CaseScene<'_>) -> CaseOutcome {
    let first = scene.open()?;
    first.add_drawer(text_drawer("a", "text"))?;
    for _ in 0..3 {
        same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids after opening again");
    }
    // Creating again from another process must find the collection, not replace it.
    let elsewhere = make_collection(
        scene.another_backend()?.as_ref(),
        &scene.palace(),
        &default_collection(),
        &scene.usual_options(),
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

fn private_folder(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    let palace = scene.palace();
    let folder = palace.require_folder()?;
    ensure!(
        folder.is_dir(),
        "expected a folder at {}, found none",
        folder.display()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Memories are private; the mode must not depend on the umask.
        let mode = folder.metadata()?.permissions().mode() & 0o777;
        ensure!(mode == 0o700, "expected the folder to be 0700, found {mode:o}");
    }
    Ok(())
}

fn cosine_by_default(scene: &CaseScene<'_>) -> CaseOutcome {
    same!(scene.open()?.info()?.metric, Metric::Cosine, "metric");
    Ok(())
}

fn other_metric(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    let metrics = &scene.descriptor().metrics;
    // `scene.open` created the collection without a metric, so it compares by cosine.
    let Some(other) = metrics.iter().find(|metric| **metric != Metric::Cosine) else {
        return Err(CaseFailure::NotApplicable(
            "only for backends with more than one metric".into(),
        ));
    };
    let declaring = |metric| {
        let how = OpenOptions {
            metric: Some(metric),
            ..scene.usual_options()
        };
        scene.backend().open(&scene.palace(), &default_collection(), &how)
    };
    expect_refusal(declaring(*other), ErrorKind::Invalid, &[other.name(), "cosine"])?;
    // Declaring the right metric is accepted, so the refusal is about the mismatch and not about declaring
    // at all.
    declaring(Metric::Cosine)?;
    Ok(())
}

fn unknown_metric(scene: &CaseScene<'_>) -> CaseOutcome {
    let metrics = &scene.descriptor().metrics;
    let Some(unknown) = Metric::ALL.into_iter().find(|metric| !metrics.contains(metric)) else {
        return Err(CaseFailure::NotApplicable(
            "only for backends that lack a metric".into(),
        ));
    };
    let how = OpenOptions {
        metric: Some(unknown),
        ..scene.usual_options()
    };
    let made = scene.make_collection(&default_collection(), &how);
    expect_refusal(made, ErrorKind::Unsupported, &[unknown.name()])?;
    // Refused before anything was created.
    expect_refusal(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )
}

fn other_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let declaring = |dimension| {
        let how = OpenOptions {
            dimension: Some(dimension),
            ..read_options()
        };
        scene.backend().open(&scene.palace(), &default_collection(), &how)
    };
    expect_refusal(declaring(3), ErrorKind::DimensionMismatch, &["3", "4"])?;
    declaring(4)?;
    Ok(())
}

fn embedder_of_other_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    let unnamed = scene.make_collection(&default_collection(), &OpenOptions::for_writing())?;
    unnamed.add_drawer(vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0]))?;
    // The model is unknown, so it cannot mismatch; only the dimension tells that the embedder is wrong.
    same!(unnamed.info()?.identity, IdentityState::Unknown, "identity");
    let mut smaller = model_called("model-a");
    smaller.dimension = 3;
    let how = OpenOptions {
        embedder: Some(smaller),
        ..read_options()
    };
    let opened = scene.backend().open(&scene.palace(), &default_collection(), &how);
    expect_refusal(opened, ErrorKind::DimensionMismatch, &["3", "4"])
}

fn dimension_on_first_write(scene: &CaseScene<'_>) -> CaseOutcome {
    let how = OpenOptions {
        dimension: Some(4),
        ..OpenOptions::for_writing()
    };
    let given = scene.make_collection(&default_collection(), &how)?;
    expect_refusal(
        given.add_drawer(vector_drawer("a", "text", &[1.0; 3])),
        ErrorKind::DimensionMismatch,
        &["3", "4"],
    )?;
    given.add_drawer(vector_drawer("a", "text", &[1.0; 4]))?;
    let how = OpenOptions {
        embedder: Some(model_called("model-a")),
        ..OpenOptions::for_writing()
    };
    // A declared embedder fixes the dimension just as a declared dimension does.
    let declared = scene.make_collection(&collection_name("declared"), &how)?;
    expect_refusal(
        declared.add_drawer(vector_drawer("a", "text", &[1.0; 3])),
        ErrorKind::DimensionMismatch,
        &["3", "4"],
    )?;
    declared.add_drawer(vector_drawer("a", "text", &[1.0; 4]))?;
    Ok(())
}

fn collections_listed(scene: &CaseScene<'_>) -> CaseOutcome {
    let palace = scene.palace();
    // Created in another order than the sorted one, with the characters that names may contain.
    for collection in ["notes", "drawers", "0", "a.b-c_d"] {
        scene.fill_in(&palace, collection, [text_drawer("a", "text")])?;
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

fn no_collections(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_refusal(
        scene.backend().collections(&scene.palace()),
        ErrorKind::NotFound,
        &[],
    )
}

fn found_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.open_filled([text_drawer("a", "text")])?;
    let there = scene.open_elsewhere()?;
    same!(all_ids(there.as_ref())?, all_ids(here.as_ref())?, "ids");
    same!(there.info()?.metric, here.info()?.metric, "metric");
    same!(there.info()?.identity, here.info()?.identity, "identity");
    Ok(())
}

fn made_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    // The failed look may not be cached: a long-running server must find a palace that the command line
    // creates later.
    let looked = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &read_options());
    expect_refusal(looked, ErrorKind::NotFound, &[])?;
    let other = make_collection(
        scene.another_backend()?.as_ref(),
        &scene.palace(),
        &default_collection(),
        &scene.usual_options(),
    )?;
    other.add_drawer(text_drawer("a", "text"))?;
    let found = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &read_options())?;
    same!(all_ids(found.as_ref())?, ["a"], "ids");
    Ok(())
}
