//! Streamable HTTP on loopback: any number of clients, each with its own session.
//!
//! ```text
//! connection (headers bounded in size and time) → guard (host, origin, token, rate) → seat → body (bounded) → SDK
//! ```

mod guard;
mod listen;
mod rate;
mod refusal;
mod responder;
mod seats;
mod sessions;
mod stream;
mod token;

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_core::{Error, ErrorKind, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::guard::RequestGuard;
pub use self::listen::parse_listen_address;
pub use self::rate::RequestRate;
use self::responder::HttpResponder;
use self::seats::{ConnectionSeat, ConnectionSeats};
use self::sessions::HttpSessions;
use self::token::AccessToken;
use super::server::McpServer;

/// The most requests carried out at the same time.
const THREADS: usize = 16;
/// The time an idle thread is kept.
const IDLE_THREAD_LIFE: Duration = Duration::from_secs(5);
/// The largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// The pause after accepting a connection failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE_THREAD_LIFE)
        .build()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let patience = listening.limits.patience;
    let asked = runtime.block_on(listen_until_asked(server, token, listening))?;
    // A write that is under way gets time to finish. Cutting off longer work is safe: every write is one
    // transaction.
    let left = patience.saturating_sub(asked.elapsed());
    runtime.shutdown_timeout(left.max(Duration::from_millis(500)));
    Ok(())
}

/// Serves until a signal arrives, and returns the time at which it did.
async fn listen_until_asked(
    server: McpServer,
    token: AccessToken,
    listening: HttpOptions,
) -> Result<Instant> {
    let listener = listen::bind_loopback(listening.address).await?;
    let address = listener
        .local_addr()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let limits = listening.limits;
    let closing = CancellationToken::new();
    let mut asked = pin!(super::signals::cancel_on_signal(closing.clone()));
    // Polled once, it has registered the signal handlers: a signal that arrives before the loop below is not
    // lost.
    tokio::select! {
        biased;
        () = asked.as_mut() => {}
        () = std::future::ready(()) => {}
    }
    let sessions = HttpSessions::new(&limits);
    tokio::spawn(sessions.clone().sweep_expired());
    let guard = RequestGuard::new(address, token, &limits);
    let desk = Arc::new(HttpResponder::new(
        server,
        guard,
        sessions,
        limits.body,
        closing.clone(),
    ));
    // The socket already listens, so a client that connects upon this call is queued by the kernel.
    (listening.ready)(address);
    let mut hall = ConnectionSet::new(desk, &limits, closing.clone());
    tokio::select! {
        () = asked => {}
        () = hall.accept(&listener) => {}
    }
    // Closing the socket first makes new clients fail fast instead of waiting for a server that ends.
    drop(listener);
    let ending = Instant::now();
    closing.cancel();
    let all = async { while hall.connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.patience, all).await;
    Ok(ending)
}

/// The open connections.
struct ConnectionSet {
    desk: Arc<HttpResponder>,
    connections: JoinSet<()>,
    seats: Arc<ConnectionSeats>,
    head: Duration,
    closing: CancellationToken,
}

impl ConnectionSet {
    fn new(desk: Arc<HttpResponder>, limits: &HttpLimits, closing: CancellationToken) -> Self {
        Self {
            desk,
            connections: JoinSet::new(),
            seats: ConnectionSeats::new(limits),
            head: limits.head,
            closing,
        }
    }

    /// Accepts connections, forever.
    async fn accept(&mut self, listener: &TcpListener) {
        loop {
            tokio::select! {
                // Finished tasks are reaped here, or the set would grow with every connection ever made.
                Some(_) = self.connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        self.spawn_connection(stream);
                        // The new task reads the token, if it has arrived, before others can push it out.
                        tokio::task::yield_now().await;
                    }
                    // Out of file descriptors, or the client is gone already; neither is a reason to end.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            }
        }
    }

    fn spawn_connection(&mut self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let (seat, desk) = (self.seats.let_in(), self.desk.clone());
        let (head, closing) = (self.head, self.closing.clone());
        self.connections.spawn(async move {
            tokio::select! {
                () = serve_connection(stream, &desk, &seat, head, closing) => {}
                () = seat.wait_until_dropped() => {}
            }
        });
    }
}

/// Serves one connection until either side ends it.
async fn serve_connection(
    stream: TcpStream,
    desk: &HttpResponder,
    seat: &ConnectionSeat,
    head: Duration,
    closing: CancellationToken,
) {
    let service = service_fn(async |request: Request<Incoming>| {
        Ok::<_, Infallible>(desk.answer_request(request, seat).await)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD_BYTES)
        // The read buffer must hold a whole head; the rest is room for the start of a body.
        .max_buf_size(2 * MAX_HEAD_BYTES);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that disconnects is not an error of the server.
    let _ = tokio::select! {
        ended = served.as_mut() => ended,
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
}
