//! Provenance in the row: what is damaged is said, and what a later release wrote is kept though it cannot be read.

use crate::scene::{raw, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 4;

/// A palace with one drawer whose provenance column holds `text`.
fn with_column(text: &str) -> (tempfile::TempDir, std::sync::Arc<dyn Collection>) {
    let folder = tempfile::tempdir().unwrap();
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, true).unwrap();
    collection
        .add_drawer(NewDrawer {
            provenance: Some(Provenance::new(FilingDoor::Agent, OriginKind::Note).filed_by("ada")),
            ..truth::drawer(1, 0, DIMENSION)
        })
        .unwrap();
    let column = column(folder.path());
    assert_eq!(column, r#"{"door":"agent","origin":"note","by":"ada"}"#);
    let connection = raw::connect(folder.path());
    connection
        .execute("UPDATE drawers SET provenance = ?1", [text])
        .unwrap();
    drop(connection);
    (folder, collection)
}

fn column(folder: &std::path::Path) -> String {
    raw::connect(folder)
        .query_row("SELECT provenance FROM drawers", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn garbage_is_none_and_said_with_the_drawer_and_by_an_examination() {
    for garbage in [
        "",
        "agent",
        "[]",
        r#"{"door":"agent"}"#,
        r#"{"door":"agent","origin":3}"#,
    ] {
        let (folder, collection) = with_column(garbage);
        let drawer = collection.find_drawer(&truth::id(1)).unwrap().unwrap();
        assert_eq!(drawer.provenance, None, "{garbage}");
        assert!(drawer.damage[0].contains("provenance"), "{:?}", drawer.damage);
        assert_eq!(drawer.document, Some(truth::text(1, 0)), "the rest is there");
        let findings = EmbeddedBackend::new().examine(folder.path()).unwrap().findings;
        assert!(
            findings.iter().any(|finding| finding.code == "drawer_damaged"),
            "{findings:?}"
        );
    }
}

#[test]
fn a_name_of_a_later_release_is_none_and_no_damage_and_stays_when_the_drawer_changes() {
    let later = r#"{"door":"telepathy","origin":"note","mood":"calm"}"#;
    let (folder, collection) = with_column(later);
    let drawer = collection.find_drawer(&truth::id(1)).unwrap().unwrap();
    assert_eq!((drawer.provenance, drawer.damage), (None, Vec::new()));
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    let moved = DrawerPatch {
        place: DrawerPlace {
            room: Some("other".into()),
            ..DrawerPlace::default()
        },
        ..DrawerPatch::new(truth::id(1))
    };
    let reworded = DrawerPatch {
        document: Some("other words".into()),
        ..DrawerPatch::new(truth::id(1))
    };
    for patch in [moved, reworded] {
        collection.apply_batch(&[Write::Update(patch)]).unwrap();
        assert_eq!(column(folder.path()), later);
    }
    let set = Provenance::new(FilingDoor::Hook, OriginKind::File);
    collection
        .apply_batch(&[Write::Update(DrawerPatch {
            provenance: Some(set.clone()),
            ..DrawerPatch::new(truth::id(1))
        })])
        .unwrap();
    assert_eq!(
        collection.find_drawer(&truth::id(1)).unwrap().unwrap().provenance,
        Some(set)
    );
}
