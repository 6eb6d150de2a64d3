//! The conformance suite on palaces of a real Postgres server, without and with the extension `vector`.

#![allow(clippy::panic, reason = "a panic is a red line of the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libtest_mimic::Arguments;
use loci_conformance::{BackendHarness, TestWorld, list_trials, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_postgres::PostgresBackend;
use loci_testkit::PostgresServer;

/// The database with the extension; the usual one has none.
const EXTENDED: &str = "loci_vector";

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
        let backend = PostgresBackend::new();
        // Palaces of their own in one database: a database for each world would take as long as most cases.
        let server = PostgresServer::shared().url(self.database);
        Ok(Box::new(PostgresWorld {
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
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
