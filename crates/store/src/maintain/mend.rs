//! Repairing a space: vectors of no drawer are removed, counters corrected, and damaged vectors dropped if they
//! can be made again.

use std::time::Duration;

use loci_core::{CollectionName, ErrorKind, Result, SpaceState};
use rusqlite::Connection;

use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;
use crate::space::StoredSpace;
use crate::vectors;

/// The faults of a space.
#[derive(Debug, Default)]
struct SpaceFaults {
    /// Vectors of no drawer.
    orphans: Vec<i64>,
    /// Damaged vectors of a space that is not active: filling it makes them again.
    damaged: Vec<i64>,
    /// The number of vectors beyond those counted; concurrent writers do not change this difference.
    uncounted: i64,
    /// The same for the vectors above every sealed row.
    tail_uncounted: i64,
}

impl SpaceFaults {
    fn is_empty(&self) -> bool {
        self.orphans.is_empty() && self.damaged.is_empty() && self.uncounted == 0 && self.tail_uncounted == 0
    }
}

/// Finds the faults of a space in one read transaction and repairs them in one short write; returns how many vectors
/// were dropped.
pub(super) fn run(palace: &PalaceFile, name: &CollectionName, number: i64, wait: Duration) -> Result<i64> {
    let faults = palace.read(wait, |transaction| {
        let mut shelf = CollectionShelf::find(transaction, name)?;
        match shelf.space_by_number(number) {
            Some(space) => match find_faults(transaction, space) {
                // An unreadable page is reported by `verify`; the rest is rebuilt around it.
                Err(error) if error.kind() == ErrorKind::Corrupt => Ok(SpaceFaults::default()),
                looked => looked,
            },
            None => Ok(SpaceFaults::default()),
        }
    })?;
    if faults.is_empty() {
        return Ok(0);
    }
    let dropped = palace.write(wait, |transaction| {
        let mut shelf = CollectionShelf::find(transaction, name)?;
        let Some(space) = shelf.space_by_number(number) else {
            return Ok(0);
        };
        space.vectors += faults.uncounted;
        let before = space.vectors;
        // Asked again within the lock: the space may have become the active one since, and its vectors,
        // damaged or not, are the only ones the answers have.
        let active = space.state == SpaceState::Active;
        let damaged = faults.damaged.iter().filter(|_| !active);
        for row in faults.orphans.iter().chain(damaged) {
            vectors::delete(transaction, space, *row)?;
        }
        let dropped = before - space.vectors;
        space.tail = count_tail(transaction, space)?;
        space.store_counters(transaction)?;
        crate::crash::point("reindex-mend");
        Ok(dropped)
    })?;
    Ok(dropped)
}

fn find_faults(connection: &Connection, space: &StoredSpace) -> Result<SpaceFaults> {
    let orphans: Vec<i64> = connection
        .prepare(&vectors::orphans_sql("v.row", space.number))
        .and_then(|mut statement| {
            statement
                .query_map([space.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite_error)?;
    let mut damaged = Vec::new();
    let mut counted = 0;
    vectors::each_vector(connection, space, i64::MIN, i64::MAX, |row, vector| {
        counted += 1;
        if vector.is_err() && space.state != SpaceState::Active {
            damaged.push(row);
        }
        Ok(())
    })?;
    damaged.retain(|row| orphans.binary_search(row).is_err());
    Ok(SpaceFaults {
        uncounted: counted - space.vectors,
        tail_uncounted: count_tail(connection, space)? - space.tail,
        orphans,
        damaged,
    })
}

/// Counts the vectors above every sealed row.
fn count_tail(connection: &Connection, space: &StoredSpace) -> Result<i64> {
    connection
        .query_row(
            &format!("SELECT count(*) FROM vectors_{} WHERE row > ?1", space.number),
            [space.sealed],
            |row| row.get(0),
        )
        .map_err(sqlite_error)
}
