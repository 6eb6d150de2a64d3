//! Roles of namespaces: every table has its policy, too few rights are named, and roles that row security would not bind
//! are refused.

use loci_core::{CollectionExt, DrawerId, Error, ErrorKind, MaintenanceKind, NewDrawer};
use loci_postgres::PostgresBackend;
use loci_testkit::{FreshDatabase, PostgresServer};

use super::tenants::{TenantDatabase, quoted};
use super::{open, try_open};

#[test]
fn every_table_has_its_policies_and_forces_them() {
    let world = TenantDatabase::create(true);
    let unsecured = "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'loci'::regnamespace AND c.relkind = 'r'
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity
            AND (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid AND polname IN ('loci_owner', 'loci_namespace')) = 2)";
    assert_eq!(
        world.run(unsecured),
        "",
        "add the table to TABLES in schema/security.rs"
    );
    assert_eq!(
        world.run(
            "SELECT count(*) > 12 FROM pg_class WHERE relnamespace = 'loci'::regnamespace AND relkind = 'r'"
        ),
        "t"
    );
    // Tables that come later, as that of codes with the extension, are secured as well, and the roles let in.
    let later = TenantDatabase::create(false);
    later.run("CREATE EXTENSION vector");
    let owner = open(&PostgresBackend::new(), &later.database.url());
    owner.upkeep().unwrap().run(&MaintenanceKind::REINDEX).unwrap();
    assert_eq!(later.run(unsecured), "");
    let tenant = &later.tenants[0];
    assert_eq!(later.run_as(tenant, "SELECT count(*) FROM loci.near"), "0");
}

#[test]
fn the_owner_of_the_tables_sees_every_namespace_and_members_see_that_of_their_role() {
    let world = TenantDatabase::create(false);
    let tenant = &world.tenants[0];
    let drawer = || NewDrawer::new(DrawerId::new("d").unwrap(), "text");
    world.open(tenant).unwrap().add_drawer(drawer()).unwrap();
    world.run(&format!(
        "CREATE ROLE \"{0} m\" LOGIN IN ROLE {1}; CREATE ROLE \"{0} n\" LOGIN NOINHERIT IN ROLE {1}; \
         CREATE ROLE \"{0} o\" LOGIN; GRANT {1} TO \"{0} o\"; REVOKE {1} FROM \"{0} o\"",
        world.database.name(),
        quoted(&tenant.role)
    ));
    let count_as = |suffix: &str| {
        let url = world.url(
            &format!("{} {suffix}", world.database.name()),
            tenant.namespace,
            "team",
        );
        try_open(&PostgresBackend::new(), &url.replace(' ', "%20"))
            .map(|collection| collection.info().unwrap().drawers)
    };
    assert_eq!(count_as("m").unwrap(), 1);
    for outsider in ["n", "o"] {
        let error = count_as(outsider).unwrap_err();
        assert!(error.message().contains("USAGE on the SCHEMA loci"), "{error}");
    }
    let owner = open(&PostgresBackend::new(), &world.palace(tenant).id);
    assert_eq!(owner.info().unwrap().drawers, 1);
    for suffix in ["m", "n", "o"] {
        world.run(&format!("DROP ROLE \"{} {suffix}\"", world.database.name()));
    }
}

#[test]
fn a_namespace_keeps_its_role_and_exempt_roles_are_refused() {
    let world = TenantDatabase::create(false);
    let backend = PostgresBackend::new();
    let palace = world.palace(&world.tenants[0]);
    let again = backend.admit_role(&palace, &world.tenants[0].role).unwrap();
    assert!(!again.created && again.can_log_in, "{again:?}");
    let other = backend.admit_role(&palace, &world.tenants[1].role).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict, "{other}");
    let bypassing = format!("{}_bypass", world.database.name());
    world.run(&format!("CREATE ROLE {bypassing} BYPASSRLS"));
    for exempt in ["postgres", &bypassing] {
        let error = backend.admit_role(&palace, exempt).unwrap_err();
        assert!(error.message().contains("would not hold"), "{error}");
    }
    world.run(&format!("DROP ROLE {bypassing}"));
    for refused in ["", "a\nb", &"x".repeat(64), &"x".repeat(1 << 20), "a\0b"] {
        assert_eq!(
            backend.admit_role(&palace, refused).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    let roles = world.run("SELECT count(*) FROM loci.namespaces");
    assert_eq!(roles, "2", "nothing was changed");
}

#[test]
fn printed_sql_changes_nothing_and_does_what_admitting_does() {
    for prepared in [false, true] {
        let database = PostgresServer::shared().create_database();
        let backend = PostgresBackend::new();
        if prepared {
            open(&backend, &database.url());
        }
        let palace = backend
            .adopt_url(&format!("{}&palace=team&namespace=o'hara", database.url()))
            .unwrap();
        let role = format!("{} '\"; DROP SCHEMA loci CASCADE; --", &database.name()[..20]);
        let sql = backend.write_role_sql(&palace, &role).unwrap();
        let schemas = database.run_sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'loci'");
        assert_eq!(schemas, if prepared { "1" } else { "0" });
        database.run_sql(&sql);
        let found = database.run_sql("SELECT namespace, role FROM loci.namespaces");
        assert_eq!(found, format!("o'hara|{role}"));
        let known = backend.admit_role(&palace, &role).unwrap();
        assert!(!known.created, "{known:?}");
        let quoted = quoted(&role);
        database.run_sql(&format!("DROP OWNED BY {quoted}; DROP ROLE {quoted}"));
    }
}

/// A role that can log in, with grants, dropped with the value.
struct GrantedRole<'a> {
    database: &'a FreshDatabase,
    name: String,
}

impl<'a> GrantedRole<'a> {
    fn create(database: &'a FreshDatabase, grants: &str) -> Self {
        let name = format!("{}_some", database.name());
        database.run_sql(&format!(
            "CREATE ROLE {name} LOGIN; {}",
            grants.replace("ROLE", &name)
        ));
        Self { database, name }
    }

    fn url(&self) -> String {
        self.database
            .url()
            .replacen("postgres@", &format!("{}@", self.name), 1)
    }

    /// Files a drawer as this role.
    fn file(&self) -> Result<(), Error> {
        let collection = try_open(&PostgresBackend::new(), &self.url())?;
        collection
            .add_drawer(NewDrawer::new(DrawerId::new("d").unwrap(), "text"))
            .map(drop)
    }
}

impl Drop for GrantedRole<'_> {
    fn drop(&mut self) {
        let gone = format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name);
        let _ = self.database.server().try_sql(self.database.name(), &gone);
    }
}

#[test]
fn too_few_rights_are_named_with_the_grant_that_gives_them() {
    let empty = PostgresServer::shared().create_database();
    let full = PostgresServer::shared().create_database();
    open(&PostgresBackend::new(), &full.url());
    let usage = "GRANT USAGE ON SCHEMA loci TO ROLE;";
    let read = format!("{usage} GRANT SELECT ON ALL TABLES IN SCHEMA loci TO ROLE;");
    let write = format!(
        "{read} GRANT UPDATE, DELETE ON ALL TABLES IN SCHEMA loci TO ROLE; GRANT INSERT ON loci.collections, loci.spaces TO ROLE;"
    );
    for (database, grants, lacking, grant) in [
        (&empty, "", "CREATE on the DATABASE", "GRANT CREATE ON DATABASE"),
        (
            &full,
            "",
            "USAGE on the SCHEMA loci",
            "GRANT USAGE ON SCHEMA loci TO",
        ),
        (&full, usage, "SELECT on loci.", "GRANT SELECT ON loci."),
        (&full, &read, "INSERT", "GRANT SELECT"),
        (
            &full,
            &write,
            "INSERT on loci.bags, loci.drawers",
            "GRANT INSERT ON loci.bags, loci.drawers",
        ),
    ] {
        let role = GrantedRole::create(database, grants);
        let error = role.file().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{grants}: {error}");
        assert!(
            error.message().contains(lacking) && error.message().contains(&role.name),
            "{grants}: {error}"
        );
        let hint = error.hint_text().unwrap().to_owned();
        if lacking == "INSERT" {
            // A role that only reads is told what writing needs.
            assert!(
                hint.contains("UPDATE (seq, commits, erasing) ON loci.palaces"),
                "{hint}"
            );
            continue;
        }
        assert!(
            hint.contains(grant) && hint.contains("nothing was changed"),
            "{hint}"
        );
        // The grants of the hint, run as they are printed, are enough for the next step.
        let grants = hint.split_once("run: ").unwrap().1;
        database.run_sql(grants);
        let next = role.file().err().map(|error| error.message().to_owned());
        assert_ne!(next.as_deref(), Some(error.message()), "{grants}");
    }
}

#[test]
fn the_grants_of_the_hints_end_in_a_role_that_writes() {
    let database = PostgresServer::shared().create_database();
    open(&PostgresBackend::new(), &database.url());
    let role = GrantedRole::create(&database, "");
    let mut asked = 0;
    while let Err(error) = role.file() {
        let hint = error.hint_text().unwrap().to_owned();
        database.run_sql(hint.split_once("run: ").expect(&hint).1);
        asked += 1;
        assert!(asked < 5, "{error}");
    }
    assert!(asked >= 2);
}

#[test]
fn an_owner_without_any_privilege_of_the_server_gives_namespaces_to_roles_and_sees_them_all() {
    let database = PostgresServer::shared().create_database();
    let owner = GrantedRole::create(&database, "");
    database.run_sql(&format!(
        "ALTER ROLE {0} CREATEROLE; GRANT CREATE ON DATABASE {1} TO {0}",
        owner.name,
        database.name()
    ));
    let backend = PostgresBackend::new();
    let tenant_url = format!("{}&palace=team&namespace=acme", owner.url());
    let palace = backend.adopt_url(&tenant_url).unwrap();
    let role = format!("{}_tenant", database.name());
    assert!(backend.admit_role(&palace, &role).unwrap().created);
    database.run_sql(&format!("ALTER ROLE {role} LOGIN"));
    let as_tenant = tenant_url.replacen(&owner.name, &role, 1);
    let drawer = || NewDrawer::new(DrawerId::new("d").unwrap(), "text");
    open(&PostgresBackend::new(), &as_tenant)
        .add_drawer(drawer())
        .unwrap();
    // The owner is bound by forced row security as well, and admitted by its own policy.
    owner.file().unwrap();
    assert_eq!(open(&backend, &tenant_url).info().unwrap().drawers, 1);
    open(&backend, &tenant_url)
        .upkeep()
        .unwrap()
        .run(&MaintenanceKind::COMPACT)
        .unwrap();
    let dump = |arguments: &[&str]| {
        let mut command = database.server().program("pg_dump");
        command
            .args(["--schema", "loci", "--dbname"])
            .arg(owner.url())
            .args(arguments);
        loci_testkit::run_command(command, b"")
    };
    assert_ne!(dump(&[]).code, 0, "it refuses to leave rows out");
    let whole = dump(&["--enable-row-security"]);
    assert_eq!(
        (whole.code, whole.out.matches("\\x74657874").count()),
        (0, 2),
        "{}",
        whole.err
    );
    // Neither can the tenant give its namespace away, nor one that may not create roles make one.
    let refused = PostgresBackend::new();
    let palace = refused.adopt_url(&as_tenant).unwrap();
    let error = refused.admit_role(&palace, "pg_monitor").unwrap_err();
    assert!(error.message().contains("has not its rights"), "{error}");
    database.run_sql(&format!("ALTER ROLE {} NOCREATEROLE", owner.name));
    let palace = backend
        .adopt_url(&format!("{}&palace=team&namespace=other", owner.url()))
        .unwrap();
    let error = backend
        .admit_role(&palace, &format!("{role}_absent"))
        .unwrap_err();
    assert!(error.message().contains("CREATEROLE"), "{error}");
    database.run_sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn maintenance_and_erasure_name_the_owner_instead_of_doing_nothing() {
    let world = TenantDatabase::create(false);
    let collection = world.open(&world.tenants[0]).unwrap();
    for kind in [
        MaintenanceKind::ANALYZE,
        MaintenanceKind::COMPACT,
        MaintenanceKind::REINDEX,
    ] {
        let error = collection.upkeep().unwrap().run(&kind).unwrap_err();
        assert!(error.message().contains("belong to \"postgres\""), "{error}");
        assert!(error.hint_text().unwrap().contains("GRANT MAINTAIN"), "{error}");
    }
    let error = collection.eraser().unwrap().purge(&mut |_, _| {}).unwrap_err();
    assert!(error.message().contains("may not maintain"), "{error}");
    world.run(&format!(
        "GRANT MAINTAIN ON ALL TABLES IN SCHEMA loci TO {}",
        quoted(&world.tenants[0].role)
    ));
    collection
        .upkeep()
        .unwrap()
        .run(&MaintenanceKind::COMPACT)
        .unwrap();
}
