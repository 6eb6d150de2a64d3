//! What is not advertised is refused by name; what is advertised is shown by the other themes.

use loci_core::{
    CollectionExt, ErrorKind, Facets, Filter, Get, IdentityChange, IdentityState, Include, Lexical,
    OpenOptions, Patch, Query, Selection, Write,
};

use crate::case::refused;
use crate::revising::{all, revision};
use crate::samples::{all_ids, delete, filter, id, name, plain, vectored};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "capabilities":
    "the descriptor names the backend and at least one metric" [] => descriptor;
    "without lexical a match by words is unsupported" [-Lexical] => no_lexical;
    "without range_filters a comparison by order is an unsupported filter wherever it stands" [-RangeFilters] => no_ranges;
    "without range_filters a delete by order removes nothing" [-RangeFilters -ReadOnly] => no_range_deletes;
    "without embeddings_passthrough vectors are refused and nothing is written" [-EmbeddingsPassthrough -ReadOnly] => no_vectors;
    "without embeddings_passthrough a query by vector is unsupported" [-EmbeddingsPassthrough] => no_queries;
    "without embeddings_out asking for vectors is unsupported" [-EmbeddingsOut] => no_vectors_out;
    "without change_feed a collection has no change feed" [-ChangeFeed] => no_feed;
    "without spaces a collection has no embedding spaces to change" [-Spaces] => no_spaces;
    "without sources a collection has no records of sources" [-Sources] => no_sources;
    "without moment there is no moment to read" [-Moment] => no_moment;
    "without erasure a collection has no erasure" [-Erasure] => no_erasure;
    "upkeep is there where the descriptor lists any kind of maintenance" [] => upkeep;
    "with read_only every write is refused and nothing is changed" [+ReadOnly] => no_writes;
    "with read_only nothing is created" [+ReadOnly] => nothing_created;
    "with read_only a collection cannot be opened to be written" [+ReadOnly] => not_opened_to_be_written;
    "a backend that embeds by itself reports its effective identity" [+ServerEmbedder -ReadOnly] => own_identity;
}

fn descriptor(scene: &Scene<'_>) -> Outcome {
    let descriptor = scene.descriptor();
    ensure!(!descriptor.name.is_empty(), "expected a name, found none");
    ensure!(!descriptor.metrics.is_empty(), "expected a metric, found none");
    Ok(())
}

fn no_lexical(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    refused(
        drawers.lexical(&Lexical::words("alpha", 1)),
        ErrorKind::Unsupported,
        &["lexical"],
    )
}

fn by_order() -> [Filter; 3] {
    [
        filter(r#"{"n":{"$gt":1}}"#),
        filter(r#"{"$or":[{"wing":"x"},{"said_at":{"$lt":"2026-01-01"}}]}"#),
        filter(r#"{"$and":[{"wing":"x"},{"$or":[{"n":{"$lte":2}},{"n":3}]}]}"#),
    ]
}

fn no_ranges(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    let kind = ErrorKind::UnsupportedFilter;
    for filter in by_order() {
        let get = Get {
            filter: filter.clone(),
            ..Get::default()
        };
        refused(drawers.get(&get), kind, &[])?;
        refused(drawers.count(&filter.clone().into()), kind, &[])?;
        let facets = Facets {
            filter: filter.clone(),
            ..Facets::by_room()
        };
        refused(drawers.facets(&facets), kind, &[])?;
        if scene.can(loci_core::Capability::EmbeddingsPassthrough) {
            let query = Query {
                filter: filter.clone(),
                ..Query::nearest(vec![1.0; 4], 1)
            };
            refused(drawers.query(&query), kind, &[])?;
        }
        if scene.can(loci_core::Capability::Lexical) {
            let lexical = Lexical {
                filter,
                ..Lexical::words("alpha", 1)
            };
            refused(drawers.lexical(&lexical), kind, &[])?;
        }
    }
    Ok(())
}

fn no_range_deletes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    for filter in by_order() {
        let batch = [
            Write::Add(plain("b", "text")),
            Write::Delete(Selection::Matching(filter.into())),
        ];
        refused(drawers.apply_batch(&batch), ErrorKind::UnsupportedFilter, &[])?;
        same!(all_ids(drawers.as_ref())?, ["a"], "ids after a refused batch");
    }
    Ok(())
}

fn no_vectors(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let vector = vec![1.0, 0.0, 0.0, 0.0];
    let patch = Patch {
        embedding: Some(vector.clone()),
        ..Patch::new(id("a"))
    };
    for bad in [
        Write::Add(vectored("c", "text", &vector)),
        Write::Upsert(vectored("a", "changed", &vector)),
        Write::Update(patch),
    ] {
        let batch = [Write::Add(plain("b", "text")), bad];
        refused(
            drawers.apply_batch(&batch),
            ErrorKind::Unsupported,
            &["embeddings_passthrough"],
        )?;
        same!(all_ids(drawers.as_ref())?, ["a"], "ids after a refused batch");
    }
    Ok(())
}

fn no_queries(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let asked = drawers.query(&Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 1));
    refused(asked, ErrorKind::Unsupported, &["embeddings_passthrough"])
}

fn no_vectors_out(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([scene.fit(vectored("a", "text", &[1.0, 0.0, 0.0, 0.0]))])?;
    let named = &["embeddings_out"];
    let get = Get {
        include: Include::EVERYTHING,
        ..Get::default()
    };
    refused(drawers.get(&get), ErrorKind::Unsupported, named)?;
    if scene.can(loci_core::Capability::EmbeddingsPassthrough) {
        let query = Query {
            include: Include::EVERYTHING,
            ..Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 1)
        };
        refused(drawers.query(&query), ErrorKind::Unsupported, named)?;
    }
    Ok(())
}

/// Shows that an ability is not there, and that asking for it says so by name.
fn absent<T: ?Sized>(found: Option<&T>, required: loci_core::Result<&T>, named: &str) -> Outcome {
    ensure!(found.is_none(), "expected no {named}, found it offered");
    refused(required.map(drop), ErrorKind::Unsupported, &[named])
}

fn no_feed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    absent(drawers.feed(), drawers.require_feed(), "change_feed")
}

fn no_spaces(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    absent(drawers.spaces(), drawers.require_spaces(), "spaces")
}

fn no_sources(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    absent(drawers.sources(), drawers.require_sources(), "sources")
}

fn no_moment(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    ensure!(drawers.moment()?.is_none(), "expected no moment, found one");
    Ok(())
}

fn no_erasure(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    ensure!(
        drawers.eraser().is_none(),
        "expected no erasure, found it offered"
    );
    Ok(())
}

fn upkeep(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    if scene.descriptor().maintenance.is_empty() {
        return absent(drawers.upkeep(), drawers.require_upkeep(), "maintenance");
    }
    drawers.require_upkeep()?.state()?;
    Ok(())
}

fn no_writes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let (kind, named) = (ErrorKind::Unsupported, &["read_only"]);
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("a"))
    };
    refused(drawers.add(plain("b", "text")), kind, named)?;
    refused(drawers.upsert(plain("a", "new")), kind, named)?;
    refused(drawers.apply_batch(&[Write::Update(patch)]), kind, named)?;
    refused(drawers.delete(id("a")), kind, named)?;
    refused(
        drawers.set_identity(&model("model-a"), IdentityChange::Force),
        kind,
        named,
    )?;
    if scene.can(loci_core::Capability::Sources) {
        let revised =
            drawers
                .require_sources()?
                .revise(vec![revision("a.md", None, "1", [vec![delete("a")]])]);
        refused(revised, kind, named)?;
        same!(drawers.require_sources()?.find_records(&all())?, [], "records");
    }
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    same!(
        crate::samples::read(drawers.as_ref(), "a")?.document.as_deref(),
        Some("text"),
        "text"
    );
    Ok(())
}

fn nothing_created(scene: &Scene<'_>) -> Outcome {
    let (kind, named) = (ErrorKind::Unsupported, &["read_only"]);
    let palace = scene.palace();
    let other = name("other");
    refused(scene.make(&other, &scene.how()), kind, named)?;
    refused(scene.backend().collections(&palace), ErrorKind::NotFound, &[])?;
    scene.filled([plain("a", "text")])?;
    refused(scene.make(&other, &scene.how()), kind, named)?;
    refused(scene.backend().drop_collection(&palace, &drawers()), kind, named)?;
    same!(scene.backend().collections(&palace)?.len(), 1, "collections");
    Ok(())
}

fn not_opened_to_be_written(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let options = OpenOptions::writable();
    let opened = scene
        .backend()
        .open(&scene.palace(), &crate::scene::drawers(), &options);
    refused(opened, ErrorKind::Unsupported, &["read_only"])?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn own_identity(scene: &Scene<'_>) -> Outcome {
    let identity = scene.filled([plain("a", "text")])?.info()?.identity;
    let known = matches!(identity, IdentityState::Known(_));
    ensure!(
        known,
        "expected the identity of its own embedder, found {identity:?}"
    );
    Ok(())
}
