//! Files of older releases, and files whose own words about their tables are all lost.

use super::made::{LATE, Made, Recipe};
use super::{check, check_live};

const RECIPE: Recipe = Recipe {
    page_size: 1024,
    records: 150,
    vacuum: false,
};

/// The tables of an early release: topics, and fewer columns of metadata.
fn early() -> String {
    let topic = "'persistent://default/default/11111111-aaaa-4bbb-8ccc-000000000001'";
    LATE.replace(", bool_value INTEGER", "")
        .replace("NULL, NULL, NULL)", "NULL, NULL)")
        .replace(
            "name TEXT NOT NULL, -- unique per database, not globally\n",
            "name TEXT NOT NULL, topic TEXT NOT NULL,",
        )
        .replace(
            "database_id TEXT NOT NULL, config_json_str TEXT, schema_str TEXT",
            "database_id TEXT NOT NULL",
        )
        .replace("'drawers', 16,", &format!("'drawers', {topic}, 16,"))
        .replace("0000', '{}', NULL)", "0000')")
        .replace(
            "scope TEXT NOT NULL, collection TEXT NOT NULL",
            "scope TEXT NOT NULL, topic TEXT, collection TEXT",
        )
        .replace("'VECTOR',", &format!("'VECTOR', {topic},"))
        .replace("'METADATA',", "'METADATA', NULL,")
        .replace("CREATE TABLE embedding_metadata_array", "CREATE TABLE unknown")
        .replace("seq_id INTEGER)", "seq_id BLOB NOT NULL)")
}

/// Overwrites every page that says what the tables are.
fn without_schema(made: &Made) -> Vec<u8> {
    let mut bytes = made.bytes.clone();
    for kind in ["leaf", "internal", "overflow"] {
        for page in made.pages_of("sqlite_schema", kind) {
            let start = (page as usize - 1) * made.page_size;
            bytes[start..start + made.page_size].fill(0);
        }
    }
    bytes
}

#[test]
fn an_early_file_is_saved_with_and_without_its_words() {
    let made = Made::with(RECIPE, &early(), |_| {});
    assert!(made.columns["collections"].contains(&"topic".to_owned()));
    assert!(made.columns["segments"].contains(&"topic".to_owned()));
    check_live(&made, &made.bytes);
    check(&made, &without_schema(&made));
}

#[test]
fn a_late_file_is_saved_without_its_words() {
    let made = Made::new(RECIPE);
    let saved = check(&made, &without_schema(&made));
    let loose: Vec<_> = saved.loose_rows.keys().map(String::as_str).collect();
    assert_eq!(
        loose.len(),
        11,
        "rows of every table were on loose pages: {loose:?}"
    );
}

#[test]
fn rows_that_are_older_than_a_column_lack_it() {
    let made = Made::with(RECIPE, &early(), |connection| {
        let change = "ALTER TABLE embedding_metadata ADD COLUMN bool_value INTEGER;
            INSERT INTO embedding_metadata (id, key, bool_value) VALUES (1, 'late #000001#', 1)";
        connection.execute_batch(change).unwrap();
    });
    let saved = check_live(&made, &made.bytes);
    assert_eq!(saved.losses, []);
    let connection = rusqlite::Connection::open(&saved.file).unwrap();
    let count = |question: &str| {
        connection
            .query_row(question, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(
        count("SELECT count(*) FROM embedding_metadata WHERE bool_value = 1"),
        1
    );
    check(&made, &without_schema(&made));
}

#[test]
fn numbers_stay_what_they_were() {
    let made = Made::new(RECIPE);
    let saved = check_live(&made, &made.bytes);
    let connection = rusqlite::Connection::open(&saved.file).unwrap();
    let kinds = "SELECT group_concat(DISTINCT typeof(float_value)) FROM embedding_metadata WHERE float_value IS NOT NULL";
    let kinds: String = connection.query_row(kinds, [], |row| row.get(0)).unwrap();
    assert_eq!(kinds, "real");
    let kinds = "SELECT group_concat(kind) FROM (SELECT DISTINCT typeof(seq_id) AS kind FROM embeddings ORDER BY kind)";
    let kinds: String = connection.query_row(kinds, [], |row| row.get(0)).unwrap();
    assert_eq!(kinds, "blob,integer");
}

#[test]
fn a_statement_that_would_do_more_than_make_a_table_is_not_obeyed() {
    use crate::salvage::schema::declared_columns;
    assert_eq!(declared_columns("CREATE TABLE a (x TEXT, y)").len(), 2);
    for statement in [
        "CREATE TABLE a AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n",
        "CREATE TABLE a (x); CREATE TABLE b (y)",
        "ATTACH 'somewhere' AS other",
        "PRAGMA page_size",
        "no statement",
        "",
    ] {
        assert!(declared_columns(statement).is_empty(), "{statement}");
    }
}
