//! A palace of format 5 gains a second copy of the record of its log, and nothing else changes.

use super::*;

/// The content of the fixture of version 5; must never change once the fixture is kept.
fn version_5() -> Vec<Vec<Write>> {
    let known = NewDrawer {
        provenance: Some(Provenance {
            door: FilingDoor::Terminal,
            origin: OriginKind::ALL[0],
            by: Some("ada".into()),
        }),
        ..truth::drawer(40, 0, DIMENSION)
    };
    vec![
        (0..40)
            .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
            .collect(),
        vec![Write::Add(known), Write::Upsert(truth::drawer(5, 1, DIMENSION))],
        vec![Write::Delete(DeleteSelection::Ids(vec![truth::id(7)]))],
    ]
}

/// The copies of the record of the log, at the end of page 2.
fn copies(folder: &Path) -> Vec<u8> {
    let bytes = std::fs::read(raw::file(folder)).unwrap();
    bytes[2 * raw::PAGE - 28..2 * raw::PAGE].to_vec()
}

#[test]
fn a_palace_of_version_5_opens_with_all_it_holds_and_gains_copies_of_its_records() {
    let folder = fixture("version-5");
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 5);
    assert_eq!(copies(folder.path()), [0; 28]);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    assert!(
        std::fs::read(raw::file(folder.path())).unwrap() == before,
        "an examination changes nothing"
    );
    let mut told = Truth::default();
    version_5().iter().for_each(|batch| told.apply(batch));
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    drop(collection);
    backend.close();
    assert_brought_up_to_date(folder.path(), 5);
    let bytes = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(
        copies(folder.path()),
        bytes[raw::PAGE - 28..raw::PAGE],
        "both are the same"
    );
    assert_ne!(copies(folder.path()), [0; 28]);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}
