//! The attribute index: which rows have which value under which key, so that a filter never reads documents.

use std::collections::{HashMap, HashSet};

use loci_core::filter::comparable;
use loci_core::{Comparison, Drawer, Filter, Place, Result, Scalar, Value};
use loci_index::rows::Rows;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};

use crate::failure::sqlite;

/// The longest text kept as it is; a longer one is kept as its hash, which still answers equality.
const LONGEST_TEXT: usize = 256;

/// The last format whose index has neither filing times nor members of lists.
const LAST_BARE_FORMAT: i32 = 4;

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
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS attributes_{projection}; DELETE FROM palace WHERE key = '{}'",
            bare_mark(projection)
        ))
        .map_err(sqlite)
}

/// The line in the palace's own table that says of a projection: it has neither filing times nor members of lists.
fn bare_mark(projection: i64) -> String {
    format!("bare_attributes_{projection}")
}

/// Notes that a projection of an earlier format could not be given filing times and members.
pub(crate) fn mark_bare(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO palace(key, value) VALUES (?1, 1)",
            [bare_mark(projection)],
        )
        .map(drop)
        .map_err(sqlite)
}

/// Whether filing times and members of lists are indexed: not in a file of an earlier format, nor where bringing
/// one up to date met damage.
pub(crate) fn are_whole(connection: &Connection, projection: i64) -> Result<bool> {
    let sql = "SELECT (SELECT user_version FROM pragma_user_version) > ?1
        AND NOT EXISTS (SELECT 1 FROM palace WHERE key = ?2)";
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params![LAST_BARE_FORMAT, bare_mark(projection)], |row| row.get(0))
        })
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

/// The number of an attribute name, if it has one; members of lists have its negative.
pub(crate) fn known_key(connection: &Connection, name: &str) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM keys WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .map_err(sqlite)
}

/// One entry of the index: a single value under a key, or a member of the list there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute<'a> {
    pub(crate) key: &'a str,
    pub(crate) member: bool,
    pub(crate) value: Sql,
}

impl Attribute<'_> {
    /// Whether earlier formats lack it.
    pub(crate) fn is_new_in_5(&self) -> bool {
        self.member || self.key == "filed_at"
    }
}

/// What is indexed of a drawer: the same values that [`Drawer::attribute`] and [`Drawer::members`] give.
pub(crate) fn of(drawer: &Drawer) -> Vec<Attribute<'_>> {
    let metadata = || drawer.metadata.iter().flat_map(|metadata| metadata.iter());
    let loose = metadata().filter(|(key, value)| !is_placed(key) && matches!(value, Value::One(_)));
    let placed = Place::TEXT_KEYS.into_iter().chain(["said_at", "filed_at"]);
    let single = placed
        .chain(loose.map(|(key, _)| key))
        .filter_map(|key| Some(single(key, drawer.attribute(key)?.as_ref())));
    let lists = metadata().filter(|(_, value)| matches!(value, Value::Many(_)));
    let members = lists.flat_map(|(key, _)| members(key, drawer.members(key)));
    single.chain(members).collect()
}

fn single<'a>(key: &'a str, scalar: &Scalar) -> Attribute<'a> {
    Attribute {
        key,
        member: false,
        value: stored_value(scalar),
    }
}

/// The members of a list, each once: of equal ones the first.
fn members<'a>(key: &'a str, list: &[Scalar]) -> Vec<Attribute<'a>> {
    let mut seen = HashSet::new();
    list.iter()
        .filter(|scalar| seen.insert(identity(scalar)))
        .map(|scalar| Attribute {
            member: true,
            ..single(key, scalar)
        })
        .collect()
}

/// Bytes that two scalars share exactly if they compare as equal.
fn identity(scalar: &Scalar) -> (u8, Vec<u8>) {
    match scalar {
        Scalar::Bool(truth) => (b'b', vec![u8::from(*truth)]),
        Scalar::Text(text) => (b't', text.as_bytes().to_vec()),
        Scalar::Int(int) => (b'i', int.to_le_bytes().to_vec()),
        // A float that is a whole number in range equals that integer; beyond it no integer is equal.
        Scalar::Float(float) if float.fract() == 0.0 && scalar_fits(*float) => {
            (b'i', (*float as i64).to_le_bytes().to_vec())
        }
        Scalar::Float(float) => (b'f', float.to_le_bytes().to_vec()),
    }
}

fn scalar_fits(float: f64) -> bool {
    /// 2^63, the first float above every i64.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    (-ABOVE..ABOVE).contains(&float)
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
    each(transaction, &insert_sql(projection), keys, row, of(drawer))
}

/// Indexes of a drawer in `row` what earlier formats did not.
pub(crate) fn insert_new_in_5(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut Keys,
    row: i64,
    drawer: &Drawer,
) -> Result<()> {
    let mut new = of(drawer);
    new.retain(Attribute::is_new_in_5);
    each(transaction, &insert_sql(projection), keys, row, new)
}

fn insert_sql(projection: i64) -> String {
    format!("INSERT OR IGNORE INTO attributes_{projection}(key, value, row) VALUES (?1, ?2, ?3)")
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
    each(transaction, &sql, keys, row, of(drawer))
}

fn each(
    transaction: &Transaction<'_>,
    sql: &str,
    keys: &mut Keys,
    row: i64,
    attributes: Vec<Attribute<'_>>,
) -> Result<()> {
    let mut statement = transaction.prepare_cached(sql).map_err(sqlite)?;
    for Attribute { key, member, value } in attributes {
        let number = keys.number(transaction, key)?;
        statement
            .execute(params![if member { -number } else { number }, value, row])
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
    use Comparison::{Contains, Eq, Gt, Gte, In, Lt, Lte, Ne, Nin, NotContains};
    let of_lists = matches!(comparison, In(_) | Nin(_) | Contains(_) | NotContains(_));
    if (of_lists || key == "filed_at") && !are_whole(connection, projection)? {
        return Ok(Scope::everything(false));
    }
    let listing = Listing {
        connection,
        projection,
        key,
    };
    let one = std::slice::from_ref;
    let rows = match comparison {
        Eq(operand) => Some(listing.equal(one(operand))?),
        Ne(operand) => Some(listing.equal(one(operand))?.not()),
        In(operands) => Some(listing.among(operands)?),
        Nin(operands) => Some(listing.among(operands)?.not()),
        Contains(operand) => Some(listing.holding(one(operand))?),
        NotContains(operand) => Some(listing.holding(one(operand))?.not()),
        Gt(operand) => listing.range(">", operand)?,
        Gte(operand) => listing.range(">=", operand)?,
        Lt(operand) => listing.range("<", operand)?,
        Lte(operand) => listing.range("<=", operand)?,
    };
    Ok(rows.map_or_else(|| Scope::everything(false), |rows| Scope { rows, exact: true }))
}

/// Lists rows from the index under one key.
struct Listing<'a> {
    connection: &'a Connection,
    projection: i64,
    key: &'a str,
}

/// What stands on the left side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The single value under the key.
    Single,
    /// The members of the list there.
    Members,
}

impl Listing<'_> {
    /// Rows whose value equals one of `operands`.
    fn equal(&self, operands: &[Scalar]) -> Result<Rows> {
        self.one_of(Side::Single, operands)
    }

    /// Rows with a list that has one of `operands` as a member.
    fn holding(&self, operands: &[Scalar]) -> Result<Rows> {
        self.one_of(Side::Members, operands)
    }

    /// Rows whose value equals one of `operands`, or whose list has one.
    fn among(&self, operands: &[Scalar]) -> Result<Rows> {
        Ok(self.equal(operands)?.or(self.holding(operands)?))
    }

    fn one_of(&self, side: Side, operands: &[Scalar]) -> Result<Rows> {
        let values: Vec<Sql> = operands
            .iter()
            .map(|operand| stored_value(&comparable(self.key, operand)))
            .collect();
        let marks = vec!["?"; values.len()].join(", ");
        self.list(side, &format!("value IN ({marks})"), values)
    }

    /// Rows whose number stands on one side of `operand`; texts are not kept in order, so `None` for them.
    fn range(&self, operator: &str, operand: &Scalar) -> Result<Option<Rows>> {
        // Numbers sort before texts and bytes, so an upper range needs its own end.
        match comparable(self.key, operand) {
            Scalar::Text(_) | Scalar::Bool(_) => Ok(None),
            number if operator.starts_with('>') => self
                .list(
                    Side::Single,
                    &format!("value {operator} ? AND value < ''"),
                    vec![stored_value(&number)],
                )
                .map(Some),
            number => self
                .list(
                    Side::Single,
                    &format!("value {operator} ?"),
                    vec![stored_value(&number)],
                )
                .map(Some),
        }
    }

    fn list(&self, side: Side, condition: &str, values: Vec<Sql>) -> Result<Rows> {
        let Some(number) = known_key(self.connection, self.key)? else {
            return Ok(Rows::nothing());
        };
        let key = match side {
            Side::Single => number,
            Side::Members => -number,
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
