//! Streamable HTTP on loopback: any number of clients, each with its own session.
//!
//! ```text
//! connection (headers bounded in size and time) → guard (host, origin, token, rate) → seat → body (bounded) → SDK
//! ```

mod guard;
mod rate;
mod refusal;
mod responder;
mod sessions;
mod stream;
mod token;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};
use tokio_util::sync::CancellationToken;

use self::guard::RequestGuard;
pub(crate) use self::rate::RateBucket;
pub use self::rate::RequestRate;
use self::responder::HttpResponder;
pub(crate) use self::responder::{McpEndpoint, close_if_unread, find_session_id};
pub(crate) use self::sessions::HttpSessions;
use self::token::AccessToken;
use super::server::McpServer;
use crate::http::connections::{self, ConnectionLimits};
pub use crate::http::listen::parse_listen_address;
use crate::http::listen::{self, PortAdvice};

/// What to do about a port in use.
const PORT_ADVICE: PortAdvice = PortAdvice {
    in_use: "another program listens there, perhaps another `loci mcp --http`; name another port, or 0 for a free one",
    takes_other: false,
};

/// The address to serve at, and how.
pub struct HttpOptions {
    /// The address, which must be a loopback address.
    pub address: SocketAddr,
    /// The file with the token; it is created if it is missing.
    pub token_file: PathBuf,
    /// Bounds on clients and requests.
    pub limits: HttpLimits,
    /// Called with the address once the server listens there.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening")
            .field("address", &self.address)
            .field("token_file", &self.token_file)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Bounds on clients and requests.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpLimits {
    /// The most connections at the same time that have shown the token.
    pub connections: usize,
    /// The most connections at the same time that have not; one more replaces the oldest.
    pub strangers: usize,
    /// The most sessions at the same time; one more replaces the one that was idle for the longest.
    pub sessions: usize,
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The rate of requests with the right token.
    pub requests: RequestRate,
    /// The rate of requests with a wrong token or none.
    pub failures: RequestRate,
    /// The time the head of a request may take to arrive, and a connection may be idle between two requests.
    pub head: Duration,
    /// The time after which an idle session ends.
    pub idle: Duration,
    /// The time after which a session ends whose client disconnected in the middle of an answer.
    pub vanished: Duration,
    /// The time requests in progress may take once the server shuts down.
    pub patience: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            strangers: 128,
            sessions: 256,
            body: 16 << 20,
            requests: RequestRate {
                per_second: 200.0,
                burst: 1000.0,
            },
            failures: RequestRate {
                per_second: 1.0,
                burst: 20.0,
            },
            head: Duration::from_secs(10),
            idle: Duration::from_secs(4 * 3600),
            vanished: Duration::from_secs(300),
            patience: Duration::from_secs(5),
        }
    }
}

/// Serves any number of clients until the process receives a signal to end.
pub fn serve(server: McpServer, listening: HttpOptions) -> Result<()> {
    // Before the port is opened: a server without a usable token must never accept a connection.
    let token = AccessToken::open(&listening.token_file)?;
    let runtime = connections::build_runtime()?;
    let patience = listening.limits.patience;
    let asked = runtime.block_on(listen_until_asked(server, token, listening))?;
    connections::shut_down(runtime, asked, patience);
    Ok(())
}

/// Serves until a signal arrives, and returns the time at which it did.
async fn listen_until_asked(
    server: McpServer,
    token: AccessToken,
    listening: HttpOptions,
) -> Result<Instant> {
    let listener = listen::bind_loopback(listening.address, PORT_ADVICE).await?;
    let address = listener
        .local_addr()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let limits = listening.limits;
    let closing = CancellationToken::new();
    let sessions = HttpSessions::new(&limits);
    tokio::spawn(sessions.clone().sweep_expired());
    let guard = RequestGuard::new(address, token, &limits);
    let endpoint = McpEndpoint::new(sessions, limits.body, closing.clone());
    let responder = Arc::new(HttpResponder::new(server, guard, endpoint));
    let bounds = ConnectionLimits {
        connections: limits.connections,
        strangers: limits.strangers,
        head: limits.head,
        patience: limits.patience,
    };
    let ready = || (listening.ready)(address);
    Ok(connections::serve_until_asked(listener, responder, bounds, None, closing, ready).await)
}
