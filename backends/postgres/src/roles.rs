//! Roles of namespaces: letting a role in, or printing the SQL that does.

use loci_core::{Error, ErrorKind, PalaceRef, Result};
use tokio_postgres::types::Type;

use crate::backend::PostgresBackend;
use crate::deadline::ServerDeadline;
use crate::schema::{self, SCHEMA_VERSION, StandingTables, security};
use crate::session::ServerSession;
use crate::statement::SqlStatement;

/// The longest name of a role, in bytes: the server cuts longer ones off.
const LONGEST: usize = 63;

/// A role that reaches the palaces of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceRole {
    /// Its name.
    pub role: String,
    /// The namespace; `None` for the palaces without one.
    pub namespace: Option<String>,
    /// Whether this call created it.
    pub created: bool,
    /// Whether it can log in; one that was created cannot, since it has no password.
    pub can_log_in: bool,
}

/// What the server knows about a role and a namespace before the role is let in.
#[derive(Debug)]
struct RoleRequest<'a> {
    role: &'a str,
    /// Quoted as an identifier and as a text.
    identifier: String,
    literal: String,
    namespace: &'a str,
    namespace_literal: String,
    exists: bool,
    can_log_in: bool,
    /// The reason for which row-level security would not hold for it.
    is_exempt: Option<&'static str>,
    caller: String,
    may_create: bool,
}

impl PostgresBackend {
    /// Gives the namespace of a palace to a role, and the role the rights it needs on the tables and no other. A role that
    /// does not exist is created; it can log in once its owner says so. From then on row-level security is in force: a
    /// role that is not the owner of the tables sees its own namespaces only.
    ///
    /// Refused, with nothing changed, if the namespace has another role or if row-level security would not hold for this
    /// one.
    pub fn admit_role(&self, palace: &PalaceRef, role: &str) -> Result<NamespaceRole> {
        let (pool, key) = self.find_server(palace)?;
        let (_, admitted) = pool.begin(|session| {
            let request = RoleRequest::read(session, role, key.namespace.as_deref())?;
            request.check_role()?;
            schema::ensure_tables(session, SCHEMA_VERSION)?;
            let standing = request.check_tables(StandingTables::read(session)?)?;
            if !request.exists && !request.may_create {
                return Err(request.missing_role_error());
            }
            request.check_namespace(session)?;
            // One after the other: two that grant rights on a table at once would fail.
            schema::under_lock(session, ServerDeadline::default(), || {
                request.admit(session, &standing)
            })?;
            // Two that gave the namespace to different roles at once: the one that came second learns of it here.
            request.check_namespace(session)?;
            Ok(NamespaceRole {
                role: role.to_owned(),
                namespace: key.namespace.clone(),
                created: !request.exists,
                can_log_in: request.exists && request.can_log_in,
            })
        })?;
        Ok(admitted)
    }

    /// Returns the SQL that [`Self::admit_role`] would run, with that which makes or upgrades the tables if they need it.
    /// Changes nothing.
    pub fn write_role_sql(&self, palace: &PalaceRef, role: &str) -> Result<String> {
        let (pool, key) = self.find_server(palace)?;
        let (_, text) = pool.begin(|session| {
            let request = RoleRequest::read(session, role, key.namespace.as_deref())?;
            request.check_role()?;
            let mut statements = Vec::new();
            let extension = session.vector_schema();
            match StandingTables::read(session)? {
                Some(standing) => {
                    let found = schema::find_version(session, ServerDeadline::default())?;
                    let found =
                        found.ok_or_else(|| Error::new(ErrorKind::Format, "the tables have no version"))?;
                    schema::check_version(found)?;
                    if found.minor < SCHEMA_VERSION.minor {
                        statements = schema::upgrade_statements(session, &standing, found, SCHEMA_VERSION)?;
                        statements.push(SqlStatement::new("RESET ROLE"));
                    } else {
                        request.check_namespace(session)?;
                    }
                    let has = |table: &str| standing.has(table) || table == "namespaces";
                    statements.extend(request.statements(&standing.owner, has));
                }
                None => {
                    statements.extend(schema::creation_statements(SCHEMA_VERSION, extension));
                    statements.extend(
                        request.statements("CURRENT_USER", |table| table != "near" || extension.is_some()),
                    );
                }
            }
            Ok(request.print(&statements))
        })?;
        Ok(text)
    }
}

impl<'a> RoleRequest<'a> {
    fn read(session: &ServerSession, role: &'a str, namespace: Option<&'a str>) -> Result<Self> {
        // A line break would end the comment in which the name is printed.
        if role.is_empty() || role.len() > LONGEST || role.contains(char::is_control) {
            return Err(Error::invalid(format!(
                "a role needs a name of 1 to {LONGEST} bytes without a NUL, not of {} bytes",
                role.len()
            ))
            .with_hint("nothing was changed; give another name"));
        }
        let namespace = namespace.unwrap_or_default();
        let question = SqlStatement::new(
            "SELECT quote_ident($1), quote_literal($1), quote_literal($2), r.oid IS NOT NULL, coalesce(r.rolcanlogin, false),
                r.rolsuper, r.rolbypassrls, r.rolreplication,
                pg_has_role(r.oid, (SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname = 'loci' AND c.relname = 'settings'), 'MEMBER'),
                current_user::text, me.rolsuper OR me.rolcreaterole, $1 = current_user::text
             FROM pg_roles me LEFT JOIN pg_roles r ON r.rolname = $1 WHERE me.rolname = current_user",
        )
        .with(role.to_owned(), Type::TEXT)
        .with(namespace.to_owned(), Type::TEXT);
        let found = session.ask(question, ServerDeadline::default())?;
        let row = found
            .first()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the server did not name the role"))?;
        let holds = |column: usize| row.get::<_, Option<bool>>(column).unwrap_or(false);
        let reasons = [
            (5, "it is a superuser"),
            (6, "it has BYPASSRLS"),
            (7, "it has REPLICATION"),
            (8, "it has the rights of the owner of the tables"),
            // Without tables yet, the one who makes them will own them.
            (11, "it makes the tables, and owns them"),
        ];
        Ok(Self {
            role,
            identifier: row.get(0),
            literal: row.get(1),
            namespace,
            namespace_literal: row.get(2),
            exists: row.get(3),
            can_log_in: row.get(4),
            is_exempt: reasons
                .into_iter()
                .find(|(column, _)| holds(*column))
                .map(|(_, why)| why),
            caller: row.get(9),
            may_create: row.get(10),
        })
    }

    /// Refuses a role for which row-level security would be void.
    fn check_role(&self) -> Result<()> {
        let Some(reason) = self.is_exempt else {
            return Ok(());
        };
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "row-level security would not hold for the role {:?}: {reason}",
                self.role
            ),
        )
        .with_hint("nothing was changed; name another role, which loci creates if it does not exist"))
    }

    fn check_tables(&self, standing: Option<StandingTables>) -> Result<StandingTables> {
        let standing = standing.ok_or_else(|| Error::new(ErrorKind::Internal, "the tables are gone"))?;
        if standing.is_owner && standing.has("namespaces") {
            return Ok(standing);
        }
        let (owner, caller) = (&standing.owner, &self.caller);
        let reason = if standing.is_owner {
            "the tables are busy and could not be upgraded".to_owned()
        } else {
            format!(
                "the tables of the schema \"loci\" belong to {owner}, and the role {caller:?} has not its rights"
            )
        };
        Err(Error::new(ErrorKind::Unsupported, reason).with_hint(format!(
            "nothing was changed; try again as {owner}, or print the SQL for its owner with --print-sql"
        )))
    }

    fn missing_role_error(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "the role {:?} does not exist, and the role {:?} lacks CREATEROLE to create it",
                self.role, self.caller
            ),
        )
        .with_hint(format!(
            "nothing was changed; let an administrator run: CREATE ROLE {};",
            self.identifier
        ))
    }

    /// Refuses a namespace that has another role.
    fn check_namespace(&self, session: &ServerSession) -> Result<()> {
        let question =
            SqlStatement::new("SELECT role FROM loci.namespaces WHERE namespace = $1 AND role <> $2")
                .with(self.namespace.to_owned(), Type::TEXT)
                .with(self.role.to_owned(), Type::TEXT);
        let other = session.ask(question, ServerDeadline::default())?;
        let Some(other) = other.first().map(|row| row.get::<_, &str>(0)) else {
            return Ok(());
        };
        Err(Error::new(
            ErrorKind::Conflict,
            format!("the namespace {:?} has the role {other:?}", self.namespace),
        )
        .with_hint(format!(
            "the namespace stays with it; let others in with GRANT, or free it with \
             DELETE FROM loci.namespaces WHERE namespace = {};",
            self.namespace_literal
        )))
    }

    /// Lets the role in. Tables are locked only if their policies need to be made or put into force.
    fn admit(&self, session: &ServerSession, standing: &StandingTables) -> Result<()> {
        let mut statements = vec![
            SqlStatement::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
            SqlStatement::new("SET LOCAL lock_timeout = '10s'"),
        ];
        let has = |table: &str| standing.has(table);
        if is_secured(session)? {
            statements.extend(self.create_statement());
            statements.extend(security::grant_statements(&self.identifier, has));
            statements.push(self.insert_statement());
        } else {
            statements.push(schema::lock_statement(standing));
            statements.extend(self.statements(&standing.owner, has));
        }
        statements.push(SqlStatement::new("COMMIT"));
        let done = session.ask_all(&statements, ServerDeadline::default());
        done.inspect_err(|_| session.end_transaction()).map(drop)
    }

    /// Returns the statements that let the role in, with the policies of all tables.
    fn statements(&self, owner: &str, exists: impl Fn(&str) -> bool) -> Vec<SqlStatement> {
        let role = self.identifier.clone();
        let mut statements: Vec<SqlStatement> = self.create_statement().into_iter().collect();
        statements.extend(security::secure_statements(owner, exists, &[role]));
        statements.push(self.insert_statement());
        statements
    }

    fn create_statement(&self) -> Option<SqlStatement> {
        let create = || SqlStatement::new(format!("CREATE ROLE {} NOLOGIN", self.identifier));
        (!self.exists).then(create)
    }

    fn insert_statement(&self) -> SqlStatement {
        // Both were quoted by the server: a statement that is printed has no parameters.
        SqlStatement::new(format!(
            "INSERT INTO loci.namespaces(namespace, role) VALUES ({}, {}) ON CONFLICT DO NOTHING",
            self.namespace_literal, self.literal
        ))
    }

    fn print(&self, statements: &[SqlStatement]) -> String {
        let mut text = String::from("BEGIN;\n");
        for statement in statements {
            text.push_str(statement.text());
            text.push_str(";\n");
        }
        text.push_str("COMMIT;\n");
        if !self.can_log_in {
            let role = &self.identifier;
            text.push_str(&format!(
                "-- Then let a user act as this role, for instance: GRANT {role} TO somebody;\n\
                 -- or let it log in: ALTER ROLE {role} LOGIN; and set its password.\n"
            ));
        }
        text
    }
}

/// Returns whether every table has its policies, and they are in force.
fn is_secured(session: &ServerSession) -> Result<bool> {
    let question = SqlStatement::new(
        "SELECT NOT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'loci' AND c.relkind = 'r' AND c.relname = ANY($1) AND NOT (
                c.relrowsecurity AND c.relforcerowsecurity
                AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'loci_namespace')
                AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'loci_owner'
                    AND c.relowner = ANY(p.polroles))))",
    )
    .with(
        security::TABLES.map(|table| table.name.to_owned()).to_vec(),
        Type::TEXT_ARRAY,
    );
    let found = session.ask(question, ServerDeadline::default())?;
    Ok(found.first().is_some_and(|row| row.get(0)))
}
