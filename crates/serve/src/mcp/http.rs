//! Streamable HTTP on loopback: any number of clients, each with a session of its own.
//!
//! ```text
//! connection (bounded, headers bounded in size and time) → guard (name, origin, token, rate) → body (bounded) → SDK
//! ```

mod desk;
mod guard;
mod listen;
mod rate;
mod refusal;
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

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_core::{Error, ErrorKind, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::desk::{Desk, turn_away};
use self::guard::Guard;
pub use self::listen::address;
pub use self::rate::Rate;
use self::refusal::{Body, Refusal};
use self::sessions::Sessions;
use self::token::Token;
use super::server::Server;

/// How many requests are carried out at once.
const THREADS: usize = 16;
/// How long a thread without work is kept.
const IDLE: Duration = Duration::from_secs(5);
/// The most bytes that the head of a request may have.
const HEAD: usize = 32 << 10;
/// The most headers that a request may have.
const HEADERS: usize = 64;
/// How many connections beyond the limit are told so; what comes beyond those is closed.
const TOLD: usize = 16;
/// How long nothing is accepted after accepting failed.
const BREATH: Duration = Duration::from_millis(50);

/// Where and how to serve.
pub struct Listening {
    /// The address, which has to be one of this machine alone.
    pub address: SocketAddr,
    /// The file with the token, which is made where it is missing.
    pub token_file: PathBuf,
    /// How much is served.
    pub limits: Limits,
    /// Told the address once clients are heard there.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening")
            .field("address", &self.address)
            .field("token_file", &self.token_file)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How much is served.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Sessions at once; one more takes the place of the one that was silent for the longest.
    pub sessions: usize,
    /// Bytes of one request.
    pub body: usize,
    /// Requests with the token.
    pub requests: Rate,
    /// Requests with another token or none.
    pub failures: Rate,
    /// How long the head of a request may take to arrive, and a connection may be silent between two.
    pub head: Duration,
    /// How long a session lives of which nothing is heard.
    pub idle: Duration,
    /// How long a session lives whose client went away in the middle of an answer.
    pub vanished: Duration,
    /// How long what is being answered may take when the server is asked to end.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            sessions: 256,
            body: 16 << 20,
            requests: Rate {
                per_second: 200.0,
                burst: 1000.0,
            },
            failures: Rate {
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

/// Serves any number of clients until the process is asked to end.
pub fn serve(server: Server, listening: Listening) -> Result<()> {
    let token = Token::open(&listening.token_file)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE)
        .build()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let patience = listening.limits.patience;
    let asked = runtime.block_on(listen_until_asked(server, token, listening))?;
    // What is being written is finished; what takes longer is safe to be cut off.
    let left = patience.saturating_sub(asked.elapsed());
    runtime.shutdown_timeout(left.max(Duration::from_millis(500)));
    Ok(())
}

/// Serves, and returns when the process was asked to end.
async fn listen_until_asked(server: Server, token: Token, listening: Listening) -> Result<Instant> {
    let listener = listen::bind(listening.address).await?;
    let address = listener
        .local_addr()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let limits = listening.limits;
    let closing = CancellationToken::new();
    let mut asked = pin!(super::signals::end_when_asked(closing.clone()));
    // Asked once, it hears the process's signals from now on.
    tokio::select! {
        biased;
        () = asked.as_mut() => {}
        () = std::future::ready(()) => {}
    }
    let sessions = Sessions::new(&limits);
    tokio::spawn(sessions.clone().sweep());
    let guard = Guard::new(address, token, &limits);
    let desk = Arc::new(Desk::new(server, guard, sessions, limits.body, closing.clone()));
    (listening.ready)(address);
    let mut hall = Hall::new(desk, &limits, closing.clone());
    tokio::select! {
        () = asked => {}
        () = hall.accept(&listener) => {}
    }
    drop(listener);
    let ending = Instant::now();
    closing.cancel();
    let all = async { while hall.connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.patience, all).await;
    Ok(ending)
}

/// The connections there are.
struct Hall {
    desk: Arc<Desk>,
    connections: JoinSet<()>,
    seats: Arc<Semaphore>,
    standing: Arc<Semaphore>,
    head: Duration,
    closing: CancellationToken,
}

impl Hall {
    fn new(desk: Arc<Desk>, limits: &Limits, closing: CancellationToken) -> Self {
        Self {
            desk,
            connections: JoinSet::new(),
            seats: Arc::new(Semaphore::new(limits.connections)),
            standing: Arc::new(Semaphore::new(TOLD)),
            head: limits.head,
            closing,
        }
    }

    /// Lets clients in, for ever.
    async fn accept(&mut self, listener: &TcpListener) {
        loop {
            tokio::select! {
                Some(_) = self.connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.let_in(stream),
                    // Too many files are open, or the client has left; neither is a reason to end.
                    Err(_) => tokio::time::sleep(BREATH).await,
                }
            }
        }
    }

    fn let_in(&mut self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let seat = self.seats.clone().try_acquire_owned().ok();
        let standing = self.standing.clone().try_acquire_owned();
        let (desk, place) = match (seat, standing) {
            (Some(seat), _) => (Some(self.desk.clone()), seat),
            (None, Ok(standing)) => (None, standing),
            (None, Err(_)) => return,
        };
        let (head, closing) = (self.head, self.closing.clone());
        self.connections.spawn(async move {
            let _place = place;
            connection(stream, desk, head, closing).await;
        });
    }
}

/// One connection, until either side ends it; without a desk it is only told that there is none.
async fn connection(stream: TcpStream, desk: Option<Arc<Desk>>, head: Duration, closing: CancellationToken) {
    let service = service_fn(async |request: Request<Incoming>| {
        Ok::<_, Infallible>(match &desk {
            Some(desk) => desk.answer(request).await,
            None => no_seat(request),
        })
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(HEADERS)
        .max_header_size(HEAD)
        .max_buf_size(2 * HEAD);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that breaks off is no trouble of ours.
    let _ = tokio::select! {
        ended = served.as_mut() => ended,
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
}

fn no_seat(request: Request<Incoming>) -> Response<Body> {
    let words = "every connection there may be is taken";
    let refusal = Refusal::later(StatusCode::SERVICE_UNAVAILABLE, words, 1);
    let mut response = turn_away(request, refusal);
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
