//! The doctor finds each kind of damage, which raw SQL has done, and says nothing about a sound palace.

use std::collections::BTreeSet;
use std::path::Path;

use loci_core::{
    CollectionExt, Doctor, DrawerId, FindingSeverity, FixMode, FixRequest, MaintenanceKind, NewDrawer,
    PalaceFinding,
};
use loci_postgres::PostgresBackend;
use loci_testkit::{FreshDatabase, PostgresServer, SeededRandom};

use super::open;
use super::tenants::{TenantDatabase, quoted};

fn examine(url: &str) -> Vec<PalaceFinding> {
    let diagnosis = PostgresBackend::new().examine(Path::new(url)).unwrap();
    let is_sound = diagnosis
        .findings
        .iter()
        .all(|finding| finding.severity == FindingSeverity::Note);
    assert_eq!(diagnosis.healthy, is_sound);
    diagnosis.findings
}

/// Returns the codes of findings that are more than notes.
fn codes(findings: &[PalaceFinding]) -> BTreeSet<String> {
    let told = findings
        .iter()
        .filter(|finding| finding.severity != FindingSeverity::Note);
    told.map(|finding| {
        assert!(finding.hint.is_some(), "{finding:?}");
        finding.code.clone()
    })
    .collect()
}

/// Makes a palace with the extension, codes, and drawers in a database of its own.
fn make_palace() -> FreshDatabase {
    let database = PostgresServer::shared().create_database();
    database.run_sql("CREATE EXTENSION vector");
    let collection = open(&PostgresBackend::new(), &database.url());
    let mut random = SeededRandom::new(5);
    for n in 0..12 {
        let mut drawer = NewDrawer::new(DrawerId::new(format!("d{n}")).unwrap(), format!("text {n}"));
        drawer.embedding = Some(random.vector(16));
        collection.add_drawer(drawer).unwrap();
    }
    database
}

/// Does one damage after the other, and checks that each adds its finding, and no other.
fn check_damages(database: &FreshDatabase, url: &str, damages: &[(&str, &str)]) {
    assert_eq!(codes(&examine(url)), BTreeSet::new(), "a sound palace");
    let mut expected = BTreeSet::new();
    for (code, sql) in damages {
        database.run_sql(sql);
        expected.insert((*code).to_owned());
        let findings = examine(url);
        assert_eq!(codes(&findings), expected, "{sql}: {findings:#?}");
    }
}

#[test]
fn rows_that_disagree_are_found() {
    let database = make_palace();
    let row = |n: usize| format!("(SELECT \"row\" FROM loci.drawers WHERE id = 'd{n}')");
    check_damages(
        &database,
        &database.url(),
        &[
            (
                "words_missing",
                &format!("DELETE FROM loci.bags WHERE \"row\" = {}", row(1)),
            ),
            (
                "words_orphaned",
                "INSERT INTO loci.bags SELECT collection, 999, words FROM loci.bags LIMIT 1",
            ),
            (
                "codes_differ",
                &format!(
                    "UPDATE loci.near SET code = (SELECT array_agg(0.25) FROM generate_series(1, 16))::real[]::halfvec WHERE \"row\" = {}",
                    row(2)
                ),
            ),
            (
                "codes_missing",
                &format!(
                    "DELETE FROM loci.near WHERE \"row\" = {0}; UPDATE loci.spaces SET near = near - 1",
                    row(3)
                ),
            ),
            (
                "codes_orphaned",
                "INSERT INTO loci.near SELECT space, 999, code FROM loci.near LIMIT 1; UPDATE loci.spaces SET near = near + 1",
            ),
            (
                "counter_wrong",
                "UPDATE loci.collections SET drawers = drawers + 1",
            ),
            (
                "vector_length",
                &format!(
                    "UPDATE loci.vectors SET value = substring(value, 1, 8) WHERE \"row\" = {}",
                    row(3)
                ),
            ),
            (
                "vectors_orphaned",
                "INSERT INTO loci.vectors SELECT space, 998, value FROM loci.vectors WHERE length(value) > 8 LIMIT 1; UPDATE loci.spaces SET vectors = vectors + 1",
            ),
            ("sequence_behind", "UPDATE loci.collections SET seq = 3"),
            ("erasure_unfinished", "UPDATE loci.palaces SET erasing = true"),
        ],
    );
    let named = examine(&database.url());
    let finding = |code: &str| named.iter().find(|finding| finding.code == code).unwrap();
    assert!(finding("words_missing").message.contains("\"d1\""), "{named:?}");
    assert_eq!(finding("codes_differ").collection.as_deref(), Some("drawers"));
}

#[test]
fn each_counter_is_compared_with_its_rows_and_the_hint_corrects_it() {
    let database = make_palace();
    for damage in [
        "UPDATE loci.collections SET drawers = 0",
        "UPDATE loci.spaces SET vectors = vectors - 1",
        "UPDATE loci.spaces SET near = 500",
    ] {
        database.run_sql(damage);
        let findings = examine(&database.url());
        let wrong = findings
            .iter()
            .find(|finding| finding.code == "counter_wrong")
            .unwrap();
        database.run_sql(wrong.hint.as_deref().unwrap());
        assert_eq!(codes(&examine(&database.url())), BTreeSet::new(), "{damage}");
    }
}

#[test]
fn codes_that_differ_are_made_again_as_the_hint_says() {
    let database = make_palace();
    database.run_sql(
        "UPDATE loci.near n SET code = (SELECT code FROM loci.near m WHERE m.\"row\" <> n.\"row\" LIMIT 1)",
    );
    let findings = examine(&database.url());
    let finding = findings
        .iter()
        .find(|finding| finding.code == "codes_differ")
        .unwrap();
    assert!(finding.message.starts_with("12 codes differ"), "{finding:?}");
    let (sql, _) = finding
        .hint
        .as_deref()
        .unwrap()
        .split_once(" then run `loci maintain reindex`")
        .unwrap();
    database.run_sql(sql);
    let collection = open(&PostgresBackend::new(), &database.url());
    collection
        .upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert_eq!(codes(&examine(&database.url())), BTreeSet::new());
}

#[test]
fn missing_and_invalid_indexes_and_dead_rows_are_found() {
    let database = make_palace();
    let url = database.url();
    database.run_sql("ALTER TABLE loci.tombstones SET (autovacuum_enabled = false)");
    check_damages(
        &database,
        &url,
        &[
            (
                "index_invalid",
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'loci.drawers_said'::regclass",
            ),
            ("index_missing", "DROP INDEX loci.drawers_place"),
            (
                "dead_rows",
                "INSERT INTO loci.tombstones SELECT 0, n::text::bytea, n FROM generate_series(1, 3000) n;
                 DELETE FROM loci.tombstones WHERE collection = 0",
            ),
        ],
    );
    // The hints are statements that repair.
    for _ in 0..2 {
        for finding in examine(&url)
            .iter()
            .filter(|finding| finding.code.starts_with("index_"))
        {
            database.run_sql(finding.hint.as_deref().unwrap());
        }
    }
    let owner = open(&PostgresBackend::new(), &url);
    owner.upkeep().unwrap().run(&MaintenanceKind::COMPACT).unwrap();
    assert_eq!(codes(&examine(&url)), BTreeSet::new());
    database.run_sql("DROP INDEX loci.drawers_id; ALTER TABLE loci.notes DROP CONSTRAINT notes_pkey");
    let findings = examine(&url);
    let missing = findings
        .iter()
        .filter(|finding| finding.code == "index_missing" && finding.severity == FindingSeverity::Error);
    assert_eq!(missing.count(), 2, "{findings:#?}");
}

#[test]
fn versions_and_the_extension_are_named() {
    let database = PostgresServer::shared().create_database();
    open(&PostgresBackend::new(), &database.url());
    let has = |code: &str| {
        examine(&database.url())
            .into_iter()
            .find(|finding| finding.code == code)
    };
    assert!(has("server_version").unwrap().message.starts_with("Postgres 18"));
    assert!(
        has("extension_missing")
            .unwrap()
            .message
            .contains("CREATE EXTENSION vector")
    );
    assert!(has("row_security_off").is_some());
    database.run_sql("CREATE EXTENSION vector");
    assert!(has("extension").is_some() && has("extension_unused").is_some());
    let error = PostgresBackend::new()
        .examine(Path::new(&format!("{}&palace=absent", database.url())))
        .unwrap_err();
    assert_eq!(error.kind(), loci_core::ErrorKind::NotFound);
    let request = FixRequest {
        step: "quarantine",
        mode: FixMode::Apply,
        older_than: None,
    };
    assert!(
        PostgresBackend::new()
            .fix(Path::new(&database.url()), &request)
            .is_err()
    );
    assert!(!PostgresBackend::new().recognises(Path::new("/a/folder")));
}

/// Lists what makes row security void, with the code of its finding and, if letting the role in again is not enough, the
/// repair.
fn list_voids(role: &str) -> [(&'static str, String, Option<String>); 7] {
    let plain = |code, damage: &str| (code, damage.to_owned(), None);
    let repaired = |code, damage: &str, repair: &str| {
        let [damage, repair] = [damage, repair].map(|sql| sql.replace("ROLE_NAME", role));
        (code, damage, Some(repair))
    };
    [
        plain(
            "row_security_missing",
            "ALTER TABLE loci.bags DISABLE ROW LEVEL SECURITY",
        ),
        plain(
            "row_security_missing",
            "ALTER TABLE loci.notes NO FORCE ROW LEVEL SECURITY",
        ),
        plain(
            "row_security_missing",
            "DROP POLICY loci_namespace ON loci.drawers",
        ),
        plain(
            "owner_policy_stale",
            "ALTER POLICY loci_owner ON loci.drawers TO pg_monitor",
        ),
        repaired(
            "foreign_policy",
            "CREATE POLICY mine ON loci.drawers USING (true)",
            "DROP POLICY mine ON loci.drawers",
        ),
        repaired(
            "role_unbound",
            "ALTER ROLE ROLE_NAME BYPASSRLS",
            "ALTER ROLE ROLE_NAME NOBYPASSRLS",
        ),
        repaired(
            "missing_right",
            "REVOKE INSERT ON loci.drawers FROM ROLE_NAME",
            "GRANT INSERT ON loci.drawers TO ROLE_NAME",
        ),
    ]
}

#[test]
fn row_security_that_does_not_hold_is_found() {
    let world = TenantDatabase::create(false);
    let tenant = &world.tenants[0];
    world.open(tenant).unwrap();
    let own = world.url(&tenant.role, tenant.namespace, "team");
    assert_eq!(codes(&examine(&own)), BTreeSet::new(), "its own role is bound");
    let as_owner = world.palace(tenant).id;
    assert_eq!(
        codes(&examine(&as_owner)),
        BTreeSet::from(["row_security_void".to_owned()])
    );
    for (code, damage, repair) in list_voids(&quoted(&tenant.role)) {
        world.run(&damage);
        let found = codes(&examine(&own));
        assert!(found.contains(code), "{damage}: {found:?}");
        match repair {
            Some(repair) => drop(world.run(&repair)),
            // As the hint says.
            None => drop(
                PostgresBackend::new()
                    .admit_role(&world.palace(tenant), &tenant.role)
                    .unwrap(),
            ),
        }
        assert_eq!(codes(&examine(&own)), BTreeSet::new(), "after {damage}");
    }
    let other = &world.tenants[1];
    world.run(&format!("DROP OWNED BY {0}; DROP ROLE {0}", quoted(&other.role)));
    assert!(codes(&examine(&as_owner)).contains("role_missing"));
    assert_eq!(
        codes(&examine(&own)),
        BTreeSet::new(),
        "no role sees the namespaces of others"
    );
}
