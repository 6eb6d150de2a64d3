//! The conformance suite on palaces of a real Postgres server: without and with the extension `vector`, and as a role of
//! one namespace.

#![allow(clippy::panic, reason = "a panic is a red line of the test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TestWorld, list_trials, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

/// The database with the extension; the usual one has none.
const EXTENDED: &str = "loci_vector";

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
        if self.database == EXTENDED {
            extend_database();
        }
        // Palaces of their own in one database: a database for each world would take as long as most cases.
        let mut server = PostgresServer::shared().url(self.database);
        if self.database == SCOPED {
            static ADMITTED: Once = Once::new();
            ADMITTED.call_once(admit_tenant);
            server = server.replacen("postgres@", &format!("{TENANT}@"), 1);
        }
        Ok(Box::new(PostgresWorld {
            url: format!("{server}&palace=world-{}-{number}", std::process::id()),
            backend: Arc::new(PostgresBackend::new()),
        }))
    }
}

/// Makes the database with the extension, unless another test has made it. Tests run in processes of their own.
fn extend_database() {
    let server = PostgresServer::shared();
    for _ in 0..100 {
        if server
            .try_sql(EXTENDED, "CREATE EXTENSION IF NOT EXISTS vector")
            .code
            == 0
        {
            return;
        }
        // Fails if another process has begun to make it, which may take a while.
        server.try_sql("postgres", &format!("CREATE DATABASE {EXTENDED}"));
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

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(PostgresBackend::new()))
    }
}

fn main() {
    let plain = PostgresHarness { database: "postgres" };
    let extended = PostgresHarness { database: EXTENDED };
    let mut trials = list_trials(plain, &[]);
    trials.extend(list_trials_under("vector::", extended, &[]));
    let scoped = PostgresHarness { database: SCOPED };
    trials.extend(list_trials_under("scoped::", scoped, &OTHER_NAMESPACES));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
