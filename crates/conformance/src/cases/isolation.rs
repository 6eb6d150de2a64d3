//! Palaces, namespaces and collections never see, change or remove each other's drawers.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, DrawerCondition, ErrorKind, Facets, Filter, Get, Lexical,
    PalaceRef, Query, Selection, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, hit_ids, id, plain, read, vectored, winged};
use crate::scene::{drawers, make, model};
use crate::{Outcome, Scene};

cases! { "isolation":
    "nothing written under one palace is seen under another" [] => palaces_seen;
    "nothing written under one palace is changed or removed under another" [-ReadOnly] => palaces_changed;
    "drawers of another collection are never seen" [] => collections_seen;
    "drawers of another collection are never changed or removed" [-ReadOnly] => collections_changed;
    "nothing written under one namespace is seen, changed or removed under another" [+NamespaceIsolation -ReadOnly] => namespaces;
    "a namespace given to a backend that does not advertise isolation is refused" [-NamespaceIsolation] => no_namespaces;
    "each collection has its own embedder and dimension" [+EmbeddingsPassthrough -ReadOnly] => own_spaces;
}

/// Shows that `here` answers every question with the drawer `ours` alone, whatever other places hold.
fn sees_only(scene: &Scene<'_>, here: &dyn Collection, ours: &str) -> Outcome {
    use loci_core::Capability::{ChangeFeed, EmbeddingsPassthrough, EstimatedCount, Lexical as Words};
    same!(all_ids(here)?, [ours], "ids");
    same!(here.get(&Get::ids([id("a"), id("b")]))?.len(), 1, "drawers by id");
    same!(
        here.facets(&Facets::by_room())?
            .iter()
            .map(|facet| facet.drawers)
            .sum::<u64>(),
        1,
        "drawers in facets"
    );
    if !scene.can(EstimatedCount) {
        same!(here.count(&DrawerCondition::default())?, 1, "drawers");
        same!(here.info()?.drawers, 1, "drawers by info");
    }
    if scene.can(EmbeddingsPassthrough) {
        let lists = here.query(&Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 10))?;
        same!(hit_ids(&lists[0]), [ours], "hits of a query");
    }
    if scene.can(Words) {
        same!(
            hit_ids(&here.lexical(&Lexical::words("alpha", 10))?),
            [ours],
            "hits of a lexical match"
        );
    }
    if scene.can(ChangeFeed) {
        let changes = here.require_feed()?.changes_since(Cursor(0), 10)?.changes;
        let ids: Vec<&str> = changes.iter().map(|change| change.id.as_str()).collect();
        same!(ids, [ours], "changes");
    }
    Ok(())
}

fn sample(called: &str) -> loci_core::NewDrawer {
    vectored(called, &format!("alpha text of {called}"), &[1.0, 0.0, 0.0, 0.0])
}

fn palaces_seen(scene: &Scene<'_>) -> Outcome {
    let here = scene.fill_in(&scene.palace(), "drawers", [sample("a")])?;
    let there = scene.fill_in(&scene.world().another_palace(), "drawers", [sample("b")])?;
    sees_only(scene, here.as_ref(), "a")?;
    sees_only(scene, there.as_ref(), "b")
}

/// Writes in `here` whatever could reach `there`, which holds the same ids, and shows that it did not.
fn changes_only(here: &Arc<dyn Collection>, there: &Arc<dyn Collection>) -> Outcome {
    for place in [here, there] {
        let batch = [
            Write::Add(winged("a", "x")),
            Write::Add(winged("b", "x")),
            Write::Add(winged("c", "y")),
        ];
        same!(
            place.apply_batch(&batch)?.added.len(),
            3,
            "drawers added to a place of their own"
        );
    }
    let before = there.get(&Get::default())?;
    here.upsert(plain("a", "changed"))?;
    here.apply_batch(&[Write::Delete(Selection::Matching(
        Filter::text("wing", "x").into(),
    ))])?;
    here.delete(id("c"))?;
    same!(all_ids(here.as_ref())?, ["a"], "ids here");
    same!(there.get(&Get::default())?, before, "drawers there");
    Ok(())
}

fn palaces_changed(scene: &Scene<'_>) -> Outcome {
    let here = scene.open()?;
    let there = scene.open_in(&scene.world().another_palace(), "drawers")?;
    changes_only(&here, &there)
}

fn collections_seen(scene: &Scene<'_>) -> Outcome {
    let here = scene.fill_in(&scene.palace(), "drawers", [sample("a")])?;
    let there = scene.fill_in(&scene.palace(), "others", [sample("b")])?;
    sees_only(scene, here.as_ref(), "a")?;
    sees_only(scene, there.as_ref(), "b")
}

fn collections_changed(scene: &Scene<'_>) -> Outcome {
    changes_only(&scene.open()?, &scene.open_named("others")?)
}

fn namespaces(scene: &Scene<'_>) -> Outcome {
    let within = |namespace: &str| scene.palace().in_namespace(namespace);
    let here = scene.fill_in(&within("one"), "drawers", [sample("a")])?;
    let there = scene.fill_in(&within("two"), "drawers", [sample("b")])?;
    sees_only(scene, here.as_ref(), "a")?;
    sees_only(scene, there.as_ref(), "b")?;
    let missing = scene
        .backend()
        .open(&within("three"), &drawers(), &loci_core::OpenOptions::default());
    refused(missing, ErrorKind::NotFound, &[])?;
    changes_only(
        &scene.open_in(&within("one"), "more")?,
        &scene.open_in(&within("two"), "more")?,
    )
}

fn no_namespaces(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let tenant: PalaceRef = scene.palace().in_namespace("tenant");
    let create = scene.how();
    let existing = loci_core::OpenOptions::default();
    for options in [&create, &existing] {
        let opened = scene.backend().open(&tenant, &drawers(), options);
        refused(opened, ErrorKind::Unsupported, &["namespace_isolation"])?;
    }
    if !scene.can(Capability::ReadOnly) {
        let made = make(scene.backend().as_ref(), &tenant, &drawers(), &create);
        refused(made, ErrorKind::Unsupported, &["namespace_isolation"])?;
    }
    refused(
        scene.backend().collections(&tenant),
        ErrorKind::Unsupported,
        &["namespace_isolation"],
    )
}

fn own_spaces(scene: &Scene<'_>) -> Outcome {
    let here = scene.filled([sample("a")])?;
    let mut other = model("model-b");
    other.dimension = 2;
    let how = loci_core::OpenOptions {
        embedder: Some(other),
        ..loci_core::OpenOptions::writable()
    };
    let there = scene.make(&crate::samples::name("others"), &how)?;
    there.add(vectored("b", "text", &[1.0, 0.0]))?;
    same!(there.info()?.dimension, Some(2), "dimension there");
    same!(here.info()?.dimension, Some(4), "dimension here");
    same!(
        read(there.as_ref(), "b")?.document.as_deref(),
        Some("text"),
        "text there"
    );
    Ok(())
}
