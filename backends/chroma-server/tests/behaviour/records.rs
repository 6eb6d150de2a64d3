//! Records that other programs wrote.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use loci_core::{
    Backend, CollectionExt as _, CollectionReaderExt as _, Drawer, DrawerFields, DrawerPlace, Filter,
    GetRequest, NewDrawer, OpenOptions, PalaceRef,
};
use loci_testkit::ChromaServer;

use crate::support::{NEWEST, backend, create, fresh_palace, id, name};

/// Sends one request to the shared server, as another program would, and returns the answer.
fn post(path: &str, body: &str) -> String {
    let mut server = TcpStream::connect(("127.0.0.1", ChromaServer::shared(NEWEST))).unwrap();
    let length = body.len();
    let head = format!(
        "POST /api/v2{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    server.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    body.to_owned()
}

/// Returns the path of a palace's collection on the server.
fn collection_path(palace: &PalaceRef, collection: &str) -> String {
    let database = palace.id.split_once("database=").unwrap().1;
    let path = format!("/tenants/default_tenant/databases/{database}/collections");
    let body = format!(r#"{{"name":"{collection}","get_or_create":true}}"#);
    let answer: serde_json::Value = serde_json::from_str(&post(&path, &body)).unwrap();
    format!("{path}/{}", answer["id"].as_str().unwrap())
}

#[test]
fn records_of_mempalace_read_like_those_in_a_folder_and_are_found_by_place() {
    let backend = backend();
    let palace = fresh_palace();
    create(&backend, &palace);
    let path = collection_path(&palace, "mempalace_drawers");
    post(
        &format!("{path}/upsert"),
        r#"{"ids":["m"],"embeddings":[[1,2]],"documents":["said"],"metadatas":[{"wing":"kansas","room":"farm",
            "source_file":"/oz.txt","role":"user","timestamp":"2025-01-04T10:00:00","n":3,"x":0.5,"tags":["a","b"]}]}"#,
    );
    let options = OpenOptions::for_writing();
    let drawers = backend
        .open(&palace, &name("mempalace_drawers"), &options)
        .unwrap();
    let by_source = GetRequest::by_filter(Filter::text_equals("source", "/oz.txt"));
    let found = drawers.get(&by_source).unwrap();
    let expected = DrawerPlace {
        wing: Some("kansas".into()),
        room: Some("farm".into()),
        source: Some("/oz.txt".into()),
        speaker: Some("user".into()),
        said_at: Some("2025-01-04T10:00:00Z".parse().unwrap()),
        ..DrawerPlace::default()
    };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].place, expected);
    // A replacement leaves none of the other program's keys behind.
    drawers.upsert_drawer(NewDrawer::new(id("m"), "new")).unwrap();
    let replaced = drawers.find_drawer(&id("m")).unwrap().unwrap();
    assert_eq!(replaced.document.as_deref(), Some("new"));
    assert!(replaced.metadata.unwrap().is_empty());
}

#[test]
fn other_programs_change_drawers_and_loci_sees_it() {
    let backend = backend();
    let palace = fresh_palace();
    let drawers = create(&backend, &palace);
    let mut drawer = NewDrawer::new(id("a"), "text");
    drawer.place.wing = Some("old".into());
    drawer.embedding = Some(vec![0.6, 0.8]);
    drawers.add_drawer(drawer).unwrap();
    let path = collection_path(&palace, "drawers");
    post(
        &format!("{path}/update"),
        r#"{"ids":["a"],"embeddings":[[5,0]],"documents":["changed"],"metadatas":[{"wing":"new","extra":1}]}"#,
    );
    let request = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::by_ids([id("a")])
    };
    let found: Drawer = drawers.get(&request).unwrap().pop().unwrap();
    assert_eq!(found.document.as_deref(), Some("changed"));
    assert_eq!(found.place.wing.as_deref(), Some("new"));
    assert_eq!(found.embedding, Some(vec![5.0, 0.0]));
    assert_eq!(found.metadata.unwrap().len(), 1);
}
