//! Giving codes to spaces that were filled before the server could compare vectors.

use loci_core::{Metric, Result};
use tokio_postgres::types::Type;

use super::{MOST_VALUES, are_coded, insert_code};
use crate::deadline::ServerDeadline;
use crate::palace::ServerPalace;
use crate::row::read_vector;
use crate::schema;
use crate::session::ServerSession;
use crate::shelf::{ServerShelf, ServerSpace};
use crate::statement::SqlStatement;
use crate::write::{WriteLimits, WriteTransaction};

/// The vectors that get their codes in one transaction.
const AT_ONCE: i64 = 500;

/// Gives codes to every vector of a palace that can have one; returns how many were missing. Does nothing without the
/// extension.
pub(crate) fn build_codes(
    palace: &ServerPalace,
    session: &ServerSession,
    limits: WriteLimits,
) -> Result<i64> {
    let Some(extension) = session.vector_schema() else {
        return Ok(0);
    };
    let none = ServerDeadline::default();
    schema::ensure_codes_table(session, extension)?;
    let shelves = ServerShelf::read_all(&session.ask(ServerShelf::select_all(palace.number), none)?)?;
    let mut built = 0;
    for shelf in shelves.iter().filter(|shelf| shelf.metric == Metric::Cosine) {
        let spaces = shelf
            .spaces()
            .filter(|space| are_coded(shelf.metric, space.dimension));
        for space in spaces.filter(|space| space.near != Some(space.vectors)) {
            built += build_space(palace, (shelf, space), session, limits)?;
        }
    }
    Ok(built)
}

fn build_space(
    palace: &ServerPalace,
    (shelf, space): (&ServerShelf, &ServerSpace),
    session: &ServerSession,
    limits: WriteLimits,
) -> Result<i64> {
    let begin = || {
        let collection = (&shelf.name, shelf.collection);
        WriteTransaction::begin(palace, collection, limits, Vec::new).map(|(transaction, _)| transaction)
    };
    // Under the lock of the palace: every later writer sees that codes are kept, and removes and stores them.
    begin()?.commit(vec![
        SqlStatement::new("UPDATE loci.spaces SET near = coalesce(near, 0) WHERE space = $1")
            .with_int(space.number),
    ])?;
    let mut built = 0;
    loop {
        let lacking = session.ask(ask_lacking(space.number), ServerDeadline::default())?;
        if lacking.is_empty() {
            return Ok(built);
        }
        let transaction = begin()?;
        let mut statements = Vec::with_capacity(lacking.len() + 1);
        for row in &lacking {
            let code = transaction
                .session()
                .vector_schema()
                .map(|extension| insert_code(extension, space.number, row.get(0), &read_vector(row.get(1))));
            statements.extend(code);
        }
        // A vector may have been removed since it was listed, and its code must not stay.
        statements.push(
            SqlStatement::new(
                "DELETE FROM loci.near n WHERE n.space = $1 AND n.\"row\" = ANY($2)
                    AND NOT EXISTS (SELECT 1 FROM loci.vectors v WHERE v.space = n.space AND v.\"row\" = n.\"row\")",
            )
            .with_int(space.number)
            .with(lacking.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>(), Type::INT8_ARRAY),
        );
        statements.push(
            SqlStatement::new("UPDATE loci.spaces s SET near = (SELECT count(*) FROM loci.near n WHERE n.space = s.space) WHERE s.space = $1")
                .with_int(space.number),
        );
        built += lacking.len() as i64;
        transaction.commit(statements)?;
    }
}

/// Asks for some vectors without a code.
fn ask_lacking(space: i64) -> SqlStatement {
    SqlStatement::new(
        "SELECT v.\"row\", v.value FROM loci.vectors v WHERE v.space = $1 AND length(v.value) <= $2
            AND NOT EXISTS (SELECT 1 FROM loci.near n WHERE n.space = v.space AND n.\"row\" = v.\"row\")
         ORDER BY v.\"row\" LIMIT $3",
    )
    .with_int(space)
    .with((MOST_VALUES * 4) as i32, Type::INT4)
    .with_int(AT_ONCE)
}
