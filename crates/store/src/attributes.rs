//! The attribute index: the rows that have a value under a key, so that a filter never reads documents.

use std::collections::{HashMap, HashSet};

use loci_core::filter::normalise_operand;
use loci_core::{Drawer, DrawerPlace, MetadataScalar, MetadataValue, Result};
use loci_index::rows::RowSet;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};

use crate::failure::sqlite_error;

/// The longest text stored as is; a longer one is stored as its hash, which still answers equality.
const LONGEST_TEXT: usize = 256;

/// The last format whose index lacks filing times and members of lists.
pub(crate) const LAST_BARE_FORMAT: i32 = 4;

/// Creates the table of a new projection.
pub(crate) fn create_table(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "CREATE TABLE attributes_{projection} (
                key INTEGER NOT NULL, value ANY NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, value, row)
             ) STRICT, WITHOUT ROWID"
        ))
        .map_err(sqlite_error)
}

/// Removes the table of a projection.
pub(crate) fn drop_table(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS attributes_{projection}; DELETE FROM palace WHERE key = '{}'",
            bare_mark(projection)
        ))
        .map_err(sqlite_error)
}

/// Returns the key in the palace's own table that marks a projection without filing times and members of lists.
fn bare_mark(projection: i64) -> String {
    format!("bare_attributes_{projection}")
}

/// Marks a projection of an earlier format that could not be given filing times and members.
pub(crate) fn mark_bare(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO palace(key, value) VALUES (?1, 1)",
            [bare_mark(projection)],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns whether filing times and members of lists are indexed: not in a file of an earlier format, nor in one
/// whose upgrade met damage.
pub(crate) fn are_whole(connection: &Connection, projection: i64) -> Result<bool> {
    let sql = "SELECT (SELECT user_version FROM pragma_user_version) > ?1
        AND NOT EXISTS (SELECT 1 FROM palace WHERE key = ?2)";
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params![LAST_BARE_FORMAT, bare_mark(projection)], |row| row.get(0))
        })
        .map_err(sqlite_error)
}

/// The numbers of attribute names, cached for one transaction.
#[derive(Debug, Default)]
pub(crate) struct AttributeKeys(HashMap<String, i64>);

impl AttributeKeys {
    /// Returns the number of `name`, assigning one if it has none.
    fn key_number(&mut self, transaction: &Transaction<'_>, name: &str) -> Result<i64> {
        if let Some(number) = self.0.get(name) {
            return Ok(*number);
        }
        let number = match known_key(transaction, name)? {
            Some(number) => number,
            None => {
                transaction
                    .execute("INSERT INTO keys(name) VALUES (?1)", [name])
                    .map_err(sqlite_error)?;
                transaction.last_insert_rowid()
            }
        };
        self.0.insert(name.to_owned(), number);
        Ok(number)
    }
}

/// Returns the number of an attribute name, if it has one; members of lists are stored under its negative.
pub(crate) fn known_key(connection: &Connection, name: &str) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM keys WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .map_err(sqlite_error)
}

/// One entry of the index: a single value under a key, or a member of the list there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexedAttribute<'a> {
    pub(crate) key: &'a str,
    pub(crate) member: bool,
    pub(crate) value: Sql,
}

impl IndexedAttribute<'_> {
    /// Returns whether earlier formats lack it.
    pub(crate) fn is_new_in_5(&self) -> bool {
        self.member || self.key == "filed_at"
    }
}

/// Returns the index entries of a drawer: the same values that [`Drawer::attribute`] and [`Drawer::list_members`] give.
pub(crate) fn list_attributes(drawer: &Drawer) -> Vec<IndexedAttribute<'_>> {
    let metadata = || drawer.metadata.iter().flat_map(|metadata| metadata.iter());
    // A place field and the metadata key of its name are one attribute (decision 004), so such keys
    // are left to the fields.
    let loose = metadata().filter(|(key, value)| !is_placed(key) && matches!(value, MetadataValue::One(_)));
    let placed = DrawerPlace::TEXT_KEYS.into_iter().chain(["said_at", "filed_at"]);
    let single = placed
        .chain(loose.map(|(key, _)| key))
        .filter_map(|key| Some(single_attribute(key, drawer.attribute(key)?.as_ref())));
    let lists = metadata().filter(|(_, value)| matches!(value, MetadataValue::Many(_)));
    let members = lists.flat_map(|(key, _)| member_attributes(key, drawer.list_members(key)));
    single.chain(members).collect()
}

fn single_attribute<'a>(key: &'a str, scalar: &MetadataScalar) -> IndexedAttribute<'a> {
    IndexedAttribute {
        key,
        member: false,
        value: stored_value(scalar),
    }
}

/// Returns the members of a list, each once: of equal ones the first.
fn member_attributes<'a>(key: &'a str, list: &[MetadataScalar]) -> Vec<IndexedAttribute<'a>> {
    let mut seen = HashSet::new();
    list.iter()
        .filter(|scalar| seen.insert(equality_bytes(scalar)))
        .map(|scalar| IndexedAttribute {
            member: true,
            ..single_attribute(key, scalar)
        })
        .collect()
}

/// Returns bytes that are the same for two scalars exactly if these compare as equal.
fn equality_bytes(scalar: &MetadataScalar) -> (u8, Vec<u8>) {
    match scalar {
        MetadataScalar::Bool(truth) => (b'b', vec![u8::from(*truth)]),
        MetadataScalar::Text(text) => (b't', text.as_bytes().to_vec()),
        MetadataScalar::Int(int) => (b'i', int.to_le_bytes().to_vec()),
        // A float that is a whole number in the range of i64 equals that integer; outside it
        // no integer is equal.
        MetadataScalar::Float(float) if float.fract() == 0.0 && scalar_fits(*float) => {
            (b'i', (*float as i64).to_le_bytes().to_vec())
        }
        MetadataScalar::Float(float) => (b'f', float.to_le_bytes().to_vec()),
    }
}

fn scalar_fits(float: f64) -> bool {
    /// 2^63, the first float above every i64.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    (-ABOVE..ABOVE).contains(&float)
}

fn is_placed(key: &str) -> bool {
    DrawerPlace::TEXT_KEYS.contains(&key) || matches!(key, "said_at" | "filed_at")
}

/// Returns the value as the index stores it. Booleans are bytes, so that they equal no number.
fn stored_value(scalar: &MetadataScalar) -> Sql {
    match scalar {
        MetadataScalar::Bool(truth) => Sql::Blob(vec![u8::from(*truth)]),
        MetadataScalar::Int(int) => Sql::Integer(*int),
        MetadataScalar::Float(float) => Sql::Real(*float),
        MetadataScalar::Text(text) if text.len() > LONGEST_TEXT => {
            Sql::Blob(blake3::hash(text.as_bytes()).as_bytes().to_vec())
        }
        MetadataScalar::Text(text) => Sql::Text(text.clone()),
    }
}

/// Adds the attributes of a drawer in `row` to the index.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut AttributeKeys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    execute_each(
        transaction,
        &insert_sql(projection),
        keys,
        row,
        list_attributes(drawer),
    )
}

/// Adds those attributes of a drawer in `row` that earlier formats did not index.
pub(crate) fn insert_new_in_5(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut AttributeKeys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    let mut new = list_attributes(drawer);
    new.retain(IndexedAttribute::is_new_in_5);
    execute_each(transaction, &insert_sql(projection), keys, row, new)
}

fn insert_sql(projection: i64) -> String {
    format!("INSERT OR IGNORE INTO attributes_{projection}(key, value, row) VALUES (?1, ?2, ?3)")
}

/// Removes the attributes of a drawer in `row` from the index.
pub(crate) fn delete(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut AttributeKeys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    // Deleted by full key, computed from the stored drawer: the table is not ordered by row, so deleting by row
    // alone would scan all of it.
    let sql = format!("DELETE FROM attributes_{projection} WHERE key = ?1 AND value = ?2 AND row = ?3");
    execute_each(transaction, &sql, keys, row, list_attributes(drawer))
}

fn execute_each(
    transaction: &Transaction<'_>,
    sql: &str,
    keys: &mut AttributeKeys,
    row: i64,
    attributes: Vec<IndexedAttribute<'_>>,
) -> Result<()> {
    let mut statement = transaction.prepare_cached(sql).map_err(sqlite_error)?;
    for IndexedAttribute { key, member, value } in attributes {
        let number = keys.key_number(transaction, key)?;
        statement
            .execute(params![if member { -number } else { number }, value, row])
            .map_err(sqlite_error)?;
    }
    Ok(())
}

/// One end of a range: an operator of SQL, and the operand.
pub(crate) type RangeEnd<'a> = (&'a str, &'a MetadataScalar);

/// Lists rows from the index under one key.
pub(crate) struct AttributeListing<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) projection: i64,
    pub(crate) key: &'a str,
}

/// The stored value that a comparison looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparedValue {
    /// The single value under the key.
    Single,
    /// The members of the list there.
    Members,
}

impl AttributeListing<'_> {
    /// Returns the rows whose value equals one of `operands`.
    pub(crate) fn rows_equal_to(&self, operands: &[MetadataScalar]) -> Result<RowSet> {
        self.rows_with_any(ComparedValue::Single, operands)
    }

    /// Returns the rows with a list that has one of `operands` as a member.
    pub(crate) fn rows_holding(&self, operands: &[MetadataScalar]) -> Result<RowSet> {
        self.rows_with_any(ComparedValue::Members, operands)
    }

    /// Returns the rows whose value equals one of `operands`, or whose list contains one.
    pub(crate) fn rows_among(&self, operands: &[MetadataScalar]) -> Result<RowSet> {
        Ok(self.rows_equal_to(operands)?.or(self.rows_holding(operands)?))
    }

    fn rows_with_any(&self, side: ComparedValue, operands: &[MetadataScalar]) -> Result<RowSet> {
        let values: Vec<Sql> = operands
            .iter()
            .map(|operand| stored_value(&normalise_operand(self.key, operand)))
            .collect();
        let marks = vec!["?"; values.len()].join(", ");
        self.list_rows(side, &format!("value IN ({marks})"), values)
    }

    /// Returns the rows whose number lies within `ends`; `None` for texts, which are
    /// not kept in order.
    pub(crate) fn rows_in_range(&self, ends: &[RangeEnd<'_>]) -> Result<Option<RowSet>> {
        // SQLite sorts numbers before texts and bytes, so a range open to above needs an upper end.
        let mut conditions = vec!["value < ''".to_owned()];
        let mut values = Vec::new();
        for (operator, operand) in ends {
            match normalise_operand(self.key, operand) {
                MetadataScalar::Text(_) | MetadataScalar::Bool(_) => return Ok(None),
                number => values.push(stored_value(&number)),
            }
            conditions.push(format!("value {operator} ?"));
        }
        self.list_rows(ComparedValue::Single, &conditions.join(" AND "), values)
            .map(Some)
    }

    fn list_rows(&self, side: ComparedValue, condition: &str, values: Vec<Sql>) -> Result<RowSet> {
        // A key that no drawer ever had has no number, and so no rows.
        let Some(number) = known_key(self.connection, self.key)? else {
            return Ok(RowSet::nothing());
        };
        let key = match side {
            ComparedValue::Single => number,
            ComparedValue::Members => -number,
        };
        let sql = format!(
            "SELECT row FROM attributes_{} WHERE key = {key} AND {condition}",
            self.projection
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let found = statement
            .query_map(params_from_iter(values), |row| row.get(0))
            .map_err(sqlite_error)?;
        let rows: Vec<i64> = found.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?;
        Ok(RowSet::from_rows(rows))
    }
}
