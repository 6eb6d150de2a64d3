//! The steps from one minor version of the tables to the next, and taking them while others read and write.
//!
//! A step only adds: a build of an earlier minor version goes on working on the tables of a later one.

use loci_core::{ErrorKind, Result};

use super::{TableVersion, find_version, security, split_statements, under_lock};
use crate::deadline::ServerDeadline;
use crate::session::ServerSession;
use crate::statement::SqlStatement;

/// One step: the minor version that it leads to, and its statements.
struct SchemaStep {
    minor: i32,
    statements: &'static str,
}

/// Every step, in order.
const STEPS: [SchemaStep; 1] = [SchemaStep {
    // Row-level security; its policies are those of `security`, which the tables get after the last step.
    minor: 1,
    statements: "
CREATE TABLE loci.namespaces (
    namespace text COLLATE \"C\" PRIMARY KEY,
    role text COLLATE \"C\" NOT NULL
);
",
}];

/// The first minor version with row-level security.
pub(crate) const SECURED_SINCE: i32 = 1;

/// Returns the statements of the steps after the minor version `from`, up to `to`.
pub(super) fn step_statements(from: i32, to: i32) -> Vec<SqlStatement> {
    let steps = STEPS.iter().filter(|step| step.minor > from && step.minor <= to);
    steps.flat_map(|step| split_statements(step.statements)).collect()
}

/// The tables as they stand: their owner, quoted, whether the session's role has its rights, and their names.
#[derive(Debug)]
pub(crate) struct StandingTables {
    pub(crate) owner: String,
    pub(crate) is_owner: bool,
    pub(crate) names: Vec<String>,
}

impl StandingTables {
    /// Reads the catalogue; `None` without tables. Needs no rights on them.
    pub(crate) fn read(session: &ServerSession) -> Result<Option<Self>> {
        let question = SqlStatement::new(
            "SELECT c.relname::text, quote_ident(pg_get_userbyid(o.relowner)), pg_has_role(o.relowner, 'USAGE')
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_class o ON o.relnamespace = n.oid AND o.relname = 'settings'
             WHERE n.nspname = 'loci' AND c.relkind = 'r' ORDER BY c.relname",
        );
        let found = session.ask(question, ServerDeadline::default())?;
        Ok(found.first().map(|first| Self {
            owner: first.get(1),
            is_owner: first.get(2),
            names: found.iter().map(|row| row.get(0)).collect(),
        }))
    }

    pub(crate) fn has(&self, table: &str) -> bool {
        self.names.iter().any(|name| name == table)
    }
}

/// Brings the tables to a later minor version, if the session's role has the rights of their owner; otherwise, and while
/// others keep the tables busy, they stay as they are, which every build of this major version can use.
pub(crate) fn upgrade_tables(session: &ServerSession, newest: TableVersion) -> Result<()> {
    let standing = StandingTables::read(session)?;
    if !standing.is_some_and(|tables| tables.is_owner) {
        return Ok(());
    }
    let upgraded = under_lock(session, ServerDeadline::default(), || {
        // Another process may have taken the steps while this one waited.
        match find_version(session, ServerDeadline::default())? {
            Some(found) if found.major == newest.major && found.minor < newest.minor => {
                upgrade_locked(session, found, newest)
            }
            _ => Ok(()),
        }
    });
    match upgraded {
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        other => other,
    }
}

fn upgrade_locked(session: &ServerSession, found: TableVersion, newest: TableVersion) -> Result<()> {
    let Some(standing) = StandingTables::read(session)? else {
        return Ok(());
    };
    let mut statements = vec![
        SqlStatement::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        // A table is locked whole for the step, and those who come after wait behind it: not for long.
        SqlStatement::new("SET LOCAL lock_timeout = '5s'"),
    ];
    statements.extend(upgrade_statements(session, &standing, found, newest)?);
    statements.push(SqlStatement::new("COMMIT"));
    let done = session.ask_all(&statements, ServerDeadline::default());
    if done.is_err() {
        session.end_transaction();
    }
    done.map(drop)
}

/// Returns the statements between the beginning and the commit of an upgrade.
pub(crate) fn upgrade_statements(
    session: &ServerSession,
    standing: &StandingTables,
    found: TableVersion,
    newest: TableVersion,
) -> Result<Vec<SqlStatement>> {
    // A superuser, or a member of the owner, adds tables that belong to the owner of the others.
    let mut statements = vec![SqlStatement::new(format!("SET LOCAL ROLE {}", standing.owner))];
    statements.push(lock_statement(standing));
    statements.extend(step_statements(found.minor, newest.minor));
    if newest.minor >= SECURED_SINCE {
        // Tables of an earlier step and those of the steps that are taken now.
        let exists =
            |table: &str| standing.has(table) || (table == "namespaces" && found.minor < SECURED_SINCE);
        statements.extend(security::secure_statements(
            &standing.owner,
            exists,
            &list_roles(session, standing)?,
        ));
    }
    let (version, step) = (newest.to_string(), format!("upgraded to {newest}"));
    statements.push(SqlStatement::new(format!(
        "UPDATE loci.settings SET value = '{version}' WHERE key = 'version'"
    )));
    statements.push(SqlStatement::new(format!(
        "INSERT INTO loci.settings(key, value) VALUES ('{step}', now()::text)"
    )));
    Ok(statements)
}

/// Returns the statement that locks every table.
///
/// All at once and first, in the order in which writers take them: no cycle of waits can begin.
pub(crate) fn lock_statement(standing: &StandingTables) -> SqlStatement {
    let tables: Vec<String> = security::TABLES
        .iter()
        .filter(|table| standing.has(table.name))
        .map(|table| format!("loci.{}", table.name))
        .collect();
    SqlStatement::new(format!(
        "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE",
        tables.join(", ")
    ))
}

/// Gives every table its policies again, for instance after one was added, and the roles their rights.
pub(crate) fn secure_tables(session: &ServerSession) -> Result<()> {
    let Some(standing) = StandingTables::read(session)?.filter(|tables| tables.has("namespaces")) else {
        return Ok(());
    };
    let mut statements = vec![SqlStatement::new(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    )];
    let roles = list_roles(session, &standing)?;
    statements.extend(security::secure_statements(
        &standing.owner,
        |table| standing.has(table),
        &roles,
    ));
    statements.push(SqlStatement::new("COMMIT"));
    let done = session.ask_all(&statements, ServerDeadline::default());
    if done.is_err() {
        session.end_transaction();
    }
    done.map(drop)
}

/// Returns the roles of all namespaces, quoted; those that do not exist any more are left out.
///
/// Without any, the policies of new tables are not put into force, and none needs them.
fn list_roles(session: &ServerSession, standing: &StandingTables) -> Result<Vec<String>> {
    if !standing.has("namespaces") {
        return Ok(Vec::new());
    }
    let question = SqlStatement::new(
        "SELECT DISTINCT quote_ident(role) FROM loci.namespaces WHERE to_regrole(quote_ident(role)) IS NOT NULL",
    );
    let found = session.ask(question, ServerDeadline::default())?;
    Ok(found.iter().map(|row| row.get(0)).collect())
}
