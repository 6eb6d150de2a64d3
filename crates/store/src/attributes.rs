//! The attribute index: which rows have which value under which key, so that a filter never reads documents.

use std::collections::HashMap;

use loci_core::filter::comparable;
use loci_core::{Comparison, Drawer, Filter, Place, Result, Scalar, Value};
use loci_index::rows::Rows;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};

use crate::failure::sqlite;

/// The longest text kept as it is; a longer one is kept as its hash, which still answers equality.
const LONGEST_TEXT: usize = 256;

/// Makes the table of a new projection.
pub(crate) fn create(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "CREATE TABLE attributes_{projection} (
                key INTEGER NOT NULL, value ANY NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, value, row)
             ) STRICT, WITHOUT ROWID"
        ))
        .map_err(sqlite)
}

/// Removes the table of a projection.
pub(crate) fn drop_table(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!("DROP TABLE IF EXISTS attributes_{projection}"))
        .map_err(sqlite)
}

/// The numbers of attribute names, remembered for one transaction.
#[derive(Debug, Default)]
pub(crate) struct Keys(HashMap<String, i64>);

impl Keys {
    /// The number of `name`, given now if it has none.
    fn number(&mut self, transaction: &Transaction<'_>, name: &str) -> Result<i64> {
        if let Some(number) = self.0.get(name) {
            return Ok(*number);
        }
        let number = match known_key(transaction, name)? {
            Some(number) => number,
            None => {
                transaction
                    .execute("INSERT INTO keys(name) VALUES (?1)", [name])
                    .map_err(sqlite)?;
                transaction.last_insert_rowid()
            }
        };
        self.0.insert(name.to_owned(), number);
        Ok(number)
    }
}

fn known_key(connection: &Connection, name: &str) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM keys WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .map_err(sqlite)
}

/// What is indexed of a drawer: the same values that [`Drawer::attribute`] gives, except for `filed_at`.
pub(crate) fn of(drawer: &Drawer) -> Vec<(&str, Sql)> {
    let metadata = drawer.metadata.iter().flat_map(|metadata| metadata.iter());
    let loose = metadata.filter(|(key, value)| !is_placed(key) && matches!(value, Value::One(_)));
    let placed = Place::TEXT_KEYS.into_iter().chain(["said_at"]);
    placed
        .chain(loose.map(|(key, _)| key))
        .filter_map(|key| Some((key, stored_value(drawer.attribute(key)?.as_ref()))))
        .collect()
}

fn is_placed(key: &str) -> bool {
    Place::TEXT_KEYS.contains(&key) || matches!(key, "said_at" | "filed_at")
}

/// The value as the index keeps it. Booleans are bytes, so that they equal no number.
fn stored_value(scalar: &Scalar) -> Sql {
    match scalar {
        Scalar::Bool(truth) => Sql::Blob(vec![u8::from(*truth)]),
        Scalar::Int(int) => Sql::Integer(*int),
        Scalar::Float(float) => Sql::Real(*float),
        Scalar::Text(text) if text.len() > LONGEST_TEXT => {
            Sql::Blob(blake3::hash(text.as_bytes()).as_bytes().to_vec())
        }
        Scalar::Text(text) => Sql::Text(text.clone()),
    }
}

/// Indexes the attributes of a drawer in `row`.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut Keys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    let sql = format!("INSERT OR IGNORE INTO attributes_{projection}(key, value, row) VALUES (?1, ?2, ?3)");
    each(transaction, &sql, keys, row, drawer)
}

/// Takes the attributes of a drawer in `row` out of the index.
pub(crate) fn delete(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut Keys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    let sql = format!("DELETE FROM attributes_{projection} WHERE key = ?1 AND value = ?2 AND row = ?3");
    each(transaction, &sql, keys, row, drawer)
}

fn each(transaction: &Transaction<'_>, sql: &str, keys: &mut Keys, row: i64, drawer: &Drawer) -> Result<()> {
    let mut statement = transaction.prepare_cached(sql).map_err(sqlite)?;
    for (name, value) in of(drawer) {
        statement
            .execute(params![keys.number(transaction, name)?, value, row])
            .map_err(sqlite)?;
    }
    Ok(())
}

/// The rows a filter may accept.
#[derive(Debug)]
pub(crate) struct Scope {
    /// A superset of the accepted rows of the collection.
    pub(crate) rows: Rows,
    /// Whether it is the accepted rows exactly; else each must still be asked.
    pub(crate) exact: bool,
}

impl Scope {
    fn everything(exact: bool) -> Self {
        Self {
            rows: Rows::everything(),
            exact,
        }
    }
}

/// Works out from the index which rows `filter` accepts. A comparison that is not indexed leaves the scope wide and
/// inexact.
pub(crate) fn scope(connection: &Connection, projection: i64, filter: &Filter) -> Result<Scope> {
    match filter {
        Filter::All => Ok(Scope::everything(true)),
        Filter::Compare(key, comparison) => compare(connection, projection, key, comparison),
        Filter::And(parts) => combine(connection, projection, parts, Rows::everything(), Rows::and),
        Filter::Or(parts) => combine(connection, projection, parts, Rows::nothing(), Rows::or),
    }
}

fn combine(
    connection: &Connection,
    projection: i64,
    parts: &[Filter],
    start: Rows,
    join: fn(Rows, Rows) -> Rows,
) -> Result<Scope> {
    parts.iter().try_fold(
        Scope {
            rows: start,
            exact: true,
        },
        |all, part| {
            let one = scope(connection, projection, part)?;
            Ok(Scope {
                rows: join(all.rows, one.rows),
                exact: all.exact && one.exact,
            })
        },
    )
}

fn compare(connection: &Connection, projection: i64, key: &str, comparison: &Comparison) -> Result<Scope> {
    if key == "filed_at" {
        return Ok(Scope::everything(false));
    }
    let listing = Listing {
        connection,
        projection,
        key,
    };
    let rows = match comparison {
        Comparison::Eq(operand) => Some(listing.equal(std::slice::from_ref(operand))?),
        Comparison::Ne(operand) => Some(listing.equal(std::slice::from_ref(operand))?.not()),
        Comparison::In(operands) => Some(listing.equal(operands)?),
        Comparison::Nin(operands) => Some(listing.equal(operands)?.not()),
        Comparison::Gt(operand) => listing.range(">", operand)?,
        Comparison::Gte(operand) => listing.range(">=", operand)?,
        Comparison::Lt(operand) => listing.range("<", operand)?,
        Comparison::Lte(operand) => listing.range("<=", operand)?,
    };
    Ok(rows.map_or_else(|| Scope::everything(false), |rows| Scope { rows, exact: true }))
}

/// Lists rows from the index under one key.
struct Listing<'a> {
    connection: &'a Connection,
    projection: i64,
    key: &'a str,
}

impl Listing<'_> {
    /// Rows whose value equals one of `operands`.
    fn equal(&self, operands: &[Scalar]) -> Result<Rows> {
        let values: Vec<Sql> = operands
            .iter()
            .map(|operand| stored_value(&comparable(self.key, operand)))
            .collect();
        let marks = vec!["?"; values.len()].join(", ");
        self.list(&format!("value IN ({marks})"), values)
    }

    /// Rows whose number stands on one side of `operand`; texts are not kept in order, so `None` for them.
    fn range(&self, operator: &str, operand: &Scalar) -> Result<Option<Rows>> {
        // Numbers sort before texts and bytes, so an upper range needs its own end.
        match comparable(self.key, operand) {
            Scalar::Text(_) | Scalar::Bool(_) => Ok(None),
            number if operator.starts_with('>') => self
                .list(
                    &format!("value {operator} ? AND value < ''"),
                    vec![stored_value(&number)],
                )
                .map(Some),
            number => self
                .list(&format!("value {operator} ?"), vec![stored_value(&number)])
                .map(Some),
        }
    }

    fn list(&self, condition: &str, values: Vec<Sql>) -> Result<Rows> {
        let Some(key) = known_key(self.connection, self.key)? else {
            return Ok(Rows::nothing());
        };
        let sql = format!(
            "SELECT row FROM attributes_{} WHERE key = {key} AND {condition}",
            self.projection
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite)?;
        let found = statement
            .query_map(params_from_iter(values), |row| row.get(0))
            .map_err(sqlite)?;
        let rows: Vec<i64> = found.collect::<rusqlite::Result<_>>().map_err(sqlite)?;
        Ok(Rows::of(rows))
    }
}
