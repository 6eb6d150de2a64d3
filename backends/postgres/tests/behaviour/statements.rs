//! Names of every kind reach the server as values: its log of statements holds none of them.

use loci_core::{
    ApplyRequest, Backend, Collection, CollectionExt, CollectionName, CreateMode, DeleteSelection,
    DocumentFilter, DrawerId, EmbedderIdentity, FacetKey, FacetRequest, Filter, GetRequest, IdempotencyKey,
    LexicalRequest, Metadata, NewDrawer, OpenOptions, QueryRequest, SwitchStep, Write,
};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

/// A word that stands in every name of this test, with quotes around it.
const MARKER: &str = "hostilemarker";

/// Uses a hostile text as a name wherever a user can give one.
fn use_everywhere(collection: &dyn Collection, text: &str) {
    let id = DrawerId::new(text.chars().take(200).collect::<String>()).unwrap();
    let mut drawer = NewDrawer::new(id.clone(), text);
    drawer.place.wing = Some(text.to_owned());
    drawer.place.room = Some(text.to_owned());
    drawer.place.source = Some(text.to_owned());
    drawer.embedding = Some(vec![1.0, 2.0]);
    drawer.metadata = Metadata::new().with_entry(text, text);
    let key = IdempotencyKey::new(
        text.chars()
            .filter(|c| !c.is_control())
            .take(100)
            .collect::<String>(),
    )
    .unwrap();
    let writes = [Write::Upsert(drawer)];
    collection
        .apply(&ApplyRequest::from_writes(&writes).under_key(&key))
        .unwrap();
    for name in ["wing", "room", "source", text] {
        let filter = Filter::text_equals(name, text);
        assert_eq!(
            collection
                .get(&GetRequest::by_filter(filter.clone()))
                .unwrap()
                .len(),
            1,
            "{name:.40}"
        );
        let mut nearest = QueryRequest::nearest_to(vec![1.0, 2.0], 3);
        nearest.filter = filter;
        assert_eq!(collection.query(&nearest).unwrap()[0].len(), 1);
    }
    let facets = FacetRequest {
        by: vec![FacetKey::Wing, FacetKey::Source],
        filter: Filter::text_equals("room", text),
        document: DocumentFilter::All,
    };
    assert_eq!(collection.facets(&facets).unwrap().len(), 1);
    collection.lexical(&LexicalRequest::for_words(text, 5)).unwrap();
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(vec![id]))])
        .unwrap();
}

#[test]
fn no_name_that_a_user_gives_becomes_part_of_a_statement() {
    let server = PostgresServer::start_private_with(&[
        ("log_statement", "all"),
        ("log_parameter_max_length", "0"),
        ("log_parameter_max_length_on_error", "0"),
    ]);
    let (quoted, nul) = (
        format!("{MARKER}'\"; DROP SCHEMA loci; --"),
        format!("{MARKER} \0 '"),
    );
    let long = format!("{MARKER}{}", "'x\"\\".repeat(1 << 18));
    let backend = PostgresBackend::new();
    let palace = loci_core::PalaceRef::from_id(format!("{}&palace={MARKER}%27%22", server.url("postgres")))
        .in_namespace(&quoted);
    let options = OpenOptions {
        embedder: Some(EmbedderIdentity {
            model: quoted.clone(),
            revision: nul.clone(),
            dimension: 2,
        }),
        ..OpenOptions::for_writing()
    };
    for name in [format!("{MARKER}-a"), format!("{MARKER}_b")] {
        let name = CollectionName::new(name).unwrap();
        let collection = backend
            .create(&palace, &name, CreateMode::Exclusive, &options)
            .unwrap();
        for text in [&quoted, &nul, &long] {
            use_everywhere(collection.as_ref(), text);
        }
        let next = EmbedderIdentity {
            model: nul.clone(),
            revision: quoted.clone(),
            dimension: 2,
        };
        let spaces = collection.spaces().unwrap();
        spaces.take_step(&SwitchStep::Begin(next)).unwrap();
        spaces.take_step(&SwitchStep::Rollback).unwrap();
        drop(collection);
        backend.drop_collection(&palace, &name).unwrap();
    }
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(
        log.contains("INSERT INTO loci.drawers"),
        "the log holds statements"
    );
    let line = log.lines().find(|line| line.contains(MARKER));
    assert_eq!(line.map(|line| line.chars().take(300).collect::<String>()), None);
}
