//! Hostile names reach the server only as values, and names that it cannot keep are refused.

use loci_core::{
    Backend, CollectionExt, CollectionReaderExt, DrawerId, ErrorKind, Filter, GetRequest, Metadata,
    NewDrawer, PalaceRef,
};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

use super::open;

const HOSTILE: [&str; 6] = [
    "'; DROP SCHEMA loci CASCADE; --",
    "\"quoted\" \\ $1 $$ %s",
    "NUL \0 inside",
    "抽屉 🗄️ \u{202e}",
    "line\nbreak",
    "{\"json\": [1]}",
];

#[test]
fn hostile_texts_come_back_as_they_were_from_every_column() {
    let database = PostgresServer::shared().create_database();
    let collection = open(&PostgresBackend::new(), &database.url());
    let long = "x".repeat(1 << 20);
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        let id: String = text.chars().take(200).collect();
        let mut drawer = NewDrawer::new(DrawerId::new(id).unwrap(), text);
        drawer.place.wing = Some(text.to_owned());
        drawer.place.source = Some(text.to_owned());
        drawer.metadata = Metadata::new().with_entry(text, text).with_entry("plain", text);
        collection.add_drawer(drawer.clone()).unwrap();
        let found = collection.find_drawer(&drawer.id).unwrap().unwrap();
        assert_eq!(found.document.as_deref(), Some(text));
        assert_eq!(
            (found.place, found.metadata),
            (drawer.place, Some(drawer.metadata))
        );
        for key in ["wing", "source", "plain", text] {
            let equal = GetRequest::by_filter(Filter::text_equals(key, text));
            assert_eq!(collection.get(&equal).unwrap().len(), 1, "{key:.40?}");
        }
    }
}

#[test]
fn places_that_begin_alike_are_told_apart_at_every_length() {
    let database = PostgresServer::shared().create_database();
    let collection = open(&PostgresBackend::new(), &database.url());
    let lengths = [1, 199, 200, 201, 499, 500, 501, 9000];
    for length in lengths {
        let text = Some("x".repeat(length));
        let mut drawer = NewDrawer::new(DrawerId::new(format!("d{length}")).unwrap(), "text");
        (drawer.place.wing, drawer.place.room, drawer.place.source) = (text.clone(), text.clone(), text);
        collection.add_drawer(drawer).unwrap();
    }
    for key in ["wing", "room", "source"] {
        for length in lengths {
            let equal = Filter::text_equals(key, "x".repeat(length));
            let found = collection.get(&GetRequest::by_filter(equal)).unwrap();
            let found: Vec<String> = found.iter().map(|drawer| drawer.id.to_string()).collect();
            assert_eq!(found, [format!("d{length}")], "{key}");
        }
    }
}

#[test]
fn palaces_and_namespaces_of_hostile_names_are_kept_apart_or_refused() {
    let database = PostgresServer::shared().create_database();
    let backend = PostgresBackend::new();
    for (number, name) in ["'; DROP SCHEMA loci; --", "a%00b", "x\u{301}"]
        .into_iter()
        .enumerate()
    {
        let palace = PalaceRef::from_id(format!("{}&palace=p{number}", database.url())).in_namespace(name);
        let made = backend.create(
            &palace,
            &loci_core::CollectionName::new("drawers").unwrap(),
            loci_core::CreateMode::Exclusive,
            &loci_core::OpenOptions::for_writing(),
        );
        assert!(made.is_ok(), "{name:?}");
    }
    for refused in ["", "a\0b", &"x".repeat(1 << 20)] {
        let palace = PalaceRef::from_id(database.url()).in_namespace(refused);
        let error = backend.collections(&palace).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}
