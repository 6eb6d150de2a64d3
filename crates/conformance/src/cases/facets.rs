//! Facets: the number of drawers by wing, room and other place fields.

use loci_core::{
    CollectionExt, DocumentFilter, DrawerPatch, DrawerPlace, ErrorKind, FacetCount, FacetKey, FacetRequest,
    Filter, NewDrawer, Write,
};

use crate::case::expect_refusal;
use crate::samples::{id, parse_filter, text_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "facets":
    "drawers are counted for each combination of the keys" [] => counts_combinations;
    "facets come in ascending order of their values, unset ones first" [] => orders_values;
    "facets count only drawers that the filter accepts" [] => counts_accepted_only;
    "drawers can be counted by every key, in the order asked" [] => every_key;
    "drawers are counted by the day they were said, in UTC, and by the day they were filed" [] => by_day;
    "a part of a day is counted as exactly as whole days" [+RangeFilters] => parts_of_days;
    "a place given as metadata is counted" [] => from_metadata;
    "an empty collection has no facets" [] => empty_has_no_facets;
    "facets without keys or with one key twice are refused" [] => refuses_bad_keys;
    "facets see places as they are now: changed and removed" [-ReadOnly] => sees_places_of_now;
}

fn placed_drawer(called: &str, wing: Option<&str>, room: Option<&str>) -> NewDrawer {
    NewDrawer {
        place: DrawerPlace {
            wing: wing.map(str::to_owned),
            room: room.map(str::to_owned),
            ..DrawerPlace::default()
        },
        ..text_drawer(called, "text")
    }
}

fn expected_facet(values: &[Option<&str>], drawers: u64) -> FacetCount {
    FacetCount {
        values: values.iter().map(|value| value.map(str::to_owned)).collect(),
        drawers,
    }
}

fn facets_by(keys: &[FacetKey]) -> FacetRequest {
    FacetRequest {
        by: keys.to_vec(),
        filter: Filter::All,
        document: DocumentFilter::All,
    }
}

fn house_drawers() -> [NewDrawer; 6] {
    // Every combination of a set and an unset wing and room, and one combination twice.
    [
        placed_drawer("1", Some("w"), Some("b")),
        placed_drawer("2", Some("w"), Some("a")),
        placed_drawer("3", Some("w"), Some("b")),
        placed_drawer("4", Some("v"), None),
        placed_drawer("5", None, Some("a")),
        placed_drawer("6", None, None),
    ]
}

fn counts_combinations(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(house_drawers())?;
    let expected = [
        // A join or a GROUP BY over NULL loses the drawers without a wing or room; they are expected here
        // by name.
        expected_facet(&[None, None], 1),
        expected_facet(&[None, Some("a")], 1),
        expected_facet(&[Some("v"), None], 1),
        expected_facet(&[Some("w"), Some("a")], 1),
        expected_facet(&[Some("w"), Some("b")], 2),
    ];
    same!(
        drawers.facets(&FacetRequest::by_room())?,
        expected,
        "facets by wing and room"
    );
    Ok(())
}

fn orders_values(scene: &CaseScene<'_>) -> CaseOutcome {
    // Byte order differs from case-insensitive, numeric and locale order for these; the empty wing is not
    // the same as no wing.
    let wings = ["b", "B", "", "抽", "é", "z", "10", "9"];
    let given = wings
        .iter()
        .enumerate()
        .map(|(at, wing)| placed_drawer(&at.to_string(), Some(wing), None));
    let drawers = scene.open_filled(given.chain([placed_drawer("none", None, None)]))?;
    let mut sorted = wings;
    sorted.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let mut expected = vec![expected_facet(&[None], 1)];
    expected.extend(sorted.iter().map(|wing| expected_facet(&[Some(wing)], 1)));
    same!(
        drawers.facets(&facets_by(&[FacetKey::Wing]))?,
        expected,
        "facets by wing"
    );
    Ok(())
}

fn counts_accepted_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(house_drawers())?;
    // Counted by wing but filtered by room: counts that are kept per wing cannot answer this.
    let request = |json: &str| FacetRequest {
        by: vec![FacetKey::Wing],
        filter: parse_filter(json),
        document: DocumentFilter::All,
    };
    let expected = [expected_facet(&[None], 1), expected_facet(&[Some("w")], 1)];
    same!(
        drawers.facets(&request(r#"{"room":"a"}"#))?,
        expected,
        "facets of one room"
    );
    same!(
        drawers.facets(&request(r#"{"room":"c"}"#))?,
        Vec::new(),
        "facets of no room"
    );
    Ok(())
}

fn every_key(scene: &CaseScene<'_>) -> CaseOutcome {
    let place = DrawerPlace {
        wing: Some("w".into()),
        room: Some("r".into()),
        source: Some("s".into()),
        speaker: Some("p".into()),
        kind: Some("k".into()),
        ..DrawerPlace::default()
    };
    let given = NewDrawer {
        place,
        ..text_drawer("a", "text")
    };
    let drawers = scene.open_filled([given])?;
    for (key, value) in FacetKey::ALL.into_iter().zip(["w", "r", "s", "p", "k"]) {
        same!(
            drawers.facets(&facets_by(&[key]))?,
            [expected_facet(&[Some(value)], 1)],
            "facets by {}",
            key.name()
        );
    }
    // The values must follow the order of the request, not the order in which the backend stores the keys.
    let turned = facets_by(&[FacetKey::Kind, FacetKey::Source, FacetKey::Wing]);
    same!(
        drawers.facets(&turned)?,
        [expected_facet(&[Some("k"), Some("s"), Some("w")], 1)],
        "facets in the order asked"
    );
    Ok(())
}

fn said_drawer(called: &str, time: Option<&str>, source: &str) -> NewDrawer {
    NewDrawer {
        place: DrawerPlace {
            said_at: time.map(|time| time.parse().expect("the sample is a time")),
            source: Some(source.to_owned()),
            ..DrawerPlace::default()
        },
        ..text_drawer(called, "text")
    }
}

fn said_drawers() -> [NewDrawer; 5] {
    [
        said_drawer("1", Some("2026-05-01T00:00:00Z"), "s"),
        said_drawer("2", Some("2026-05-01T23:59:59.999999Z"), "s"),
        said_drawer("3", Some("2026-05-02T01:00:00+02:00"), "t"),
        said_drawer("4", Some("1969-12-31T23:59:59.999999Z"), "s"),
        said_drawer("5", None, "s"),
    ]
}

fn by_day(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(said_drawers())?;
    let day = |day, source, n| expected_facet(&[day, Some(source)], n);
    let by = facets_by(&[FacetKey::SaidDay, FacetKey::Source]);
    let expected = [
        day(None, "s", 1),
        day(Some("1969-12-31"), "s", 1),
        day(Some("2026-05-01"), "s", 2),
        day(Some("2026-05-01"), "t", 1),
    ];
    same!(drawers.facets(&by)?, expected, "facets by day and source");
    let of_source = FacetRequest {
        filter: parse_filter(r#"{"source":"t"}"#),
        ..by
    };
    same!(
        drawers.facets(&of_source)?,
        expected[3..],
        "facets of one source by day"
    );
    let filed = drawers.facets(&facets_by(&[FacetKey::FiledDay]))?;
    let all: u64 = filed.iter().map(|facet| facet.drawers).sum();
    same!(all, 5, "drawers by the day they were filed");
    Ok(())
}

fn parts_of_days(scene: &CaseScene<'_>) -> CaseOutcome {
    // The number in the metadata is not a time said, but a filter on the time compares it.
    let mut numbered = said_drawer("6", None, "u");
    numbered.metadata.insert("said_at", 86_400_000_000_i64);
    let drawers = scene.open_filled(said_drawers().into_iter().chain([numbered]))?;
    let (first, last) = (Some("1969-12-31"), Some("2026-05-01"));
    // Bounds at the ends of a day, within one, and on both sides.
    type ExpectedCounts<'e> = &'e [(Option<&'e str>, &'e str, u64)];
    let cases: [(&str, ExpectedCounts<'_>); 6] = [
        (
            r#"{"said_at":{"$gte":"2026-05-01"}}"#,
            &[(last, "s", 2), (last, "t", 1)],
        ),
        (
            r#"{"said_at":{"$lt":"2026-05-01"}}"#,
            &[(None, "u", 1), (first, "s", 1)],
        ),
        (
            r#"{"said_at":{"$gt":"2026-05-01"}}"#,
            &[(last, "s", 1), (last, "t", 1)],
        ),
        (
            r#"{"said_at":{"$lte":"2026-05-01T12:00:00Z"}}"#,
            &[(None, "u", 1), (first, "s", 1), (last, "s", 1)],
        ),
        (
            r#"{"$and":[{"said_at":{"$gte":"2026-05-01T12:00:00Z"}},{"said_at":{"$lt":"2026-05-01T23:30:00Z"}}]}"#,
            &[(last, "t", 1)],
        ),
        (
            r#"{"$and":[{"said_at":{"$gte":"2026-05-01"}},{"said_at":{"$lt":"2026-05-02"}},{"source":{"$ne":"s"}}]}"#,
            &[(last, "t", 1)],
        ),
    ];
    for (filter, expected) in cases {
        let request = FacetRequest {
            filter: parse_filter(filter),
            ..facets_by(&[FacetKey::SaidDay, FacetKey::Source])
        };
        let expected: Vec<FacetCount> = expected
            .iter()
            .map(|(day, source, n)| expected_facet(&[*day, Some(source)], *n))
            .collect();
        same!(drawers.facets(&request)?, expected, "facets of {filter}");
    }
    Ok(())
}

fn from_metadata(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut given = text_drawer("a", "text");
    given.metadata.insert("wing", "w");
    // A room must be text: the number stays in the metadata and does not become the room.
    given.metadata.insert("room", 3_i64);
    let drawers = scene.open_filled([given])?;
    same!(
        drawers.facets(&FacetRequest::by_room())?,
        [expected_facet(&[Some("w"), None], 1)],
        "facets"
    );
    Ok(())
}

fn empty_has_no_facets(scene: &CaseScene<'_>) -> CaseOutcome {
    same!(
        scene.open()?.facets(&FacetRequest::by_room())?,
        Vec::new(),
        "facets"
    );
    Ok(())
}

fn refuses_bad_keys(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(house_drawers())?;
    expect_refusal(drawers.facets(&facets_by(&[])), ErrorKind::Invalid, &["key"])?;
    // Not adjacent, so that a check for equal neighbours is not enough.
    expect_refusal(
        drawers.facets(&facets_by(&[FacetKey::Wing, FacetKey::Room, FacetKey::Wing])),
        ErrorKind::Invalid,
        &["twice"],
    )
}

fn sees_places_of_now(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(house_drawers())?;
    let patch = DrawerPatch {
        place: DrawerPlace {
            wing: Some("v".into()),
            ..DrawerPlace::default()
        },
        ..DrawerPatch::new(id("1"))
    };
    // Moved by an update, removed, and moved by a replacement: maintained counts must follow all three.
    drawers.apply_batch(&[
        Write::Update(patch),
        crate::samples::delete_write("6"),
        Write::Upsert(placed_drawer("2", None, None)),
    ])?;
    let expected = [
        expected_facet(&[None], 2),
        expected_facet(&[Some("v")], 2),
        expected_facet(&[Some("w")], 1),
    ];
    same!(
        drawers.facets(&facets_by(&[FacetKey::Wing]))?,
        expected,
        "facets by wing"
    );
    Ok(())
}
