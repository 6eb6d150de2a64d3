//! Ties between hits, broken by the byte order of ids.

use std::cmp::Ordering;

use loci_core::Result;
use rusqlite::{CachedStatement, Connection};

use crate::failure::sqlite_error;

/// Sorts each run of sorted hits that compare as equal by the ids of their rows.
pub(crate) fn order_by_id<T: Copy>(
    connection: &Connection,
    hits: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering,
    row_of: impl Fn(&T) -> i64,
) -> Result<()> {
    let mut ids = None;
    for run in hits.chunk_by_mut(|a, b| compare(a, b) == Ordering::Equal) {
        // Ids are read only for real ties: each costs a lookup, and most hits have none.
        if run.len() < 2 {
            continue;
        }
        let ids = match &mut ids {
            Some(ids) => ids,
            None => ids.insert(
                connection
                    .prepare_cached("SELECT id FROM drawers WHERE row = ?1")
                    .map_err(sqlite_error)?,
            ),
        };
        let mut named = Vec::with_capacity(run.len());
        for hit in run.iter() {
            named.push((read_id(ids, row_of(hit))?, *hit));
        }
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (place, (_, hit)) in run.iter_mut().zip(named) {
            *place = hit;
        }
    }
    Ok(())
}

/// Returns the id of a row as bytes; empty for a missing row, which hydrating it reports.
fn read_id(ids: &mut CachedStatement<'_>, row: i64) -> Result<Vec<u8>> {
    let mut found = ids.query([row]).map_err(sqlite_error)?;
    match found.next().map_err(sqlite_error)? {
        Some(entry) => Ok(entry
            .get_ref(0)
            .map_err(sqlite_error)?
            .as_bytes()
            .unwrap_or_default()
            .to_vec()),
        None => Ok(Vec::new()),
    }
}
