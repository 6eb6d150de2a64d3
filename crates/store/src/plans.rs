//! The plans of the statements that reads really run: no planner may choose to ask an index once for each row.

use std::ffi::CStr;
use std::ptr::null_mut;

use loci_core::*;
use rusqlite::{Connection, Transaction, ffi};

use crate::backend::PATIENCE;
use crate::shelf::Shelf;
use crate::{Embedded, lexical, read, sources, tally, vectors};

/// Every statement that was prepared on a connection and is still kept, as it was written.
#[allow(
    unsafe_code,
    reason = "only SQLite itself knows which statements a connection has prepared"
)]
fn prepared(connection: &Connection) -> Vec<String> {
    let mut texts = Vec::new();
    // SAFETY: the connection is open and used by this thread alone; a text lives as long as its statement.
    unsafe {
        let mut statement = ffi::sqlite3_next_stmt(connection.handle(), null_mut());
        while !statement.is_null() {
            let text = CStr::from_ptr(ffi::sqlite3_sql(statement));
            texts.push(text.to_string_lossy().into_owned());
            statement = ffi::sqlite3_next_stmt(connection.handle(), statement);
        }
    }
    texts
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(3).unwrap());
    }
    lines
}

fn palace(folder: &std::path::Path) -> Embedded {
    let backend = Embedded::new();
    let name = CollectionName::new("drawers").unwrap();
    let collection = backend
        .open(&PalaceRef::local(folder), &name, &OpenOptions::create())
        .unwrap();
    let drawer = |n: i64| NewDrawer {
        metadata: Metadata::new().with("n", n).with("tenth", n % 10),
        place: Place {
            wing: Some(format!("w{}", n % 3)),
            room: Some(format!("r{}", n % 7)),
            ..Place::default()
        },
        ..NewDrawer::new(DrawerId::new(format!("{n:04}")).unwrap(), format!("harbour {n}"))
    };
    let adds: Vec<Write> = (0..400).map(|n| Write::Add(drawer(n))).collect();
    collection.apply(&adds).unwrap();
    let records = (0..400).map(|n| Revision {
        source: format!("{}/{n:03}", ["a", "b", "c"][n % 3]),
        expects: None,
        stamp: Some(n.to_string()),
        parts: Box::new(std::iter::empty()),
    });
    collection.revise(records.collect()).unwrap();
    collection.maintain(&MaintenanceKind::ANALYZE).unwrap();
    backend.close();
    // Connections that have prepared nothing yet.
    Embedded::new()
}

/// The plans of the statements about `table` that `ask` runs, each once.
fn plans(table: &str, ask: impl FnOnce(&Transaction<'_>, &Shelf)) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let backend = palace(folder.path());
    let palace = backend.palace(&PalaceRef::local(folder.path()), false).unwrap();
    let seen = palace.read(PATIENCE, |transaction| {
        let shelf = Shelf::find(transaction, &CollectionName::new("drawers")?)?;
        let before = prepared(transaction);
        ask(transaction, &shelf);
        let new = prepared(transaction)
            .into_iter()
            .filter(|text| !before.contains(text));
        let about = new.filter(|text| text.contains(&format!("FROM {table} ")));
        Ok(about.map(|text| plan(transaction, &text)).collect())
    });
    seen.unwrap()
}

fn narrow() -> Filter {
    Filter::parse_str(r#"{"$and": [{"tenth": 3}, {"wing": {"$ne": "w1"}}]}"#).unwrap()
}

#[test]
fn a_filtered_keyword_search_scans_the_full_text_once_and_alone() {
    let plans = plans("words_1", |transaction, shelf| {
        let request = Lexical {
            filter: narrow(),
            ..Lexical::words("harbour", 5)
        };
        assert_eq!(lexical::search(transaction, shelf, &request).unwrap().len(), 5);
    });
    let [lines] = plans.as_slice() else {
        panic!("one statement asks the full text: {plans:?}");
    };
    assert_eq!(lines.len(), 1, "nothing is joined and nothing sorted: {lines:?}");
    assert!(
        lines[0].starts_with("SCAN words_1 VIRTUAL TABLE INDEX"),
        "{lines:?}"
    );
}

#[test]
fn facets_by_wing_and_room_read_one_index_and_no_document() {
    let plans = plans("drawers", |transaction, shelf| {
        assert_eq!(
            tally::facets(transaction, shelf, &Facets::by_room())
                .unwrap()
                .len(),
            21
        );
    });
    assert_eq!(
        plans,
        [["SEARCH drawers USING COVERING INDEX drawers_place (collection=?)"]]
    );
}

#[test]
fn a_filter_lists_its_rows_from_the_key_of_the_attributes() {
    let equal = plans("attributes_1", |transaction, shelf| {
        assert_eq!(tally::count(transaction, shelf, &narrow()).unwrap(), 27);
    });
    let by_value = ["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value=?)"];
    assert_eq!(equal, [by_value, by_value], "one statement for each comparison");
    let range = plans("attributes_1", |transaction, shelf| {
        let filter = Filter::parse_str(r#"{"n": {"$gte": 390}}"#).unwrap();
        assert_eq!(tally::count(transaction, shelf, &filter).unwrap(), 10);
    });
    assert_eq!(
        range,
        [["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value>? AND value<?)"]]
    );
}

#[test]
fn counting_reads_no_drawer() {
    for filter in [Filter::All, narrow()] {
        let plans = plans("drawers", |transaction, shelf| {
            tally::count(transaction, shelf, &filter).unwrap();
        });
        assert_eq!(plans, Vec::<Vec<String>>::new());
    }
}

#[test]
fn paging_walks_the_index_of_ids_in_order() {
    let plans = plans("drawers", |transaction, shelf| {
        let request = Get {
            after: Some(DrawerId::new("0100").unwrap()),
            limit: Some(3),
            ..Get::default()
        };
        assert_eq!(read::get(transaction, shelf, &request).unwrap().len(), 3);
    });
    let walk = vec!["SEARCH drawers USING COVERING INDEX drawers_id (collection=? AND id>?)".to_owned()];
    let each = vec!["SEARCH drawers USING INTEGER PRIMARY KEY (rowid=?)".to_owned()];
    assert!(
        plans.contains(&walk) && plans.contains(&each) && plans.len() == 2,
        "{plans:?}"
    );
}

#[test]
fn what_lacks_a_vector_is_found_by_walking_rows_from_where_the_last_page_ended() {
    let plans = plans("drawers", |transaction, shelf| {
        let found = vectors::lacking(transaction, &shelf.space, 100, i64::MAX, 5).unwrap();
        assert_eq!(found, [101, 102, 103, 104, 105]);
    });
    let [lines] = plans.as_slice() else {
        panic!("one statement asks: {plans:?}");
    };
    let expected = [
        "SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH v USING INTEGER PRIMARY KEY (rowid=?)",
    ];
    assert_eq!(lines.as_slice(), expected);
}

#[test]
fn records_under_a_prefix_are_walked_from_the_first_that_is_asked_for() {
    let walk = ["SEARCH sources USING PRIMARY KEY (collection=? AND source>?)"];
    for (after, first) in [(None, "b/001"), (Some("b/100"), "b/103"), (Some("a"), "b/001")] {
        let plans = plans("sources", |transaction, shelf| {
            let request = Sources::Under {
                prefix: "b/".to_owned(),
                after: after.map(str::to_owned),
                limit: 3,
            };
            let found = sources::find(transaction, shelf.collection, &request).unwrap();
            assert_eq!((found.len(), found[0].source.as_str()), (3, first));
        });
        assert_eq!(plans, [walk], "after {after:?}");
    }
}

#[test]
fn records_by_name_are_looked_up_one_by_one() {
    let plans = plans("sources", |transaction, shelf| {
        let names = ["c/002", "nowhere", "a/000"].map(str::to_owned).to_vec();
        let found = sources::find(transaction, shelf.collection, &Sources::Named(names)).unwrap();
        assert_eq!(found.len(), 2);
    });
    assert_eq!(
        plans,
        [["SEARCH sources USING PRIMARY KEY (collection=? AND source=?)"]]
    );
}
