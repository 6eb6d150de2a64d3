//! Visibility: for a restricted handle the drawers out of sight do not exist, whatever it asks.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, CollectionReader, DocumentFilter, DrawerCondition, DrawerOrder,
    ErrorKind, FacetKey, Facets, Filter, Get, Include, Lexical, Metadata, NewDrawer, OpenOptions, Patch,
    Query, Scalar, Value, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, filter, id, ids, name, time, vectored};
use crate::scene::drawers;
use crate::{Outcome, Scene};

cases! { "visibility":
    "a drawer out of sight is never returned by id" [] => by_id;
    "a drawer out of sight is never returned by filter" [] => by_filter;
    "a drawer out of sight is never returned in any order and takes no place in a page" [] => in_orders;
    "a drawer out of sight is never a hit of a query and takes the place of none" [+EmbeddingsPassthrough] => queried;
    "words are matched and scored as if the drawers out of sight did not exist" [+Lexical] => matched;
    "a drawer out of sight is never counted" [] => counted;
    "facets count no drawer out of sight and name none of its values" [] => faceted;
    "info counts only drawers that the handle sees" [-EstimatedCount] => informed;
    "info does not move when drawers out of sight are written" [-ReadOnly] => unmoved;
    "a moment sees what its handle sees" [+Moment] => momentary;
    "whatever the filter of a handle asks for, it sees the drawers that the oracle accepts" [] => any_filter;
    "a drawer that moves into sight is seen and one that moves out of sight is not" [-ReadOnly] => moved;
    "a restricted handle has none of the sub-traits" [] => no_sub_traits;
    "a handle whose filter asks nothing, however it is written, has every sub-trait that is advertised" [] => unrestricted;
    "without range_filters a handle that sees by order is refused as it is opened" [-RangeFilters] => no_ranges;
}

/// The drawers that a handle on the wing `work` sees; they share words, rooms and sources with those it does not.
fn seen() -> Vec<NewDrawer> {
    vec![
        filed("w1", "work", "alpha bravo", 1, [1.0, 0.0, 0.0, 0.0]),
        filed("w2", "work", "alpha kilo kilo", 2, [0.8, 0.2, 0.0, 0.0]),
        filed("w3", "work", "tango", 3, [0.0, 1.0, 0.0, 0.0]),
    ]
}

/// Drawers of another wing: nearer, newer, and full of the same words.
pub(super) fn hidden() -> Vec<NewDrawer> {
    vec![
        filed("secret-1", "home", "alpha alpha alpha", 1, [1.0, 0.0, 0.0, 0.01]),
        filed("secret-2", "home", "bravo zulu", 4, [0.9, 0.1, 0.0, 0.0]),
        filed("secret-3", "home", "tango tango kilo", 5, [0.8, 0.2, 0.0, 0.01]),
    ]
}

fn filed(called: &str, wing: &str, text: &str, day: u32, vector: [f32; 4]) -> NewDrawer {
    let mut drawer = vectored(called, text, &vector);
    drawer.place.wing = Some(wing.into());
    drawer.place.room = Some(format!("room of {wing}"));
    drawer.place.source = Some(format!("{wing}.md"));
    drawer.place.said_at = Some(time(&format!("2026-03-{day:02}")));
    drawer.filed_at = Some(time(&format!("2026-04-{day:02}")));
    drawer.metadata = Metadata::new().with("day", i64::from(day));
    drawer
}

pub(super) fn work() -> Filter {
    Filter::text("wing", "work")
}

/// A handle that sees only the wing `work`, beside one on a collection that holds nothing else.
fn beside_alone(scene: &Scene<'_>) -> Outcome<(Arc<dyn Collection>, Arc<dyn Collection>)> {
    let mut both = hidden();
    both.extend(seen());
    scene.filled(both)?;
    let alone = scene.fill_in(&scene.palace(), "alone", seen())?;
    Ok((scene.open_seeing(work())?, alone))
}

fn by_id(scene: &Scene<'_>) -> Outcome {
    let (restricted, _) = beside_alone(scene)?;
    let asked = ["secret-1", "w2", "secret-2", "w1"].map(id);
    same!(
        ids(&restricted.get(&Get::ids(asked))?),
        ["w2", "w1"],
        "drawers by id"
    );
    same!(
        restricted.get(&Get::ids([id("secret-3")]))?,
        [],
        "drawers out of sight by id"
    );
    Ok(())
}

fn by_filter(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    for json in [
        "{}",
        r#"{"wing":"home"}"#,
        r#"{"wing":{"$ne":"work"}}"#,
        r#"{"$or":[{"wing":"home"},{"day":1}]}"#,
        r#"{"day":{"$in":[1,4,5]}}"#,
    ] {
        let request = Get::matching(filter(json));
        same!(
            restricted.get(&request)?,
            alone.get(&request)?,
            "drawers under {json}"
        );
        let worded = Get {
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

fn in_orders(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    for order in DrawerOrder::ALL {
        for offset in 0..3 {
            let page = Get {
                order,
                offset,
                limit: Some(2),
                ..Get::default()
            };
            let found = restricted.get(&page)?;
            same!(
                found,
                alone.get(&page)?,
                "a page by {} from {offset}",
                order.name()
            );
            let Some(last) = found.last() else { continue };
            let next = Get { offset: 0, ..page }.continued_after(last);
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

fn queried(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    for k in 1..5 {
        let query = Query::nearest(vec![1.0, 0.0, 0.0, 0.01], k);
        same!(restricted.query(&query)?, alone.query(&query)?, "the {k} nearest");
    }
    Ok(())
}

fn matched(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    for words in ["alpha", "alpha kilo", "zulu", "tango bravo"] {
        let lexical = Lexical::words(words, 10);
        same!(
            restricted.lexical(&lexical)?,
            alone.lexical(&lexical)?,
            "hits of {words:?} with their scores"
        );
    }
    Ok(())
}

fn counted(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    let conditions = [
        DrawerCondition::default(),
        Filter::text("wing", "home").into(),
        filter(r#"{"day":{"$in":[1,4]}}"#).into(),
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

fn faceted(scene: &Scene<'_>) -> Outcome {
    let (restricted, alone) = beside_alone(scene)?;
    for key in FacetKey::ALL {
        let facets = Facets {
            by: vec![key],
            ..Facets::by_room()
        };
        same!(
            restricted.facets(&facets)?,
            alone.facets(&facets)?,
            "facets by {}",
            key.name()
        );
        let home = Facets {
            filter: Filter::text("wing", "home"),
            ..facets
        };
        same!(restricted.facets(&home)?, [], "facets of a wing out of sight");
    }
    Ok(())
}

fn informed(scene: &Scene<'_>) -> Outcome {
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

fn unmoved(scene: &Scene<'_>) -> Outcome {
    let whole = scene.filled(seen())?;
    let restricted = scene.open_seeing(work())?;
    let before = restricted.info()?;
    let filed = hidden().into_iter().map(|drawer| Write::Add(scene.fit(drawer)));
    whole.apply_batch(&filed.collect::<Vec<_>>())?;
    same!(
        restricted.info()?,
        before,
        "info after drawers were filed out of sight"
    );
    let patch = Patch {
        document: Some("changed".into()),
        ..Patch::new(id("secret-1"))
    };
    whole.apply_batch(&[Write::Update(patch)])?;
    whole.delete(id("secret-2"))?;
    same!(
        restricted.info()?,
        before,
        "info after drawers out of sight were changed and removed"
    );
    let receipt = restricted.delete(id("w1"))?;
    same!(receipt.deleted.len(), 1, "drawers removed in sight");
    same!(
        restricted.info()?.drawers,
        2,
        "drawers by info after one in sight was removed"
    );
    Ok(())
}

fn momentary(scene: &Scene<'_>) -> Outcome {
    let (restricted, _) = beside_alone(scene)?;
    let Some(moment) = restricted.moment()? else {
        return Err("expected a moment, found none".to_owned().into());
    };
    let everything = Get {
        include: scene.everything(),
        ..Get::default()
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
        moment.facets(&Facets::by_room())?,
        restricted.facets(&Facets::by_room())?,
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
    scene: &Scene<'_>,
    reader: &R,
) -> Outcome<Vec<loci_core::Hit>> {
    if !scene.can(Capability::Lexical) {
        return Ok(Vec::new());
    }
    Ok(reader.lexical(&Lexical::words("alpha tango", 10))?)
}

fn any_filter(scene: &Scene<'_>) -> Outcome {
    let mut given = hidden();
    given.extend(seen());
    let tags = ["x", "y"].map(|tag| Scalar::Text(tag.into()));
    given[0].metadata.insert("tags", Value::Many(tags.to_vec()));
    given[4]
        .metadata
        .insert("tags", Value::Many(vec![Scalar::Text("x".into())]));
    let whole = scene.filled(given)?;
    let stored = whole.get(&Get::default())?;
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
        let visible = filter(json);
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

fn moved(scene: &Scene<'_>) -> Outcome {
    let whole = scene.filled(seen())?;
    let restricted = scene.open_seeing(work())?;
    let moving = |to: &str| {
        let mut patch = Patch::new(id("w2"));
        patch.place.wing = Some(to.into());
        whole.apply_batch(&[Write::Update(patch)])
    };
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

fn no_sub_traits(scene: &Scene<'_>) -> Outcome {
    let (restricted, _) = beside_alone(scene)?;
    let offered = offered(restricted.as_ref());
    same!(
        offered,
        [false; 5],
        "spaces, sources, feed, upkeep and erasure of a restricted handle"
    );
    refused(restricted.require_feed().map(drop), ErrorKind::Unsupported, &[])
}

fn offered(collection: &dyn Collection) -> [bool; 5] {
    [
        collection.spaces().is_some(),
        collection.sources().is_some(),
        collection.feed().is_some(),
        collection.upkeep().is_some(),
        collection.eraser().is_some(),
    ]
}

fn unrestricted(scene: &Scene<'_>) -> Outcome {
    scene.filled(seen())?;
    let advertised = [
        scene.can(Capability::Spaces),
        scene.can(Capability::Sources),
        scene.can(Capability::ChangeFeed),
        !scene.descriptor().maintenance.is_empty(),
        scene.can(Capability::Erasure),
    ];
    let asks_nothing = [
        Filter::All,
        Filter::And(Vec::new()),
        Filter::Or(vec![work(), Filter::All]),
    ];
    for visible in asks_nothing {
        let handle = scene.open_seeing(visible.clone())?;
        same!(
            offered(handle.as_ref()),
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

fn no_ranges(scene: &Scene<'_>) -> Outcome {
    scene.filled(seen())?;
    let options = OpenOptions {
        visible: filter(r#"{"$or":[{"wing":"work"},{"day":{"$gt":1}}]}"#),
        ..scene.how()
    };
    let opened = scene.backend().open(&scene.palace(), &drawers(), &options);
    refused(opened, ErrorKind::UnsupportedFilter, &[])?;
    if !scene.can(Capability::ReadOnly) {
        refused(
            scene.make(&name("new"), &options),
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
    let nothing = Get {
        include: Include::NOTHING,
        ..Get::default()
    };
    same!(whole.get(&nothing)?.len(), 3, "drawers");
    Ok(())
}
