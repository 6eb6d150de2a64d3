//! A palace of format 4 gains what format 5 indexes anew: filing times, members of lists, pieces in order.

use std::path::Path;

use crate::scene::lists::{DIMENSION, version_4_lists};
use crate::scene::truth::{self, Truth};
use crate::scene::{listing, raw};
use loci_core::*;
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

fn fixture() -> TempDir {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-4-lists");
    raw::folder_with(&std::fs::read(raw::file(&kept)).unwrap())
}

fn told() -> Truth {
    let mut told = Truth::default();
    version_4_lists().iter().for_each(|batch| told.apply(batch));
    told
}

fn open(folder: &TempDir) -> std::sync::Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap()
}

fn assert_answers(collection: &dyn Collection, told: &Truth) {
    assert_eq!(told.difference(&Truth::read(collection).unwrap()), None);
    for filter in listing::filters() {
        for order in DrawerOrder::ALL {
            let expected = listing::expected(told.drawers.values(), order, &filter);
            assert_eq!(
                listing::paged(collection, order, &filter, 7),
                expected,
                "{order:?} {filter}"
            );
            assert_eq!(
                collection.count(&filter.clone().into()).unwrap(),
                expected.len() as u64
            );
        }
    }
}

#[test]
fn a_palace_of_version_4_with_lists_becomes_current_with_all_it_holds() {
    let folder = fixture();
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 4);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    assert!(
        std::fs::read(raw::file(folder.path())).unwrap() == before,
        "an examination changes nothing"
    );
    let collection = open(&folder);
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 6);
    assert_answers(&*collection, &told());
    let all = collection.get(&truth::everything()).unwrap();
    assert!(all.iter().all(|drawer| drawer.provenance.is_none()));
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    let marks = "SELECT count(*) FROM palace WHERE key LIKE 'bare_attributes%'";
    assert_eq!(raw::number(folder.path(), marks), 0);
}

#[test]
fn what_was_filed_before_the_upgrade_can_be_changed_and_rebuilt_after_it() {
    let folder = fixture();
    let collection = open(&folder);
    let mut told = told();
    let batch = [
        Write::Update(DrawerPatch {
            metadata: [(
                "tags".to_owned(),
                Some(MetadataValue::Many(vec![MetadataScalar::Int(4)])),
            )]
            .into(),
            provenance: Some(Provenance::new(FilingDoor::Terminal, OriginKind::Hand)),
            ..DrawerPatch::new(truth::id(3))
        }),
        Write::Delete(DeleteSelection::Ids(vec![truth::id(9)])),
    ];
    collection.apply_batch(&batch).unwrap();
    told.apply(&batch);
    assert_answers(&*collection, &told);
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert_answers(&*collection, &told);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}

#[test]
fn a_damaged_page_keeps_the_new_indexes_from_being_made_and_no_answer_from_being_right() {
    let folder = fixture();
    let pages = raw::pages(folder.path());
    let page = pages.iter().find(|page| page.owner == "drawers_content").unwrap();
    let mut bytes = std::fs::read(raw::file(folder.path())).unwrap();
    bytes[(page.number - 1) * raw::PAGE + 100] ^= 1;
    std::fs::write(raw::file(folder.path()), bytes).unwrap();
    let collection = open(&folder);
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 6);
    let marks = "SELECT count(*) FROM palace WHERE key LIKE 'bare_attributes%'";
    assert_eq!(raw::number(folder.path(), marks), 2, "one for each collection");
    assert_answers(&*collection, &told());
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert_eq!(
        raw::number(folder.path(), marks),
        1,
        "the rebuilt attributes have all"
    );
    assert_answers(&*collection, &told());
}

#[test]
fn every_collection_of_the_file_is_brought_along_and_numbers_go_on_from_theirs() {
    let folder = fixture();
    let backend = EmbeddedBackend::new();
    let palace = PalaceRef::local(folder.path());
    let name = |name: &str| CollectionName::new(name).unwrap();
    let other = backend
        .open(&palace, &name("other"), &OpenOptions::default())
        .unwrap();
    assert_eq!(other.count(&Filter::All.into()).unwrap(), 1);
    backend.drop_collection(&palace, &name("other")).unwrap();
    backend
        .create(
            &palace,
            &name("third"),
            CreateMode::Exclusive,
            &OpenOptions::default(),
        )
        .unwrap();
    let number = raw::number(folder.path(), "SELECT max(collection) FROM collections");
    assert_eq!(number, 3, "the number 2 is not given again");
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}
