//! What is in another wing does not exist: no call finds it, counts it, changes it or files beside it.

use loci_conformance::Reference;
use loci_core::{
    Backend, CollectionExt, CollectionName, DocumentFilter, FacetKey, OpenOptions, PalaceRef, Place,
};

use super::*;

/// A collection with two drawers in each of three wings and one in none.
fn whole() -> Arc<dyn Collection> {
    let palace = PalaceRef::named("p");
    let name = CollectionName::new("drawers").unwrap();
    let how = OpenOptions {
        embedder: Some(loci_engine::filing::given(2)),
        ..OpenOptions::create()
    };
    let collection = Reference::new().open(&palace, &name, &how).unwrap();
    for (at, wing) in [Some("a"), Some("b"), Some("c"), None].into_iter().enumerate() {
        for room in ["x", "y"] {
            collection
                .add(drawer(
                    &format!("{}-{room}", wing.unwrap_or("none")),
                    wing,
                    room,
                    at,
                ))
                .unwrap();
        }
    }
    collection
}

fn drawer(id: &str, wing: Option<&str>, room: &str, at: usize) -> NewDrawer {
    NewDrawer {
        place: Place {
            wing: wing.map(Into::into),
            room: Some(room.into()),
            ..Place::default()
        },
        embedding: Some(vec![1.0, at as f32]),
        ..NewDrawer::new(DrawerId::new(id).unwrap(), format!("apples of {id}"))
    }
}

fn scoped() -> (Arc<dyn Collection>, Scoped) {
    let whole = whole();
    let scope = Scope {
        read_only: false,
        wings: vec!["a".into(), "b".into()],
    };
    (whole.clone(), Scoped::new(whole, scope))
}

fn id(text: &str) -> DrawerId {
    DrawerId::new(text).unwrap()
}

fn ids<'a>(drawers: impl IntoIterator<Item = &'a loci_core::Drawer>) -> Vec<&'a str> {
    let mut ids: Vec<&str> = drawers.into_iter().map(|drawer| drawer.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

const OWN: [&str; 4] = ["a-x", "a-y", "b-x", "b-y"];

#[test]
fn no_reading_finds_what_is_in_another_wing() {
    let (_, scoped) = scoped();
    assert_eq!(ids(&scoped.get(&Get::default()).unwrap()), OWN);
    assert!(
        scoped
            .get(&Get::ids([id("c-x"), id("none-x")]))
            .unwrap()
            .is_empty()
    );
    let hits = scoped.query(&Query::nearest(vec![1.0, 2.0], 10)).unwrap();
    assert_eq!(ids(hits.iter().flatten().map(|hit| &hit.drawer)), OWN);
    let hits = scoped.lexical(&Lexical::words("apples", 10)).unwrap();
    assert_eq!(ids(hits.iter().map(|hit| &hit.drawer)), OWN);
    assert_eq!(scoped.count(&Filter::All).unwrap(), 4);
    assert_eq!(scoped.count(&Filter::text("wing", "c")).unwrap(), 0);
    let facets = scoped
        .facets(&Facets {
            by: vec![FacetKey::Wing],
            filter: Filter::All,
        })
        .unwrap();
    let wings: Vec<_> = facets
        .iter()
        .flat_map(|facet| facet.values.clone())
        .flatten()
        .collect();
    assert_eq!(wings, ["a", "b"]);
    let info = scoped.info().unwrap();
    assert_eq!(
        (info.drawers, info.coverage.nearest, info.coverage.lexical),
        (4, 4, 4)
    );
    let either = Filter::Or(vec![Filter::text("wing", "c"), Filter::text("room", "x")]);
    let found = scoped
        .get(&Get {
            filter: either,
            document: DocumentFilter::All,
            ..Get::default()
        })
        .unwrap();
    assert_eq!(ids(&found), ["a-x", "b-x"]);
}

#[test]
fn nothing_of_another_wing_is_changed_or_removed() {
    let (whole, scoped) = scoped();
    let mut patch = Patch::new(id("c-x"));
    patch.document = Some("changed".into());
    let receipt = scoped.apply(&[Write::Update(patch)]).unwrap();
    assert_eq!(receipt.missing, [id("c-x")]);
    let both = Selection::Ids(vec![id("a-x"), id("c-x")]);
    let receipt = scoped.apply(&[Write::Delete(both)]).unwrap();
    assert_eq!(
        (receipt.deleted, receipt.missing),
        (vec![id("a-x")], vec![id("c-x")])
    );
    let all = Selection::Matching(Filter::text("room", "x"));
    let receipt = scoped.apply(&[Write::Delete(all)]).unwrap();
    assert_eq!(receipt.deleted, [id("b-x")]);
    let left = whole.get(&Get::default()).unwrap();
    assert_eq!(ids(&left), ["a-y", "b-y", "c-x", "c-y", "none-x", "none-y"]);
    let kept = left.iter().find(|drawer| drawer.id.as_str() == "c-x").unwrap();
    assert_eq!(kept.document.as_deref(), Some("apples of c-x"));
}

#[test]
fn nothing_is_filed_in_another_wing_or_moved_there() {
    let (whole, scoped) = scoped();
    let before = whole.get(&Get::default()).unwrap();
    let mut leaving = Patch::new(id("a-x"));
    leaving.place.wing = Some("c".into());
    let mut by_metadata = Patch::new(id("a-x"));
    by_metadata.metadata.insert("wing".into(), Some("c".into()));
    let mut to_none = Patch::new(id("a-x"));
    to_none.metadata.insert("wing".into(), None);
    let mut named = drawer("new", None, "x", 9);
    named.metadata.insert("wing", "c".to_owned());
    let refused = [
        Write::Add(drawer("new", Some("c"), "x", 9)),
        Write::Add(drawer("new", None, "x", 9)),
        Write::Add(named),
        Write::Add(drawer("c-x", Some("a"), "x", 9)),
        Write::Upsert(drawer("c-x", Some("a"), "x", 9)),
        Write::Update(leaving),
        Write::Update(by_metadata),
        Write::Update(to_none),
    ];
    for write in refused {
        assert!(scoped.apply(std::slice::from_ref(&write)).is_err(), "{write:?}");
    }
    assert_eq!(whole.get(&Get::default()).unwrap(), before);
    let receipt = scoped
        .apply(&[Write::Add(drawer("new", Some("b"), "x", 9))])
        .unwrap();
    assert_eq!(receipt.added, [id("new")]);
}
