//! Two namespaces with a role each, in a database of their own; the roles are dropped with the value.

use std::sync::Arc;

use loci_core::{Collection, PalaceRef, Result};
use loci_postgres::PostgresBackend;
use loci_testkit::{CommandOutcome, FreshDatabase, PostgresServer};

use super::try_open;

/// A namespace, its role, and a word that only its drawers hold.
#[derive(Debug, Clone)]
pub(super) struct Tenant {
    pub(super) namespace: &'static str,
    pub(super) role: String,
    pub(super) secret: &'static str,
}

/// A database with two tenants.
#[derive(Debug)]
pub(super) struct TenantDatabase {
    pub(super) database: FreshDatabase,
    pub(super) tenants: [Tenant; 2],
}

impl TenantDatabase {
    pub(super) fn create(with_extension: bool) -> Self {
        let database = PostgresServer::shared().create_database();
        if with_extension {
            database.run_sql("CREATE EXTENSION vector");
        }
        let tenant = |namespace, secret| Tenant {
            namespace,
            // A name that needs quotes.
            role: format!("{}-\"{namespace}", database.name()),
            secret,
        };
        let tenants = [tenant("acme", "alphasecret"), tenant("zeta", "betasecret")];
        let made = Self { database, tenants };
        let backend = PostgresBackend::new();
        for tenant in &made.tenants {
            let role = backend.admit_role(&made.palace(tenant), &tenant.role).unwrap();
            assert!(role.created && !role.can_log_in, "{role:?}");
            made.run(&format!("ALTER ROLE {} LOGIN", quoted(&tenant.role)));
        }
        made
    }

    /// Returns the palace of a tenant, as the owner of the tables opens it.
    pub(super) fn palace(&self, tenant: &Tenant) -> PalaceRef {
        PalaceRef::from_id(format!(
            "{}&palace=team&namespace={}",
            self.database.url(),
            tenant.namespace
        ))
    }

    /// Returns the URL of the palace `name` in a namespace, as the role `role`.
    pub(super) fn url(&self, role: &str, namespace: &str, name: &str) -> String {
        let user = role.replace('"', "%22");
        let url = self.database.url().replacen("postgres@", &format!("{user}@"), 1);
        format!("{url}&palace={name}&namespace={namespace}")
    }

    /// Opens, or makes, the usual collection of a tenant under its own role.
    pub(super) fn open(&self, tenant: &Tenant) -> Result<Arc<dyn Collection>> {
        try_open(
            &PostgresBackend::new(),
            &self.url(&tenant.role, tenant.namespace, "team"),
        )
    }

    /// Runs SQL as the superuser.
    #[track_caller]
    pub(super) fn run(&self, sql: &str) -> String {
        self.database.run_sql(sql)
    }

    /// Runs SQL as the role of a tenant.
    pub(super) fn try_as(&self, tenant: &Tenant, sql: &str) -> CommandOutcome {
        let role = quoted(&tenant.role);
        let sql = format!("SET SESSION AUTHORIZATION {role};\n{sql}");
        self.database.server().try_sql(self.database.name(), &sql)
    }

    /// Runs SQL as the role of a tenant, which must succeed.
    #[track_caller]
    pub(super) fn run_as(&self, tenant: &Tenant, sql: &str) -> String {
        let outcome = self.try_as(tenant, sql);
        assert_eq!(outcome.code, 0, "{sql}: {}", outcome.err);
        outcome.out.trim_end_matches('\n').to_owned()
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Drop for TenantDatabase {
    fn drop(&mut self) {
        // Roles belong to the whole server, which other tests share.
        for tenant in &self.tenants {
            let role = quoted(&tenant.role);
            let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
            let _ = self.database.server().try_sql(self.database.name(), &gone);
        }
    }
}
