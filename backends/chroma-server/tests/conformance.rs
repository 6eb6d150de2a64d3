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
}

struct ServerWorld {
    url: String,
    backend: Arc<ChromaServerBackend>,
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
            backend: Arc::new(ChromaServerBackend::with_token(None)),
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
        Ok(Arc::new(ChromaServerBackend::with_token(None)))
    }
}

/// The themes in which releases may differ; the others would ask the slower server the same again.
const OLDEST_THEMES: [&str; 3] = ["oldest::writes::", "oldest::verbatim::", "oldest::dropping::"];

fn main() {
    let arguments = Arguments::from_args();
    let newest = list_trials_under("newest::", ServerHarness { release: "1.5.9" }, &[]);
    let oldest = list_trials_under("oldest::", ServerHarness { release: "0.6.3" }, &[]);
    let differs = |name: &str| OLDEST_THEMES.iter().any(|theme| name.starts_with(theme));
    let oldest = oldest.into_iter().filter(|trial| differs(trial.name())).collect();
    // The server of 0.6 can lock itself up when two clients write at once. Tests in processes of their own take turns
    // by `.config/nextest.toml`.
    let in_turn = Arguments {
        test_threads: Some(1),
        ..arguments.clone()
    };
    let ended = [
        libtest_mimic::run(&arguments, newest),
        libtest_mimic::run(&in_turn, oldest),
    ];
    ended
        .into_iter()
        .for_each(|conclusion| conclusion.exit_if_failed());
}
