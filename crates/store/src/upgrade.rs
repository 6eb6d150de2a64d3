//! Files of an earlier format: brought up to date in one transaction, or read as if they were.

use loci_core::{ErrorKind, Include, Result};
use loci_index::tokenise::Indexer;
use rusqlite::{Connection, Transaction};

use crate::attributes::{self, Keys};
use crate::connection::begin_write;
use crate::failure::sqlite;
use crate::lexical::live_rows;
use crate::schema::{self, FileKind, VERSION};
use crate::shelf::{Shelf, next_number};
use crate::{clock, places, receipts, row, words};

/// After how many drawers an upgrade seals words.
const SEALED_AT_ONCE: usize = 2048;

/// What format 2 has beyond format 1: more than one space for a collection.
const TO_2: &str = "
ALTER TABLE spaces ADD COLUMN state TEXT;
ALTER TABLE spaces ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
";

/// A table of format 1 under the name and with the columns that format 2 has; it hides the stored one.
const AS_2: &str = "CREATE TEMP VIEW IF NOT EXISTS spaces AS
    SELECT *, NULL AS state, 0 AS turn FROM main.spaces";

/// The table that format 3 has beyond format 2, without a row.
const AS_3: &str = "CREATE TEMP VIEW IF NOT EXISTS sources AS
    SELECT 0 AS collection, '' AS source, 0 AS revision, 0 AS revised_at, '' AS stamp WHERE 0";

/// What format 5 has beyond format 4: who filed a drawer, through which door and from where.
const TO_5: &str = "ALTER TABLE drawers ADD COLUMN provenance TEXT";

/// The last number of a collection, which format 5 counts; none was ever dropped from an earlier one.
const COUNT_COLLECTIONS: &str =
    "INSERT INTO palace(key, value) SELECT 'collection', coalesce(max(collection), 0) FROM collections";

/// The table of drawers of an earlier format with the column that format 5 has; it hides the stored one.
const AS_5: &str = "CREATE TEMP VIEW IF NOT EXISTS drawers AS SELECT *, NULL AS provenance FROM main.drawers";

/// Brings an older file up to date; a second opener finds nothing to do.
///
/// Damage stops nothing here: where a page cannot be read, the new indexes are left empty. Whoever asks them finds out
/// and reads the rows instead, `verify` names it, and an index of before that cannot be removed is asked no more.
pub(crate) fn run_if_needed(connection: &mut Connection) -> Result<()> {
    if schema::recognise(connection)? == FileKind::Current {
        return Ok(());
    }
    match bring_up_to_date(connection, File::Sound) {
        Err(error) if error.kind() == ErrorKind::Corrupt => bring_up_to_date(connection, File::Damaged),
        done => done,
    }
}

/// What is known of a file that is brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    Sound,
    Damaged,
}

fn bring_up_to_date(connection: &mut Connection, file: File) -> Result<()> {
    let transaction = begin_write(connection).map_err(sqlite)?;
    // Another process may have done it while this one waited for the lock.
    if let FileKind::Older(version) = schema::recognise_in(&transaction)? {
        let steps = [
            (2, TO_2),
            (2, schema::SPACES_INDEX),
            (3, schema::SOURCES_TABLE),
            (4, places::TABLE),
            (5, receipts::TABLE),
            (5, COUNT_COLLECTIONS),
        ];
        for (_, step) in steps.iter().filter(|(reached, _)| version < *reached) {
            transaction.execute_batch(step).map_err(sqlite)?;
        }
        if version < 5 {
            add_provenance(&transaction, file)?;
        }
        for shelf in Shelf::all(&transaction)? {
            let projection = match version < 4 {
                true => bring_words(&transaction, &shelf, file)?,
                false => shelf.projection,
            };
            match file {
                File::Sound => index_attributes(&transaction, &shelf, projection)?,
                File::Damaged => attributes::mark_bare(&transaction, projection)?,
            }
        }
        if file == File::Sound && schema::has_index(&transaction, schema::OLD_CONTENT_INDEX)? {
            let replace = format!(
                "DROP INDEX {}; {}",
                schema::OLD_CONTENT_INDEX,
                schema::SOURCE_INDEX
            );
            transaction.execute_batch(&replace).map_err(sqlite)?;
        }
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(sqlite)?;
        schema::note(
            &transaction,
            clock::now(),
            &format!("brought from format {version} to {VERSION}"),
        )?;
        crate::crash::point("upgraded");
    }
    transaction.commit().map_err(sqlite)
}

/// Gives drawers the column that format 5 has.
///
/// SQLite reads every row of a strict table before it adds a column to it. Where a page of them is damaged, only the text of
/// the table is changed, which is all that adding a column at its end changes.
fn add_provenance(transaction: &Transaction<'_>, file: File) -> Result<()> {
    if file == File::Sound {
        return transaction.execute_batch(TO_5).map_err(sqlite);
    }
    let cookie: i64 = transaction
        .pragma_query_value(None, "schema_version", |row| row.get(0))
        .map_err(sqlite)?;
    let rewrite = format!(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - length(') STRICT')) || ', provenance TEXT) STRICT'
             WHERE type = 'table' AND name = 'drawers' AND sql LIKE '%) STRICT';
         PRAGMA schema_version = {};
         PRAGMA writable_schema = RESET;",
        cookie + 1
    );
    transaction.execute_batch(&rewrite).map_err(sqlite)
}

/// Gives a collection the words and places that format 4 has; returns the number of its projection.
fn bring_words(transaction: &Transaction<'_>, shelf: &Shelf, file: File) -> Result<i64> {
    let projection = renew_words(transaction, shelf)?;
    if file == File::Sound {
        index_words(transaction, shelf, projection)?;
        words::drop_tables(transaction, shelf.projection)?;
        places::rebuild(transaction, shelf.collection)?;
    }
    Ok(projection)
}

/// Adds filing times and members of lists to the attributes, as format 5 has them.
fn index_attributes(transaction: &Transaction<'_>, shelf: &Shelf, projection: i64) -> Result<()> {
    let include = Include {
        metadata: true,
        ..Include::NOTHING
    };
    let mut keys = Keys::default();
    for row in live_rows(transaction, shelf, i64::MIN, i64::MAX)? {
        if let Some(stored) = row::by_row(transaction, row, include)? {
            attributes::insert_new_in_5(transaction, projection, &mut keys, row, &stored.drawer)?;
        }
    }
    Ok(())
}

/// Makes the tables of words that format 4 has, under a new number, since those of before may have to stay. The
/// attributes go along; returns the number.
fn renew_words(transaction: &Transaction<'_>, shelf: &Shelf) -> Result<i64> {
    let projection = next_number(transaction, "projection")?;
    words::create(transaction, projection)?;
    transaction
        .execute_batch(&format!(
            "ALTER TABLE attributes_{} RENAME TO attributes_{projection};
             UPDATE collections SET projection = {projection} WHERE collection = {}",
            shelf.projection, shelf.collection
        ))
        .map_err(sqlite)?;
    Ok(projection)
}

/// Fills the new tables from the rows.
fn index_words(transaction: &Transaction<'_>, shelf: &Shelf, projection: i64) -> Result<()> {
    let include = Include {
        document: true,
        context: true,
        ..Include::NOTHING
    };
    let mut indexer = Indexer::default();
    for (n, row) in live_rows(transaction, shelf, i64::MIN, i64::MAX)?
        .into_iter()
        .enumerate()
    {
        if let Some(stored) = row::by_row(transaction, row, include)? {
            let words = words::of(&mut indexer, &stored.drawer);
            words::insert(transaction, projection, row, &words)?;
        }
        if n % SEALED_AT_ONCE == SEALED_AT_ONCE - 1 {
            words::seal_full(transaction, projection)?;
        }
    }
    words::seal_full(transaction, projection)?;
    words::merge(transaction, projection)
}

/// Lets this connection read a file of an earlier version that it may not, or shall not, change.
pub(crate) fn read_as_current(connection: &Connection, version: i32) -> Result<()> {
    let views = [
        (2, AS_2),
        (3, AS_3),
        (4, places::VIEW),
        (5, AS_5),
        (5, receipts::VIEW),
    ];
    for (reached, view) in views {
        if version < reached {
            connection.execute_batch(view).map_err(sqlite)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{read_only, sources, vfs};
    use loci_core::{CollectionName, Filter, Get, SourceRecord, Sources, SpaceState};
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

    fn records(connection: &Connection, shelf: &Shelf) -> Result<Vec<SourceRecord>> {
        let all = Sources::Under {
            prefix: String::new(),
            after: None,
            limit: 10,
        };
        sources::find(connection, shelf.collection, &all)
    }

    #[test]
    fn a_file_of_format_1_that_may_not_be_written_is_read_as_it_is() {
        let (folder, bytes, mut connection) = unwritable("version-1");
        assert!(
            Shelf::all(&connection).is_err(),
            "format 1 has no states of spaces"
        );
        assert!(
            run_if_needed(&mut connection).is_err(),
            "nor can it be given them here"
        );
        read_as_current(&connection, 1).unwrap();
        let shelf = Shelf::all(&connection).unwrap().pop().unwrap();
        assert_eq!((shelf.drawers, shelf.others.len()), (1040, 0));
        assert_eq!(
            (shelf.space.state, shelf.space.vectors),
            (SpaceState::Active, 1039)
        );
        let drawers = crate::read::get(&connection, &shelf, &Get::default(), &Filter::All).unwrap();
        assert_eq!(drawers.len(), 1040);
        assert_eq!(records(&connection, &shelf).unwrap(), []);
        drop(connection);
        assert_untouched(&folder, &bytes);
    }

    #[test]
    fn a_file_of_format_2_that_may_not_be_written_remembers_no_source() {
        let (folder, bytes, mut connection) = unwritable("version-2");
        let shelf = Shelf::all(&connection).unwrap().pop().unwrap();
        assert_eq!(shelf.others.len(), 3);
        assert!(records(&connection, &shelf).is_err(), "it has no table for them");
        assert!(run_if_needed(&mut connection).is_err());
        read_as_current(&connection, 2).unwrap();
        assert_eq!(records(&connection, &shelf).unwrap(), []);
        assert_eq!(
            Shelf::all(&connection).unwrap().pop().unwrap().others.len(),
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
        let shelf = Shelf::find(&connection, &CollectionName::new("drawers").unwrap()).unwrap();
        let get = |request: &Get| crate::read::get(&connection, &shelf, request, &request.filter).unwrap();
        let all = get(&Get::default());
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
                let found = get(&Get {
                    filter: filter.clone(),
                    order,
                    ..Get::default()
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
