//! Row-level security: which rows of each table a role sees, and the rights that a role of a namespace needs.
//!
//! A table that is added to the schema gets its line in [`TABLES`]; a test fails for one that is forgotten.

use crate::statement::SqlStatement;

/// The policy that admits the owner of the tables to every row.
const OWNER_POLICY: &str = "loci_owner";

/// The policy that admits the roles of a namespace to its rows.
const NAMESPACE_POLICY: &str = "loci_namespace";

/// The rights of a role on the rows that it sees, on most tables.
const ALL_RIGHTS: &[TableRight] = &[
    TableRight::whole("SELECT"),
    TableRight::whole("INSERT"),
    TableRight::whole("UPDATE"),
    TableRight::whole("DELETE"),
];

/// Every table with its rule, in the order in which readers and writers take them: an upgrade locks them all in this
/// order, so that none waits for another in a circle. Numbers that the server gives are left out of the columns that a role may write.
pub(crate) const TABLES: [SecuredTable; 16] = [
    SecuredTable::new(
        "palaces",
        RowRule::Namespace,
        &[
            TableRight::whole("SELECT"),
            TableRight::of_columns("INSERT", "namespace, name, identity, created_at"),
            TableRight::of_columns("UPDATE", "seq, commits, erasing"),
        ],
    ),
    SecuredTable::new(
        "namespaces",
        RowRule::OwnNamespace,
        &[TableRight::whole("SELECT")],
    ),
    SecuredTable::new(
        "collections",
        RowRule::Palace,
        &[
            TableRight::whole("SELECT"),
            TableRight::of_columns("INSERT", "palace, name, metric, space, created_at"),
            TableRight::of_columns(
                "UPDATE",
                "space, drawers, seq, sealed, merged, tail, tail_bytes, small, small_bytes",
            ),
            TableRight::whole("DELETE"),
        ],
    ),
    SecuredTable::new(
        "spaces",
        RowRule::Collection,
        &[
            TableRight::whole("SELECT"),
            TableRight::of_columns(
                "INSERT",
                "collection, dimension, model, revision, state, turn, vectors, near",
            ),
            TableRight::of_columns("UPDATE", "dimension, model, revision, state, turn, vectors, near"),
            TableRight::whole("DELETE"),
        ],
    ),
    SecuredTable::new("settings", RowRule::Everyone, &[TableRight::whole("SELECT")]),
    SecuredTable::new("drawers", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("vectors", RowRule::Space, ALL_RIGHTS),
    SecuredTable::new("near", RowRule::Space, ALL_RIGHTS),
    SecuredTable::new("bags", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("word_segments", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("word_blocks", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("word_gone", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("tombstones", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("sources", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new("receipts", RowRule::Collection, ALL_RIGHTS),
    SecuredTable::new(
        "notes",
        RowRule::Palace,
        &[
            TableRight::whole("SELECT"),
            TableRight::of_columns("INSERT", "palace, at, text"),
        ],
    ),
];

/// A table, the rows of it that a role sees, and the rights that a role needs on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecuredTable {
    pub(crate) name: &'static str,
    rule: RowRule,
    pub(crate) rights: &'static [TableRight],
}

/// The rows of a table that a role sees.
#[derive(Debug, Clone, Copy)]
enum RowRule {
    /// All, which it cannot change.
    Everyone,
    /// The namespaces that were given to it, or to a role that it belongs to.
    OwnNamespace,
    /// The rows of its namespaces.
    Namespace,
    /// The rows of palaces that it sees.
    Palace,
    /// The rows of collections that it sees.
    Collection,
    /// The rows of spaces that it sees.
    Space,
}

/// A right on a table, or on some of its columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableRight {
    pub(crate) name: &'static str,
    columns: Option<&'static str>,
}

impl TableRight {
    const fn whole(name: &'static str) -> Self {
        Self { name, columns: None }
    }

    const fn of_columns(name: &'static str, columns: &'static str) -> Self {
        Self {
            name,
            columns: Some(columns),
        }
    }

    /// Returns the right as a grant spells it.
    pub(crate) fn to_sql(self) -> String {
        match self.columns {
            Some(columns) => format!("{} ({columns})", self.name),
            None => self.name.to_owned(),
        }
    }
}

impl RowRule {
    /// Returns the condition on a row. The questions in it are of no row, so that the server asks them once.
    fn condition(self) -> &'static str {
        match self {
            Self::Everyone => "true",
            // A role that was dropped or renamed is nobody, and a namespace of nobody is seen by none.
            Self::OwnNamespace => "coalesce(pg_has_role(to_regrole(quote_ident(role)), 'USAGE'), false)",
            Self::Namespace => "coalesce(namespace, '') IN (SELECT n.namespace FROM loci.namespaces n)",
            Self::Palace => "palace IN (SELECT p.palace FROM loci.palaces p)",
            Self::Collection => "collection IN (SELECT c.collection FROM loci.collections c)",
            Self::Space => "space IN (SELECT s.space FROM loci.spaces s)",
        }
    }

    fn is_read_only(self) -> bool {
        matches!(self, Self::Everyone | Self::OwnNamespace)
    }
}

impl SecuredTable {
    const fn new(name: &'static str, rule: RowRule, rights: &'static [TableRight]) -> Self {
        Self { name, rule, rights }
    }

    /// Returns the statements that give this table its policies, whatever it had before.
    fn secure_statements(&self, owner: &str) -> [SqlStatement; 5] {
        let (name, condition) = (self.name, self.rule.condition());
        let rows = if self.rule.is_read_only() {
            format!("FOR SELECT USING ({condition})")
        } else {
            format!("USING ({condition}) WITH CHECK ({condition})")
        };
        [
            format!("DROP POLICY IF EXISTS {OWNER_POLICY} ON loci.{name}"),
            format!("DROP POLICY IF EXISTS {NAMESPACE_POLICY} ON loci.{name}"),
            // A condition that is simply true costs the owner nothing, which a question about roles would.
            format!("CREATE POLICY {OWNER_POLICY} ON loci.{name} TO {owner} USING (true) WITH CHECK (true)"),
            format!("CREATE POLICY {NAMESPACE_POLICY} ON loci.{name} {rows}"),
            format!("ALTER TABLE loci.{name} FORCE ROW LEVEL SECURITY"),
        ]
        .map(SqlStatement::new)
    }

    fn grant_statement(&self, role: &str) -> SqlStatement {
        let rights: Vec<String> = self.rights.iter().map(|right| right.to_sql()).collect();
        SqlStatement::new(format!(
            "GRANT {} ON loci.{} TO {role}",
            rights.join(", "),
            self.name
        ))
    }
}

/// Returns the statements that give the tables that exist their policies. They are in force once a namespace has a role:
/// until then a role that was granted rights by hand sees what it saw before. `owner` and `roles`, those of all
/// namespaces, are quoted identifiers.
pub(crate) fn secure_statements(
    owner: &str,
    exists: impl Fn(&str) -> bool,
    roles: &[String],
) -> Vec<SqlStatement> {
    let tables = TABLES.iter().filter(|table| exists(table.name));
    let mut statements: Vec<_> = tables.flat_map(|table| table.secure_statements(owner)).collect();
    if !roles.is_empty() {
        statements.extend(enforce_statements(&exists));
    }
    for role in roles {
        statements.extend(grant_statements(role, &exists));
    }
    statements
}

/// Returns the statements that put the policies into force.
fn enforce_statements(exists: impl Fn(&str) -> bool) -> Vec<SqlStatement> {
    let tables = TABLES.iter().filter(|table| exists(table.name));
    let enforce = |table: &SecuredTable| format!("ALTER TABLE loci.{} ENABLE ROW LEVEL SECURITY", table.name);
    tables.map(|table| SqlStatement::new(enforce(table))).collect()
}

/// Returns the statements that give a role, a quoted identifier, the rights it needs, and no other.
pub(crate) fn grant_statements(role: &str, exists: impl Fn(&str) -> bool) -> Vec<SqlStatement> {
    let usage = SqlStatement::new(format!("GRANT USAGE ON SCHEMA loci TO {role}"));
    let tables = TABLES.iter().filter(|table| exists(table.name));
    std::iter::once(usage)
        .chain(tables.map(|table| table.grant_statement(role)))
        .collect()
}
