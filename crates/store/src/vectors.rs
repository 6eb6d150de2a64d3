//! Exact vectors as rows, and sealing the newest of them into packed segments.

use loci_core::Result;
use loci_index::segment::{self, SegmentSeal};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Transaction, params};
use twox_hash::XxHash3_64;

use crate::failure::{corrupt_error, sqlite_error};
use crate::space::StoredSpace;

/// The bytes of the checksum after the values.
const CHECKSUM: usize = 8;

/// Creates the table of a new space.
pub(crate) fn create_table(transaction: &Transaction<'_>, space: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "CREATE TABLE vectors_{space} (row INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT"
        ))
        .map_err(sqlite_error)
}

/// Removes the table of a space.
pub(crate) fn drop_table(transaction: &Transaction<'_>, space: i64) -> Result<()> {
    transaction
        .execute_batch(&format!("DROP TABLE IF EXISTS vectors_{space}"))
        .map_err(sqlite_error)
}

/// Returns a vector in its stored form: its values as little-endian f32, then a checksum seeded with its row.
pub(crate) fn encode_vector(row: i64, vector: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(vector.len() * 4 + CHECKSUM);
    bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend(vector_checksum(row, &bytes).to_le_bytes());
    bytes
}

fn vector_checksum(row: i64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(row as u64, bytes)
}

/// Reads a stored vector into `vector`; an error names the row if its bytes differ from what was written.
pub(crate) fn decode_vector(row: i64, bytes: &[u8], dimension: usize, vector: &mut Vec<f32>) -> Result<()> {
    let sound = bytes.len() == dimension * 4 + CHECKSUM;
    let Some((values, sum)) = bytes.split_last_chunk::<CHECKSUM>().filter(|_| sound) else {
        return Err(corrupt_error(format!(
            "the vector of row {row} has {} bytes",
            bytes.len()
        )));
    };
    if u64::from_le_bytes(*sum) != vector_checksum(row, values) {
        return Err(corrupt_error(format!("the vector of row {row} is damaged")));
    }
    vector.clear();
    vector.extend(
        values
            .as_chunks::<4>()
            .0
            .iter()
            .map(|value| f32::from_le_bytes(*value)),
    );
    Ok(())
}

/// Returns the exact vector of `row`, if it has one.
pub(crate) fn get(
    connection: &Connection,
    space: i64,
    row: i64,
    dimension: usize,
) -> Result<Option<Vec<f32>>> {
    let mut reader = VectorReader::new(connection, space, dimension)?;
    Ok(reader.read(row)?.map(<[f32]>::to_vec))
}

/// Reads exact vectors one by one into one buffer, with one statement.
pub(crate) struct VectorReader<'c> {
    statement: CachedStatement<'c>,
    dimension: usize,
    vector: Vec<f32>,
}

impl<'c> VectorReader<'c> {
    pub(crate) fn new(connection: &'c Connection, space: i64, dimension: usize) -> Result<Self> {
        let statement = connection
            .prepare_cached(&format!("SELECT data FROM vectors_{space} WHERE row = ?1"))
            .map_err(sqlite_error)?;
        Ok(Self {
            statement,
            dimension,
            vector: Vec::with_capacity(dimension),
        })
    }

    /// Returns the vector of `row`, if it has one.
    pub(crate) fn read(&mut self, row: i64) -> Result<Option<&[f32]>> {
        let (dimension, vector) = (self.dimension, &mut self.vector);
        let decoded = self
            .statement
            .query_row([row], |found| {
                Ok(decode_vector(
                    row,
                    found.get_ref(0)?.as_blob()?,
                    dimension,
                    vector,
                ))
            })
            .optional()
            .map_err(sqlite_error)?
            .transpose()?;
        Ok(decoded.map(|()| self.vector.as_slice()))
    }
}

/// Calls `each` with every vector from `first` to `last`, in row order; with an error for a damaged one.
pub(crate) fn each_vector(
    connection: &Connection,
    space: &StoredSpace,
    first: i64,
    last: i64,
    mut each: impl FnMut(i64, Result<&[f32]>) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT row, data FROM vectors_{} WHERE row BETWEEN ?1 AND ?2 ORDER BY row",
        space.number
    );
    let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
    let mut found = statement.query([first, last]).map_err(sqlite_error)?;
    // One buffer for all rows: a scan of the tail decodes up to a thousand vectors.
    let mut vector = Vec::new();
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let row: i64 = entry.get(0).map_err(sqlite_error)?;
        let bytes = entry
            .get_ref(1)
            .map_err(sqlite_error)?
            .as_blob()
            .unwrap_or_default();
        match decode_vector(row, bytes, space.dimension.unwrap_or(0), &mut vector) {
            Ok(()) => each(row, Ok(&vector))?,
            Err(error) => each(row, Err(error))?,
        }
    }
    Ok(())
}

/// As [`each_vector`], but finds the rows in the table of drawers and reads every vector separately, so that a page that
/// cannot be read costs only the vectors on it.
pub(crate) fn each_vector_singly(
    connection: &Connection,
    space: &StoredSpace,
    first: i64,
    last: i64,
    mut each: impl FnMut(i64, Result<&[f32]>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(
            // The plus keeps the planner from an index on `collection` and a sort; rows come in order anyway.
            "SELECT row FROM drawers WHERE row BETWEEN ?1 AND ?2 AND +collection = ?3 ORDER BY row",
        )
        .map_err(sqlite_error)?;
    let mut found = statement
        .query([first, last, space.collection])
        .map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let row: i64 = entry.get(0).map_err(sqlite_error)?;
        match get(connection, space.number, row, space.dimension.unwrap_or(0)) {
            Ok(Some(vector)) => each(row, Ok(&vector))?,
            Ok(None) => {}
            Err(error) => each(row, Err(error))?,
        }
    }
    Ok(())
}

/// Stores the vector of a row that is newer than every sealed one.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    row: i64,
    vector: &[f32],
) -> Result<()> {
    insert_bytes(transaction, space, row, &encode_vector(row, vector))
}

fn insert_bytes(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    row: i64,
    bytes: &[u8],
) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO vectors_{}(row, data) VALUES (?1, ?2)",
            space.number
        ))
        .and_then(|mut statement| statement.execute(params![row, bytes]))
        .map_err(sqlite_error)?;
    space.vectors += 1;
    // A new row is above every sealed one, so its vector is always in the tail.
    space.tail += 1;
    Ok(())
}

/// Removes the vector of a row, if it has one; a sealed vector is marked dead in its segment.
pub(crate) fn delete(transaction: &Transaction<'_>, space: &mut StoredSpace, row: i64) -> Result<()> {
    let removed = transaction
        .prepare_cached(&format!("DELETE FROM vectors_{} WHERE row = ?1", space.number))
        .and_then(|mut statement| statement.execute([row]))
        .map_err(sqlite_error)?;
    if removed == 0 {
        return Ok(());
    }
    space.vectors -= 1;
    // A sealed segment is never rewritten for one row; it only gets a note that the row is dead.
    if row > space.sealed {
        space.tail -= 1;
        return Ok(());
    }
    transaction
        .prepare_cached("INSERT OR IGNORE INTO dead(space, row) VALUES (?1, ?2)")
        .and_then(|mut statement| statement.execute([space.number, row]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Moves the vector of a row, if it has one, to a newer row of the same text.
///
/// A damaged vector is moved as it is: it stays damaged, and does not look like one that was never made.
pub(crate) fn carry_vector(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    from: i64,
    to: i64,
) -> Result<()> {
    let found: Option<Vec<u8>> = transaction
        .prepare_cached(&format!(
            "SELECT data FROM vectors_{} WHERE row = ?1",
            space.number
        ))
        .and_then(|mut statement| statement.query_row([from], |row| row.get(0)).optional())
        .map_err(sqlite_error)?;
    let Some(mut bytes) = found else { return Ok(()) };
    // The checksum is seeded with the row, so a sound vector must be encoded again for its new one.
    let mut vector = Vec::new();
    if decode_vector(from, &bytes, space.dimension.unwrap_or(0), &mut vector).is_ok() {
        bytes = encode_vector(to, &vector);
    }
    delete(transaction, space, from)?;
    insert_bytes(transaction, space, to, &bytes)
}

/// Returns whether the row has a vector, sound or not.
pub(crate) fn has_vector(connection: &Connection, space: &StoredSpace, row: i64) -> Result<bool> {
    connection
        .prepare_cached(&format!("SELECT 1 FROM vectors_{} WHERE row = ?1", space.number))
        .and_then(|mut statement| statement.exists([row]))
        .map_err(sqlite_error)
}

/// Returns at most `limit` rows between two rows whose drawers lack a vector in the space, oldest first.
pub(crate) fn rows_lacking_vector(
    connection: &Connection,
    space: &StoredSpace,
    after: i64,
    last: i64,
    limit: usize,
) -> Result<Vec<i64>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&lacking_sql(space.number))
        .and_then(|mut statement| {
            statement
                .query_map([after, last, space.collection, limit], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite_error)
}

/// Returns the statement that lists drawers without a vector; tests check its plan.
pub(crate) fn lacking_sql(space: i64) -> String {
    format!(
        "SELECT d.row FROM drawers AS d WHERE d.row > ?1 AND d.row <= ?2 AND +d.collection = ?3
         AND NOT EXISTS (SELECT 1 FROM vectors_{space} AS v WHERE v.row = d.row) ORDER BY d.row LIMIT ?4"
    )
}

/// Returns the statement that selects `what` from every vector that belongs to no drawer of the collection `?1`.
pub(crate) fn orphans_sql(what: &str, space: i64) -> String {
    format!(
        "SELECT {what} FROM vectors_{space} AS v WHERE NOT EXISTS
         (SELECT 1 FROM drawers AS d WHERE d.row = v.row AND +d.collection = ?1)"
    )
}

/// Packs the tail into segments while it fills one; `number` returns the number of each new segment.
pub(crate) fn seal_full(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    palace: [u8; 16],
    mut number: impl FnMut() -> i64,
) -> Result<()> {
    while space.tail >= segment::ROWS as i64 {
        seal_next(transaction, space, palace, i64::MAX, &mut number)?;
    }
    Ok(())
}

/// As [`seal_full`], but never past a drawer that still lacks its vector in a space that is being filled: a vector
/// made for a row below the sealed mark would have to move to a new row first.
pub(crate) fn seal_filled(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    palace: [u8; 16],
    mut number: impl FnMut() -> i64,
) -> Result<()> {
    while space.tail >= segment::ROWS as i64 {
        let first = space.sealed + 1;
        let last = nth_row(transaction, space.number, first, i64::MAX, segment::ROWS)?;
        if !rows_lacking_vector(transaction, space, space.sealed, last, 1)?.is_empty() {
            return Ok(());
        }
        seal_next(transaction, space, palace, last, &mut number)?;
    }
    Ok(())
}

fn seal_next(
    transaction: &Transaction<'_>,
    space: &mut StoredSpace,
    palace: [u8; 16],
    last: i64,
    number: &mut dyn FnMut() -> i64,
) -> Result<()> {
    let first = space.sealed + 1;
    let Some(packed) = pack_from(transaction, space, palace, first, last, segment::ROWS)? else {
        // The counter promised more rows than there are. `verify` reports that; queries are right without it,
        // and the loop of the caller must end.
        space.tail = 0;
        return Ok(());
    };
    crate::crash::point("before-seal");
    store_segment(transaction, space, number(), &packed)?;
    crate::crash::point("after-seal");
    space.sealed = packed.last;
    space.tail -= packed.rows as i64;
    Ok(())
}

/// A segment ready to be stored.
#[derive(Debug)]
pub(crate) struct PackedSegment {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) rows: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Packs the sound ones of the first `most` vectors between two rows; `None` if there are none.
///
/// A damaged vector is left out: its drawer stays readable, and `verify` names it.
pub(crate) fn pack_from(
    connection: &Connection,
    space: &StoredSpace,
    palace: [u8; 16],
    first: i64,
    last: i64,
    most: usize,
) -> Result<Option<PackedSegment>> {
    let Some(dimension) = space.dimension else {
        return Ok(None);
    };
    // Damaged vectors count here as well: a segment covers a run of rows, whether or not all could be packed.
    let last = nth_row(connection, space.number, first, last, most)?;
    let mut rows = Vec::with_capacity(most);
    let mut values: Vec<f32> = Vec::with_capacity(most * dimension);
    each_vector(connection, space, first, last, |row, vector| {
        if let Ok(vector) = vector {
            rows.push(row);
            values.extend_from_slice(vector);
        }
        Ok(())
    })?;
    let paired: Vec<(i64, &[f32])> = rows.iter().copied().zip(values.chunks_exact(dimension)).collect();
    let (Some((first, _)), Some((last, _))) = (paired.first(), paired.last()) else {
        return Ok(None);
    };
    let seal = SegmentSeal {
        palace,
        space: space.number,
    };
    let bytes = segment::pack_segment(&seal, space.metric, dimension, &paired)?;
    Ok(Some(PackedSegment {
        first: *first,
        last: *last,
        rows: paired.len(),
        bytes,
    }))
}

/// Returns the row of the `n`-th vector at or after `first`, but no higher than `last`.
fn nth_row(connection: &Connection, space: i64, first: i64, last: i64, n: usize) -> Result<i64> {
    connection
        .prepare_cached(&format!(
            "SELECT row FROM vectors_{space} WHERE row BETWEEN ?1 AND ?2 ORDER BY row LIMIT 1 OFFSET ?3"
        ))
        .and_then(|mut statement| {
            statement
                .query_row([first, last, n as i64 - 1], |row| row.get(0))
                .optional()
        })
        .map(|found| found.unwrap_or(last))
        .map_err(sqlite_error)
}

/// Stores a packed segment under `number`.
pub(crate) fn store_segment(
    transaction: &Transaction<'_>,
    space: &StoredSpace,
    number: i64,
    packed: &PackedSegment,
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO segments(segment, space, first, last, rows, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .and_then(|mut statement| {
            let rows = packed.rows as i64;
            statement.execute(params![
                number,
                space.number,
                packed.first,
                packed.last,
                rows,
                packed.bytes
            ])
        })
        .map(drop)
        .map_err(sqlite_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_back_bit_for_bit_or_not_at_all() {
        let vector = [1.5_f32, -0.0, f32::MIN_POSITIVE, 3.4e38];
        let bytes = encode_vector(7, &vector);
        let mut back = Vec::new();
        decode_vector(7, &bytes, 4, &mut back).unwrap();
        assert_eq!(back.map_bits(), vector.to_vec().map_bits());
        assert!(
            decode_vector(8, &bytes, 4, &mut back).is_err(),
            "a vector moved to another row is refused"
        );
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(decode_vector(7, &damaged, 4, &mut back).is_err());
        }
        assert!(decode_vector(7, &bytes[..bytes.len() - 4], 4, &mut back).is_err());
        assert!(decode_vector(7, &[], 4, &mut back).is_err());
    }

    trait Bits {
        fn map_bits(&self) -> Vec<u32>;
    }
    impl Bits for Vec<f32> {
        fn map_bits(&self) -> Vec<u32> {
            self.iter().map(|value| value.to_bits()).collect()
        }
    }
}
