//! Orders of listing as SQL, and continuing after a position.

use loci_core::{DrawerId, DrawerOrder, DrawerPosition, Timestamp};
use tokio_postgres::types::Type;

use crate::statement::SqlStatement;

/// Returns the `ORDER BY` of an order on drawers `d`.
pub(crate) fn order_clause(order: DrawerOrder) -> &'static str {
    match order {
        DrawerOrder::Id => " ORDER BY d.id",
        DrawerOrder::NewestFiled => " ORDER BY d.filed_at DESC, d.id",
        DrawerOrder::NewestSaid => " ORDER BY d.said_at DESC NULLS LAST, d.id",
        // The first term is that of the index; it decides nothing that the second would not.
        DrawerOrder::Source => {
            " ORDER BY substring(d.source, 1, 500) NULLS LAST, d.source NULLS LAST, d.start NULLS LAST, d.id"
        }
    }
}

/// Appends ` AND …` with the condition that a drawer `d` comes after `position`.
pub(crate) fn push_after(statement: &mut SqlStatement, position: &DrawerPosition) {
    let condition = match position {
        DrawerPosition::Id(id) => {
            let id = name_id(statement, id);
            format!("d.id > {id}")
        }
        DrawerPosition::NewestFiled(time, id) => after_time(statement, "d.filed_at", *time, id),
        DrawerPosition::NewestSaid(time, id) => after_time(statement, "d.said_at", *time, id),
        DrawerPosition::Source(source, start, id) => after_piece(statement, source.as_deref(), *start, id),
    };
    statement.push(" AND (").push(&condition).push(")");
}

fn name_id(statement: &mut SqlStatement, id: &DrawerId) -> String {
    statement.name_value(id.as_str().as_bytes().to_vec(), Type::BYTEA)
}

/// Newest first, and those without a time last.
fn after_time(statement: &mut SqlStatement, column: &str, time: Option<Timestamp>, id: &DrawerId) -> String {
    let id = name_id(statement, id);
    match time {
        Some(time) => {
            let time = statement.name_value(time.as_micros(), Type::INT8);
            format!("{column} <= {time} AND ({column} < {time} OR d.id > {id}) OR {column} IS NULL")
        }
        None => format!("{column} IS NULL AND d.id > {id}"),
    }
}

/// By source and start, and those without either last.
fn after_piece(
    statement: &mut SqlStatement,
    source: Option<&str>,
    start: Option<u64>,
    id: &DrawerId,
) -> String {
    let id = name_id(statement, id);
    let within = match start {
        Some(start) => {
            let start = statement.name_value(i64::try_from(start).unwrap_or(i64::MAX), Type::INT8);
            format!("(d.start > {start} OR d.start IS NULL OR d.start = {start} AND d.id > {id})")
        }
        None => format!("(d.start IS NULL AND d.id > {id})"),
    };
    match source {
        Some(source) => {
            let source = statement.name_value(source.as_bytes().to_vec(), Type::BYTEA);
            format!("d.source > {source} OR d.source = {source} AND {within} OR d.source IS NULL")
        }
        None => format!("d.source IS NULL AND {within}"),
    }
}
