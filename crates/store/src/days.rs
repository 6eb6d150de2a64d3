//! The number of drawers by day, source and wing, kept with the rows so that a timeline need not read them.

mod query;

use loci_core::{Result, Write};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql, Transaction, params};
use twox_hash::XxHash3_64;

use crate::failure::sqlite_error;

pub(crate) use query::{DayQuery, find_newest, merge_facets};

/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The first format with the table.
const FIRST_FORMAT: i32 = 6;

/// The number of additions from which on a batch is counted as a whole.
const MANY: usize = 64;

/// The day of a drawer without a time.
const NO_DAY: i64 = i64::MIN;

/// The wing of a count over all wings: a number, as no wing is, and not the one for no wing.
const EVERY_WING: i64 = 1;

/// The table of days. Days are counted from 1970; `clock` is 0 for the time said and 1 for the time filed. Each drawer
/// counts in its own wing and in [`EVERY_WING`], so that neither question reads the counts of the other. 0 stands for
/// no source and no wing, since a part of a key cannot be null.
pub(crate) const TABLE: &str = "CREATE TABLE days (
    collection INTEGER NOT NULL REFERENCES collections(collection),
    clock INTEGER NOT NULL,
    wing ANY NOT NULL,
    day INTEGER NOT NULL,
    source ANY NOT NULL,
    drawers INTEGER NOT NULL,
    PRIMARY KEY (collection, clock, wing, day, source)
) STRICT, WITHOUT ROWID";

/// An empty view in its place, for a file of an earlier format that may not be changed.
pub(crate) const VIEW: &str = "CREATE TEMP VIEW IF NOT EXISTS days AS
    SELECT 0 AS collection, 0 AS clock, 0 AS wing, 0 AS day, 0 AS source, 0 AS drawers WHERE 0";

/// The expression for the day of a time in SQL, which rounds quotients towards zero.
fn day_sql(time: &str) -> String {
    format!("ifnull(({time} - (({time} % {DAY}) + {DAY}) % {DAY}) / {DAY}, {NO_DAY})")
}

/// Returns the triggers that keep the counts. They are part of the schema, so that no way of writing a row can miss
/// them.
pub(crate) fn triggers_sql() -> String {
    let add = count_sql("new", |key| {
        format!("INSERT INTO days VALUES ({key}, 1) ON CONFLICT DO UPDATE SET drawers = drawers + 1;")
    });
    let remove = count_sql("old", |key| {
        let row = format!("(collection, clock, wing, day, source) = ({key})");
        // A day without drawers must vanish, or facets would list it.
        format!(
            "UPDATE days SET drawers = drawers - 1 WHERE {row}; DELETE FROM days WHERE {row} AND drawers <= 0;"
        )
    });
    let changed = ["collection", "said_at", "filed_at", "source", "wing"];
    let differs = changed.map(|column| format!("old.{column} IS NOT new.{column}"));
    let (columns, differs) = (changed.join(", "), differs.join(" OR "));
    format!(
        "CREATE TRIGGER days_insert AFTER INSERT ON drawers BEGIN {add} END;
         CREATE TRIGGER days_delete AFTER DELETE ON drawers BEGIN {remove} END;
         CREATE TRIGGER days_update AFTER UPDATE OF {columns} ON drawers WHEN {differs} BEGIN {remove} {add} END;"
    )
}

/// Returns a statement for each count of a row, made from the key of the count.
fn count_sql(row: &str, statement: impl Fn(&str) -> String) -> String {
    let statements = DayClock::ALL.map(|clock| {
        let (number, day) = (clock as i64, day_sql(&format!("{row}.{}", clock.key())));
        [EVERY_WING.to_string(), format!("ifnull({row}.wing, 0)")].map(|wing| {
            statement(&format!(
                "{row}.collection, {number}, {wing}, {day}, ifnull({row}.source, 0)"
            ))
        })
    });
    statements.concat().join(" ")
}

/// A pause of the triggers, in which only new rows may be written. They are counted at its end, all at once: a trigger
/// changes four counts for each row, and has SQLite copy every page it touches.
///
/// Without an end the triggers run again and nothing is counted, so that the transaction must be rolled back.
#[derive(Debug)]
pub(crate) struct PausedCounting<'t, 'c>(&'t Transaction<'c>);

impl<'t, 'c> PausedCounting<'t, 'c> {
    /// Begins a pause if `batch` does nothing but add many drawers.
    pub(crate) fn begin_for(transaction: &'t Transaction<'c>, batch: &[Write]) -> Result<Option<Self>> {
        if batch.len() < MANY || !batch.iter().all(|write| matches!(write, Write::Add(_))) {
            return Ok(None);
        }
        let pause = Self(transaction);
        pause.run_triggers(false)?;
        Ok(Some(pause))
    }

    /// Ends the pause and counts the rows of a collection from `first` to `last`.
    pub(crate) fn end(self, collection: i64, first: i64, last: i64) -> Result<()> {
        self.run_triggers(true)?;
        let sql = format!(
            "INSERT INTO days {} AND row BETWEEN ?2 AND ?3 GROUP BY 1, 2, 3, 4, 5
             ON CONFLICT DO UPDATE SET drawers = drawers + excluded.drawers",
            counts_sql("count(*)")
        );
        self.0
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.execute([collection, first, last]))
            .map(drop)
            .map_err(sqlite_error)
    }

    fn run_triggers(&self, run: bool) -> Result<()> {
        self.0
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, run)
            .map(drop)
            .map_err(sqlite_error)
    }
}

impl Drop for PausedCounting<'_, '_> {
    fn drop(&mut self) {
        // It fails only for an option that SQLite does not know, and then it would have failed at the beginning.
        let _ = self.run_triggers(true);
    }
}

/// Counts the drawers of a collection again from the rows.
pub(crate) fn recount_days(transaction: &Transaction<'_>, collection: i64) -> Result<()> {
    let execute =
        |sql: &str, value: &dyn ToSql| transaction.execute(sql, [value]).map(drop).map_err(sqlite_error);
    execute("DELETE FROM days WHERE collection = ?1", &collection)?;
    // Added up one by one in the table itself: groups of a million rows would be sorted in memory.
    let sql = format!(
        "INSERT INTO days {} ON CONFLICT DO UPDATE SET drawers = drawers + 1",
        counts_sql("1")
    );
    execute(&sql, &collection)?;
    execute("DELETE FROM palace WHERE key = ?1", &bare_mark(collection))
}

/// Returns a query for each count of each row of a collection, with `number` as the last column.
fn counts_sql(number: &str) -> String {
    let (said, filed) = (day_sql("said_at"), day_sql("filed_at"));
    format!(
        "SELECT collection, clock, iif(together, {EVERY_WING}, ifnull(wing, 0)), iif(clock, {filed}, {said}),
             ifnull(source, 0), {number}
         FROM drawers CROSS JOIN
             (SELECT 0 AS clock, 0 AS together UNION ALL VALUES (0, 1), (1, 0), (1, 1))
         WHERE collection = ?1"
    )
}

/// Returns whether the counts of a collection are those of its rows, or are known to be missing.
pub(crate) fn agree_with_rows(connection: &Connection, collection: i64) -> Result<bool> {
    if !are_whole(connection, collection)? {
        return Ok(true);
    }
    let kept = "SELECT collection, clock, wing, day, source, drawers FROM days WHERE collection = ?1";
    let (kept, there) = (
        sum_counts(connection, kept, collection)?,
        sum_counts(connection, &counts_sql("1"), collection)?,
    );
    Ok(kept.is_some() && kept == there)
}

/// Sums counts in a way that does not depend on their order nor on how they are split; `None` if one is not positive.
fn sum_counts(connection: &Connection, sql: &str, collection: i64) -> Result<Option<u64>> {
    let mut statement = connection.prepare(sql).map_err(sqlite_error)?;
    let mut found = statement.query([collection]).map_err(sqlite_error)?;
    let mut sum: u64 = 0;
    let mut bytes = Vec::new();
    while let Some(row) = found.next().map_err(sqlite_error)? {
        bytes.clear();
        for column in 1..5 {
            match row.get_ref(column).map_err(sqlite_error)? {
                ValueRef::Integer(number) => {
                    bytes.push(0);
                    bytes.extend(number.to_le_bytes());
                }
                value => {
                    let text = value.as_bytes().unwrap_or_default();
                    bytes.push(1);
                    bytes.extend((text.len() as u64).to_le_bytes());
                    bytes.extend(text);
                }
            }
        }
        let drawers: i64 = row.get(5).map_err(sqlite_error)?;
        let Some(drawers) = u64::try_from(drawers).ok().filter(|drawers| *drawers > 0) else {
            return Ok(None);
        };
        sum = sum.wrapping_add(XxHash3_64::oneshot(&bytes).wrapping_mul(drawers));
    }
    Ok(Some(sum))
}

/// Returns the key in the palace's own table that marks a collection whose drawers are not counted.
fn bare_mark(collection: i64) -> String {
    format!("bare_days_{collection}")
}

/// Marks a collection of an earlier format whose drawers could not be counted.
pub(crate) fn mark_bare(transaction: &Transaction<'_>, collection: i64) -> Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO palace(key, value) VALUES (?1, 1)",
            [bare_mark(collection)],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns whether all drawers of a collection are counted: not in a file of an earlier format, nor in one whose
/// upgrade met damage.
fn are_whole(connection: &Connection, collection: i64) -> Result<bool> {
    let sql = "SELECT (SELECT user_version FROM pragma_user_version) >= ?1
        AND NOT EXISTS (SELECT 1 FROM palace WHERE key = ?2)";
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params![FIRST_FORMAT, bare_mark(collection)], |row| row.get(0))
        })
        .map_err(sqlite_error)
}

/// The time that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayClock {
    Said,
    Filed,
}

impl DayClock {
    const ALL: [Self; 2] = [Self::Said, Self::Filed];

    fn key(self) -> &'static str {
        match self {
            Self::Said => "said_at",
            Self::Filed => "filed_at",
        }
    }
}
