//! Visibility: for a restricted handle, drawers out of sight do not exist, in any kind of answer.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, CollectionReader, DocumentFilter, DrawerCondition, DrawerFields,
    DrawerOrder, DrawerPatch, ErrorKind, FacetKey, FacetRequest, Filter, GetRequest, LexicalRequest,
    Metadata, MetadataScalar, MetadataValue, NewDrawer, OpenOptions, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, collection_name, drawer_ids, id, parse_filter, parse_time, vector_drawer};
use crate::scene::default_collection;
use crate::{CaseOutcome, CaseScene};

cases! { "visibility":
    "a drawer out of sight is never returned by id" [] => by_id;
    "a drawer out of sight is never returned by filter" [] => by_filter;
    "a drawer out of sight is never returned in any order and takes no place in a page" [] => in_orders;
    "a drawer out of sight is never a hit of a query and takes the place of none" [+EmbeddingsPassthrough] => hits_in_sight_only;
    "words are matched and scored as if the drawers out of sight did not exist" [+Lexical] => words_in_sight_only;
    "a drawer out of sight is never counted" [] => counts_in_sight_only;
    "facets count no drawer out of sight and name none of its values" [] => facets_in_sight_only;
    "info counts only drawers that the handle sees" [-EstimatedCount] => info_counts_in_sight;
    "info does not move when drawers out of sight are written" [-ReadOnly] => info_stays_unmoved;
    "a moment sees what its handle sees" [+Moment] => moment_sees_alike;
    "whatever the filter of a handle asks for, it sees the drawers that the oracle accepts" [] => any_filter;
    "a drawer that moves into sight is seen and one that moves out of sight is not" [-ReadOnly] => follows_moves;
    "a restricted handle has none of the sub-traits" [] => no_sub_traits;
    "a handle whose filter asks nothing, however it is written, has every sub-trait that is advertised" [] => offers_every_ability;
    "without range_filters a handle that sees by order is refused as it is opened" [-RangeFilters] => no_ranges;
}

/// The drawers that a handle on the wing `work` sees; they share words with the hidden ones.
fn drawers_in_sight() -> Vec<NewDrawer> {
    vec![
        filed_drawer("w1", "work", "alpha bravo", 1, [1.0, 0.0, 0.0, 0.0]),
        filed_drawer("w2", "work", "alpha kilo kilo", 2, [0.8, 0.2, 0.0, 0.0]),
        filed_drawer("w3", "work", "tango", 3, [0.0, 1.0, 0.0, 0.0]),
    ]
}

/// Drawers of another wing that would win if they were visible: as near, newer, and with more of the same words.
pub(super) fn drawers_out_of_sight() -> Vec<NewDrawer> {
    vec![
        filed_drawer("secret-1", "home", "alpha alpha alpha", 1, [1.0, 0.0, 0.0, 0.01]),
        filed_drawer("secret-2", "home", "bravo zulu", 4, [0.9, 0.1, 0.0, 0.0]),
        filed_drawer("secret-3", "home", "tango tango kilo", 5, [0.8, 0.2, 0.0, 0.01]),
    ]
}

fn filed_drawer(called: &str, wing: &str, text: &str, day: u32, vector: [f32; 4]) -> NewDrawer {
    let mut drawer = vector_drawer(called, text, &vector);
    drawer.place.wing = Some(wing.into());
    drawer.place.room = Some(format!("room of {wing}"));
    drawer.place.source = Some(format!("{wing}.md"));
    drawer.place.said_at = Some(parse_time(&format!("2026-03-{day:02}")));
    drawer.filed_at = Some(parse_time(&format!("2026-04-{day:02}")));
    drawer.metadata = Metadata::new().with_entry("day", i64::from(day));
    drawer
}

pub(super) fn work_filter() -> Filter {
    Filter::text_equals("wing", "work")
}

/// Returns a handle that sees only the wing `work`, and a handle on a collection that holds only that wing.
fn beside_alone(scene: &CaseScene<'_>) -> CaseOutcome<(Arc<dyn Collection>, Arc<dyn Collection>)> {
    let mut both = drawers_out_of_sight();
    both.extend(drawers_in_sight());
    scene.open_filled(both)?;
    let alone = scene.fill_in(&scene.palace(), "alone", drawers_in_sight())?;
    Ok((scene.open_seeing(work_filter())?, alone))
}

fn by_id(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, _) = beside_alone(scene)?;
    let asked = ["secret-1", "w2", "secret-2", "w1"].map(id);
    same!(
        drawer_ids(&restricted.get(&GetRequest::by_ids(asked))?),
        ["w2", "w1"],
        "drawers by id"
    );
    same!(
        restricted.get(&GetRequest::by_ids([id("secret-3")]))?,
        [],
        "drawers out of sight by id"
    );
    Ok(())
}

fn by_filter(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    for json in [
        "{}",
        // Asks for hidden drawers by name; combining the two filters with OR would return them.
        r#"{"wing":"home"}"#,
        r#"{"wing":{"$ne":"work"}}"#,
        r#"{"$or":[{"wing":"home"},{"day":1}]}"#,
        r#"{"day":{"$in":[1,4,5]}}"#,
    ] {
        let request = GetRequest::by_filter(parse_filter(json));
        same!(
            restricted.get(&request)?,
            alone.get(&request)?,
            "drawers under {json}"
        );
        let worded = GetRequest {
            document: DocumentFilter::Contains("alpha".into()),
            ..request
        };
        same!(
            restricted.get(&worded)?,
            alone.get(&worded)?,
            "drawers with a word under {json}"
        );
    }
    Ok(())
}

fn in_orders(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    for order in DrawerOrder::ALL {
        // Some hidden drawers are newer, so an offset that counts them shifts every page.
        for offset in 0..3 {
            let page = GetRequest {
                order,
                offset,
                limit: Some(2),
                ..GetRequest::default()
            };
            let found = restricted.get(&page)?;
            same!(
                found,
                alone.get(&page)?,
                "a page by {} from {offset}",
                order.name()
            );
            let Some(last) = found.last() else { continue };
            let next = GetRequest { offset: 0, ..page }.continued_after(last);
            same!(
                restricted.get(&next)?,
                alone.get(&next)?,
                "the next page by {}",
                order.name()
            );
        }
    }
    Ok(())
}

fn hits_in_sight_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    for k in 1..5 {
        // The question is the vector of a hidden drawer: filtering after the search would return fewer than
        // k.
        let query = QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.01], k);
        same!(restricted.query(&query)?, alone.query(&query)?, "the {k} nearest");
    }
    Ok(())
}

fn words_in_sight_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    // Scores must be equal as well: inverse document frequencies over everything reveal hidden texts, and
    // `zulu` occurs only in them.
    for words in ["alpha", "alpha kilo", "zulu", "tango bravo"] {
        let lexical = LexicalRequest::for_words(words, 10);
        same!(
            restricted.lexical(&lexical)?,
            alone.lexical(&lexical)?,
            "hits of {words:?} with their scores"
        );
    }
    Ok(())
}

fn counts_in_sight_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    let conditions = [
        DrawerCondition::default(),
        Filter::text_equals("wing", "home").into(),
        parse_filter(r#"{"day":{"$in":[1,4]}}"#).into(),
        DrawerCondition {
            filter: Filter::All,
            document: DocumentFilter::Contains("alpha".into()),
        },
    ];
    for condition in conditions {
        same!(
            restricted.count(&condition)?,
            alone.count(&condition)?,
            "drawers that meet {condition:?}"
        );
    }
    Ok(())
}

fn facets_in_sight_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    for key in FacetKey::ALL.into_iter().chain(FacetKey::DAYS) {
        let facets = FacetRequest {
            by: vec![key],
            ..FacetRequest::by_room()
        };
        same!(
            restricted.facets(&facets)?,
            alone.facets(&facets)?,
            "facets by {}",
            key.name()
        );
        let home = FacetRequest {
            filter: Filter::text_equals("wing", "home"),
            ..facets
        };
        same!(restricted.facets(&home)?, [], "facets of a wing out of sight");
    }
    Ok(())
}

fn info_counts_in_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, alone) = beside_alone(scene)?;
    let (found, expected) = (restricted.info()?, alone.info()?);
    same!(found.drawers, expected.drawers, "drawers");
    same!(
        found.coverage.nearest,
        expected.coverage.nearest,
        "drawers with a vector"
    );
    same!(
        found.coverage.lexical,
        expected.coverage.lexical,
        "drawers with words"
    );
    ensure!(
        found.coverage.packed <= found.coverage.nearest,
        "expected no more packed than seen, found {:?}",
        found.coverage
    );
    Ok(())
}

fn info_stays_unmoved(scene: &CaseScene<'_>) -> CaseOutcome {
    let whole = scene.open_filled(drawers_in_sight())?;
    let restricted = scene.open_seeing(work_filter())?;
    let before = restricted.info()?;
    let filed = drawers_out_of_sight()
        .into_iter()
        .map(|drawer| Write::Add(scene.fit_drawer(drawer)));
    whole.apply_batch(&filed.collect::<Vec<_>>())?;
    // All of `info`, so that not even the sequence number tells of writes out of sight.
    same!(
        restricted.info()?,
        before,
        "info after drawers were filed out of sight"
    );
    let patch = DrawerPatch {
        document: Some("changed".into()),
        ..DrawerPatch::new(id("secret-1"))
    };
    whole.apply_batch(&[Write::Update(patch)])?;
    whole.delete_drawer(id("secret-2"))?;
    same!(
        restricted.info()?,
        before,
        "info after drawers out of sight were changed and removed"
    );
    let receipt = restricted.delete_drawer(id("w1"))?;
    same!(receipt.deleted.len(), 1, "drawers removed in sight");
    same!(
        restricted.info()?.drawers,
        2,
        "drawers by info after one in sight was removed"
    );
    Ok(())
}

fn moment_sees_alike(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, _) = beside_alone(scene)?;
    let Some(moment) = restricted.moment()? else {
        return Err("expected a moment, found none".to_owned().into());
    };
    let everything = GetRequest {
        include: scene.every_field(),
        ..GetRequest::default()
    };
    same!(
        moment.get(&everything)?,
        restricted.get(&everything)?,
        "drawers of the moment"
    );
    same!(
        moment.count(&DrawerCondition::default())?,
        3,
        "count of the moment"
    );
    same!(
        moment.facets(&FacetRequest::by_room())?,
        restricted.facets(&FacetRequest::by_room())?,
        "facets of the moment"
    );
    same!(moment.info()?, restricted.info()?, "info of the moment");
    same!(
        found_by_words(scene, moment.as_ref())?,
        found_by_words(scene, restricted.as_ref())?,
        "hits of the moment"
    );
    Ok(())
}

fn found_by_words<R: CollectionReader + ?Sized>(
    scene: &CaseScene<'_>,
    reader: &R,
) -> CaseOutcome<Vec<loci_core::DrawerHit>> {
    if !scene.can(Capability::Lexical) {
        return Ok(Vec::new());
    }
    Ok(reader.lexical(&LexicalRequest::for_words("alpha tango", 10))?)
}

fn any_filter(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut given = drawers_out_of_sight();
    given.extend(drawers_in_sight());
    let tags = ["x", "y"].map(|tag| MetadataScalar::Text(tag.into()));
    given[0]
        .metadata
        .insert("tags", MetadataValue::Many(tags.to_vec()));
    given[4].metadata.insert(
        "tags",
        MetadataValue::Many(vec![MetadataScalar::Text("x".into())]),
    );
    let whole = scene.open_filled(given)?;
    let stored = whole.get(&GetRequest::default())?;
    for json in [
        r#"{"wing":{"$ne":"home"}}"#,
        r#"{"wing":{"$in":["work","nowhere"]}}"#,
        r#"{"wing":{"$nin":["home"]}}"#,
        r#"{"tags":{"$contains":"x"}}"#,
        r#"{"tags":{"$not_contains":"y"}}"#,
        r#"{"$or":[{"wing":"work"},{"tags":{"$contains":"y"}}]}"#,
        r#"{"$and":[{"wing":"work"},{"day":{"$ne":2}}]}"#,
        r#"{"wing":"nowhere"}"#,
    ] {
        // Any filter may restrict a handle, not only a wing; `Filter::accepts` decides.
        let visible = parse_filter(json);
        let meant = stored.iter().filter(|drawer| visible.accepts(drawer));
        let meant: Vec<String> = meant.map(|drawer| drawer.id.to_string()).collect();
        let restricted = scene.open_seeing(visible)?;
        same!(all_ids(restricted.as_ref())?, meant, "ids that {json} sees");
        let count = restricted.count(&DrawerCondition::default())?;
        if !scene.can(Capability::EstimatedCount) {
            same!(count, meant.len() as u64, "drawers that {json} sees");
        }
    }
    Ok(())
}

fn follows_moves(scene: &CaseScene<'_>) -> CaseOutcome {
    let whole = scene.open_filled(drawers_in_sight())?;
    let restricted = scene.open_seeing(work_filter())?;
    let moving = |to: &str| {
        let mut patch = DrawerPatch::new(id("w2"));
        patch.place.wing = Some(to.into());
        whole.apply_batch(&[Write::Update(patch)])
    };
    // The handle stays open: visibility is decided at each read and not once when it is opened.
    moving("home")?;
    same!(
        all_ids(restricted.as_ref())?,
        ["w1", "w3"],
        "ids after one moved out of sight"
    );
    moving("work")?;
    same!(
        all_ids(restricted.as_ref())?,
        ["w1", "w2", "w3"],
        "ids after it moved back"
    );
    Ok(())
}

fn no_sub_traits(scene: &CaseScene<'_>) -> CaseOutcome {
    let (restricted, _) = beside_alone(scene)?;
    let offered = list_offered(restricted.as_ref());
    same!(
        offered,
        [false; 5],
        "spaces, sources, feed, upkeep and erasure of a restricted handle"
    );
    expect_refusal(restricted.require_feed().map(drop), ErrorKind::Unsupported, &[])
}

fn list_offered(collection: &dyn Collection) -> [bool; 5] {
    [
        collection.spaces().is_some(),
        collection.sources().is_some(),
        collection.feed().is_some(),
        collection.upkeep().is_some(),
        collection.eraser().is_some(),
    ]
}

fn offers_every_ability(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled(drawers_in_sight())?;
    let advertised = [
        scene.can(Capability::Spaces),
        scene.can(Capability::Sources),
        scene.can(Capability::ChangeFeed),
        !scene.descriptor().maintenance.is_empty(),
        scene.can(Capability::Erasure),
    ];
    let asks_nothing = [
        Filter::All,
        // Accept everything without being `Filter::All`; a comparison with `All` would take the abilities
        // away.
        Filter::And(Vec::new()),
        Filter::Or(vec![work_filter(), Filter::All]),
    ];
    for visible in asks_nothing {
        let handle = scene.open_seeing(visible.clone())?;
        same!(
            list_offered(handle.as_ref()),
            advertised,
            "sub-traits of a handle that sees {visible}"
        );
        same!(
            all_ids(handle.as_ref())?,
            ["w1", "w2", "w3"],
            "ids that {visible} sees"
        );
    }
    Ok(())
}

fn no_ranges(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled(drawers_in_sight())?;
    let options = OpenOptions {
        visible: parse_filter(r#"{"$or":[{"wing":"work"},{"day":{"$gt":1}}]}"#),
        ..scene.usual_options()
    };
    // Ignoring the condition would show drawers that the caller must not see, so the handle as a whole is
    // refused.
    let opened = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &options);
    expect_refusal(opened, ErrorKind::UnsupportedFilter, &[])?;
    if !scene.can(Capability::ReadOnly) {
        expect_refusal(
            scene.make_collection(&collection_name("new"), &options),
            ErrorKind::UnsupportedFilter,
            &[],
        )?;
        same!(
            scene.backend().collections(&scene.palace())?.len(),
            1,
            "collections"
        );
    }
    let whole = scene.open()?;
    let nothing = GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    same!(whole.get(&nothing)?.len(), 3, "drawers");
    Ok(())
}
