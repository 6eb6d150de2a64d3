//! `seq-ids`: sequence numbers that are kept as bytes become numbers.

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{Book, unwritten};
use super::{Change, Plan};
use crate::catalogue::rows;
use crate::sequence::{Sequence, sequence};

/// The step's name.
pub(super) const STEP: &str = "seq-ids";

const TABLES: [&str; 2] = ["embeddings", "max_seq_id"];

/// The rows of one table whose number is to be turned.
struct Table {
    name: &'static str,
    /// The number of each row.
    turned: Vec<(i64, i64)>,
    /// Rows whose bytes are no number.
    odd: Vec<i64>,
}

struct Numbers(Vec<Table>);

/// What would be turned.
pub(super) fn plan(book: &Book) -> Result<Plan> {
    let mut tables = Vec::new();
    for name in TABLES.into_iter().filter(|table| book.schema.has(table)) {
        tables.push(Table::read(book.connection(), name)?);
    }
    let notes: Vec<String> = tables.iter().filter_map(Table::note).collect();
    let mut plan = match tables.iter().any(|table| !table.turned.is_empty()) {
        true => Plan::of(Numbers(tables)),
        false => Plan::nothing("no sequence number that could be read as one is kept as bytes"),
    };
    plan.notes.extend(notes);
    if !book.schema.is_since_1() {
        let note = "a release before 1.0 wrote here last, and those need bytes: take this step right before 1.x opens the folder";
        plan.notes.push(note.to_owned());
    }
    Ok(plan)
}

impl Table {
    fn read(connection: &Connection, name: &'static str) -> Result<Self> {
        let mut table = Self {
            name,
            turned: Vec::new(),
            odd: Vec::new(),
        };
        let sql = format!("SELECT rowid, seq_id FROM {name} WHERE typeof(seq_id) = 'blob'");
        rows(connection, name, &sql, &[], |row| {
            let number: i64 = row.get(0)?;
            match sequence(row, 1)? {
                Sequence {
                    number: Some(value), ..
                } => table.turned.push((number, value)),
                _ => table.odd.push(number),
            }
            Ok(())
        })?;
        Ok(table)
    }

    fn note(&self) -> Option<String> {
        let first = self.odd.first()?;
        Some(format!(
            "{} sequence numbers in {} are bytes that are no number, and stay; the first is in row {first}",
            self.odd.len(),
            self.name
        ))
    }

    fn turn(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = format!("UPDATE {} SET seq_id = ?2 WHERE rowid = ?1", self.name);
        let mut statement = connection.prepare(&sql)?;
        for pair in &self.turned {
            statement.execute(*pair)?;
        }
        Ok(())
    }
}

impl Change for Numbers {
    fn lines(&self) -> Vec<String> {
        let tables = self.0.iter().filter(|table| !table.turned.is_empty());
        tables
            .map(|table| {
                format!(
                    "{} sequence numbers in {} from bytes to numbers",
                    table.turned.len(),
                    table.name
                )
            })
            .collect()
    }

    fn make(&self, connection: &Connection) -> Result<()> {
        for table in &self.0 {
            table
                .turn(connection)
                .map_err(|cause| unwritten(table.name, cause))?;
            let left = Table::read(connection, table.name)?;
            if !left.turned.is_empty() {
                let message = format!("sequence numbers in {} stay bytes", table.name);
                return Err(Error::new(ErrorKind::Corrupt, message).hint(super::MOVE));
            }
        }
        Ok(())
    }
}
