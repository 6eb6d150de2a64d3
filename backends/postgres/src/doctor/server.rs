//! The server itself: its version, the extension, the version of the tables, the role's rights, indexes and dead rows.

use loci_core::Result;

use super::ServerExamination;
use crate::rights;
use crate::schema::{self, SCHEMA_VERSION, TableVersion};
use crate::statement::SqlStatement;

/// The share of dead rows from which they are reported, and the fewest.
const DEAD_SHARE: f64 = 0.2;
const DEAD_ROWS: i64 = 1000;

pub(super) fn examine_server(examination: &mut ServerExamination<'_>, version: TableVersion) -> Result<()> {
    examine_versions(examination, version)?;
    if let Some((lacking, hint)) = rights::describe_lacking(examination.session)? {
        examination.warn("missing_right", lacking, hint);
    }
    examine_indexes(examination)?;
    examine_dead_rows(examination)
}

fn examine_versions(examination: &mut ServerExamination<'_>, version: TableVersion) -> Result<()> {
    let found = examination.ask(SqlStatement::new(
        "SELECT current_setting('server_version'), current_setting('server_version_num')::integer,
            (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
            (SELECT max(version) FROM pg_available_extension_versions WHERE name = 'vector')",
    ))?;
    let Some(row) = found.first() else { return Ok(()) };
    let server: &str = row.get(0);
    examination.note(
        "server_version",
        format!("Postgres {server}, tables of version {version}"),
    );
    if row.get::<_, i32>(1) < 130_000 {
        examination.warn(
            "server_old",
            format!("Postgres {server} is older than 13"),
            "upgrade the server",
        );
    }
    if version.minor < SCHEMA_VERSION.minor {
        examination.note(
            "tables_older",
            format!("the tables have version {version}; opening the palace for writing as their owner brings them to {SCHEMA_VERSION}"),
        );
    }
    examine_extension(examination, row.get(2), row.get(3));
    Ok(())
}

/// Looks at the extension `vector`, by the versions that are installed and available.
fn examine_extension(
    examination: &mut ServerExamination<'_>,
    installed: Option<&str>,
    available: Option<&str>,
) {
    match (installed, examination.session.vector_schema(), available) {
        (Some(installed), Some(_), _) => {
            examination.note(
                "extension",
                format!("the extension vector {installed} is installed"),
            );
            if !examination.standing.has("near") {
                examination.note(
                    "extension_unused",
                    "codes are kept once `loci maintain reindex` has made their table",
                );
            }
        }
        (Some(installed), None, _) => examination.warn(
            "extension_old",
            format!("the extension vector {installed} has no half-precision vectors, so that it is not used"),
            "ALTER EXTENSION vector UPDATE;",
        ),
        (None, _, Some(_)) => {
            examination.note(
                "extension_missing",
                "the extension vector is not installed: CREATE EXTENSION vector;",
            );
        }
        (None, _, None) => examination.note(
            "extension_missing",
            "the server does not have the extension vector",
        ),
    }
    if installed.is_none() && examination.standing.has("near") {
        examination.fail(
            "codes_unreadable",
            "codes of vectors are stored, but the extension vector is gone",
            "CREATE EXTENSION vector;",
        );
    }
}

/// Compares the indexes with those that the tables were made with.
fn examine_indexes(examination: &mut ServerExamination<'_>) -> Result<()> {
    let rows = examination.ask(SqlStatement::new(
        "SELECT i.relname::text, x.indisvalid AND x.indisready, t.relname::text, x.indisprimary
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
         JOIN pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname = 'loci' ORDER BY i.relname",
    ))?;
    for row in rows.iter().filter(|row| !row.get::<_, bool>(1)) {
        let (name, table): (&str, &str) = (row.get(0), row.get(2));
        // A rebuild beside the old index that was cut off leaves one that is of no use.
        let hint = if name.contains("_ccnew") || name.contains("_ccold") {
            format!("DROP INDEX loci.{name};")
        } else {
            format!("REINDEX INDEX loci.{name};")
        };
        examination.warn(
            "index_invalid",
            format!("the index {name} of loci.{table} is not valid"),
            hint,
        );
    }
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    for (name, statement) in schema::index_statements() {
        if names.contains(&name) {
            continue;
        }
        let message = format!("the index {name} is missing");
        if statement.starts_with("CREATE UNIQUE") {
            examination.fail("index_missing", message, format!("{statement};"));
        } else {
            examination.warn("index_missing", message, format!("{statement};"));
        }
    }
    let keyed: Vec<&str> = rows
        .iter()
        .filter(|row| row.get(3))
        .map(|row| row.get(2))
        .collect();
    let unkeyed = examination
        .standing
        .names
        .iter()
        .filter(|table| !keyed.contains(&table.as_str()));
    let unkeyed: Vec<String> = unkeyed
        .map(|table| format!("loci.{table} has no primary key"))
        .collect();
    for message in unkeyed {
        examination.fail(
            "index_missing",
            message,
            "add it again; docs/postgres.md lists the tables",
        );
    }
    Ok(())
}

fn examine_dead_rows(examination: &mut ServerExamination<'_>) -> Result<()> {
    let rows = examination.ask(SqlStatement::new(
        "SELECT relname::text, n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'loci' ORDER BY relname",
    ))?;
    for row in &rows {
        let (table, live, dead): (&str, i64, i64) = (row.get(0), row.get(1), row.get(2));
        if dead >= DEAD_ROWS && dead as f64 > DEAD_SHARE * (live + dead) as f64 {
            examination.warn(
                "dead_rows",
                format!("loci.{table} holds {dead} dead rows beside {live} live ones"),
                "run `loci maintain compact`; if autovacuum is on, look for what holds it back",
            );
        }
    }
    Ok(())
}
