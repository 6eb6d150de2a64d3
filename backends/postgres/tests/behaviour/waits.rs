//! How often a call waits for the server; statements that are sent together are waited for once.

use loci_core::{CollectionExt, DrawerId, LexicalRequest, NewDrawer, QueryRequest};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

use super::open;

#[test]
fn a_write_waits_twice_and_reads_of_a_moment_at_most_twice_each() {
    let database = PostgresServer::shared().create_database();
    database.run_sql("CREATE EXTENSION vector");
    let backend = PostgresBackend::new();
    let collection = open(&backend, &database.url());
    let waits = |act: &dyn Fn()| {
        let before = backend.count_waits();
        act();
        backend.count_waits() - before
    };
    let drawer = |n: usize| NewDrawer {
        embedding: Some(vec![1.0, n as f32]),
        ..NewDrawer::new(DrawerId::new(format!("d{n}")).unwrap(), format!("ferry {n}"))
    };
    assert_eq!(
        waits(&|| drop(collection.add_drawer(drawer(1)).unwrap())),
        2,
        "add"
    );
    assert_eq!(
        waits(&|| drop(collection.upsert_drawer(drawer(1)).unwrap())),
        2,
        "upsert"
    );
    let sealing = PostgresBackend::new().sealing_words_at(2, 4);
    let writer = open(&sealing, &database.url());
    for n in 2..9 {
        let before = sealing.count_waits();
        writer.add_drawer(drawer(n)).unwrap();
        // The first write also connects.
        assert!(n == 2 || sealing.count_waits() - before == 2, "an add that seals");
    }
    assert_eq!(database.run_sql("SELECT merged > 0 FROM loci.collections"), "t");
    let moment = collection.moment().unwrap().unwrap();
    let nearest = QueryRequest::nearest_to(vec![1.0, 2.0], 10);
    assert_eq!(waits(&|| drop(moment.query(&nearest).unwrap())), 1, "query");
    let words = LexicalRequest::for_words("ferry", 10);
    assert!(waits(&|| drop(moment.lexical(&words).unwrap())) <= 2, "lexical");
    assert_eq!(waits(&|| drop(moment.info().unwrap())), 0, "info");
}
