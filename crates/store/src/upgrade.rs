//! Files of an earlier format: brought up to date in one transaction, or read as if they were.

use loci_core::Result;
use rusqlite::{Connection, TransactionBehavior};

use crate::clock;
use crate::failure::sqlite;
use crate::schema::{self, FileKind, VERSION};

/// What format 2 has beyond format 1: more than one space for a collection.
const TO_2: &str = "
ALTER TABLE spaces ADD COLUMN state TEXT;
ALTER TABLE spaces ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
";

/// A table of format 1 under the name and with the columns that format 2 has; it hides the stored one.
const AS_2: &str = "CREATE TEMP VIEW IF NOT EXISTS spaces AS
    SELECT *, NULL AS state, 0 AS turn FROM main.spaces";

/// Brings an older file up to date; a second opener finds nothing to do.
pub(crate) fn run_if_needed(connection: &mut Connection) -> Result<()> {
    if schema::recognise(connection)? == FileKind::Current {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    // Another process may have done it while this one waited for the lock.
    if let FileKind::Older(version) = schema::recognise_in(&transaction)? {
        transaction.execute_batch(TO_2).map_err(sqlite)?;
        transaction.execute_batch(schema::SPACES_INDEX).map_err(sqlite)?;
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

/// Lets this connection read an older file that it may not, or shall not, change.
pub(crate) fn read_as_current(connection: &Connection) -> Result<()> {
    match schema::recognise(connection)? {
        FileKind::Older(_) => connection.execute_batch(AS_2).map_err(sqlite),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::shelf::Shelf;
    use crate::{read_only, vfs};
    use loci_core::{Get, SpaceState};

    #[test]
    fn a_file_of_format_1_that_may_not_be_written_is_read_as_it_is() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1/palace.db");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("palace.db");
        std::fs::copy(fixture, &file).unwrap();
        let before = std::fs::read(&file).unwrap();
        let mut connection = read_only::open(&file, vfs::register(None).unwrap()).unwrap();
        assert!(
            Shelf::all(&connection).is_err(),
            "format 1 has no states of spaces"
        );
        assert!(
            run_if_needed(&mut connection).is_err(),
            "nor can it be given them here"
        );
        read_as_current(&connection).unwrap();
        let shelf = Shelf::all(&connection).unwrap().pop().unwrap();
        assert_eq!((shelf.drawers, shelf.others.len()), (1040, 0));
        assert_eq!(
            (shelf.space.state, shelf.space.vectors),
            (SpaceState::Active, 1039)
        );
        let drawers = crate::read::get(&connection, &shelf, &Get::default()).unwrap();
        assert_eq!(drawers.len(), 1040);
        drop(connection);
        assert!(std::fs::read(&file).unwrap() == before);
    }
}
