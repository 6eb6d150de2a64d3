//! The conformance suite on palaces of real Chroma servers: the oldest and the newest release.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use libtest_mimic::Arguments;
use loci_chroma_server::ChromaServerBackend;
use loci_conformance::{BackendHarness, TestWorld, list_trials_under};
use loci_core::{Backend, PalaceRef};
use loci_testkit::ChromaServer;

struct ServerHarness {
    release: &'static str,
    /// The most vectors that are compared one by one; with none, the server's index answers.
    scan_limit: Option<u64>,
}

struct ServerWorld {
    url: String,
    scan_limit: Option<u64>,
    backend: Arc<ChromaServerBackend>,
}

fn make_backend(scan_limit: Option<u64>) -> ChromaServerBackend {
    let backend = ChromaServerBackend::with_token(None);
    match scan_limit {
        Some(limit) => backend.scanning_at_most(limit),
        None => backend,
    }
}

impl BackendHarness for ServerHarness {
    fn name(&self) -> String {
        format!("chroma-server {}", self.release)
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        // Databases of their own on one server: a server for each world would take longer than most cases.
        let port = ChromaServer::shared(self.release);
        Ok(Box::new(ServerWorld {
            url: format!(
                "chroma://127.0.0.1:{port}/?database=world-{}-{number}",
                std::process::id()
            ),
            scan_limit: self.scan_limit,
            backend: Arc::new(make_backend(self.scan_limit)),
        }))
    }
}

impl TestWorld for ServerWorld {
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
        Ok(Arc::new(make_backend(self.scan_limit)))
    }
}

fn main() {
    let newest = ServerHarness {
        release: "1.5.9",
        scan_limit: None,
    };
    let oldest = ServerHarness {
        release: "0.6.3",
        scan_limit: None,
    };
    let mut trials = list_trials_under("newest::", newest, &[]);
    trials.extend(list_trials_under("oldest::", oldest, &[]));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
