//! Changes of rows that are stored together: one statement for each table, however many drawers a batch has.

use loci_core::{Drawer, Timestamp};
use tokio_postgres::types::Type;

use super::statements::{self, PlaceValues};
use crate::codes;
use crate::row::vector_bytes;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;

/// The bytes from which changes are sent in a statement of their own: the server limits the size of a value.
const MOST_BYTES: usize = 16 << 20;

/// Rows to be removed and rows to be filed. Removing comes first, so a row that is filed here must not be removed here.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    /// Rows whose vectors in other spaces go to a new row of the same text.
    carried: Vec<(i64, i64)>,
    removed: Vec<i64>,
    /// The removed rows that are in a segment of words.
    gone: Vec<i64>,
    /// The ids and numbers of removed drawers, for the change feed.
    tombstones: Vec<(Vec<u8>, i64)>,
    /// The ids of drawers that are filed again.
    forgotten: Vec<Vec<u8>>,
    filed: FiledColumns,
    bags: Vec<(i64, Vec<u8>)>,
    vectors: Vec<(i64, Vec<f32>)>,
    /// Whether the vectors get codes.
    coded: bool,
    bytes: usize,
}

impl RowChanges {
    /// Returns whether a row is filed by these changes.
    pub(super) fn files(&self, row: i64) -> bool {
        self.filed.rows.binary_search(&row).is_ok()
    }

    /// Returns whether no more should be added.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    pub(super) fn carry(&mut self, from: i64, to: i64) {
        self.carried.push((from, to));
    }

    pub(super) fn remove(&mut self, row: i64, is_sealed: bool) {
        self.removed.push(row);
        if is_sealed {
            self.gone.push(row);
        }
    }

    pub(super) fn note_removal(&mut self, id: &str, seq: i64) {
        self.tombstones.push((id.as_bytes().to_vec(), seq));
    }

    pub(super) fn forget_removal(&mut self, id: &str) {
        self.forgotten.push(id.as_bytes().to_vec());
    }

    /// Files a drawer in a row that is higher than all before.
    pub(super) fn file(&mut self, row: i64, drawer: &Drawer, provenance: Option<String>, words: Vec<u8>) {
        self.bytes += drawer.document.as_ref().map_or(0, String::len) + words.len();
        self.filed.push(row, drawer, provenance);
        self.bags.push((row, words));
    }

    /// Stores the vector of a row in the active space.
    pub(super) fn store_vector(&mut self, row: i64, vector: &[f32], coded: bool) {
        self.bytes += vector.len() * 8;
        self.coded = coded;
        self.vectors.push((row, vector.to_vec()));
    }

    /// Returns the statements, in order. `extension` is the schema of the extension `vector`.
    pub(super) fn into_statements(self, shelf: &ServerShelf, extension: Option<&str>) -> Vec<SqlStatement> {
        let collection = shelf.collection;
        let mut statements = Vec::new();
        self.push_removals(shelf, &mut statements);
        if !self.tombstones.is_empty() {
            statements.push(statements::insert_tombstones(collection, self.tombstones));
        }
        if !self.forgotten.is_empty() {
            statements.push(statements::forget_tombstones(collection, self.forgotten));
        }
        if !self.bags.is_empty() {
            statements.push(self.filed.into_statement(collection));
            statements.push(statements::insert_bags(collection, self.bags));
        }
        if !self.vectors.is_empty() {
            let codes = extension.filter(|_| self.coded);
            statements.extend(
                codes.map(|extension| codes::insert_codes(extension, shelf.space.number, &self.vectors)),
            );
            let bytes = self
                .vectors
                .iter()
                .map(|(row, vector)| (*row, vector_bytes(vector)));
            statements.push(statements::insert_vectors(shelf.space.number, bytes.collect()));
        }
        statements
    }

    fn push_removals(&self, shelf: &ServerShelf, statements: &mut Vec<SqlStatement>) {
        let codes = shelf.has_codes().then_some("near");
        if !self.carried.is_empty() {
            let others: Vec<i64> = shelf.others.iter().map(|space| space.number).collect();
            let tables = codes.into_iter().chain(["vectors"]);
            statements.extend(tables.map(|table| statements::carry_rows(table, &others, &self.carried)));
        }
        if self.removed.is_empty() {
            return;
        }
        let spaces: Vec<i64> = shelf.spaces().map(|space| space.number).collect();
        for (table, counter) in codes
            .into_iter()
            .map(|table| (table, "near"))
            .chain([("vectors", "vectors")])
        {
            statements.push(statements::remove_vectors(table, counter, &spaces, &self.removed));
        }
        for table in ["bags", "drawers"] {
            statements.push(statements::remove_rows(table, shelf.collection, &self.removed));
        }
        if !self.gone.is_empty() {
            statements.push(statements::note_gone(shelf.collection, self.gone.clone()));
        }
    }
}

/// The columns of new drawers.
#[derive(Debug, Default)]
struct FiledColumns {
    rows: Vec<i64>,
    ids: Vec<Vec<u8>>,
    uses: Vec<i64>,
    filed_at: Vec<i64>,
    before: Vec<Option<Vec<u8>>>,
    after: Vec<Option<Vec<u8>>>,
    documents: Vec<Option<Vec<u8>>>,
    places: Vec<PlaceValues>,
}

impl FiledColumns {
    fn push(&mut self, row: i64, drawer: &Drawer, provenance: Option<String>) {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let context = drawer.context.as_ref();
        self.rows.push(row);
        self.ids.push(bytes(drawer.id.as_str()));
        self.uses.push(i64::try_from(drawer.uses).unwrap_or(i64::MAX));
        self.filed_at
            .push(drawer.filed_at.map_or(0, Timestamp::as_micros));
        self.before.push(context.map(|context| bytes(&context.before)));
        self.after.push(context.map(|context| bytes(&context.after)));
        self.documents.push(drawer.document.as_deref().map(bytes));
        self.places.push(PlaceValues::new(drawer, provenance));
    }

    fn into_statement(self, collection: i64) -> SqlStatement {
        let columns = "\"row\", id, uses, filed_at, before, after, document, said_at, start, stop, line_start, line_end,
            wing, room, source, speaker, kind, piece, metadata, provenance";
        let statement = SqlStatement::new(format!(
            "INSERT INTO loci.drawers(collection, seq, entries, {columns})
             SELECT $1, n.\"row\", n.entries::bytea[], {columns} FROM unnest($2::bigint[], $3::bytea[], $4::bigint[],
                $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[],
                $12::bigint[], $13::bigint[], $14::bytea[], $15::bytea[], $16::bytea[], $17::bytea[], $18::bytea[],
                $19::bytea[], $20::text[], $21::text[], $22::text[]) AS n({columns}, entries)"
        ))
        .with_int(collection)
        .with_ints(self.rows)
        .with_many_bytes(self.ids)
        .with_ints(self.uses)
        .with_ints(self.filed_at)
        .with(self.before, Type::BYTEA_ARRAY)
        .with(self.after, Type::BYTEA_ARRAY)
        .with(self.documents, Type::BYTEA_ARRAY);
        bind_places(statement, self.places)
    }
}

/// Adds the columns of the places, in the order of [`FiledColumns::into_statement`].
fn bind_places(mut statement: SqlStatement, mut places: Vec<PlaceValues>) -> SqlStatement {
    for number in 0..PlaceValues::NUMBERS {
        let column: Vec<Option<i64>> = places
            .iter()
            .map(|place| place.numbers.get(number).copied().flatten())
            .collect();
        statement = statement.with(column, Type::INT8_ARRAY);
    }
    for text in 0..PlaceValues::TEXTS {
        let column: Vec<Option<Vec<u8>>> = places
            .iter_mut()
            .map(|place| place.texts.get_mut(text).and_then(Option::take))
            .collect();
        statement = statement.with(column, Type::BYTEA_ARRAY);
    }
    let entries: Vec<String> = places.iter().map(|place| array_text(&place.entries)).collect();
    let provenance: Vec<Option<String>> = places.iter_mut().map(|place| place.provenance.take()).collect();
    let metadata: Vec<String> = places.into_iter().map(|place| place.metadata).collect();
    statement
        .with(metadata, Type::TEXT_ARRAY)
        .with(provenance, Type::TEXT_ARRAY)
        .with(entries, Type::TEXT_ARRAY)
}

/// Returns a list of bytes as the text of an array: an array of arrays of different lengths is not possible.
fn array_text(entries: &[Vec<u8>]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
    let entries: Vec<String> = entries
        .iter()
        .map(|entry| {
            let hex: String = entry
                .iter()
                .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
                .collect();
            format!("\"\\\\x{hex}\"")
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_bytes_are_texts_of_arrays() {
        assert_eq!(array_text(&[]), "{}");
        assert_eq!(array_text(&[vec![0, 255], vec![]]), r#"{"\\x00ff","\\x"}"#);
    }
}
