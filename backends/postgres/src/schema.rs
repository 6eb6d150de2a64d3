//! The tables of the schema `loci`, their version, and creating them once, by the process that comes first.

pub(crate) mod security;
mod steps;
#[cfg(test)]
mod tests;

use std::fmt;

use loci_core::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

use crate::codes;
use crate::deadline::ServerDeadline;
use crate::session::ServerSession;
use crate::statement::SqlStatement;

pub(crate) use steps::{StandingTables, lock_statement, secure_tables, upgrade_statements, upgrade_tables};

/// The version of the tables. Another major version is refused; a minor one only adds, by the steps of `steps`.
pub(crate) const SCHEMA_VERSION: TableVersion = TableVersion { major: 1, minor: 1 };

/// The key of the advisory lock under which the tables are made or changed: "loci" in hexadecimal digits.
const SCHEMA_LOCK: i64 = 0x6c6f_6369;

/// A version of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableVersion {
    pub(crate) major: i32,
    pub(crate) minor: i32,
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Every table, index and setting of version 1.0; `docs/postgres.md` describes them.
///
/// Texts that a user gives are `bytea`: Postgres cannot keep a NUL in a `text`, and bytes compare as the contract wants,
/// whatever the collation. Columns that may be long are never indexed whole, since an index entry has a limit.
const TABLES: &str = "
CREATE TABLE loci.settings (
    key text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE loci.palaces (
    palace bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE \"C\",
    name text COLLATE \"C\" NOT NULL,
    identity bytea NOT NULL,
    seq bigint NOT NULL DEFAULT 0,
    commits bytea[] NOT NULL DEFAULT '{}',
    erasing boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL
);
CREATE UNIQUE INDEX palaces_name ON loci.palaces (coalesce(namespace, ''), name);

CREATE TABLE loci.collections (
    collection bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    palace bigint NOT NULL REFERENCES loci.palaces,
    name text COLLATE \"C\" NOT NULL,
    metric text NOT NULL,
    space bigint NOT NULL,
    drawers bigint NOT NULL DEFAULT 0,
    seq bigint NOT NULL DEFAULT 0,
    sealed bigint NOT NULL DEFAULT 0,
    merged bigint NOT NULL DEFAULT 0,
    tail bigint NOT NULL DEFAULT 0,
    tail_bytes bigint NOT NULL DEFAULT 0,
    small bigint NOT NULL DEFAULT 0,
    small_bytes bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    UNIQUE (palace, name)
);

CREATE TABLE loci.spaces (
    space bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection bigint NOT NULL REFERENCES loci.collections,
    dimension integer,
    model bytea,
    revision bytea,
    state text NOT NULL,
    turn bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    near bigint
);
CREATE INDEX spaces_collection ON loci.spaces (collection);

CREATE TABLE loci.drawers (
    collection bigint NOT NULL,
    \"row\" bigint NOT NULL,
    id bytea NOT NULL,
    seq bigint NOT NULL,
    piece bytea,
    uses bigint NOT NULL,
    filed_at bigint NOT NULL,
    said_at bigint,
    wing bytea,
    room bytea,
    source bytea,
    start bigint,
    stop bigint,
    line_start bigint,
    line_end bigint,
    speaker bytea,
    kind bytea,
    entries bytea[] NOT NULL,
    provenance text,
    metadata text NOT NULL,
    before bytea,
    after bytea,
    document bytea,
    wing_start bytea GENERATED ALWAYS AS (substring(wing, 1, 200)) STORED,
    room_start bytea GENERATED ALWAYS AS (substring(room, 1, 200)) STORED,
    PRIMARY KEY (collection, \"row\")
) WITH (toast_tuple_target = 256);
CREATE UNIQUE INDEX drawers_id ON loci.drawers (collection, id);
CREATE UNIQUE INDEX drawers_piece ON loci.drawers (collection, piece);
CREATE UNIQUE INDEX drawers_seq ON loci.drawers (collection, seq);
CREATE INDEX drawers_place ON loci.drawers (collection, wing_start, room_start, \"row\");
CREATE INDEX drawers_source ON loci.drawers (collection, substring(source, 1, 500), start, id);
CREATE INDEX drawers_kind ON loci.drawers (collection, substring(kind, 1, 200));
CREATE INDEX drawers_said ON loci.drawers (collection, said_at DESC NULLS LAST, id);
CREATE INDEX drawers_filed ON loci.drawers (collection, filed_at DESC, id);
CREATE INDEX drawers_entries ON loci.drawers USING gin (entries);

CREATE TABLE loci.vectors (
    space bigint NOT NULL,
    \"row\" bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (space, \"row\")
) WITH (toast_tuple_target = 8160);
ALTER TABLE loci.vectors ALTER COLUMN value SET STORAGE EXTERNAL;

CREATE TABLE loci.bags (
    collection bigint NOT NULL,
    \"row\" bigint NOT NULL,
    words bytea NOT NULL,
    PRIMARY KEY (collection, \"row\")
);

CREATE TABLE loci.word_segments (
    collection bigint NOT NULL,
    segment bigint NOT NULL,
    first bigint NOT NULL,
    drawers bigint NOT NULL,
    rows bytea NOT NULL,
    lengths bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (collection, segment)
);

CREATE TABLE loci.word_blocks (
    collection bigint NOT NULL,
    segment bigint NOT NULL,
    first bytea NOT NULL,
    beyond bytea,
    block bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (collection, segment, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE loci.word_blocks ALTER COLUMN block SET STORAGE EXTERNAL;

CREATE TABLE loci.word_gone (
    collection bigint NOT NULL,
    \"row\" bigint NOT NULL,
    PRIMARY KEY (collection, \"row\")
);

CREATE TABLE loci.tombstones (
    collection bigint NOT NULL,
    id bytea NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (collection, id)
);
CREATE UNIQUE INDEX tombstones_seq ON loci.tombstones (collection, seq);

CREATE TABLE loci.sources (
    collection bigint NOT NULL,
    name_hash bytea NOT NULL,
    source bytea NOT NULL,
    revision bigint NOT NULL,
    revised_at bigint NOT NULL,
    stamp bytea NOT NULL,
    PRIMARY KEY (collection, name_hash)
);
CREATE INDEX sources_name ON loci.sources (collection, substring(source, 1, 500));

CREATE TABLE loci.receipts (
    collection bigint NOT NULL,
    scope bytea NOT NULL,
    key bytea NOT NULL,
    batch bytea NOT NULL,
    at bigint NOT NULL,
    receipt text NOT NULL,
    PRIMARY KEY (collection, scope, key)
);
CREATE INDEX receipts_at ON loci.receipts (at);

CREATE TABLE loci.notes (
    note bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    palace bigint NOT NULL,
    at bigint NOT NULL,
    text text NOT NULL
);
";

/// Makes the tables if they are missing, or brings them to a later minor version; a newer major version is refused and
/// left untouched.
pub(crate) fn ensure_tables(session: &ServerSession, newest: TableVersion) -> Result<()> {
    match find_version(session, ServerDeadline::default())? {
        Some(version) => {
            check_version(version)?;
            if version.minor < newest.minor {
                upgrade_tables(session, newest)?;
            }
            Ok(())
        }
        None => create_tables(session, newest, ServerDeadline::default()),
    }
}

/// Returns the version of the tables, if there are any.
pub(crate) fn find_version(
    session: &ServerSession,
    deadline: ServerDeadline,
) -> Result<Option<TableVersion>> {
    if !has_table(session, "settings")? {
        return Ok(None);
    }
    let found = session.ask(
        SqlStatement::new("SELECT value FROM loci.settings WHERE key = 'version'"),
        deadline,
    )?;
    let Some(text) = found.first().map(|row| row.get::<_, &str>(0)) else {
        return Ok(None);
    };
    parse_version(text).map(Some)
}

/// Returns whether a table of ours exists.
pub(crate) fn has_table(session: &ServerSession, table: &str) -> Result<bool> {
    // Not by `to_regclass`, which fails for a role without rights on the schema.
    let question = SqlStatement::new(
        "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'loci' AND c.relname = $1)",
    )
    .with(table.to_owned(), Type::TEXT);
    let found = session.ask(question, ServerDeadline::default())?;
    Ok(found.first().is_some_and(|row| row.get(0)))
}

/// Reads a version like `1.0`.
pub(crate) fn parse_version(text: &str) -> Result<TableVersion> {
    let parts = text.split_once('.');
    let parsed = parts.and_then(|(major, minor)| {
        Some(TableVersion {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    });
    parsed.ok_or_else(|| {
        Error::new(
            ErrorKind::Format,
            format!("the schema \"loci\" has the version {text:?}, which this build cannot read"),
        )
        .with_hint("it was left untouched; use another database, or install a newer loci")
    })
}

/// Refuses tables of another major version.
pub(crate) fn check_version(version: TableVersion) -> Result<()> {
    if version.major == SCHEMA_VERSION.major {
        return Ok(());
    }
    let (found, own) = (version.major, SCHEMA_VERSION.major);
    Err(Error::new(
        ErrorKind::Format,
        format!("the tables in the schema \"loci\" have version {found}; this build reads version {own}"),
    )
    .with_hint("they were left untouched; install a newer loci"))
}

fn create_tables(session: &ServerSession, newest: TableVersion, deadline: ServerDeadline) -> Result<()> {
    let encoding = session.ask(SqlStatement::new("SHOW server_encoding"), deadline)?;
    if let Some(encoding) = encoding.first().map(|row| row.get::<_, &str>(0))
        && encoding != "UTF8"
    {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the database has the encoding {encoding}; palaces need UTF8"),
        )
        .with_hint("nothing was changed; make a database with `CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0`"));
    }
    under_lock(session, deadline, || {
        // Another process may have made them while this one waited.
        match find_version(session, deadline)? {
            Some(version) => check_version(version),
            None => create_locked(session, newest, deadline),
        }
    })
}

/// Runs `work` while no other process makes or changes the tables.
pub(crate) fn under_lock(
    session: &ServerSession,
    deadline: ServerDeadline,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    // Held by the session and not by a transaction: the next statement must begin a new one, since only that makes the
    // server forget that it did not know these tables.
    let lock = |function: &str| SqlStatement::new(format!("SELECT {function}($1)")).with_int(SCHEMA_LOCK);
    session.ask(lock("pg_advisory_lock"), deadline)?;
    let done = work();
    if session.ask(lock("pg_advisory_unlock"), deadline).is_err() {
        // Closing the connection gives the lock up.
        session.abandon();
    }
    done
}

fn create_locked(session: &ServerSession, newest: TableVersion, deadline: ServerDeadline) -> Result<()> {
    let mut statements = vec![SqlStatement::new(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    )];
    statements.extend(creation_statements(newest, session.vector_schema()));
    statements.push(SqlStatement::new("COMMIT"));
    let made = session.ask_all(&statements, deadline);
    if made.is_err() {
        session.end_transaction();
    }
    made.map(drop)
}

/// Returns the statements that make the tables of a version, for an extension in the schema `extension`. They have no
/// parameters, so that they can be printed.
pub(crate) fn creation_statements(newest: TableVersion, extension: Option<&str>) -> Vec<SqlStatement> {
    let mut statements = vec![SqlStatement::new("CREATE SCHEMA IF NOT EXISTS loci")];
    statements.extend(split_statements(TABLES));
    statements.extend(extension.map(codes::create_table));
    statements.extend(steps::step_statements(0, newest.minor));
    if newest.minor >= steps::SECURED_SINCE {
        let exists = |table: &str| table != "near" || extension.is_some();
        statements.extend(security::secure_statements("CURRENT_USER", exists, &[]));
    }
    statements.push(SqlStatement::new(format!(
        "INSERT INTO loci.settings(key, value) VALUES ('version', '{newest}')"
    )));
    statements
}

/// Makes the table of codes if it is missing and the session's role may.
pub(crate) fn ensure_codes_table(session: &ServerSession, extension: &str) -> Result<()> {
    if has_table(session, "near")? {
        return Ok(());
    }
    session.ask(codes::create_table(extension), ServerDeadline::default())?;
    secure_tables(session)
}

/// Lists the indexes beside the primary keys, each with the statement that makes it.
pub(crate) fn index_statements() -> Vec<(&'static str, &'static str)> {
    let statements = TABLES.split(";\n").map(str::trim);
    let named = statements.filter_map(|statement| {
        let rest = statement.strip_prefix("CREATE UNIQUE INDEX ");
        let rest = rest.or_else(|| statement.strip_prefix("CREATE INDEX "))?;
        Some((rest.split(' ').next()?, statement))
    });
    named.collect()
}

fn split_statements(text: &'static str) -> impl Iterator<Item = SqlStatement> {
    let parts = text.split(";\n").map(str::trim);
    parts.filter(|text| !text.is_empty()).map(SqlStatement::new)
}
