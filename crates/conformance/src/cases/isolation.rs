//! Palaces, namespaces and collections never see, change or remove each other's drawers.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, DeleteSelection, DrawerCondition, ErrorKind, FacetRequest,
    Filter, GetRequest, LexicalRequest, PalaceRef, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, hit_ids, id, read_drawer, text_drawer, vector_drawer, wing_drawer};
use crate::scene::{default_collection, make_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "isolation":
    "nothing written under one palace is seen under another" [] => palaces_seen;
    "nothing written under one palace is changed or removed under another" [-ReadOnly] => palaces_changed;
    "drawers of another collection are never seen" [] => collections_seen;
    "drawers of another collection are never changed or removed" [-ReadOnly] => collections_changed;
    "nothing written under one namespace is seen, changed or removed under another" [+NamespaceIsolation -ReadOnly] => namespaces_are_apart;
    "a namespace given to a backend that does not advertise isolation is refused" [-NamespaceIsolation] => no_namespaces;
    "each collection has its own embedder and dimension" [+EmbeddingsPassthrough -ReadOnly] => own_spaces;
}

/// Checks that `here` answers every question with the drawer `ours` alone.
fn expect_sees_only(scene: &CaseScene<'_>, here: &dyn Collection, ours: &str) -> CaseOutcome {
    use loci_core::Capability::{ChangeFeed, EmbeddingsPassthrough, EstimatedCount, Lexical as Words};
    same!(all_ids(here)?, [ours], "ids");
    // By id, because lookups by primary key often skip the scope that filters apply.
    same!(
        here.get(&GetRequest::by_ids([id("a"), id("b")]))?.len(),
        1,
        "drawers by id"
    );
    same!(
        here.facets(&FacetRequest::by_room())?
            .iter()
            .map(|facet| facet.drawers)
            .sum::<u64>(),
        1,
        "drawers in facets"
    );
    // Counters kept for a whole file count the drawers of every collection.
    if !scene.can(EstimatedCount) {
        same!(here.count(&DrawerCondition::default())?, 1, "drawers");
        same!(here.info()?.drawers, 1, "drawers by info");
    }
    if scene.can(EmbeddingsPassthrough) {
        // The hidden drawer has the same vector; an index shared by several collections would return both.
        let lists = here.query(&QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 10))?;
        same!(hit_ids(&lists[0]), [ours], "hits of a query");
    }
    if scene.can(Words) {
        same!(
            hit_ids(&here.lexical(&LexicalRequest::for_words("alpha", 10))?),
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

fn sample_drawer(called: &str) -> loci_core::NewDrawer {
    // Same vector and same words everywhere, so that nothing but the scope keeps the drawers apart.
    vector_drawer(called, &format!("alpha text of {called}"), &[1.0, 0.0, 0.0, 0.0])
}

fn palaces_seen(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.fill_in(&scene.palace(), "drawers", [sample_drawer("a")])?;
    let there = scene.fill_in(&scene.world().another_palace(), "drawers", [sample_drawer("b")])?;
    expect_sees_only(scene, here.as_ref(), "a")?;
    expect_sees_only(scene, there.as_ref(), "b")
}

/// Makes every kind of write in `here` that could reach `there`, which holds the same ids, and checks that none did.
fn expect_changes_only(here: &Arc<dyn Collection>, there: &Arc<dyn Collection>) -> CaseOutcome {
    // The same ids in both places: a unique key over ids alone would keep or reject the second set.
    for place in [here, there] {
        let batch = [
            Write::Add(wing_drawer("a", "x")),
            Write::Add(wing_drawer("b", "x")),
            Write::Add(wing_drawer("c", "y")),
        ];
        same!(
            place.apply_batch(&batch)?.added.len(),
            3,
            "drawers added to a place of their own"
        );
    }
    let before = there.get(&GetRequest::default())?;
    here.upsert_drawer(text_drawer("a", "changed"))?;
    // By replacement, by filter and by id: three statements, each of which needs the scope in its
    // condition.
    here.apply_batch(&[Write::Delete(DeleteSelection::Matching(
        Filter::text_equals("wing", "x").into(),
    ))])?;
    here.delete_drawer(id("c"))?;
    same!(all_ids(here.as_ref())?, ["a"], "ids here");
    same!(there.get(&GetRequest::default())?, before, "drawers there");
    Ok(())
}

fn palaces_changed(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.open()?;
    let there = scene.open_in(&scene.world().another_palace(), "drawers")?;
    expect_changes_only(&here, &there)
}

fn collections_seen(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.fill_in(&scene.palace(), "drawers", [sample_drawer("a")])?;
    let there = scene.fill_in(&scene.palace(), "others", [sample_drawer("b")])?;
    expect_sees_only(scene, here.as_ref(), "a")?;
    expect_sees_only(scene, there.as_ref(), "b")
}

fn collections_changed(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_changes_only(&scene.open()?, &scene.open_named("others")?)
}

fn namespaces_are_apart(scene: &CaseScene<'_>) -> CaseOutcome {
    let within = |namespace: &str| scene.palace().in_namespace(namespace);
    let here = scene.fill_in(&within("one"), "drawers", [sample_drawer("a")])?;
    let there = scene.fill_in(&within("two"), "drawers", [sample_drawer("b")])?;
    expect_sees_only(scene, here.as_ref(), "a")?;
    expect_sees_only(scene, there.as_ref(), "b")?;
    // A namespace without collections is missing, although the palace exists in others.
    let missing = scene.backend().open(
        &within("three"),
        &default_collection(),
        &loci_core::OpenOptions::default(),
    );
    expect_refusal(missing, ErrorKind::NotFound, &[])?;
    expect_changes_only(
        &scene.open_in(&within("one"), "more")?,
        &scene.open_in(&within("two"), "more")?,
    )
}

fn no_namespaces(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let tenant: PalaceRef = scene.palace().in_namespace("tenant");
    let create = scene.usual_options();
    let existing = loci_core::OpenOptions::default();
    // Ignoring the namespace would be worse than refusing it: tenants would share their drawers.
    for options in [&create, &existing] {
        let opened = scene.backend().open(&tenant, &default_collection(), options);
        expect_refusal(opened, ErrorKind::Unsupported, &["namespace_isolation"])?;
    }
    if !scene.can(Capability::ReadOnly) {
        let made = make_collection(scene.backend().as_ref(), &tenant, &default_collection(), &create);
        expect_refusal(made, ErrorKind::Unsupported, &["namespace_isolation"])?;
    }
    expect_refusal(
        scene.backend().collections(&tenant),
        ErrorKind::Unsupported,
        &["namespace_isolation"],
    )
}

fn own_spaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.open_filled([sample_drawer("a")])?;
    let mut other = model_called("model-b");
    // Another dimension than that of the first collection, which a palace-wide vector table could not hold.
    other.dimension = 2;
    let how = loci_core::OpenOptions {
        embedder: Some(other),
        ..loci_core::OpenOptions::for_writing()
    };
    let there = scene.make_collection(&crate::samples::collection_name("others"), &how)?;
    there.add_drawer(vector_drawer("b", "text", &[1.0, 0.0]))?;
    same!(there.info()?.dimension, Some(2), "dimension there");
    same!(here.info()?.dimension, Some(4), "dimension here");
    same!(
        read_drawer(there.as_ref(), "b")?.document.as_deref(),
        Some("text"),
        "text there"
    );
    Ok(())
}
