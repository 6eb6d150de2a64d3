//! The statements that store and remove the rows of drawers with their projections.

use loci_core::{Drawer, SourceSpan, Timestamp};
use tokio_postgres::types::Type;

use crate::attributes::list_entries;
use crate::row::piece_hash;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;

/// The place, attributes, piece and provenance of a drawer as the server stores them.
#[derive(Debug)]
pub(super) struct PlaceValues {
    /// The time it was said, and its span: start, stop, first and last line.
    pub(super) numbers: [Option<i64>; Self::NUMBERS],
    /// Wing, room, source, speaker, kind and piece.
    pub(super) texts: [Option<Vec<u8>>; Self::TEXTS],
    pub(super) entries: Vec<Vec<u8>>,
    pub(super) metadata: String,
    pub(super) provenance: Option<String>,
}

impl PlaceValues {
    pub(super) const NUMBERS: usize = 5;
    pub(super) const TEXTS: usize = 6;

    pub(super) fn new(drawer: &Drawer, provenance: Option<String>) -> Self {
        let place = &drawer.place;
        let text = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let span = |figure: fn(SourceSpan) -> u64| {
            let figure = place.span.map(figure);
            figure.and_then(|figure| i64::try_from(figure).ok())
        };
        let metadata = drawer.metadata.clone().unwrap_or_default();
        Self {
            numbers: [
                place.said_at.map(Timestamp::as_micros),
                span(|span| span.start),
                span(|span| span.end),
                span(|span| span.line_start),
                span(|span| span.line_end),
            ],
            texts: [
                text(&place.wing),
                text(&place.room),
                text(&place.source),
                text(&place.speaker),
                text(&place.kind),
                piece_hash(drawer),
            ],
            entries: list_entries(drawer),
            metadata: serde_json::to_string(&metadata).expect("metadata is always JSON"),
            provenance,
        }
    }
}

/// Returns the statement that changes the metadata and place of a row whose text and vector stay.
pub(super) fn update_drawer(
    collection: i64,
    row: i64,
    seq: i64,
    drawer: &Drawer,
    provenance: Option<String>,
) -> SqlStatement {
    let values = PlaceValues::new(drawer, provenance);
    let mut statement = SqlStatement::new(
        "UPDATE loci.drawers SET seq = $3, said_at = $4, start = $5, stop = $6, line_start = $7, line_end = $8, wing = $9,
            room = $10, source = $11, speaker = $12, kind = $13, piece = $14, entries = $15, metadata = $16,
            provenance = $17
         WHERE collection = $1 AND \"row\" = $2",
    )
    .with_int(collection)
    .with_int(row)
    .with_int(seq);
    for number in values.numbers {
        statement = statement.with(number, Type::INT8);
    }
    for text in values.texts {
        statement = statement.with(text, Type::BYTEA);
    }
    statement
        .with_many_bytes(values.entries)
        .with(values.metadata, Type::TEXT)
        .with(values.provenance, Type::TEXT)
}

/// Returns the statement that stores the words of rows.
pub(super) fn insert_bags(collection: i64, bags: Vec<(i64, Vec<u8>)>) -> SqlStatement {
    let (rows, words): (Vec<i64>, Vec<Vec<u8>>) = bags.into_iter().unzip();
    SqlStatement::new(
        "INSERT INTO loci.bags(collection, \"row\", words)
         SELECT $1, n.\"row\", n.words FROM unnest($2::bigint[], $3::bytea[]) AS n(\"row\", words)",
    )
    .with_int(collection)
    .with_ints(rows)
    .with_many_bytes(words)
}

/// Returns the statement that stores the vectors of rows.
pub(super) fn insert_vectors(space: i64, vectors: Vec<(i64, Vec<u8>)>) -> SqlStatement {
    let (rows, values): (Vec<i64>, Vec<Vec<u8>>) = vectors.into_iter().unzip();
    SqlStatement::new(
        "INSERT INTO loci.vectors(space, \"row\", value)
         SELECT $1, n.\"row\", n.value FROM unnest($2::bigint[], $3::bytea[]) AS n(\"row\", value)",
    )
    .with_int(space)
    .with_ints(rows)
    .with_many_bytes(values)
}

/// Returns the statement that moves what other spaces hold of some rows to the new rows of the same texts. `table` is one
/// of ours.
pub(super) fn carry_rows(table: &str, spaces: &[i64], rows: &[(i64, i64)]) -> SqlStatement {
    let (from, to): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    SqlStatement::new(format!(
        "UPDATE loci.{table} v SET \"row\" = n.\"to\" FROM unnest($2::bigint[], $3::bigint[]) AS n(\"from\", \"to\")
         WHERE v.space = ANY($1) AND v.\"row\" = n.\"from\""
    ))
    .with_ints(spaces.to_vec())
    .with_ints(from)
    .with_ints(to)
}

/// Returns the statement that removes what spaces hold of some rows, and counts that in a column of the spaces. `table`
/// and `counter` are ours.
pub(super) fn remove_vectors(table: &str, counter: &str, spaces: &[i64], rows: &[i64]) -> SqlStatement {
    SqlStatement::new(format!(
        "WITH gone AS (DELETE FROM loci.{table} WHERE space = ANY($1) AND \"row\" = ANY($2) RETURNING space),
            counted AS (SELECT space, count(*) AS vectors FROM gone GROUP BY space)
         UPDATE loci.spaces s SET {counter} = s.{counter} - counted.vectors FROM counted WHERE s.space = counted.space"
    ))
    .with_ints(spaces.to_vec())
    .with_ints(rows.to_vec())
}

/// Returns the statement that removes rows of a table of ours.
pub(super) fn remove_rows(table: &str, collection: i64, rows: &[i64]) -> SqlStatement {
    SqlStatement::new(format!(
        "DELETE FROM loci.{table} WHERE collection = $1 AND \"row\" = ANY($2)"
    ))
    .with_int(collection)
    .with_ints(rows.to_vec())
}

/// Returns the statement that notes removed rows of segments of words.
pub(super) fn note_gone(collection: i64, rows: Vec<i64>) -> SqlStatement {
    SqlStatement::new("INSERT INTO loci.word_gone(collection, \"row\") SELECT $1, unnest($2::bigint[])")
        .with_int(collection)
        .with_ints(rows)
}

/// Returns the statement that notes the removal of drawers for the change feed.
pub(super) fn insert_tombstones(collection: i64, removed: Vec<(Vec<u8>, i64)>) -> SqlStatement {
    let (ids, numbers): (Vec<Vec<u8>>, Vec<i64>) = removed.into_iter().unzip();
    SqlStatement::new(
        "INSERT INTO loci.tombstones(collection, id, seq)
         SELECT $1, n.id, n.seq FROM unnest($2::bytea[], $3::bigint[]) AS n(id, seq)",
    )
    .with_int(collection)
    .with_many_bytes(ids)
    .with_ints(numbers)
}

/// Returns the statement that forgets the removal of drawers that are filed again.
pub(super) fn forget_tombstones(collection: i64, ids: Vec<Vec<u8>>) -> SqlStatement {
    SqlStatement::new("DELETE FROM loci.tombstones WHERE collection = $1 AND id = ANY($2)")
        .with_int(collection)
        .with_many_bytes(ids)
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
pub(super) fn write_counters(shelf: &ServerShelf, changes: CounterChanges) -> [SqlStatement; 3] {
    [
        SqlStatement::new(
            "UPDATE loci.collections SET drawers = drawers + $2, seq = greatest(seq, $3) WHERE collection = $1",
        )
        .with_int(shelf.collection)
        .with_int(changes.drawers)
        .with_int(changes.newest),
        shelf.words.store(shelf.collection),
        SqlStatement::new("UPDATE loci.spaces SET vectors = vectors + $2, near = near + $3 WHERE space = $1")
            .with_int(shelf.space.number)
            .with_int(changes.vectors)
            .with_int(changes.codes),
    ]
}
