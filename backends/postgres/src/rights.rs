//! The rights of the role of a session: which are missing, in the words of the grant that gives them.

use std::collections::BTreeMap;

use loci_core::{Error, ErrorKind, Result};
use tokio_postgres::Row;

use crate::deadline::ServerDeadline;
use crate::schema::security::TABLES;
use crate::session::ServerSession;
use crate::statement::SqlStatement;

/// Returns an error about a missing right with the grants that would give it, as far as the catalogue shows them.
///
/// `session` is another than the one that was refused: that one may be in a transaction that has failed.
pub(crate) fn explain_refusal(session: &ServerSession, refused: Error) -> Error {
    let Ok(missing) = MissingRights::read(session) else {
        return refused;
    };
    let code = refused.context().iter().find(|(key, _)| *key == "sqlstate");
    let code = code.map(|(_, value)| value.clone()).unwrap_or_default();
    missing.into_error(&refused).with_context("sqlstate", code)
}

/// Returns what the role of a session lacks and how it is given; `None` if it may read and write everything.
pub(crate) fn describe_lacking(session: &ServerSession) -> Result<Option<(String, String)>> {
    let missing = MissingRights::read(session)?;
    if missing.lacking.is_empty() {
        return Ok(None);
    }
    let (words, grants): (Vec<_>, Vec<_>) = missing.lacking.into_iter().unzip();
    let message = format!("the Postgres role {:?} lacks {}", missing.role, words.join("; "));
    Ok(Some((
        message,
        format!("if it should write: {};", grants.join("; ")),
    )))
}

/// What the role of a session lacks.
#[derive(Debug)]
struct MissingRights {
    /// The role, as it is and quoted.
    role: String,
    quoted: String,
    /// What is missing, in words, and the grants that give it.
    lacking: Vec<(String, String)>,
}

impl MissingRights {
    fn read(session: &ServerSession) -> Result<Self> {
        let questions = [
            SqlStatement::new(
                "SELECT current_user::text, quote_ident(current_user), quote_ident(current_database()),
                    has_database_privilege(current_database(), 'CREATE'),
                    (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = 'loci'),
                    (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'loci')",
            ),
            SqlStatement::new(
                "SELECT c.relname::text, has_any_column_privilege(c.oid, 'SELECT'), has_any_column_privilege(c.oid, 'INSERT'),
                    has_any_column_privilege(c.oid, 'UPDATE'), has_table_privilege(c.oid, 'DELETE')
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'loci' AND c.relkind = 'r' ORDER BY c.relname",
            ),
        ];
        let answers = session.ask_all(&questions, ServerDeadline::default())?;
        let first = answers.first().and_then(|rows| rows.first());
        let Some(facts) = first else {
            return Err(Error::new(
                ErrorKind::Internal,
                "the server did not name the role",
            ));
        };
        let (role, quoted, database): (String, String, String) = (facts.get(0), facts.get(1), facts.get(2));
        let (may_create, has_usage, may_add): (bool, Option<bool>, Option<bool>) =
            (facts.get(3), facts.get(4), facts.get(5));
        let tables = answers.get(1).map(Vec::as_slice).unwrap_or_default();
        let whole = |right: &str, what: &str| {
            let (words, grant) = (
                format!("{right} on the {what}"),
                format!("GRANT {right} ON {what} TO {quoted}"),
            );
            vec![(words, grant)]
        };
        let lacking = match (has_usage, may_add) {
            (None, _) if !may_create => whole("CREATE", &format!("DATABASE {database}")),
            (Some(false), _) => whole("USAGE", "SCHEMA loci"),
            (Some(true), Some(false)) if tables.is_empty() => whole("CREATE", "SCHEMA loci"),
            _ => list_lacking(tables, &quoted),
        };
        Ok(Self {
            role,
            quoted,
            lacking,
        })
    }

    fn into_error(self, refused: &Error) -> Error {
        let role = &self.role;
        if self.lacking.is_empty() {
            let message = format!(
                "Postgres refused this to the role {role:?}: {}",
                refused.message()
            );
            return Error::new(ErrorKind::Unsupported, message).with_hint(format!(
                "nothing was changed; a role reaches the namespaces that `loci init --role {}` gave it, and changing tables \
                 needs the rights of their owner",
                self.quoted
            ));
        }
        let (words, grants): (Vec<_>, Vec<_>) = self.lacking.into_iter().unzip();
        Error::new(
            ErrorKind::Unsupported,
            format!("the Postgres role {role:?} lacks {}", words.join("; ")),
        )
        .with_hint(format!(
            "nothing was changed; the owner can run: {};",
            grants.join("; ")
        ))
    }
}

/// Groups the tables by what is missing on them. Without the right to read, those to write are not asked for: many roles
/// only read.
fn list_lacking(tables: &[Row], role: &str) -> Vec<(String, String)> {
    let column = |right: &str| {
        ["SELECT", "INSERT", "UPDATE", "DELETE"]
            .iter()
            .position(|name| *name == right)
    };
    let lacks = |row: &Row, right: &str| column(right).is_some_and(|at| !row.get::<_, bool>(at + 1));
    let cannot_read = tables.iter().any(|row| lacks(row, "SELECT"));
    let mut groups: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for row in tables {
        let name: &str = row.get(0);
        let Some(secured) = TABLES.iter().find(|table| table.name == name) else {
            continue;
        };
        let rights = secured
            .rights
            .iter()
            .filter(|right| !cannot_read || right.name == "SELECT");
        let missing: Vec<String> = rights
            .filter(|right| lacks(row, right.name))
            .map(|right| right.to_sql())
            .collect();
        if !missing.is_empty() {
            groups.entry(missing).or_default().push(name);
        }
    }
    let describe = |(rights, tables): (Vec<String>, Vec<&str>)| {
        let on: Vec<String> = tables.iter().map(|table| format!("loci.{table}")).collect();
        let (rights, on) = (rights.join(", "), on.join(", "));
        (
            format!("{rights} on {on}"),
            format!("GRANT {rights} ON {on} TO {role}"),
        )
    };
    groups.into_iter().map(describe).collect()
}

/// Fails unless the session's role may maintain every table: the server only warns, and leaves such a table as it is.
pub(crate) fn require_upkeep(session: &ServerSession) -> Result<()> {
    let question = SqlStatement::new(
        "SELECT current_user::text, quote_ident(current_user), pg_get_userbyid(c.relowner)::text,
            current_setting('server_version_num')::integer >= 170000
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'loci' AND c.relkind = 'r' AND NOT pg_has_role(c.relowner, 'USAGE')
            AND CASE WHEN current_setting('server_version_num')::integer >= 170000
                THEN NOT has_table_privilege(c.oid, 'MAINTAIN') ELSE true END",
    );
    let found = session.ask(question, ServerDeadline::default())?;
    let Some(first) = found.first() else {
        return Ok(());
    };
    let (role, quoted, owner): (&str, &str, &str) = (first.get(0), first.get(1), first.get(2));
    let mut hint = format!("no table was rewritten; run it as {owner:?}");
    if first.get(3) {
        hint.push_str(&format!(
            ", who can also run: GRANT MAINTAIN ON ALL TABLES IN SCHEMA loci TO {quoted};"
        ));
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("the Postgres role {role:?} may not maintain the tables of the schema \"loci\", which belong to {owner:?}"),
    )
    .with_hint(hint))
}
