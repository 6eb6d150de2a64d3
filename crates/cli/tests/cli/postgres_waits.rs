//! How often the operations of a palace in Postgres wait for the server; statements that are sent together are waited for
//! once.

use std::sync::Arc;

use loci_core::{DrawerId, Embedder, EmbedderIdentity, Error, NewDrawer, Result, Timestamp};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::add::AddRequest;
use loci_engine::search::{SearchReport, SearchRequest};
use loci_engine::{EmbedderCatalog, Palace, PalaceAddress};
use loci_postgres::PostgresBackend;
use loci_testkit::{FreshDatabase, PostgresServer};

/// The embedder of the binary and no other.
#[derive(Debug)]
struct BuiltinOnly(Arc<dyn Embedder>);

impl EmbedderCatalog for BuiltinOnly {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::clone(&self.0)))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            Ok(Arc::clone(&self.0))
        } else {
            Err(Error::invalid(format!("the vectors are of {identity}")))
        }
    }
}

/// A palace in a fresh database, and the backend that counts its waits.
struct CountedPalace {
    backend: Arc<PostgresBackend>,
    palace: Palace,
    now: Timestamp,
    _database: FreshDatabase,
}

impl CountedPalace {
    fn create() -> Self {
        let database = PostgresServer::shared().create_database();
        database.run_sql("CREATE EXTENSION vector");
        let backend = Arc::new(PostgresBackend::new());
        let address = PalaceAddress {
            reference: backend.adopt_url(&database.url()).unwrap(),
            backend: Arc::clone(&backend) as Arc<_>,
        };
        let now: Timestamp = "2026-06-01".parse().unwrap();
        let builtin: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new().unwrap());
        let palace = Palace::new(address, Arc::new(BuiltinOnly(builtin)), move || now);
        Self {
            backend,
            palace,
            now,
            _database: database,
        }
    }

    fn add(&self, text: &str, wing: &str) {
        let mut drawer = NewDrawer::new(DrawerId::new(text).unwrap(), text);
        drawer.place.wing = Some(wing.to_owned());
        let request = AddRequest {
            drawer,
            upsert: false,
        };
        self.palace.add(&request).unwrap();
    }

    /// Searches, and returns the report with the number of waits.
    fn search(&self, request: &SearchRequest) -> (SearchReport, u64) {
        let before = self.backend.count_waits();
        let report = self.palace.search(request).unwrap();
        (report, self.backend.count_waits() - before)
    }

    fn request(&self, words: &str) -> SearchRequest {
        SearchRequest::new(words, self.now)
    }
}

#[test]
fn a_search_waits_three_times_and_a_first_one_four_times() {
    let counted = CountedPalace::create();
    for n in 0..40 {
        counted.add(&format!("the ferry to island {n} leaves at noon"), "harbour");
    }
    counted.add("bread needs flour, water, salt and time", "kitchen");
    // The palace is new to this handle: opening the collection is one wait.
    let (report, waits) = counted.search(&counted.request("ferry island noon"));
    assert_eq!((report.hits.len(), waits), (10, 4));
    for words in ["ferry island noon", "bread flour", "when does the ferry leave?"] {
        let (report, waits) = counted.search(&counted.request(words));
        assert!(!report.hits.is_empty(), "{words}");
        assert_eq!(waits, 3, "{words}");
    }
    let mut scoped = counted.request("ferry noon");
    scoped.scope.wing = Some("harbour".to_owned());
    let (report, waits) = counted.search(&scoped);
    assert_eq!((report.in_scope, waits), (40, 3), "in a wing");
}

#[test]
fn a_write_between_two_searches_is_found_by_the_second() {
    let counted = CountedPalace::create();
    counted.add("the ferry leaves at noon", "harbour");
    let found = |words: &str| counted.search(&counted.request(words)).0.hits.len();
    assert_eq!(found("ferry"), 1);
    counted.add("another ferry leaves at night", "harbour");
    assert_eq!(found("ferry"), 2);
}

#[test]
fn an_add_waits_twice() {
    let counted = CountedPalace::create();
    counted.add("the first opens the palace", "harbour");
    let before = counted.backend.count_waits();
    counted.add("the second does not", "harbour");
    assert_eq!(counted.backend.count_waits() - before, 2);
}
