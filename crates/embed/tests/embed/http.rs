//! The embedder that asks a server, against a real server on this machine.

mod answers;
mod certificate;
mod faults;
mod probes;
mod secrets;
mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_embed::http::{EmbeddingApi, EmbeddingServer, RequestLimits, RetryClock, ServerConfig};

/// A clock that only notes how long it was asked to wait, and is that much later afterwards.
#[derive(Debug, Default)]
struct Book(Mutex<Vec<Duration>>);

impl Book {
    fn pauses(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl RetryClock for Book {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().iter().sum()
    }

    fn sleep(&self, pause: Duration) {
        self.0.lock().unwrap().push(pause);
    }
}

fn config(url: &str, api: EmbeddingApi) -> ServerConfig {
    ServerConfig {
        name: "desk".into(),
        url: url.into(),
        model: "bag-of-words".into(),
        api,
        key_env: None,
        allow_remote: false,
        revision: None,
        dimension: server::DIMENSION,
        query_prefix: String::new(),
        passage_prefix: String::new(),
    }
}

/// An embedder for the server at `url` that never really waits, and the book of its pauses.
fn embedder(url: &str, api: EmbeddingApi) -> (EmbeddingServer, Arc<Book>) {
    limited(config(url, api), RequestLimits::default())
}

fn limited(config: ServerConfig, limits: RequestLimits) -> (EmbeddingServer, Arc<Book>) {
    let book = Arc::new(Book::default());
    (
        EmbeddingServer::with_limits(config, limits, book.clone()).unwrap(),
        book,
    )
}
