//! Putting a space right: vectors of no drawer go, counters come true, and what is damaged is given up where it
//! can be made again.

use std::time::Duration;

use loci_core::{CollectionName, ErrorKind, Result, SpaceState};
use rusqlite::Connection;

use crate::failure::sqlite;
use crate::palace::Palace;
use crate::shelf::Shelf;
use crate::space::Space;
use crate::vectors;

/// What is wrong with a space.
#[derive(Debug, Default)]
struct Faults {
    /// Vectors of no drawer.
    orphans: Vec<i64>,
    /// Damaged vectors of a space that does not answer: filling it makes them again.
    damaged: Vec<i64>,
    /// How many vectors there are beyond those counted; writers at work do not change this.
    uncounted: i64,
    /// The same for those that no segment reaches.
    tail_uncounted: i64,
}

impl Faults {
    fn is_empty(&self) -> bool {
        self.orphans.is_empty() && self.damaged.is_empty() && self.uncounted == 0 && self.tail_uncounted == 0
    }
}

/// Finds the faults of a space in one read transaction and mends them in one short write; returns how many vectors
/// were dropped.
pub(super) fn run(palace: &Palace, name: &CollectionName, number: i64, wait: Duration) -> Result<i64> {
    let faults = palace.read(wait, |transaction| {
        let mut shelf = Shelf::find(transaction, name)?;
        match shelf.numbered(number) {
            Some(space) => match look(transaction, space) {
                // A page that cannot be read is for `verify` to name; the rest is rebuilt around it.
                Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Faults::default()),
                looked => looked,
            },
            None => Ok(Faults::default()),
        }
    })?;
    if faults.is_empty() {
        return Ok(0);
    }
    let dropped = palace.write(wait, |transaction| {
        let mut shelf = Shelf::find(transaction, name)?;
        let Some(space) = shelf.numbered(number) else {
            return Ok(0);
        };
        space.vectors += faults.uncounted;
        let before = space.vectors;
        let active = space.state == SpaceState::Active;
        let damaged = faults.damaged.iter().filter(|_| !active);
        for row in faults.orphans.iter().chain(damaged) {
            vectors::delete(transaction, space, *row)?;
        }
        let dropped = before - space.vectors;
        space.tail = tail(transaction, space)?;
        space.store_counters(transaction)?;
        crate::crash::point("reindex-mend");
        Ok(dropped)
    })?;
    Ok(dropped)
}

fn look(connection: &Connection, space: &Space) -> Result<Faults> {
    let orphans: Vec<i64> = connection
        .prepare(&vectors::orphans_sql("v.row", space.number))
        .and_then(|mut statement| {
            statement
                .query_map([space.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite)?;
    let mut damaged = Vec::new();
    let mut counted = 0;
    vectors::each(connection, space, i64::MIN, i64::MAX, |row, vector| {
        counted += 1;
        if vector.is_err() && space.state != SpaceState::Active {
            damaged.push(row);
        }
        Ok(())
    })?;
    damaged.retain(|row| orphans.binary_search(row).is_err());
    Ok(Faults {
        uncounted: counted - space.vectors,
        tail_uncounted: tail(connection, space)? - space.tail,
        orphans,
        damaged,
    })
}

/// How many vectors lie above every sealed row.
fn tail(connection: &Connection, space: &Space) -> Result<i64> {
    connection
        .query_row(
            &format!("SELECT count(*) FROM vectors_{} WHERE row > ?1", space.number),
            [space.sealed],
            |row| row.get(0),
        )
        .map_err(sqlite)
}
