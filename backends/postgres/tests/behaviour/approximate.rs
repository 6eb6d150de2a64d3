//! Approximate answers: by choice, said everywhere, undone at once, and never instead of an answer that is cheap to give
//! exactly.

use loci_core::{
    Collection, CollectionExt, DrawerId, EmbedderIdentity, ErrorKind, Filter, MaintenanceKind,
    MaintenanceStatus, NewDrawer, PendingRequest, QueryPrecision, QueryRequest, SwitchStep, VectorFill,
    Write,
};
use loci_postgres::PostgresBackend;
use loci_testkit::{PostgresServer, SeededRandom};

use super::open;

const VALUES: usize = 16;

fn file(collection: &dyn Collection, rows: usize) {
    let mut random = SeededRandom::new(11);
    let drawer = |n: usize, random: &mut SeededRandom| {
        let mut drawer = NewDrawer::new(DrawerId::new(format!("d{n:05}")).unwrap(), format!("text {n}"));
        drawer.place.wing = Some(["east", "west"][n % 2].to_owned());
        // In clusters: an index misses nothing in them, so that the answers are known.
        let noise = random.vector(VALUES);
        let centre = SeededRandom::new((n % 30) as u64).vector(VALUES);
        let near = |(value, noise): (&f32, f32)| value + 0.1 * noise;
        drawer.embedding = Some(centre.iter().zip(noise).map(near).collect());
        Write::Add(drawer)
    };
    let writes: Vec<Write> = (0..rows).map(|n| drawer(n, &mut random)).collect();
    for batch in writes.chunks(1000) {
        collection.apply_batch(batch).unwrap();
    }
}

fn choose(collection: &dyn Collection, precision: QueryPrecision) -> loci_core::MaintenanceReport {
    collection.upkeep().unwrap().choose_precision(precision).unwrap()
}

fn is_approximate(collection: &dyn Collection) -> bool {
    collection.info().unwrap().approximate
}

fn ids(collection: &dyn Collection, request: &QueryRequest) -> Vec<String> {
    let hits = collection.query(request).unwrap().remove(0);
    hits.iter().map(|hit| hit.drawer.id.to_string()).collect()
}

#[test]
fn without_the_extension_the_choice_is_refused_and_names_the_statement_to_run() {
    let database = PostgresServer::shared().create_database();
    let collection = open(&PostgresBackend::new(), &database.url());
    file(collection.as_ref(), 20);
    let upkeep = collection.upkeep().unwrap();
    let error = upkeep.choose_precision(QueryPrecision::Approximate).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let hint = error.hint_text().unwrap();
    assert!(hint.contains("CREATE EXTENSION vector"), "{hint}");
    assert!(!is_approximate(collection.as_ref()));
    let report = choose(collection.as_ref(), QueryPrecision::Exact);
    assert_eq!(report.status, MaintenanceStatus::NothingToDo);
}

#[test]
fn an_index_answers_only_where_it_was_chosen_and_is_said_to_until_it_is_dropped() {
    let database = PostgresServer::shared().create_database();
    database.run_sql("CREATE EXTENSION vector");
    let backend = PostgresBackend::new();
    let url = database.url();
    let collection = open(&backend, &url);
    file(collection.as_ref(), 3000);
    // Below the number of vectors from which an index pays, the choice is kept and answers stay exact.
    let report = choose(collection.as_ref(), QueryPrecision::Approximate);
    assert_eq!(report.figures.get("indexes_built"), Some(&0), "{report:?}");
    assert!(!is_approximate(collection.as_ref()));
    database.run_sql("INSERT INTO loci.settings VALUES ('approximate_from', '1000')");
    let report = choose(collection.as_ref(), QueryPrecision::Approximate);
    assert_eq!(report.figures.get("indexes_built"), Some(&1), "{report:?}");
    assert!(is_approximate(collection.as_ref()));
    let again = choose(collection.as_ref(), QueryPrecision::Approximate);
    assert_eq!(again.status, MaintenanceStatus::NothingToDo);
    let plain = QueryRequest::nearest_to(SeededRandom::new(5).vector(VALUES), 10);
    let exact = QueryRequest {
        exact: true,
        ..plain.clone()
    };
    let scanned = ids(collection.as_ref(), &exact);
    // The same answer, but by the index, which leaves a trace in the server's figures.
    assert_eq!(ids(collection.as_ref(), &plain), scanned);
    let is_asked = |_| {
        let scans = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'near_space_%'";
        database.run_sql(scans).trim() != "0"
    };
    let other = open(&PostgresBackend::new(), &url);
    assert!(is_approximate(other.as_ref()), "every process knows the choice");
    // The server adds up the figures of a connection when that ends, a moment later.
    drop((collection, backend));
    assert!((0..200).any(is_asked), "the index was not asked");
    choose(other.as_ref(), QueryPrecision::Exact);
    assert!(!is_approximate(other.as_ref()));
    assert_eq!(ids(other.as_ref(), &plain), scanned);
    let left = database.run_sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'near_space_%'");
    assert_eq!(left.trim(), "0", "the index is gone");
}

#[test]
fn a_query_that_the_index_gives_too_few_hits_is_answered_exactly() {
    let database = PostgresServer::shared().create_database();
    database.run_sql("CREATE EXTENSION vector");
    let collection = open(&PostgresBackend::new(), &database.url());
    file(collection.as_ref(), 300);
    database.run_sql("INSERT INTO loci.settings VALUES ('approximate_from', '0')");
    choose(collection.as_ref(), QueryPrecision::Approximate);
    assert!(is_approximate(collection.as_ref()));
    let all = QueryRequest::nearest_to(vec![1.0; VALUES], 1000);
    assert_eq!(ids(collection.as_ref(), &all).len(), 300);
    let mut west = all.clone();
    west.filter = Filter::text_equals("wing", "west");
    assert_eq!(ids(collection.as_ref(), &west).len(), 150);
    // Rows that are removed or added later are out of the index or in it at once.
    let nearest = QueryRequest::nearest_to(vec![1.0; VALUES], 1);
    let first = ids(collection.as_ref(), &nearest).remove(0);
    collection
        .delete_drawer(DrawerId::new(first.clone()).unwrap())
        .unwrap();
    assert_ne!(ids(collection.as_ref(), &nearest), [first]);
    let mut new = NewDrawer::new(DrawerId::new("new").unwrap(), "new");
    new.embedding = Some(vec![1.0; VALUES]);
    collection.add_drawer(new).unwrap();
    assert_eq!(ids(collection.as_ref(), &nearest), ["new"]);
}

#[test]
fn after_a_model_switch_answers_are_exact_and_the_missing_index_is_due() {
    let database = PostgresServer::shared().create_database();
    database.run_sql("CREATE EXTENSION vector");
    let collection = open(&PostgresBackend::new(), &database.url());
    file(collection.as_ref(), 50);
    database.run_sql("INSERT INTO loci.settings VALUES ('approximate_from', '0')");
    choose(collection.as_ref(), QueryPrecision::Approximate);
    let newer = EmbedderIdentity {
        model: "newer".to_owned(),
        revision: "1".to_owned(),
        dimension: 4,
    };
    let spaces = collection.spaces().unwrap();
    spaces.take_step(&SwitchStep::Begin(newer.clone())).unwrap();
    let pending = PendingRequest {
        identity: newer.clone(),
        after: 0,
        limit: 100,
    };
    let pending = spaces.list_pending(&pending).unwrap();
    let mut random = SeededRandom::new(2);
    let vectors: Vec<VectorFill> = pending
        .into_iter()
        .map(|drawer| VectorFill {
            id: drawer.id,
            version: drawer.version,
            vector: random.vector(4),
        })
        .collect();
    spaces.fill_vectors(&newer, &vectors).unwrap();
    assert!(is_approximate(collection.as_ref()), "the old space still answers");
    spaces.take_step(&SwitchStep::Finish).unwrap();
    assert!(!is_approximate(collection.as_ref()));
    let state = collection.upkeep().unwrap().state().unwrap();
    let due = state
        .due
        .iter()
        .find(|(kind, _)| *kind == MaintenanceKind::REINDEX);
    assert!(
        due.is_some_and(|(_, why)| why.contains("approximate")),
        "{state:?}"
    );
    collection
        .upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert!(is_approximate(collection.as_ref()));
    assert!(collection.upkeep().unwrap().state().unwrap().due.is_empty());
    let left = database.run_sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'near_space_%'");
    assert_eq!(left.trim(), "1", "the index of the old space is gone");
}

#[test]
fn the_state_tells_what_the_server_knows_about_its_tables() {
    let database = PostgresServer::shared().create_database();
    let collection = open(&PostgresBackend::new(), &database.url());
    file(collection.as_ref(), 50);
    let upkeep = collection.upkeep().unwrap();
    assert!(!upkeep.state().unwrap().figures.contains_key("last_vacuum"));
    upkeep.run(&MaintenanceKind::COMPACT).unwrap();
    let figures = upkeep.state().unwrap().figures;
    for name in ["live_rows", "dead_rows", "last_vacuum", "last_analyze"] {
        assert!(figures.contains_key(name), "{name}: {figures:?}");
    }
}
