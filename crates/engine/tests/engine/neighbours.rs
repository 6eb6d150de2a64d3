//! Neighbours: what stands around a drawer in its source.

use std::sync::Arc;

use loci_core::{Collection, CollectionExt, CollectionReaderExt as _, Drawer, ErrorKind};
use loci_engine::OnConflict;
use loci_engine::neighbours::{NeighbourDrawers, find_neighbours, find_neighbours_of_many};

use super::*;

/// Two sources whose ids are in another order than their pieces, a note without a source, and one without a span.
fn collection() -> Arc<dyn Collection> {
    let backend = reference();
    let piece = |id: &str, source: &str, start: u64| {
        let end = start + 10;
        format!(
            r#"{{"id":"{id}","text":"text of {id}","source":"{source}","span":{{"start":{start},"end":{end},"line_start":1,"line_end":1}}}}"#
        )
    };
    let lines = [
        piece("e", "one", 0),
        piece("a", "one", 10),
        piece("d", "one", 20),
        piece("b", "one", 100),
        piece("c", "one", 100),
        piece("x", "two", 0),
        piece("y", "two", 10),
        r#"{"id":"note","text":"n"}"#.to_owned(),
        r#"{"id":"loose","text":"l","source":"one"}"#.to_owned(),
    ];
    import(&backend, OnConflict::Keep, &lines.join("\n"));
    backend
        .open(&palace(), &name("drawers"), &OpenOptions::for_writing())
        .unwrap()
}

fn found(collection: &dyn Collection, name: &str) -> Drawer {
    collection.find_drawer(&id(name)).unwrap().unwrap()
}

fn names(around: &NeighbourDrawers) -> (String, String) {
    let join = |drawers: &[Drawer]| {
        drawers
            .iter()
            .map(|drawer| drawer.id.as_str())
            .collect::<String>()
    };
    (join(&around.before), join(&around.after))
}

#[test]
fn neighbours_come_in_the_order_of_the_source_with_their_texts() {
    let collection = collection();
    let check = |name: &str, before: usize, after: usize, expect: (&str, &str)| {
        let around = find_neighbours(
            collection.as_ref(),
            &found(collection.as_ref(), name),
            before,
            after,
        )
        .unwrap();
        assert_eq!(
            names(&around),
            (expect.0.to_owned(), expect.1.to_owned()),
            "{name}"
        );
        for drawer in around.before.iter().chain(&around.after) {
            assert_eq!(
                drawer.document.as_deref(),
                Some(format!("text of {}", drawer.id).as_str())
            );
        }
    };
    check("d", 2, 2, ("ea", "bc"));
    check("d", 1, 0, ("a", ""));
    check("e", 2, 2, ("", "ad"));
    check("c", 9, 9, ("eadb", ""));
    check("b", usize::MAX, usize::MAX, ("ead", "c"));
    check("x", 2, 2, ("", "y"));
}

#[test]
fn many_drawers_are_answered_in_their_order_whatever_their_sources() {
    let collection = collection();
    let drawers: Vec<Drawer> = ["y", "note", "d", "a", "loose", "d"]
        .iter()
        .map(|name| found(collection.as_ref(), name))
        .collect();
    let asked: Vec<&Drawer> = drawers.iter().collect();
    let all = find_neighbours_of_many(collection.as_ref(), &asked, 1, 1).unwrap();
    let all: Vec<(String, String)> = all.iter().map(names).collect();
    let expect = [("x", ""), ("", ""), ("a", "b"), ("e", "d"), ("", ""), ("a", "b")];
    assert_eq!(
        all,
        expect.map(|(before, after)| (before.to_owned(), after.to_owned()))
    );
    assert!(
        find_neighbours_of_many(collection.as_ref(), &[], 1, 1)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_drawer_removed_meanwhile_still_has_its_neighbours() {
    let collection = collection();
    let gone = found(collection.as_ref(), "d");
    collection.delete_drawer(id("d")).unwrap();
    let around = find_neighbours(collection.as_ref(), &gone, 1, 1).unwrap();
    assert_eq!(names(&around), ("a".to_owned(), "b".to_owned()));
}

#[test]
fn a_drawer_that_stands_nowhere_is_refused_by_name() {
    let collection = collection();
    for (name, says) in [
        ("note", "not cut from a source"),
        ("loose", "does not record its position"),
    ] {
        let error =
            find_neighbours(collection.as_ref(), &found(collection.as_ref(), name), 1, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.message().contains(says) && error.message().contains(name),
            "{error}"
        );
    }
}
