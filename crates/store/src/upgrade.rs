//! Files of an earlier format: upgraded in one transaction, or read as if they were.

use loci_core::{DrawerFields, ErrorKind, Result};
use loci_index::tokenise::TextIndexer;
use rusqlite::{Connection, Transaction};

use crate::attributes::{self, AttributeKeys};
use crate::connection::begin_write;
use crate::failure::sqlite_error;
use crate::lexical::live_rows;
use crate::schema::{self, FileKind, VERSION};
use crate::shelf::{CollectionShelf, next_number};
use crate::{clock, days, places, receipts, row, words};

/// The number of drawers after which an upgrade seals words.
const SEALED_AT_ONCE: usize = 2048;

/// The columns that format 2 adds to format 1: a collection may have more than one space.
const TO_2: &str = "
ALTER TABLE spaces ADD COLUMN state TEXT;
ALTER TABLE spaces ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
";

/// A view of a table of format 1 with the columns of format 2; it hides the stored table.
const AS_2: &str = "CREATE TEMP VIEW IF NOT EXISTS spaces AS
    SELECT *, NULL AS state, 0 AS turn FROM main.spaces";

/// An empty view in place of the table that format 3 adds.
const AS_3: &str = "CREATE TEMP VIEW IF NOT EXISTS sources AS
    SELECT 0 AS collection, '' AS source, 0 AS revision, 0 AS revised_at, '' AS stamp WHERE 0";

/// The column that format 5 adds to format 4: who filed a drawer, through which door and from where.
const TO_5: &str = "ALTER TABLE drawers ADD COLUMN provenance TEXT";

/// Starts the counter of collection numbers that format 5 keeps; earlier formats never dropped a collection.
const COUNT_COLLECTIONS: &str =
    "INSERT INTO palace(key, value) SELECT 'collection', coalesce(max(collection), 0) FROM collections";

/// A view of the drawers of an earlier format with the column of format 5; it hides the stored table.
const AS_5: &str = "CREATE TEMP VIEW IF NOT EXISTS drawers AS SELECT *, NULL AS provenance FROM main.drawers";

/// Upgrades an older file; a second opener finds nothing to do.
///
/// Damage does not stop an upgrade: if a page cannot be read, the new indexes are left empty. Readers of an index notice
/// that and read the rows instead, `verify` reports it, and an old index that cannot be removed is no longer used.
pub(crate) fn run_if_needed(connection: &mut Connection) -> Result<()> {
    if schema::recognise_file(connection)? == FileKind::Current {
        return Ok(());
    }
    // A damaged page rolls the whole transaction back, so the second attempt starts from the file as it was.
    match bring_up_to_date(connection, FileCondition::Sound) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            bring_up_to_date(connection, FileCondition::Damaged)
        }
        done => done,
    }
}

/// Whether a file that is upgraded has shown damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileCondition {
    Sound,
    Damaged,
}

fn bring_up_to_date(connection: &mut Connection, file: FileCondition) -> Result<()> {
    let transaction = begin_write(connection).map_err(sqlite_error)?;
    // Another process may have upgraded it while this one waited for the lock.
    if let FileKind::Older(version) = schema::recognise_in(&transaction)? {
        let steps = [
            (2, TO_2),
            (2, schema::SPACES_INDEX),
            (3, schema::SOURCES_TABLE),
            (4, places::TABLE),
            (5, receipts::TABLE),
            (5, COUNT_COLLECTIONS),
            (6, days::TABLE),
        ];
        for (_, step) in steps.iter().filter(|(reached, _)| version < *reached) {
            transaction.execute_batch(step).map_err(sqlite_error)?;
        }
        if version < 5 {
            add_provenance(&transaction, file)?;
            bring_indexes(&transaction, version, file)?;
        }
        // Format 6 also has records on page 2, which the file layer begins to keep when it finds the new number.
        begin_days(&transaction, file)?;
        // The old index keeps pieces unique as well, so a damaged file can do without the new one.
        if file == FileCondition::Sound && schema::has_index(&transaction, schema::OLD_CONTENT_INDEX)? {
            let replace = format!(
                "DROP INDEX {}; {}",
                schema::OLD_CONTENT_INDEX,
                schema::SOURCE_INDEX
            );
            transaction.execute_batch(&replace).map_err(sqlite_error)?;
        }
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(sqlite_error)?;
        schema::add_note(
            &transaction,
            clock::now(),
            &format!("brought from format {version} to {VERSION}"),
        )?;
        crate::crash::point("upgraded");
    }
    transaction.commit().map_err(sqlite_error)
}

/// Brings the words and attributes of every collection to format 5.
fn bring_indexes(transaction: &Transaction<'_>, version: i32, file: FileCondition) -> Result<()> {
    for shelf in CollectionShelf::list_all(transaction)? {
        let projection = if version < 4 {
            bring_words(transaction, &shelf, file)?
        } else {
            shelf.projection
        };
        match file {
            FileCondition::Sound => index_attributes(transaction, &shelf, projection)?,
            FileCondition::Damaged => attributes::mark_bare(transaction, projection)?,
        }
    }
    Ok(())
}

/// Counts the days of every collection, and keeps them counted from here on.
fn begin_days(transaction: &Transaction<'_>, file: FileCondition) -> Result<()> {
    for shelf in CollectionShelf::list_all(transaction)? {
        match file {
            FileCondition::Sound => days::recount_days(transaction, shelf.collection)?,
            FileCondition::Damaged => days::mark_bare(transaction, shelf.collection)?,
        }
    }
    transaction
        .execute_batch(&days::triggers_sql())
        .map_err(sqlite_error)
}

/// Adds the column of format 5 to the drawers.
///
/// SQLite reads every row of a strict table before it adds a column to it. If a page of them is damaged, only the
/// schema text of the table is changed, which is all that adding a column at its end changes on disk.
fn add_provenance(transaction: &Transaction<'_>, file: FileCondition) -> Result<()> {
    if file == FileCondition::Sound {
        return transaction.execute_batch(TO_5).map_err(sqlite_error);
    }
    // A new schema version makes every open connection read the schema again.
    let cookie: i64 = transaction
        .pragma_query_value(None, "schema_version", |row| row.get(0))
        .map_err(sqlite_error)?;
    let rewrite = format!(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - length(') STRICT')) || ', provenance TEXT) STRICT'
             WHERE type = 'table' AND name = 'drawers' AND sql LIKE '%) STRICT';
         PRAGMA schema_version = {};
         PRAGMA writable_schema = RESET;",
        cookie + 1
    );
    transaction.execute_batch(&rewrite).map_err(sqlite_error)
}

/// Gives a collection the words and places of format 4; returns the number of its projection.
fn bring_words(transaction: &Transaction<'_>, shelf: &CollectionShelf, file: FileCondition) -> Result<i64> {
    let projection = renew_words(transaction, shelf)?;
    if file == FileCondition::Sound {
        index_words(transaction, shelf, projection)?;
        words::drop_tables(transaction, shelf.projection)?;
        places::recount_places(transaction, shelf.collection)?;
    }
    Ok(projection)
}

/// Adds filing times and members of lists to the attributes, as in format 5.
fn index_attributes(transaction: &Transaction<'_>, shelf: &CollectionShelf, projection: i64) -> Result<()> {
    let include = DrawerFields {
        metadata: true,
        ..DrawerFields::NOTHING
    };
    let mut keys = AttributeKeys::default();
    for row in live_rows(transaction, shelf, i64::MIN, i64::MAX)? {
        if let Some(stored) = row::load_by_row(transaction, row, include)? {
            attributes::insert_new_in_5(transaction, projection, &mut keys, row, &stored.drawer)?;
        }
    }
    Ok(())
}

/// Creates the word tables of format 4 under a new number, since the old ones may have to stay. The
/// attributes move along; returns the number.
fn renew_words(transaction: &Transaction<'_>, shelf: &CollectionShelf) -> Result<i64> {
    let projection = next_number(transaction, "projection")?;
    words::create_tables(transaction, projection)?;
    transaction
        .execute_batch(&format!(
            "ALTER TABLE attributes_{} RENAME TO attributes_{projection};
             UPDATE collections SET projection = {projection} WHERE collection = {}",
            shelf.projection, shelf.collection
        ))
        .map_err(sqlite_error)?;
    Ok(projection)
}

/// Fills the new tables from the rows.
fn index_words(transaction: &Transaction<'_>, shelf: &CollectionShelf, projection: i64) -> Result<()> {
    let include = DrawerFields {
        document: true,
        context: true,
        ..DrawerFields::NOTHING
    };
    let mut indexer = TextIndexer::default();
    for (n, row) in live_rows(transaction, shelf, i64::MIN, i64::MAX)?
        .into_iter()
        .enumerate()
    {
        if let Some(stored) = row::load_by_row(transaction, row, include)? {
            let words = words::pack_words(&mut indexer, &stored.drawer);
            words::insert(transaction, projection, row, &words)?;
        }
        // Sealed on the way: one large tail at the end would be written twice.
        if n % SEALED_AT_ONCE == SEALED_AT_ONCE - 1 {
            words::seal_full(transaction, projection)?;
        }
    }
    words::seal_full(transaction, projection)?;
    words::merge_small(transaction, projection)
}

/// Lets this connection read a file of an earlier version that it may not or should not change.
pub(crate) fn read_as_current(connection: &Connection, version: i32) -> Result<()> {
    let views = [
        (2, AS_2),
        (3, AS_3),
        (4, places::VIEW),
        (5, AS_5),
        (5, receipts::VIEW),
        (6, days::VIEW),
    ];
    for (reached, view) in views {
        if version < reached {
            connection.execute_batch(view).map_err(sqlite_error)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{read_only, sources, vfs};
    use loci_core::{CollectionName, Filter, GetRequest, SourceRecord, SourceRecordQuery, SpaceState};
    use tempfile::TempDir;

    /// A copy of a fixture, its bytes, and a connection that may not change it.
    fn unwritable(fixture: &str) -> (TempDir, Vec<u8>, Connection) {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let bytes = std::fs::read(kept.join(fixture).join("palace.db")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("palace.db");
        std::fs::write(&file, &bytes).unwrap();
        let connection = read_only::open(&file, vfs::register(None).unwrap()).unwrap();
        (folder, bytes, connection)
    }

    fn assert_untouched(folder: &TempDir, bytes: &[u8]) {
        assert!(std::fs::read(folder.path().join("palace.db")).unwrap() == bytes);
    }

    fn records(connection: &Connection, shelf: &CollectionShelf) -> Result<Vec<SourceRecord>> {
        let all = SourceRecordQuery::Under {
            prefix: String::new(),
            after: None,
            limit: 10,
        };
        sources::find_records(connection, shelf.collection, &all)
    }

    #[test]
    fn a_file_of_format_1_that_may_not_be_written_is_read_as_it_is() {
        let (folder, bytes, mut connection) = unwritable("version-1");
        assert!(
            CollectionShelf::list_all(&connection).is_err(),
            "format 1 has no states of spaces"
        );
        assert!(
            run_if_needed(&mut connection).is_err(),
            "nor can it be given them here"
        );
        read_as_current(&connection, 1).unwrap();
        let shelf = CollectionShelf::list_all(&connection).unwrap().pop().unwrap();
        assert_eq!((shelf.drawers, shelf.others.len()), (1040, 0));
        assert_eq!(
            (shelf.space.state, shelf.space.vectors),
            (SpaceState::Active, 1039)
        );
        let drawers = crate::read::get(&connection, &shelf, &GetRequest::default(), &Filter::All).unwrap();
        assert_eq!(drawers.len(), 1040);
        assert_eq!(records(&connection, &shelf).unwrap(), []);
        drop(connection);
        assert_untouched(&folder, &bytes);
    }

    #[test]
    fn a_file_of_format_2_that_may_not_be_written_remembers_no_source() {
        let (folder, bytes, mut connection) = unwritable("version-2");
        let shelf = CollectionShelf::list_all(&connection).unwrap().pop().unwrap();
        assert_eq!(shelf.others.len(), 3);
        assert!(records(&connection, &shelf).is_err(), "it has no table for them");
        assert!(run_if_needed(&mut connection).is_err());
        read_as_current(&connection, 2).unwrap();
        assert_eq!(records(&connection, &shelf).unwrap(), []);
        assert_eq!(
            CollectionShelf::list_all(&connection)
                .unwrap()
                .pop()
                .unwrap()
                .others
                .len(),
            3,
            "its spaces are its own"
        );
        drop(connection);
        assert_untouched(&folder, &bytes);
    }

    #[test]
    fn a_file_of_format_4_that_may_not_be_written_answers_what_only_format_5_indexes() {
        let (folder, bytes, mut connection) = unwritable("version-4-lists");
        assert!(run_if_needed(&mut connection).is_err());
        read_as_current(&connection, 4).unwrap();
        let shelf = CollectionShelf::find(&connection, &CollectionName::new("drawers").unwrap()).unwrap();
        let get =
            |request: &GetRequest| crate::read::get(&connection, &shelf, request, &request.filter).unwrap();
        let all = get(&GetRequest::default());
        assert_eq!(all.len(), 60);
        for filter in [
            r#"{"tags": {"$contains": "tag1"}}"#,
            r#"{"tags": {"$nin": ["tag1", "tag2"]}}"#,
            r#"{"filed_at": {"$gte": 1700000000000004}}"#,
        ] {
            let filter = Filter::parse_str(filter).unwrap();
            for order in loci_core::DrawerOrder::ALL {
                let mut expected: Vec<_> = all.iter().filter(|drawer| filter.accepts(drawer)).collect();
                expected.sort_by(|a, b| order.position_of(a).compare(&order.position_of(b)).unwrap());
                let found = get(&GetRequest {
                    filter: filter.clone(),
                    order,
                    ..GetRequest::default()
                });
                assert!(
                    !found.is_empty() && found.iter().eq(expected),
                    "{order:?} {filter}"
                );
            }
        }
        drop(connection);
        assert_untouched(&folder, &bytes);
    }
}
