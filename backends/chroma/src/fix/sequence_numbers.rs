//! `seq-ids`: converts sequence numbers that are stored as bytes to numbers.

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{FixSession, write_error};
use super::{FixPlan, FolderChange};
use crate::catalogue::for_each_row;
use crate::sequence::{SequenceNumber, read_sequence};

/// The step's name.
pub(super) const STEP: &str = "seq-ids";

const TABLES: [&str; 2] = ["embeddings", "max_seq_id"];

/// The rows of one table whose number is to be converted.
struct SequenceTable {
    name: &'static str,
    /// The rowid and the sequence number of each row.
    convertible: Vec<(i64, i64)>,
    /// The rows whose bytes are not a number.
    odd_rows: Vec<i64>,
}

struct SequenceConversion(Vec<SequenceTable>);

/// Plans the conversion of all byte numbers.
pub(super) fn plan(book: &FixSession) -> Result<FixPlan> {
    let mut tables = Vec::new();
    for name in TABLES.into_iter().filter(|table| book.schema.has_table(table)) {
        tables.push(SequenceTable::read(book.connection(), name)?);
    }
    let notes: Vec<String> = tables.iter().filter_map(SequenceTable::note_odd).collect();
    let mut plan = if tables.iter().any(|table| !table.convertible.is_empty()) {
        FixPlan::with_change(SequenceConversion(tables))
    } else {
        FixPlan::without_change("no readable sequence number is stored as bytes")
    };
    plan.notes.extend(notes);
    // Still allowed, for a folder that 1.x is about to open.
    if !book.schema.is_since_1() {
        let note = "a release before 1.0 wrote here last, and those need bytes: apply this step right before 1.x opens the folder";
        plan.notes.push(note.to_owned());
    }
    Ok(plan)
}

impl SequenceTable {
    fn read(connection: &Connection, name: &'static str) -> Result<Self> {
        let mut table = Self {
            name,
            convertible: Vec::new(),
            odd_rows: Vec::new(),
        };
        // By rowid, which both tables have.
        let sql = format!("SELECT rowid, seq_id FROM {name} WHERE typeof(seq_id) = 'blob'");
        for_each_row(connection, name, &sql, &[], |row| {
            let number: i64 = row.get(0)?;
            match read_sequence(row, 1)? {
                SequenceNumber {
                    number: Some(value), ..
                } => table.convertible.push((number, value)),
                _ => table.odd_rows.push(number),
            }
            Ok(())
        })?;
        Ok(table)
    }

    fn note_odd(&self) -> Option<String> {
        let first = self.odd_rows.first()?;
        Some(format!(
            "{} sequence numbers in {} are bytes that are not a number and stay unchanged; the first is in row {first}",
            self.odd_rows.len(),
            self.name
        ))
    }

    fn convert_rows(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = format!("UPDATE {} SET seq_id = ?2 WHERE rowid = ?1", self.name);
        let mut statement = connection.prepare(&sql)?;
        for pair in &self.convertible {
            statement.execute(*pair)?;
        }
        Ok(())
    }
}

impl FolderChange for SequenceConversion {
    fn describe(&self) -> Vec<String> {
        let tables = self.0.iter().filter(|table| !table.convertible.is_empty());
        tables
            .map(|table| {
                format!(
                    "convert {} sequence numbers in {} from bytes to numbers",
                    table.convertible.len(),
                    table.name
                )
            })
            .collect()
    }

    fn write_change(&self, connection: &Connection) -> Result<()> {
        for table in &self.0 {
            table
                .convert_rows(connection)
                .map_err(|cause| write_error(table.name, cause))?;
            // Read back inside the transaction, so that a conversion that did not hold is rolled back.
            let left = SequenceTable::read(connection, table.name)?;
            if !left.convertible.is_empty() {
                let message = format!("sequence numbers in {} are still bytes", table.name);
                return Err(Error::new(ErrorKind::Corrupt, message).with_hint(super::DAMAGED_HINT));
            }
        }
        Ok(())
    }
}
