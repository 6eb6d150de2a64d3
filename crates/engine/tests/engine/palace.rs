//! A palace: what its operations see and do alike, whichever is asked.

mod pages;
mod scope;

use super::embedders::Bag;
use super::*;
use loci_core::{
    CollectionExt as _, DrawerOrder, DrawerPlace, ErrorKind, FacetKey, Filter, Metadata, MetadataScalar,
    MetadataValue, PalaceFinding, SourceSpan,
};
use loci_engine::add::AddRequest;
use loci_engine::delete::DeleteRequest;
use loci_engine::facets::FacetsRequest;
use loci_engine::list::ListRequest;
use loci_engine::refile::MoveRequest;
use loci_engine::search::SearchRetriever;
use loci_engine::show::ShowRequest;
use loci_engine::view::{DrawerScope, ScopeFields};
use loci_engine::{AccessPolicy, SearchRequest};

fn machine() -> Machine {
    Machine(vec![Bag::new("old", 8), Bag::new("new", 12)])
}

/// A drawer of wing, room, source and speaker.
fn placed(key: &str, text: &str, [wing, room, source, speaker]: [&str; 4]) -> NewDrawer {
    NewDrawer {
        place: DrawerPlace {
            wing: Some(wing.into()),
            room: Some(room.into()),
            source: Some(source.into()),
            speaker: Some(speaker.into()),
            kind: Some("note".into()),
            ..DrawerPlace::default()
        },
        metadata: Metadata::new().with_entry(
            "tags",
            MetadataValue::Many(
                ["red", "blue"]
                    .map(|tag| MetadataScalar::Text(tag.into()))
                    .to_vec(),
            ),
        ),
        ..NewDrawer::new(id(key), text)
    }
}

/// Three drawers in two wings.
fn furnished(backend: &Reference) -> Palace {
    let palace = open_palace(backend, &machine());
    let drawers = [
        placed(
            "work-1",
            "the ship leaves at dawn",
            ["work", "plans", "/t/a/notes.md", "ann"],
        ),
        placed(
            "work-2",
            "she counts apples",
            ["work", "shopping", "/t/b/chats.json#1", "bob"],
        ),
        placed(
            "home-1",
            "the ship model is glued",
            ["home", "hobbies", "/t/b/chats.json#2", "carl"],
        ),
    ];
    for drawer in drawers {
        add(&palace, drawer);
    }
    palace
}

fn add(palace: &Palace, drawer: NewDrawer) -> loci_engine::add::AddReport {
    let upsert = false;
    palace.add(&AddRequest { drawer, upsert }).unwrap()
}

fn listing(scope: DrawerScope) -> ListRequest {
    ListRequest {
        scope,
        order: DrawerOrder::Id,
        cursor: None,
        limit: 100,
        embeddings: false,
        total: false,
    }
}

fn search_of(palace: &Palace, query: &str, scope: DrawerScope) -> SearchRequest {
    SearchRequest {
        scope,
        ..SearchRequest::new(query, palace.now())
    }
}

/// The number of drawers that an operation found, and its warnings.
type Answered = loci_core::Result<(u64, Vec<PalaceFinding>)>;

/// Every operation that takes a scope, with its answer.
fn asked_everywhere(palace: &Palace, scope: &DrawerScope) -> Vec<(&'static str, Answered)> {
    let mut answers = asked_readers(palace, scope);
    let deleted = palace.delete(&DeleteRequest {
        scope: scope.clone(),
        dry_run: true,
        ..DeleteRequest::default()
    });
    answers.push(("delete", deleted.map(|it| (it.matched, it.warnings))));
    let moved = palace.move_drawers(&MoveRequest {
        scope: scope.clone(),
        to_room: Some("elsewhere".into()),
        dry_run: true,
        ..MoveRequest::default()
    });
    answers.push(("move", moved.map(|it| (it.matched, it.warnings))));
    answers
}

fn asked_readers(palace: &Palace, scope: &DrawerScope) -> Vec<(&'static str, Answered)> {
    let found = |hits: usize, warnings| (hits as u64, warnings);
    let listed = palace.list(&listing(scope.clone()));
    let facets = palace.count_facets(&FacetsRequest {
        by: vec![FacetKey::Source],
        scope: scope.clone(),
    });
    let searched = palace.search(&search_of(palace, "ship apples", scope.clone()));
    let by_one = |only| {
        palace.search(&SearchRequest {
            only: Some(only),
            ..search_of(palace, "ship apples", scope.clone())
        })
    };
    let (nearest, matching) = (by_one(SearchRetriever::Meaning), by_one(SearchRetriever::Words));
    vec![
        ("list", listed.map(|it| found(it.drawers.len(), it.warnings))),
        ("count", palace.count(scope).map(|it| (it.count, it.warnings))),
        ("facets", facets.map(|it| found(it.facets.len(), it.warnings))),
        (
            "wings",
            palace
                .list_wings(scope)
                .map(|it| found(it.wings.len(), it.warnings)),
        ),
        ("search", searched.map(|it| found(it.hits.len(), it.warnings))),
        ("nearest", nearest.map(|it| found(it.hits.len(), it.warnings))),
        ("matching", matching.map(|it| found(it.hits.len(), it.warnings))),
    ]
}

#[test]
fn the_beginning_of_an_id_will_do_where_no_other_begins_so() {
    let backend = reference();
    let palace = open_palace(&backend, &machine());
    for key in ["abcdef-1", "abcdef-2", "zebra-stripes"] {
        add(&palace, NewDrawer::new(id(key), key));
    }
    let show = |key: &str| {
        palace.show(&ShowRequest {
            ids: vec![id(key)],
            embeddings: true,
        })
    };
    let found = show("zebra-").unwrap();
    assert_eq!(found.drawers[0].id, id("zebra-stripes"));
    assert!(matches!(&found.drawers[0].embedding, Some(Some(vector)) if vector.len() == 8));
    assert_eq!(
        show("zebra").unwrap().missing,
        [id("zebra")],
        "five characters are too few"
    );
    assert_eq!(show("abcdef").unwrap_err().kind(), ErrorKind::Invalid);
    let removed = palace.delete(&DeleteRequest {
        ids: vec![id("zebra-str"), id("nothing-like-it")],
        ..DeleteRequest::default()
    });
    let removed = removed.unwrap();
    assert_eq!(
        (removed.matched, removed.deleted, removed.missing),
        (1, 1, vec![id("nothing-like-it")])
    );
    assert_eq!(show("zebra-stripes").unwrap().drawers, []);
}

#[test]
fn nothing_is_removed_or_moved_but_what_was_counted() {
    let backend = reference();
    let palace = furnished(&backend);
    let all = DrawerScope::from(Filter::text_equals("kind", "note"));
    let expecting = |expected| DeleteRequest {
        scope: all.clone(),
        expected: Some(expected),
        ..DeleteRequest::default()
    };
    assert_eq!(
        palace.delete(&expecting(2)).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(palace.count(&all).unwrap().count, 3);
    assert_eq!(
        palace.delete(&DeleteRequest::default()).unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let moved = palace.move_drawers(&MoveRequest {
        scope: all.clone(),
        to_wing: Some("WORK".into()),
        ..MoveRequest::default()
    });
    let moved = moved.unwrap();
    assert_eq!(
        (moved.matched, moved.moved),
        (3, 1),
        "spelled as it is; two were there"
    );
    assert_eq!(palace.list_wings(&all).unwrap().wings[0].drawers, 3);
    assert_eq!(palace.delete(&expecting(3)).unwrap().deleted, 3);
}

/// The palace of `backend` for a caller with these rights.
fn restricted(backend: &Reference, read_only: bool, wings: &[&str]) -> Palace {
    open_palace(backend, &machine()).restricted_to(AccessPolicy::limited(
        read_only,
        wings.iter().map(|wing| (*wing).to_owned()).collect(),
    ))
}

fn adding(drawer: NewDrawer) -> AddRequest {
    AddRequest {
        drawer,
        upsert: false,
    }
}

fn moving(key: &str, to_wing: &str) -> MoveRequest {
    MoveRequest {
        ids: vec![id(key)],
        to_wing: Some(to_wing.into()),
        ..MoveRequest::default()
    }
}

fn deleting(key: &str) -> DeleteRequest {
    DeleteRequest {
        ids: vec![id(key)],
        ..DeleteRequest::default()
    }
}

#[test]
fn a_caller_who_may_only_read_changes_nothing() {
    let backend = reference();
    furnished(&backend);
    let reader = restricted(&backend, true, &[]);
    let drawer = placed("new", "text", ["home", "r", "s", "x"]);
    let refused = [
        reader.add(&adding(drawer)).map(drop),
        reader.delete(&deleting("home-1")).map(drop),
        reader.move_drawers(&moving("home-1", "work")).map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
    assert_eq!(reader.count(&DrawerScope::default()).unwrap().count, 3);
}

#[test]
fn a_caller_for_whom_one_wing_exists_reaches_no_other() {
    let backend = reference();
    furnished(&backend);
    let home = restricted(&backend, false, &["home"]);
    let show = ShowRequest {
        ids: vec![id("work-1")],
        embeddings: false,
    };
    assert_eq!(home.show(&show).unwrap().drawers, []);
    assert_eq!(home.delete(&deleting("work-1")).unwrap().matched, 0);
    let away = home.move_drawers(&moving("home-1", "work")).unwrap_err();
    assert_eq!(away.kind(), ErrorKind::NotFound, "that wing does not exist here");
    let outside = placed("out", "text", ["work", "r", "s2", "x"]);
    let outside = home.add(&adding(outside)).unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::Invalid, "{outside}");
    let mined = home.mine(&loci_engine::MineRequest::for_paths([]), &mut |_| {});
    assert_eq!(mined.unwrap_err().kind(), ErrorKind::Unsupported);
    let drawer = placed("new", "text", ["home", "r", "s", "x"]);
    assert_eq!(home.add(&adding(drawer)).unwrap().receipt.added, [id("new")]);
}

#[test]
fn a_palace_goes_on_when_its_collection_moves_to_another_model_or_is_made_anew() {
    let backend = reference();
    let palace = open_palace(&backend, &machine());
    let made = add(&palace, NewDrawer::new(id("a"), "first"));
    assert_eq!(made.made_palace.as_deref(), Some("palace"));
    assert_eq!(add(&palace, NewDrawer::new(id("b"), "second")).made_palace, None);
    let opened = backend
        .open(&super::palace(), &name("drawers"), &OpenOptions::for_writing())
        .unwrap();
    loci_engine::switch_model(opened.as_ref(), &machine().0[1], &mut |_| true).unwrap();
    assert_eq!(
        add(&palace, NewDrawer::new(id("c"), "third"))
            .receipt
            .without_vector,
        []
    );
    let vectors = palace.show(&ShowRequest {
        ids: vec![id("a"), id("c")],
        embeddings: true,
    });
    for drawer in vectors.unwrap().drawers {
        assert!(
            matches!(&drawer.embedding, Some(Some(vector)) if vector.len() == 12),
            "{drawer:?}"
        );
    }
    // The model changes while an operation is under way: it runs once more.
    let is_switched = std::cell::Cell::new(false);
    let late = palace.run_filing(None, |filing| {
        if !is_switched.replace(true) {
            loci_engine::switch_model(opened.as_ref(), &machine().0[0], &mut |_| true).unwrap();
        }
        filing.apply(vec![Write::Add(NewDrawer::new(id("late"), "fourth"))])
    });
    assert_eq!(late.unwrap().added, [id("late")]);
    backend
        .drop_collection(&super::palace(), &name("drawers"))
        .unwrap();
    let anew = add(&palace, NewDrawer::new(id("d"), "fourth"));
    assert_eq!(anew.receipt.added, [id("d")]);
    assert_eq!(palace.count(&DrawerScope::default()).unwrap().count, 1);
    opened.add_drawer(NewDrawer::new(id("e"), "lost")).unwrap_err();
}

#[test]
fn a_missing_palace_and_a_missing_collection_are_not_found_and_not_made() {
    let backend = reference();
    let nowhere = open_palace(&backend, &machine());
    for (operation, answer) in
        asked_everywhere(&nowhere, &DrawerScope::from(Filter::text_equals("wing", "w")))
    {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{operation}");
        assert!(
            error.to_string().contains("no palace exists at palace"),
            "{error}"
        );
    }
    assert!(!nowhere.exists().unwrap());
    furnished(&backend);
    let other = nowhere.in_collection(Some(name("other")));
    let error = other.count(&DrawerScope::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.hint_text().unwrap().contains("it has: drawers"),
        "{error:?}"
    );
}
