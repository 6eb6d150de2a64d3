//! Row-level security: tables that it does not cover, and roles that it does not bind.

use loci_core::Result;

use super::ServerExamination;
use crate::schema::security::TABLES;
use crate::statement::SqlStatement;

pub(super) fn examine_security(examination: &mut ServerExamination<'_>) -> Result<()> {
    if !examination.standing.has("namespaces") {
        return Ok(());
    }
    let rows = examination.ask(SqlStatement::new(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE oid = 'loci.palaces'::regclass AND relrowsecurity),
            EXISTS (SELECT 1 FROM loci.namespaces)",
    ))?;
    let in_force = rows.first().is_some_and(|row| row.get(0) || row.get(1));
    if !in_force {
        examination.note(
            "row_security_off",
            "no namespace has a role; `loci init --role` gives it one",
        );
        return Ok(());
    }
    examine_tables(examination)?;
    examine_own_role(examination)?;
    examine_roles(examination)
}

/// Looks for tables without their policies.
fn examine_tables(examination: &mut ServerExamination<'_>) -> Result<()> {
    let rows = examination.ask(SqlStatement::new(
        "SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity,
            EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'loci_namespace'),
            EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'loci_owner' AND c.relowner = ANY(p.polroles)),
            (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname NOT IN ('loci_owner', 'loci_namespace')
                AND p.polpermissive)
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'loci' AND c.relkind = 'r' ORDER BY c.relname",
    ))?;
    let again = "run `loci init --role` again for any of its namespaces, as the owner of the tables";
    for row in &rows {
        let table: &str = row.get(0);
        let is_known = TABLES.iter().any(|secured| secured.name == table);
        if is_known && !(row.get::<_, bool>(1) && row.get::<_, bool>(2)) {
            examination.fail(
                "row_security_missing",
                format!("row-level security is not in force on loci.{table}: roles see the rows of other namespaces"),
                again,
            );
        } else if is_known && !row.get::<_, bool>(3) {
            examination.warn(
                "owner_policy_stale",
                format!("the policy of loci.{table} names another owner than the table has"),
                again,
            );
        }
        if row.get::<_, i64>(4) > 0 {
            examination.warn(
                "foreign_policy",
                format!("loci.{table} has a policy that loci did not make, and which may show more rows"),
                format!("look at it with \\d loci.{table}, and drop it if it is not wanted"),
            );
        }
    }
    Ok(())
}

/// Looks at the role of this connection.
fn examine_own_role(examination: &mut ServerExamination<'_>) -> Result<()> {
    let rows = examination.ask(SqlStatement::new(
        "SELECT r.rolname::text, r.rolsuper, r.rolbypassrls,
            pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'loci.palaces'::regclass), 'USAGE')
         FROM pg_roles r WHERE r.rolname = current_user",
    ))?;
    let Some(row) = rows.first() else { return Ok(()) };
    let reasons = [
        "it is a superuser",
        "it has BYPASSRLS",
        "it has the rights of the owner of the tables",
    ];
    let reason = reasons
        .into_iter()
        .zip(1..)
        .find(|(_, column)| row.get::<_, bool>(*column));
    let Some((reason, _)) = reason else { return Ok(()) };
    let message = format!(
        "row-level security is void for the role {:?} of this connection: {reason}",
        row.get::<_, &str>(0)
    );
    match examination.namespace {
        // One that names a namespace is one of its users, who should see nothing else.
        Some(_) => examination.warn(
            "row_security_void",
            message,
            "connect as the role of the namespace",
        ),
        None => examination.note("row_security_void", message),
    }
    Ok(())
}

/// Looks at the roles that namespaces were given to.
fn examine_roles(examination: &mut ServerExamination<'_>) -> Result<()> {
    let rows = examination.ask(SqlStatement::new(
        "SELECT n.namespace, n.role, r.oid IS NOT NULL, coalesce(r.rolsuper OR r.rolbypassrls, false),
            coalesce(pg_has_role(r.oid, (SELECT relowner FROM pg_class WHERE oid = 'loci.palaces'::regclass), 'MEMBER'), false)
         FROM loci.namespaces n LEFT JOIN pg_roles r ON r.rolname = n.role ORDER BY n.namespace",
    ))?;
    for row in &rows {
        let (namespace, role): (&str, &str) = (row.get(0), row.get(1));
        if !row.get::<_, bool>(2) {
            examination.warn(
                "role_missing",
                format!("the namespace {namespace:?} belongs to the role {role:?}, which does not exist"),
                "create it again; until then only the owner of the tables sees the namespace",
            );
        } else if row.get::<_, bool>(3) || row.get::<_, bool>(4) {
            examination.fail(
                "role_unbound",
                format!("the role {role:?} of the namespace {namespace:?} sees every namespace: it is a superuser, has BYPASSRLS, or has the rights of the owner"),
                format!("ALTER ROLE {role:?} NOSUPERUSER NOBYPASSRLS; and revoke the role of the owner from it"),
            );
        }
    }
    Ok(())
}
