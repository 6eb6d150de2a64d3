//! The conformance suite on palaces of a real Postgres server: without the extension `vector`, with it, with answers from an
//! approximate index, and as a role of one namespace.

#![allow(clippy::panic, reason = "a panic is a red line of the test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TestWorld, list_trials, list_trials_under};
use loci_core::{Backend, Capability, Collection, CollectionExt, PalaceRef, QueryPrecision};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

/// The usual database, which has no extension.
const PLAIN: &str = "postgres";

/// The database with the extension.
const EXTENDED: &str = "loci_vector";

/// The database whose palaces answer approximately from the first vector on.
const APPROXIMATE: &str = "loci_approximate";
/// The database in which a role of one namespace does everything, and this role.
const SCOPED: &str = "loci_scoped";
const TENANT: &str = "loci_scoped_tenant";

/// The cases that write to namespaces which this role does not have.
const OTHER_NAMESPACES: [(&str, &str); 2] = [
    (
        "isolation::nothing_written_under_one_namespace_is_seen_changed_or_removed_under_another",
        "the role has one namespace",
    ),
    (
        "sources::records_of_another_namespace_are_never_seen_changed_or_removed",
        "the role has one namespace",
    ),
];

struct PostgresHarness {
    database: &'static str,
}

struct PostgresWorld {
    database: &'static str,
    url: String,
    backend: Arc<PostgresBackend>,
}

impl BackendHarness for PostgresHarness {
    fn name(&self) -> String {
        format!("postgres in {}", self.database)
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        if self.database != PLAIN {
            extend_database(self.database);
        }
        let backend = PostgresBackend::new();
        // Palaces of their own in one database: a database for each world would take as long as most cases.
        let mut server = PostgresServer::shared().url(self.database);
        if self.database == SCOPED {
            static ADMITTED: Once = Once::new();
            ADMITTED.call_once(admit_tenant);
            server = server.replacen("postgres@", &format!("{TENANT}@"), 1);
        }
        Ok(Box::new(PostgresWorld {
            database: self.database,
            url: format!("{server}&palace=world-{}-{number}", std::process::id()),
            // Half of the worlds seal their words all the time, so that every case meets segments.
            backend: Arc::new(if self.database == EXTENDED {
                backend.sealing_words_at(2, 6)
            } else {
                backend
            }),
        }))
    }
}

/// Makes the database with the extension, unless another test has made it. Tests run in processes of their own.
fn extend_database(database: &str) {
    let server = PostgresServer::shared();
    for _ in 0..100 {
        if server
            .try_sql(database, "CREATE EXTENSION IF NOT EXISTS vector")
            .code
            == 0
        {
            return;
        }
        // Fails if another process has begun to make it, which may take a while.
        server.try_sql("postgres", &format!("CREATE DATABASE {database}"));
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!(
        "the extension \"vector\" cannot be installed; see {}",
        server.log().display()
    );
}

/// Makes the database and the role that owns the palaces without a namespace, unless another test has made them.
fn admit_tenant() {
    let server = PostgresServer::shared();
    let palace = PalaceRef::from_id(format!("{}&palace=any", server.url(SCOPED)));
    // Not again by every process: rights that change while another one rewrites the tables get in its way.
    let is_admitted = format!(
        "SELECT 1 / count(*) FROM loci.namespaces n JOIN pg_roles r ON r.rolname = n.role WHERE n.role = '{TENANT}'
            AND r.rolcanlogin AND has_table_privilege(n.role, 'loci.drawers', 'MAINTAIN')"
    );
    if server.try_sql(SCOPED, &is_admitted).code == 0 {
        return;
    }
    for _ in 0..100 {
        let admitted = PostgresBackend::new().admit_role(&palace, TENANT);
        if admitted.is_ok()
            && server
                .try_sql(
                    SCOPED,
                    &format!(
                        "ALTER ROLE {TENANT} LOGIN; GRANT MAINTAIN ON ALL TABLES IN SCHEMA loci TO {TENANT}"
                    ),
                )
                .code
                == 0
        {
            return;
        }
        // Fails if another process has begun to make it, which may take a while.
        server.try_sql("postgres", &format!("CREATE DATABASE {SCOPED}"));
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the role {TENANT} cannot be made; see {}", server.log().display());
}

impl TestWorld for PostgresWorld {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::from_id(format!("{}-one", self.url))
    }

    fn another_palace(&self) -> PalaceRef {
        PalaceRef::from_id(format!("{}-two", self.url))
    }

    fn chosen_capabilities(&self) -> Vec<Capability> {
        let is_approximate = self.database == APPROXIMATE;
        is_approximate
            .then_some(Capability::ApproximateQuery)
            .into_iter()
            .collect()
    }

    fn settle(&self, filled: &dyn Collection) -> Result<(), String> {
        if self.database != APPROXIMATE {
            return Ok(());
        }
        let always =
            "INSERT INTO loci.settings(key, value) VALUES ('approximate_from', '0') ON CONFLICT DO NOTHING";
        PostgresServer::shared().try_sql(self.database, always);
        let chosen = filled
            .require_upkeep()
            .and_then(|upkeep| upkeep.choose_precision(QueryPrecision::Approximate));
        chosen.map(drop).map_err(|error| error.to_string())
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(PostgresBackend::new()))
    }
}

/// Returns whether a case is about queries, or about changes that an index has to follow.
fn touches_index(name: &str) -> bool {
    let chapters = [
        "approximation",
        "erasure",
        "filling",
        "filters",
        "maintenance",
        "query",
        "spaces",
        "switch",
        "visibility",
    ];
    let mut chapter = name.split("::").skip(1);
    chapter.next().is_some_and(|name| chapters.contains(&name))
}

fn main() {
    let plain = PostgresHarness { database: PLAIN };
    let extended = PostgresHarness { database: EXTENDED };
    let approximate = PostgresHarness {
        database: APPROXIMATE,
    };
    let mut trials = list_trials(plain, &[]);
    trials.extend(list_trials_under("vector::", extended, &[]));
    // Only what an index can break; its build is the slowest part of each case.
    let indexed = list_trials_under("approximate::", approximate, &[]);
    trials.extend(indexed.into_iter().filter(|trial| touches_index(trial.name())));
    let scoped = PostgresHarness { database: SCOPED };
    trials.extend(list_trials_under("scoped::", scoped, &OTHER_NAMESPACES));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
