//! The connections of a server: accepted until a signal arrives, and then given time to finish.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_core::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::seats::{ConnectionSeat, ConnectionSeats};
use crate::signals;

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
/// The least time that work on other threads is given at the end.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);

/// Bounds on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// The most connections at the same time that have shown the secret.
    pub(crate) connections: usize,
    /// The most connections at the same time that have not; one more replaces the oldest.
    pub(crate) strangers: usize,
    /// The time the head of a request may take to arrive, and a connection may be idle between two requests.
    pub(crate) head: Duration,
    /// The time requests in progress may take once the server shuts down.
    pub(crate) patience: Duration,
}

/// Opens TLS on connections, with the certificate of the moment.
pub(crate) trait TlsOpener: Send + Sync + 'static {
    /// Returns what accepts the next connection.
    fn acceptor(&self) -> TlsAcceptor;
}

/// Answers the requests of connections.
pub(crate) trait HttpService: Send + Sync + 'static {
    /// The body of its responses. An error cuts the connection.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    /// Answers a request of the connection in `seat`.
    fn answer_request(
        &self,
        request: Request<Incoming>,
        seat: &ConnectionSeat,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Makes the runtime of a server: one thread carries messages, others do what takes time.
pub(crate) fn build_runtime() -> Result<Runtime> {
    build_runtime_with(THREADS)
}

/// Makes the runtime of a server that carries out as many requests at the same time.
pub(crate) fn build_runtime_with(threads: usize) -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(threads)
        .thread_keep_alive(IDLE_THREAD_LIFE)
        .build()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))
}

/// Ends the runtime of a server that was asked to end at `asked`.
pub(crate) fn shut_down(runtime: Runtime, asked: Instant, patience: Duration) {
    // A write that is under way gets time to finish. Cutting off longer work is safe: every write is one
    // transaction.
    let left = patience.saturating_sub(asked.elapsed());
    runtime.shutdown_timeout(left.max(LEAST_PATIENCE));
}

/// Serves until the process receives a signal to end, and returns the time at which it did. `ready` is called once a
/// signal is noticed; `closing` is cancelled when one arrives.
pub(crate) async fn serve_until_asked<S: HttpService>(
    listener: TcpListener,
    service: Arc<S>,
    limits: ConnectionLimits,
    tls: Option<Arc<dyn TlsOpener>>,
    closing: CancellationToken,
    ready: impl FnOnce(),
) -> Instant {
    let mut asked = pin!(signals::cancel_on_signal(closing.clone()));
    // Polled once, it has registered the signal handlers: a signal that arrives before the loop below is not
    // lost.
    tokio::select! {
        biased;
        () = asked.as_mut() => {}
        () = std::future::ready(()) => {}
    }
    // The socket already listens, so a client that connects upon this call is queued by the kernel.
    ready();
    let mut hall = ConnectionSet::new(service, limits, tls, closing.clone());
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
    ending
}

/// The open connections.
struct ConnectionSet<S> {
    service: Arc<S>,
    tls: Option<Arc<dyn TlsOpener>>,
    connections: JoinSet<()>,
    seats: Arc<ConnectionSeats>,
    head: Duration,
    closing: CancellationToken,
}

impl<S: HttpService> ConnectionSet<S> {
    fn new(
        service: Arc<S>,
        limits: ConnectionLimits,
        tls: Option<Arc<dyn TlsOpener>>,
        closing: CancellationToken,
    ) -> Self {
        Self {
            service,
            tls,
            connections: JoinSet::new(),
            seats: ConnectionSeats::new(&limits),
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
                    Ok((stream, peer)) => {
                        self.spawn_connection(stream, peer);
                        // The new task reads the secret, if it has arrived, before others can push it out.
                        tokio::task::yield_now().await;
                    }
                    // Out of file descriptors, or the client is gone already; neither is a reason to end.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            }
        }
    }

    fn spawn_connection(&mut self, stream: TcpStream, peer: SocketAddr) {
        let _ = stream.set_nodelay(true);
        let (seat, service) = (self.seats.let_in(peer), self.service.clone());
        let (head, closing) = (self.head, self.closing.clone());
        let acceptor = self.tls.as_ref().map(|tls| tls.acceptor());
        self.connections.spawn(async move {
            let serving = async {
                let service = service.as_ref();
                match acceptor {
                    None => serve_connection(stream, service, &seat, head, closing).await,
                    // A client that is slow to shake hands is cut off like one that is slow to ask.
                    Some(acceptor) => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(head, acceptor.accept(stream)).await {
                            serve_connection(stream, service, &seat, head, closing).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = serving => {}
                () = seat.wait_until_dropped() => {}
            }
        });
    }
}

/// Serves one connection until either side ends it.
async fn serve_connection<S: HttpService>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: &S,
    seat: &ConnectionSeat,
    head: Duration,
    closing: CancellationToken,
) {
    let answer = service_fn(async |request: Request<Incoming>| {
        Ok::<_, Infallible>(service.answer_request(request, seat).await)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD_BYTES)
        // The read buffer must hold a whole head; the rest is room for the start of a body.
        .max_buf_size(2 * MAX_HEAD_BYTES);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), answer));
    // A client that disconnects is not an error of the server.
    let _ = tokio::select! {
        ended = served.as_mut() => ended,
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
}
