//! The query plans of the statements that reads really run: none may look into an index once for each row.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::LazyLock;

use loci_core::*;
use rusqlite::{Connection, ffi};

use crate::backend::PATIENCE;
use crate::deadline::BudgetDeadline;
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;
use crate::view::ReadView;
use crate::{EmbeddedBackend, read, row, sources, tally, vectors};

/// Returns the text of every statement that is prepared on a connection.
#[allow(
    unsafe_code,
    reason = "only SQLite itself knows which statements a connection has prepared"
)]
fn prepared_statements(connection: &Connection) -> Vec<String> {
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

fn query_plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(3).unwrap());
    }
    lines
}

fn make_palace(folder: &std::path::Path, drawers: i64) -> EmbeddedBackend {
    let backend = EmbeddedBackend::new();
    let name = CollectionName::new("drawers").unwrap();
    let collection = backend
        .create(
            &PalaceRef::local(folder),
            &name,
            CreateMode::OpenExisting,
            &OpenOptions::default(),
        )
        .unwrap();
    let drawer = |n: i64| NewDrawer {
        metadata: Metadata::new()
            .with_entry("n", n)
            .with_entry("tenth", n % 10)
            .with_entry(
                "tags",
                MetadataValue::Many(vec![
                    MetadataScalar::Text(format!("t{}", n % 4)),
                    MetadataScalar::Int(n % 2),
                ]),
            ),
        place: DrawerPlace {
            wing: Some(format!("w{}", n % 3)),
            room: Some(format!("r{}", n % 7)),
            source: Some(format!("s{}", n % 50)),
            span: Some(SourceSpan {
                start: n as u64,
                end: n as u64 + 9,
                line_start: 1,
                line_end: 1,
            }),
            said_at: Timestamp::from_micros(n * 1000).ok(),
            ..DrawerPlace::default()
        },
        ..NewDrawer::new(DrawerId::new(format!("{n:04}")).unwrap(), format!("harbour {n}"))
    };
    let adds: Vec<Write> = (0..drawers).map(|n| Write::Add(drawer(n))).collect();
    collection.apply_batch(&adds).unwrap();
    let records = (0..400).map(|n| SourceRevision {
        source: format!("{}/{n:03}", ["a", "b", "c"][n % 3]),
        expects: None,
        stamp: Some(n.to_string()),
        parts: Box::new(std::iter::empty()),
    });
    collection
        .require_sources()
        .unwrap()
        .revise(records.collect())
        .unwrap();
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::ANALYZE)
        .unwrap();
    backend.close();
    // Connections that have prepared nothing yet.
    EmbeddedBackend::new()
}

/// The plans of the statements about `table` that `ask` runs, each once.
fn plans_for(table: &str, ask: impl FnOnce(&Connection, &CollectionShelf, &PalaceFile)) -> Vec<Vec<String>> {
    plans_among(400, table, ask)
}

/// The same in a palace of so many drawers.
fn plans_among(
    drawers: i64,
    table: &str,
    ask: impl FnOnce(&Connection, &CollectionShelf, &PalaceFile),
) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let backend = make_palace(folder.path(), drawers);
    let palace = backend
        .open_palace(&PalaceRef::local(folder.path()), false)
        .unwrap();
    let seen = palace.read(PATIENCE, |transaction| {
        let shelf = CollectionShelf::find(transaction, &CollectionName::new("drawers")?)?;
        // Finding the collection prepares statements too, which are not the ones to be judged.
        let before = prepared_statements(transaction);
        ask(transaction, &shelf, &palace);
        let new = prepared_statements(transaction)
            .into_iter()
            .filter(|text| !before.contains(text));
        // A statement may mention several tables; the one it reads from counts.
        let named = |text: &String| {
            [format!("FROM {table} "), format!("FROM main.{table} ")]
                .iter()
                .any(|from| text.contains(from))
        };
        let about = new.filter(named);
        Ok(about.map(|text| query_plan(transaction, &text)).collect())
    });
    seen.unwrap()
}

fn whole_view<'a>(
    connection: &'a Connection,
    shelf: &'a CollectionShelf,
    palace: &'a PalaceFile,
) -> ReadView<'a> {
    static EVERYTHING: LazyLock<Visibility> = LazyLock::new(Visibility::default);
    ReadView {
        connection,
        palace,
        shelf,
        visibility: &EVERYTHING,
        deadline: BudgetDeadline::default(),
    }
}

fn narrow_filter() -> Filter {
    Filter::parse_str(r#"{"$and": [{"tenth": 3}, {"wing": {"$ne": "w1"}}]}"#).unwrap()
}

#[test]
fn a_filtered_keyword_search_walks_what_is_new_and_gone_and_looks_up_the_rest() {
    let walked = ["words_1_segments", "words_1_tail", "words_1_gone"];
    for table in walked.into_iter().chain(["words_1"]) {
        // Enough drawers to seal one segment of words and leave a tail, so that every table is read.
        let plans = plans_among(2100, table, |transaction, shelf, palace| {
            let request = LexicalRequest {
                filter: narrow_filter(),
                ..LexicalRequest::for_words("harbour", 5)
            };
            let found = whole_view(transaction, shelf, palace).lexical(&request).unwrap();
            assert_eq!(found.len(), 5);
        });
        assert!(!plans.is_empty(), "{table} is asked");
        for lines in &plans {
            let [line] = lines.as_slice() else {
                panic!("nothing is joined: {lines:?}");
            };
            let looked_up = format!("SEARCH {table} USING INTEGER PRIMARY KEY (rowid=?)");
            assert!(
                *line == looked_up || (walked.contains(&table) && *line == format!("SCAN {table}")),
                "{line}"
            );
        }
    }
}

#[test]
fn facets_by_wing_and_room_read_their_counts_and_no_drawer() {
    let ask = |transaction: &Connection, shelf: &CollectionShelf, _: &PalaceFile| {
        let found = tally::count_facets(transaction, shelf, &FacetRequest::by_room(), &Filter::All).unwrap();
        assert_eq!(found.len(), 21);
        let wing = Filter::text_equals("wing", "w1");
        assert_eq!(
            tally::count_drawers(transaction, shelf, &wing, &DocumentFilter::All).unwrap(),
            133
        );
    };
    assert_eq!(plans_for("drawers", ask), Vec::<Vec<String>>::new());
    let lines: Vec<String> = plans_for("places", ask).concat();
    assert!(
        lines.len() == 3 && lines.iter().all(|line| line.contains(" places")),
        "nothing is joined and nothing sorted: {lines:?}"
    );
}

#[test]
fn a_filter_lists_its_rows_from_the_key_of_the_attributes() {
    let equal = plans_for("attributes_1", |transaction, shelf, _| {
        assert_eq!(
            tally::count_drawers(transaction, shelf, &narrow_filter(), &DocumentFilter::All).unwrap(),
            27
        );
    });
    let by_value = ["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value=?)"];
    assert_eq!(equal, [by_value, by_value], "one statement for each comparison");
    let range = plans_for("attributes_1", |transaction, shelf, _| {
        let filter = Filter::parse_str(r#"{"n": {"$gte": 390}}"#).unwrap();
        assert_eq!(
            tally::count_drawers(transaction, shelf, &filter, &DocumentFilter::All).unwrap(),
            10
        );
    });
    assert_eq!(
        range,
        [["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value>? AND value<?)"]]
    );
}

#[test]
fn counting_reads_no_drawer() {
    for filter in [Filter::All, narrow_filter()] {
        let plans = plans_for("drawers", |transaction, shelf, _| {
            tally::count_drawers(transaction, shelf, &filter, &DocumentFilter::All).unwrap();
        });
        assert_eq!(plans, Vec::<Vec<String>>::new());
    }
}

#[test]
fn paging_walks_the_index_of_ids_in_order() {
    let plans = plans_for("drawers", |transaction, shelf, _| {
        let request = GetRequest {
            after: Some(DrawerPosition::Id(DrawerId::new("0100").unwrap())),
            limit: Some(3),
            ..GetRequest::default()
        };
        assert_eq!(
            read::get(transaction, shelf, &request, &Filter::All)
                .unwrap()
                .len(),
            3
        );
    });
    let walk = vec!["SEARCH main.drawers USING COVERING INDEX drawers_id (collection=? AND id>?)".to_owned()];
    let each = vec!["SEARCH drawers USING INTEGER PRIMARY KEY (rowid=?)".to_owned()];
    let newest = vec!["SEARCH main.drawers USING COVERING INDEX drawers_seq (seq=? AND rowid=?)".to_owned()];
    for plan in [walk, each, newest] {
        assert!(plans.contains(&plan) && plans.len() == 3, "{plans:?}");
    }
}

#[test]
fn what_lacks_a_vector_is_found_by_walking_rows_from_where_the_last_page_ended() {
    let plans = plans_for("drawers", |transaction, shelf, _| {
        let found = vectors::rows_lacking_vector(transaction, &shelf.space, 100, i64::MAX, 5).unwrap();
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
        let plans = plans_for("sources", |transaction, shelf, _| {
            let request = SourceRecordQuery::Under {
                prefix: "b/".to_owned(),
                after: after.map(str::to_owned),
                limit: 3,
            };
            let found = sources::find_records(transaction, shelf.collection, &request).unwrap();
            assert_eq!((found.len(), found[0].source.as_str()), (3, first));
        });
        assert_eq!(plans, [walk], "after {after:?}");
    }
}

#[test]
fn records_by_name_are_looked_up_one_by_one() {
    let plans = plans_for("sources", |transaction, shelf, _| {
        let names = ["c/002", "nowhere", "a/000"].map(str::to_owned).to_vec();
        let found =
            sources::find_records(transaction, shelf.collection, &SourceRecordQuery::Named(names)).unwrap();
        assert_eq!(found.len(), 2);
    });
    assert_eq!(
        plans,
        [["SEARCH sources USING PRIMARY KEY (collection=? AND source=?)"]]
    );
}

/// A page behind the first in an order.
fn second_page(connection: &Connection, shelf: &CollectionShelf, order: DrawerOrder) {
    let first = GetRequest {
        order,
        limit: Some(3),
        ..GetRequest::default()
    };
    let page = read::get(connection, shelf, &first, &Filter::All).unwrap();
    let next = first.continued_after(page.last().unwrap());
    assert_eq!(
        read::get(connection, shelf, &next, &Filter::All).unwrap().len(),
        3
    );
}

#[test]
fn paging_by_time_walks_the_attributes_from_the_position_and_sorts_nothing() {
    for order in [DrawerOrder::NewestFiled, DrawerOrder::NewestSaid] {
        let walked = plans_for("attributes_1", |connection, shelf, _| {
            second_page(connection, shelf, order);
        });
        let walk = ["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value<?)"];
        assert_eq!(walked, [walk], "{order:?}");
    }
}

#[test]
fn paging_by_source_walks_one_index_from_the_position_and_sorts_nothing() {
    let walked = plans_for("drawers", |connection, shelf, _| {
        second_page(connection, shelf, DrawerOrder::Source);
    });
    let lines: Vec<String> = walked.concat();
    let by_source = lines.iter().filter(|line| line.contains("drawers_source"));
    assert!(by_source.count() >= 2, "{lines:?}");
    assert!(
        lines.iter().all(|line| line.starts_with("SEARCH ")),
        "nothing is scanned and nothing sorted: {lines:?}"
    );
}

#[test]
fn members_of_lists_are_listed_from_the_key_of_the_attributes() {
    let filter = Filter::parse_str(r#"{"tags": {"$in": ["t1", "t2"]}}"#).unwrap();
    let listed = plans_for("attributes_1", |connection, shelf, _| {
        assert_eq!(
            tally::count_drawers(connection, shelf, &filter, &DocumentFilter::All).unwrap(),
            200
        );
    });
    let by_value = ["SEARCH attributes_1 USING PRIMARY KEY (key=? AND value=?)"];
    assert_eq!(
        listed,
        [by_value, by_value],
        "one statement for values and one for members"
    );
}

#[test]
fn a_twin_is_looked_up_by_all_its_columns() {
    let asked = plans_for("drawers", |connection, shelf, _| {
        let place = DrawerPlace {
            source: Some("s1".into()),
            span: Some(SourceSpan {
                start: 1,
                end: 9,
                line_start: 1,
                line_end: 1,
            }),
            ..DrawerPlace::default()
        };
        let drawer = Drawer {
            document: Some("harbour 1".into()),
            place,
            ..Drawer::with_id_only(DrawerId::new("new").unwrap())
        };
        let twin = row::find_twin(connection, shelf.collection, &drawer).unwrap();
        assert!(twin.is_some());
    });
    let whole =
        "SEARCH drawers USING INDEX drawers_source (collection=? AND source=? AND start=? AND hash=?)";
    assert_eq!(asked, [[whole]]);
}
