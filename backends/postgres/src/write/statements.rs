//! The statements that store and remove the rows of drawers with their projections.

use loci_core::{Drawer, Timestamp};
use tokio_postgres::types::Type;

use crate::attributes::list_entries;
use crate::row::{piece_hash, vector_bytes};
use crate::statement::SqlStatement;

/// Returns the statement that stores a drawer in a new row.
pub(super) fn insert_drawer(
    collection: i64,
    row: i64,
    drawer: &Drawer,
    provenance: Option<String>,
) -> SqlStatement {
    let context = drawer.context.as_ref();
    let part = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    let statement = SqlStatement::new(
        "INSERT INTO loci.drawers(collection, \"row\", id, seq, uses, filed_at, before, after, document, said_at, wing,
            room, source, start, stop, line_start, line_end, speaker, kind, entries, metadata, piece, provenance)
         VALUES ($1, $2, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)",
    )
    .with_int(collection)
    .with_int(row)
    .with_bytes(drawer.id.as_str().as_bytes().to_vec())
    .with_int(i64::try_from(drawer.uses).unwrap_or(i64::MAX))
    .with_int(drawer.filed_at.map_or(0, Timestamp::as_micros))
    .with(part(context.map(|context| context.before.as_str())), Type::BYTEA)
    .with(part(context.map(|context| context.after.as_str())), Type::BYTEA)
    .with(part(drawer.document.as_deref()), Type::BYTEA);
    bind_place(statement, drawer, provenance)
}

/// Returns the statement that changes the metadata and place of a row whose text and vector stay.
pub(super) fn update_drawer(
    collection: i64,
    row: i64,
    seq: i64,
    drawer: &Drawer,
    provenance: Option<String>,
) -> SqlStatement {
    let statement = SqlStatement::new(
        "UPDATE loci.drawers SET seq = $3, said_at = $4, wing = $5, room = $6, source = $7, start = $8, stop = $9,
            line_start = $10, line_end = $11, speaker = $12, kind = $13, entries = $14, metadata = $15, piece = $16,
            provenance = $17
         WHERE collection = $1 AND \"row\" = $2",
    )
    .with_int(collection)
    .with_int(row)
    .with_int(seq);
    bind_place(statement, drawer, provenance)
}

/// Adds the place, the attributes, the piece and the provenance, in this order.
fn bind_place(statement: SqlStatement, drawer: &Drawer, provenance: Option<String>) -> SqlStatement {
    let place = &drawer.place;
    let text = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let number = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
    let metadata = drawer.metadata.clone().unwrap_or_default();
    let metadata = serde_json::to_string(&metadata).expect("metadata is always JSON");
    statement
        .with(place.said_at.map(Timestamp::as_micros), Type::INT8)
        .with(text(&place.wing), Type::BYTEA)
        .with(text(&place.room), Type::BYTEA)
        .with(text(&place.source), Type::BYTEA)
        .with(number(place.span.map(|span| span.start)), Type::INT8)
        .with(number(place.span.map(|span| span.end)), Type::INT8)
        .with(number(place.span.map(|span| span.line_start)), Type::INT8)
        .with(number(place.span.map(|span| span.line_end)), Type::INT8)
        .with(text(&place.speaker), Type::BYTEA)
        .with(text(&place.kind), Type::BYTEA)
        .with_many_bytes(list_entries(drawer))
        .with(metadata, Type::TEXT)
        .with(piece_hash(drawer), Type::BYTEA)
        .with(provenance, Type::TEXT)
}

/// Returns the statement that stores the words of a row.
pub(super) fn insert_words(collection: i64, row: i64, words: Vec<u8>) -> SqlStatement {
    SqlStatement::new("INSERT INTO loci.bags(collection, \"row\", words) VALUES ($1, $2, $3)")
        .with_int(collection)
        .with_int(row)
        .with_bytes(words)
}

/// Returns the statement that stores the vector of a row.
pub(super) fn insert_vector(space: i64, row: i64, vector: &[f32]) -> SqlStatement {
    SqlStatement::new("INSERT INTO loci.vectors(space, \"row\", value) VALUES ($1, $2, $3)")
        .with_int(space)
        .with_int(row)
        .with_bytes(vector_bytes(vector))
}

/// Returns the statement that moves the codes of other spaces to the new row of the same text.
pub(super) fn carry_codes(spaces: Vec<i64>, from: i64, to: i64) -> SqlStatement {
    SqlStatement::new("UPDATE loci.near SET \"row\" = $3 WHERE space = ANY($1) AND \"row\" = $2")
        .with_ints(spaces)
        .with_int(from)
        .with_int(to)
}

/// Returns the statement that removes the codes of a row.
pub(super) fn remove_codes(spaces: Vec<i64>, row: i64) -> SqlStatement {
    SqlStatement::new(
        "WITH gone AS (DELETE FROM loci.near WHERE space = ANY($1) AND \"row\" = $2 RETURNING space)
         UPDATE loci.spaces s SET near = s.near - 1 FROM gone WHERE s.space = gone.space",
    )
    .with_ints(spaces)
    .with_int(row)
}

/// Returns the statement that moves the vectors of other spaces to the new row of the same text.
pub(super) fn carry_vectors(spaces: Vec<i64>, from: i64, to: i64) -> SqlStatement {
    SqlStatement::new("UPDATE loci.vectors SET \"row\" = $3 WHERE space = ANY($1) AND \"row\" = $2")
        .with_ints(spaces)
        .with_int(from)
        .with_int(to)
}

/// Returns the statements that remove a row with everything that was made from it.
pub(super) fn remove_row(collection: i64, spaces: Vec<i64>, row: i64) -> [SqlStatement; 3] {
    [
        SqlStatement::new(
            "WITH gone AS (DELETE FROM loci.vectors WHERE space = ANY($1) AND \"row\" = $2 RETURNING space)
             UPDATE loci.spaces s SET vectors = s.vectors - 1 FROM gone WHERE s.space = gone.space",
        )
        .with_ints(spaces)
        .with_int(row),
        SqlStatement::new("DELETE FROM loci.bags WHERE collection = $1 AND \"row\" = $2")
            .with_int(collection)
            .with_int(row),
        SqlStatement::new("DELETE FROM loci.drawers WHERE collection = $1 AND \"row\" = $2")
            .with_int(collection)
            .with_int(row),
    ]
}

/// Returns the statement that notes the removal of a drawer for the change feed.
pub(super) fn insert_tombstone(collection: i64, id: &[u8], seq: i64) -> SqlStatement {
    SqlStatement::new("INSERT INTO loci.tombstones(collection, id, seq) VALUES ($1, $2, $3)")
        .with_int(collection)
        .with_bytes(id.to_vec())
        .with_int(seq)
}

/// Returns the statement that forgets the removal of a drawer that is filed again.
pub(super) fn forget_tombstone(collection: i64, id: &[u8]) -> SqlStatement {
    SqlStatement::new("DELETE FROM loci.tombstones WHERE collection = $1 AND id = $2")
        .with_int(collection)
        .with_bytes(id.to_vec())
}

/// The changes of the counters that one write makes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CounterChanges {
    pub(super) drawers: i64,
    pub(super) vectors: i64,
    pub(super) codes: i64,
    /// The number of the last change.
    pub(super) newest: i64,
}

/// Returns the statements that write the counters of a collection.
pub(super) fn write_counters(collection: i64, space: i64, changes: CounterChanges) -> [SqlStatement; 2] {
    [
        SqlStatement::new(
            "UPDATE loci.collections SET drawers = drawers + $2, seq = $3 WHERE collection = $1",
        )
        .with_int(collection)
        .with_int(changes.drawers)
        .with_int(changes.newest),
        SqlStatement::new("UPDATE loci.spaces SET vectors = vectors + $2, near = near + $3 WHERE space = $1")
            .with_int(space)
            .with_int(changes.vectors)
            .with_int(changes.codes),
    ]
}
