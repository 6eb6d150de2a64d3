//! Capabilities that are not advertised are refused by name; the other themes cover the advertised ones.

use loci_core::{
    CollectionExt, DeleteSelection, DrawerFields, DrawerPatch, ErrorKind, FacetRequest, Filter, GetRequest,
    IdentityChange, IdentityState, LexicalRequest, OpenOptions, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::revising::{every_record, new_revision};
use crate::samples::{all_ids, collection_name, delete_write, id, parse_filter, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "capabilities":
    "the descriptor names the backend and at least one metric" [] => descriptor_is_complete;
    "without lexical a match by words is unsupported" [-Lexical] => no_lexical;
    "without range_filters a comparison by order is an unsupported filter wherever it stands" [-RangeFilters] => no_ranges;
    "without range_filters a delete by order removes nothing" [-RangeFilters -ReadOnly] => no_range_deletes;
    "without embeddings_passthrough vectors are refused and nothing is written" [-EmbeddingsPassthrough -ReadOnly] => no_vectors;
    "without embeddings_passthrough a query by vector is unsupported" [-EmbeddingsPassthrough] => no_queries;
    "without embeddings_out asking for vectors is unsupported" [-EmbeddingsOut] => no_vectors_out;
    "without change_feed a collection has no change feed" [-ChangeFeed] => no_feed;
    "without spaces a collection has no embedding spaces to change" [-Spaces] => no_spaces;
    "without sources a collection has no records of sources" [-Sources] => no_sources;
    "without moment none can be read" [-Moment] => no_moment;
    "without erasure a collection has no erasure" [-Erasure] => no_erasure;
    "upkeep is there where the descriptor lists any kind of maintenance" [] => upkeep_where_advertised;
    "with read_only every write is refused and nothing is changed" [+ReadOnly] => no_writes;
    "with read_only nothing is created" [+ReadOnly] => nothing_created;
    "with read_only a collection cannot be opened to be written" [+ReadOnly] => not_opened_to_be_written;
    "a backend that embeds by itself reports its effective identity" [+ServerEmbedder -ReadOnly] => own_identity;
}

fn descriptor_is_complete(scene: &CaseScene<'_>) -> CaseOutcome {
    let descriptor = scene.descriptor();
    ensure!(!descriptor.name.is_empty(), "expected a name, found none");
    ensure!(!descriptor.metrics.is_empty(), "expected a metric, found none");
    Ok(())
}

fn no_lexical(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    // The word is there, so an empty answer would be a lie; only a refusal that names the capability tells
    // the caller why it gets no hits.
    expect_refusal(
        drawers.lexical(&LexicalRequest::for_words("alpha", 1)),
        ErrorKind::Unsupported,
        &["lexical"],
    )
}

fn order_filters() -> [Filter; 3] {
    // At the top, inside a disjunction, and two levels deep: a backend that inspects only the outermost
    // operator accepts the nested ones and then drops them.
    [
        parse_filter(r#"{"n":{"$gt":1}}"#),
        parse_filter(r#"{"$or":[{"wing":"x"},{"said_at":{"$lt":"2026-01-01"}}]}"#),
        parse_filter(r#"{"$and":[{"wing":"x"},{"$or":[{"n":{"$lte":2}},{"n":3}]}]}"#),
    ]
}

fn no_ranges(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    let kind = ErrorKind::UnsupportedFilter;
    // Each kind of request has its own path to the filter, and each must refuse: an ignored filter returns
    // too much.
    for filter in order_filters() {
        let get = GetRequest {
            filter: filter.clone(),
            ..GetRequest::default()
        };
        expect_refusal(drawers.get(&get), kind, &[])?;
        expect_refusal(drawers.count(&filter.clone().into()), kind, &[])?;
        let facets = FacetRequest {
            filter: filter.clone(),
            ..FacetRequest::by_room()
        };
        expect_refusal(drawers.facets(&facets), kind, &[])?;
        if scene.can(loci_core::Capability::EmbeddingsPassthrough) {
            let query = QueryRequest {
                filter: filter.clone(),
                ..QueryRequest::nearest_to(vec![1.0; 4], 1)
            };
            expect_refusal(drawers.query(&query), kind, &[])?;
        }
        if scene.can(loci_core::Capability::Lexical) {
            let lexical = LexicalRequest {
                filter,
                ..LexicalRequest::for_words("alpha", 1)
            };
            expect_refusal(drawers.lexical(&lexical), kind, &[])?;
        }
    }
    Ok(())
}

fn no_range_deletes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    for filter in order_filters() {
        // A valid write first: the refusal must come before anything is applied. An ignored filter in a
        // delete would be the worst case of all, because it removes every drawer.
        let batch = [
            Write::Add(text_drawer("b", "text")),
            Write::Delete(DeleteSelection::Matching(filter.into())),
        ];
        expect_refusal(drawers.apply_batch(&batch), ErrorKind::UnsupportedFilter, &[])?;
        same!(all_ids(drawers.as_ref())?, ["a"], "ids after a refused batch");
    }
    Ok(())
}

fn no_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let vector = vec![1.0, 0.0, 0.0, 0.0];
    let patch = DrawerPatch {
        embedding: Some(vector.clone()),
        ..DrawerPatch::new(id("a"))
    };
    // Every write that can carry a vector; dropping the vector silently would leave a drawer that no query
    // finds.
    for bad in [
        Write::Add(vector_drawer("c", "text", &vector)),
        Write::Upsert(vector_drawer("a", "changed", &vector)),
        Write::Update(patch),
    ] {
        let batch = [Write::Add(text_drawer("b", "text")), bad];
        expect_refusal(
            drawers.apply_batch(&batch),
            ErrorKind::Unsupported,
            &["embeddings_passthrough"],
        )?;
        same!(all_ids(drawers.as_ref())?, ["a"], "ids after a refused batch");
    }
    Ok(())
}

fn no_queries(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let asked = drawers.query(&QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 1));
    expect_refusal(asked, ErrorKind::Unsupported, &["embeddings_passthrough"])
}

fn no_vectors_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([scene.fit_drawer(vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0]))])?;
    let named = &["embeddings_out"];
    let get = GetRequest {
        // `EVERYTHING` asks for the vector among others; leaving it out silently would look like a drawer
        // without one.
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    expect_refusal(drawers.get(&get), ErrorKind::Unsupported, named)?;
    if scene.can(loci_core::Capability::EmbeddingsPassthrough) {
        let query = QueryRequest {
            include: DrawerFields::EVERYTHING,
            ..QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 1)
        };
        expect_refusal(drawers.query(&query), ErrorKind::Unsupported, named)?;
    }
    Ok(())
}

/// Checks that an ability is absent, and that requiring it is refused with its name.
fn expect_absent<T: ?Sized>(found: Option<&T>, required: loci_core::Result<&T>, named: &str) -> CaseOutcome {
    // The accessor and the error must agree: an offered sub-trait that fails on each call is a capability
    // by accident.
    ensure!(found.is_none(), "expected no {named}, found it offered");
    expect_refusal(required.map(drop), ErrorKind::Unsupported, &[named])
}

fn no_feed(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    expect_absent(drawers.feed(), drawers.require_feed(), "change_feed")
}

fn no_spaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    expect_absent(drawers.spaces(), drawers.require_spaces(), "spaces")
}

fn no_sources(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    expect_absent(drawers.sources(), drawers.require_sources(), "sources")
}

fn no_moment(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // `None`, not an error: callers fall back to plain reads without special handling.
    ensure!(drawers.moment()?.is_none(), "expected no moment, found one");
    Ok(())
}

fn no_erasure(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    ensure!(
        drawers.eraser().is_none(),
        "expected no erasure, found it offered"
    );
    Ok(())
}

fn upkeep_where_advertised(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // Upkeep has no capability of its own; the list of kinds in the descriptor decides.
    if scene.descriptor().maintenance.is_empty() {
        return expect_absent(drawers.upkeep(), drawers.require_upkeep(), "maintenance");
    }
    drawers.require_upkeep()?.state()?;
    Ok(())
}

fn no_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let (kind, named) = (ErrorKind::Unsupported, &["read_only"]);
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("a"))
    };
    // All four kinds of write, and the identity: a backend over foreign files must not touch them in any
    // way.
    expect_refusal(drawers.add_drawer(text_drawer("b", "text")), kind, named)?;
    expect_refusal(drawers.upsert_drawer(text_drawer("a", "new")), kind, named)?;
    expect_refusal(drawers.apply_batch(&[Write::Update(patch)]), kind, named)?;
    expect_refusal(drawers.delete_drawer(id("a")), kind, named)?;
    expect_refusal(
        drawers.set_identity(&model_called("model-a"), IdentityChange::Force),
        kind,
        named,
    )?;
    // A revision writes drawers past `apply`, so it needs its own check.
    if scene.can(loci_core::Capability::Sources) {
        let revised = drawers.require_sources()?.revise(vec![new_revision(
            "a.md",
            None,
            "1",
            [vec![delete_write("a")]],
        )]);
        expect_refusal(revised, kind, named)?;
        same!(
            drawers.require_sources()?.find_records(&every_record())?,
            [],
            "records"
        );
    }
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    same!(
        crate::samples::read_drawer(drawers.as_ref(), "a")?
            .document
            .as_deref(),
        Some("text"),
        "text"
    );
    Ok(())
}

fn nothing_created(scene: &CaseScene<'_>) -> CaseOutcome {
    let (kind, named) = (ErrorKind::Unsupported, &["read_only"]);
    let palace = scene.palace();
    let other = collection_name("other");
    // Before there is a palace and after: creating a missing palace and creating a collection in an
    // existing one are different code paths.
    expect_refusal(scene.make_collection(&other, &scene.usual_options()), kind, named)?;
    expect_refusal(scene.backend().collections(&palace), ErrorKind::NotFound, &[])?;
    scene.open_filled([text_drawer("a", "text")])?;
    expect_refusal(scene.make_collection(&other, &scene.usual_options()), kind, named)?;
    expect_refusal(
        scene.backend().drop_collection(&palace, &default_collection()),
        kind,
        named,
    )?;
    same!(scene.backend().collections(&palace)?.len(), 1, "collections");
    Ok(())
}

fn not_opened_to_be_written(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // Refused when it is opened, not at the first write: the caller learns it before it has embedded
    // anything.
    let options = OpenOptions::for_writing();
    let opened = scene
        .backend()
        .open(&scene.palace(), &crate::scene::default_collection(), &options);
    expect_refusal(opened, ErrorKind::Unsupported, &["read_only"])?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn own_identity(scene: &CaseScene<'_>) -> CaseOutcome {
    let identity = scene.open_filled([text_drawer("a", "text")])?.info()?.identity;
    let known = matches!(identity, IdentityState::Known(_));
    ensure!(
        known,
        "expected the identity of its own embedder, found {identity:?}"
    );
    Ok(())
}
