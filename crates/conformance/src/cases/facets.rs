//! Facets: how many drawers there are by wing, room and the like.

use loci_core::{
    CollectionExt, DocumentFilter, ErrorKind, Facet, FacetKey, Facets, Filter, NewDrawer, Patch, Place, Write,
};

use crate::case::refused;
use crate::samples::{filter, id, plain};
use crate::{Outcome, Scene};

cases! { "facets":
    "drawers are counted for each combination of the keys" [] => combinations;
    "facets come in ascending order of their values, unset ones first" [] => order;
    "facets count only drawers that the filter accepts" [] => filtered;
    "drawers can be counted by every key, in the order asked" [] => every_key;
    "a place given as metadata is counted" [] => from_metadata;
    "an empty collection has no facets" [] => empty;
    "facets without keys or with one key twice are refused" [] => bad_keys;
    "facets see places as they are now: changed and removed" [-ReadOnly] => as_they_are;
}

fn placed(called: &str, wing: Option<&str>, room: Option<&str>) -> NewDrawer {
    NewDrawer {
        place: Place {
            wing: wing.map(str::to_owned),
            room: room.map(str::to_owned),
            ..Place::default()
        },
        ..plain(called, "text")
    }
}

fn facet(values: &[Option<&str>], drawers: u64) -> Facet {
    Facet {
        values: values.iter().map(|value| value.map(str::to_owned)).collect(),
        drawers,
    }
}

fn by(keys: &[FacetKey]) -> Facets {
    Facets {
        by: keys.to_vec(),
        filter: Filter::All,
        document: DocumentFilter::All,
    }
}

fn house() -> [NewDrawer; 6] {
    [
        placed("1", Some("w"), Some("b")),
        placed("2", Some("w"), Some("a")),
        placed("3", Some("w"), Some("b")),
        placed("4", Some("v"), None),
        placed("5", None, Some("a")),
        placed("6", None, None),
    ]
}

fn combinations(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let expected = [
        facet(&[None, None], 1),
        facet(&[None, Some("a")], 1),
        facet(&[Some("v"), None], 1),
        facet(&[Some("w"), Some("a")], 1),
        facet(&[Some("w"), Some("b")], 2),
    ];
    same!(
        drawers.facets(&Facets::by_room())?,
        expected,
        "facets by wing and room"
    );
    Ok(())
}

fn order(scene: &Scene<'_>) -> Outcome {
    let wings = ["b", "B", "", "抽", "é", "z", "10", "9"];
    let given = wings
        .iter()
        .enumerate()
        .map(|(at, wing)| placed(&at.to_string(), Some(wing), None));
    let drawers = scene.filled(given.chain([placed("none", None, None)]))?;
    let mut sorted = wings;
    sorted.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let mut expected = vec![facet(&[None], 1)];
    expected.extend(sorted.iter().map(|wing| facet(&[Some(wing)], 1)));
    same!(
        drawers.facets(&by(&[FacetKey::Wing]))?,
        expected,
        "facets by wing"
    );
    Ok(())
}

fn filtered(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let request = |json: &str| Facets {
        by: vec![FacetKey::Wing],
        filter: filter(json),
        document: DocumentFilter::All,
    };
    let expected = [facet(&[None], 1), facet(&[Some("w")], 1)];
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

fn every_key(scene: &Scene<'_>) -> Outcome {
    let place = Place {
        wing: Some("w".into()),
        room: Some("r".into()),
        source: Some("s".into()),
        speaker: Some("p".into()),
        kind: Some("k".into()),
        ..Place::default()
    };
    let given = NewDrawer {
        place,
        ..plain("a", "text")
    };
    let drawers = scene.filled([given])?;
    for (key, value) in FacetKey::ALL.into_iter().zip(["w", "r", "s", "p", "k"]) {
        same!(
            drawers.facets(&by(&[key]))?,
            [facet(&[Some(value)], 1)],
            "facets by {}",
            key.name()
        );
    }
    let turned = by(&[FacetKey::Kind, FacetKey::Source, FacetKey::Wing]);
    same!(
        drawers.facets(&turned)?,
        [facet(&[Some("k"), Some("s"), Some("w")], 1)],
        "facets in the order asked"
    );
    Ok(())
}

fn from_metadata(scene: &Scene<'_>) -> Outcome {
    let mut given = plain("a", "text");
    given.metadata.insert("wing", "w");
    given.metadata.insert("room", 3_i64);
    let drawers = scene.filled([given])?;
    same!(
        drawers.facets(&Facets::by_room())?,
        [facet(&[Some("w"), None], 1)],
        "facets"
    );
    Ok(())
}

fn empty(scene: &Scene<'_>) -> Outcome {
    same!(scene.open()?.facets(&Facets::by_room())?, Vec::new(), "facets");
    Ok(())
}

fn bad_keys(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    refused(drawers.facets(&by(&[])), ErrorKind::Invalid, &["key"])?;
    refused(
        drawers.facets(&by(&[FacetKey::Wing, FacetKey::Room, FacetKey::Wing])),
        ErrorKind::Invalid,
        &["twice"],
    )
}

fn as_they_are(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(house())?;
    let patch = Patch {
        place: Place {
            wing: Some("v".into()),
            ..Place::default()
        },
        ..Patch::new(id("1"))
    };
    drawers.apply_batch(&[
        Write::Update(patch),
        crate::samples::delete("6"),
        Write::Upsert(placed("2", None, None)),
    ])?;
    let expected = [facet(&[None], 2), facet(&[Some("v")], 2), facet(&[Some("w")], 1)];
    same!(
        drawers.facets(&by(&[FacetKey::Wing]))?,
        expected,
        "facets by wing"
    );
    Ok(())
}
