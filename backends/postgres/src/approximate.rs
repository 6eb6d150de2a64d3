//! Approximate answers by choice: an index of the codes of each large space, and the palaces that want one.
//!
//! A palace wants approximate answers if the settings have a key for it, whose value is the number of vectors from which
//! they are given. A query uses the index of its space only if that is valid; otherwise the answer is exact.

use std::collections::BTreeMap;

use loci_core::{
    Error, ErrorKind, MaintenanceKind, MaintenanceReport, MaintenanceStatus, QueryPrecision, Result,
};
use tokio_postgres::types::Type;

use crate::codes;
use crate::deadline::ServerDeadline;
use crate::palace::ServerPalace;
use crate::session::ServerSession;
use crate::shelf::{ServerShelf, ServerSpace};
use crate::statement::SqlStatement;
use crate::write::WriteLimits;

/// The number of vectors from which a query is answered approximately. Below it, comparing every code is as fast; see
/// `bench/README.md`. The setting `approximate_from` of a database replaces it.
const USUAL_FROM: i64 = 20_000;

/// The most values of a vector that the extension can index.
const MOST_INDEXED: usize = 4000;

/// The first version of the extension that indexes codes of half precision.
const FIRST_VERSION: (u32, u32) = (0, 7);

/// Returns whether the extension can index a space; an empty one has nothing to index.
pub(crate) fn is_indexable(shelf: &ServerShelf, space: &ServerSpace) -> bool {
    codes::are_coded(shelf.metric, space.dimension)
        && space.dimension.is_some_and(|dimension| dimension <= MOST_INDEXED)
        && space.vectors > 0
        && space.near == Some(space.vectors)
}

/// Returns the reason why an index is due, if the palace wants one that is missing or too small by now.
pub(crate) fn describe_due(shelf: &ServerShelf) -> Option<String> {
    let from = shelf.approximate_from?;
    let (name, space) = (shelf.name.as_str(), &shelf.space);
    if space.vectors < from || !is_indexable(shelf, space) {
        return None;
    }
    let why = match space.lists {
        None => format!("the vectors of {name:?} have no approximate index yet, so answers are exact"),
        Some(_) if is_outgrown(space) => {
            format!("{name:?} has outgrown its approximate index, which may miss more by now")
        }
        Some(_) => return None,
    };
    Some(format!("{why}; `loci maintain approximate` builds only that"))
}

/// Returns the number of lists for so many vectors: then a list holds as many vectors as there are lists.
fn choose_lists(vectors: i64) -> i64 {
    ((vectors as f64).sqrt().ceil() as i64).max(1)
}

/// Returns whether a space has four times the vectors that its index was built for: its centres may lie elsewhere now.
fn is_outgrown(space: &ServerSpace) -> bool {
    space
        .lists
        .is_some_and(|lists| choose_lists(space.vectors) > 2 * lists)
}

/// Records the choice for a palace, and builds or drops its indexes. The caller holds the locks for that.
pub(crate) fn choose_precision(
    palace: &ServerPalace,
    session: &ServerSession,
    precision: QueryPrecision,
    limits: WriteLimits,
) -> Result<MaintenanceReport> {
    let none = ServerDeadline::default();
    let mut figures = BTreeMap::new();
    let mut changed = false;
    match precision {
        QueryPrecision::Exact => {
            let about_wish = |sql: &str| SqlStatement::new(sql).with(wish_key(palace.number), Type::TEXT);
            // Asked first: a role of a namespace reads the settings and may not change them.
            let wished = about_wish("SELECT 1 FROM loci.settings WHERE key = $1");
            if !session.ask(wished, none)?.is_empty() {
                let forget = about_wish("DELETE FROM loci.settings WHERE key = $1");
                session.ask(forget, none)?;
                changed = true;
            }
        }
        QueryPrecision::Approximate => {
            check_extension(session)?;
            let from = find_usual_from(session)?;
            codes::build_codes(palace, session, limits)?;
            let built = build_missing(palace, session, from)?;
            // Recorded last: if a build fails, the palace is as it was.
            let wish = SqlStatement::new(
                "INSERT INTO loci.settings(key, value) VALUES ($1, $2)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE settings.value <> excluded.value
                 RETURNING key",
            )
            .with(wish_key(palace.number), Type::TEXT)
            .with(from.to_string(), Type::TEXT);
            let is_new = !session.ask(wish, none)?.is_empty();
            changed |= built > 0 || is_new;
            figures.insert("approximate_from_vectors".to_owned(), from);
            figures.insert("indexes_built".to_owned(), built);
        }
    }
    let dropped = drop_unwanted(palace, session)?;
    figures.insert("indexes_dropped".to_owned(), dropped);
    changed |= dropped > 0;
    Ok(MaintenanceReport {
        kind: MaintenanceKind::from_name(precision.name()),
        status: if changed {
            MaintenanceStatus::Ran
        } else {
            MaintenanceStatus::NothingToDo
        },
        figures,
    })
}

/// Builds the indexes that a palace wants and does not have, and drops those that it does not want any more; returns
/// how many were built.
pub(crate) fn renew_indexes(palace: &ServerPalace, session: &ServerSession) -> Result<i64> {
    let shelves = read_shelves(palace, session)?;
    let from = shelves.iter().find_map(|shelf| shelf.approximate_from);
    let built = match from {
        Some(from) => build_missing(palace, session, from)?,
        None => 0,
    };
    drop_unwanted(palace, session)?;
    Ok(built)
}

fn wish_key(palace: i64) -> String {
    format!("approximate {palace}")
}

fn index_name(space: i64) -> String {
    format!("near_space_{space}")
}

fn read_shelves(palace: &ServerPalace, session: &ServerSession) -> Result<Vec<ServerShelf>> {
    let question = ServerShelf::select_all(palace.number);
    ServerShelf::read_all(&session.ask(question, ServerDeadline::default())?)
}

fn find_usual_from(session: &ServerSession) -> Result<i64> {
    let question = SqlStatement::new("SELECT value FROM loci.settings WHERE key = 'approximate_from'");
    let found = session.ask(question, ServerDeadline::default())?;
    let Some(text) = found.first().map(|row| row.get::<_, &str>(0)) else {
        return Ok(USUAL_FROM);
    };
    text.parse().map_err(|_| {
        Error::invalid(format!(
            "the setting \"approximate_from\" of this database is {text:?}, not a number of vectors"
        ))
        .with_hint("nothing was changed; correct it in the table loci.settings")
    })
}

fn check_extension(session: &ServerSession) -> Result<()> {
    let question = SqlStatement::new("SELECT extversion FROM pg_extension WHERE extname = 'vector'");
    let found = session.ask(question, ServerDeadline::default())?;
    let version = found.first().map(|row| row.get::<_, &str>(0));
    let unsupported = |message: String, statement: &str| {
        Error::new(ErrorKind::Unsupported, message).with_hint(format!(
            "nothing was changed, and answers stay exact; let the owner of the database run `{statement}`"
        ))
    };
    match version {
        None => Err(unsupported(
            "approximate answers need the extension \"vector\", which this database does not have".to_owned(),
            "CREATE EXTENSION vector",
        )),
        Some(version) if !is_new_enough(version) || session.vector_schema().is_none() => Err(unsupported(
            format!(
                "approximate answers need version {}.{} of the extension \"vector\"; this database has {version}",
                FIRST_VERSION.0, FIRST_VERSION.1
            ),
            "ALTER EXTENSION vector UPDATE",
        )),
        Some(_) => Ok(()),
    }
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let major = parts.next().unwrap_or(0);
    (major, parts.next().unwrap_or(0)) >= FIRST_VERSION
}

fn build_missing(palace: &ServerPalace, session: &ServerSession, from: i64) -> Result<i64> {
    let Some(extension) = session.vector_schema() else {
        return Ok(0);
    };
    let mut built = 0;
    for shelf in read_shelves(palace, session)? {
        let space = &shelf.space;
        let is_sound = !is_outgrown(space) && has_valid_index(session, space.number)?;
        if space.vectors < from || !is_indexable(&shelf, space) || is_sound {
            continue;
        }
        // One that a build left behind when it was interrupted is not valid and never becomes so.
        drop_index(session, space.number)?;
        build_index(session, extension, space).inspect_err(|_| {
            // The error of the build is the one to report.
            let _ = drop_index(session, space.number);
        })?;
        built += 1;
    }
    Ok(built)
}

fn build_index(session: &ServerSession, extension: &str, space: &ServerSpace) -> Result<()> {
    let none = ServerDeadline::default();
    let dimension = space.dimension.unwrap_or(0);
    let lists = choose_lists(space.vectors);
    // The centres are found among fifty samples for each; the build refuses to begin with less memory than those take.
    let needed = lists.saturating_mul(100 * 4 * dimension as i64) / (1 << 20) + 64;
    let memory = SqlStatement::new(
        "SELECT set_config('maintenance_work_mem', $1 || 'MB', false) FROM pg_settings
         WHERE name = 'maintenance_work_mem' AND setting::bigint < $1::bigint * 1024",
    )
    .with(needed.to_string(), Type::TEXT);
    session.ask(memory, none)?;
    let (name, number) = (index_name(space.number), space.number);
    // Numbers and names of our own; nothing that a user gave.
    let built = session.ask(
        SqlStatement::new(format!(
            "CREATE INDEX CONCURRENTLY {name} ON loci.near
             USING ivfflat ((code::{extension}.halfvec({dimension})) {extension}.halfvec_ip_ops)
             WITH (lists = {lists}) WHERE space = {number}"
        )),
        none,
    );
    session.ask(SqlStatement::new("RESET maintenance_work_mem"), none)?;
    built.map(drop)
}

fn has_valid_index(session: &ServerSession, space: i64) -> Result<bool> {
    let question = SqlStatement::new("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)")
        .with(format!("loci.{}", index_name(space)), Type::TEXT);
    let found = session.ask(question, ServerDeadline::default())?;
    Ok(found.first().is_some_and(|row| row.get(0)))
}

fn drop_index(session: &ServerSession, space: i64) -> Result<()> {
    let name = index_name(space);
    let statement = SqlStatement::new(format!("DROP INDEX CONCURRENTLY IF EXISTS loci.{name}"));
    session.ask(statement, ServerDeadline::default()).map(drop)
}

/// Drops the indexes of spaces that are gone, and those of this palace that it does not want or that do not answer.
fn drop_unwanted(palace: &ServerPalace, session: &ServerSession) -> Result<i64> {
    let question = SqlStatement::new(
        "SELECT i.space FROM (
            SELECT substring(c.relname::text FROM '^near_space_([0-9]+)$')::bigint AS space FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'loci' AND c.relkind = 'i') i
         LEFT JOIN loci.spaces s ON s.space = i.space LEFT JOIN loci.collections c ON c.collection = s.collection
         WHERE i.space IS NOT NULL AND (s.space IS NULL OR (c.palace = $1 AND (c.space <> s.space
            OR NOT EXISTS (SELECT 1 FROM loci.settings w WHERE w.key = $2))))",
    )
    .with_int(palace.number)
    .with(wish_key(palace.number), Type::TEXT);
    let unwanted = session.ask(question, ServerDeadline::default())?;
    for row in &unwanted {
        drop_index(session, row.get(0))?;
    }
    Ok(unwanted.len() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_extension_are_compared_as_numbers() {
        for version in ["0.7.4", "0.8.0", "0.8.5", "0.10.1", "1.0"] {
            assert!(is_new_enough(version), "{version}");
        }
        for version in ["0.6.2", "0.5", ""] {
            assert!(!is_new_enough(version), "{version}");
        }
    }
}
