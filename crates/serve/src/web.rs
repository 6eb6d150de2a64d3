//! The pages of a palace over HTTP, for its owner: on loopback, behind a link that signs in once.
//!
//! ```text
//! connection → guard (host, method, origin, fetch metadata) → visitor (cookie) → seat → form (bounded) → Site::answer
//! ```
//!
//! A page is answered on a blocking thread. Without the cookie of a visitor nothing is shown, whatever the path.

pub(crate) mod carrier;
mod fixed_pages;
mod guard;
pub(crate) mod headers;
pub(crate) mod page_body;
mod responder;
pub(crate) mod visitors;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};
use loci_web::Site;
use tokio_util::sync::CancellationToken;

use self::guard::PageGuard;
use self::responder::PageResponder;
pub use self::visitors::SignInLinks;
use self::visitors::VisitorList;
use crate::http::bodies::BodyLimits;
use crate::http::connections::{self, ConnectionLimits};
use crate::http::listen::{self, PortAdvice};

/// What to do about a port in use.
const PORT_IN_USE: &str = "nothing was started; another program listens there, perhaps another `loci web`; name another port, or 0 for a free one";

/// The address to serve at, and how.
pub struct WebOptions {
    /// The address, which must be a loopback address.
    pub address: SocketAddr,
    /// Whether a free port is taken if that of the address is in use.
    pub takes_other_port: bool,
    /// Bounds on browsers and their requests.
    pub limits: WebLimits,
    /// Called with the address once the server listens there.
    pub ready: Box<dyn FnOnce(WebAddress) + Send>,
}

impl fmt::Debug for WebOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebOptions")
            .field("address", &self.address)
            .field("takes_other_port", &self.takes_other_port)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The address of a server that listens.
#[derive(Debug)]
pub struct WebAddress {
    /// The address.
    pub address: SocketAddr,
    /// Makes the links by which browsers sign in.
    pub links: SignInLinks,
}

/// Bounds on browsers and their requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebLimits {
    /// The most connections at the same time that have shown the cookie of a visitor.
    pub connections: usize,
    /// The most connections at the same time that have not; one more replaces the oldest.
    pub strangers: usize,
    /// The largest form, in bytes: the text of a drawer may be long.
    pub form: usize,
    /// The time the head of a request may take to arrive, and a connection may be idle between two requests.
    pub head: Duration,
    /// The time a form may take to arrive.
    pub arrival: Duration,
    /// The time requests in progress may take once the server shuts down.
    pub patience: Duration,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            strangers: 128,
            form: 32 << 20,
            head: Duration::from_secs(10),
            arrival: Duration::from_secs(60),
            patience: Duration::from_secs(3),
        }
    }
}

/// Serves the pages until the process receives a signal to end. Long operations are then asked to stop.
pub fn serve_web(site: Site, options: WebOptions) -> Result<()> {
    let runtime = connections::build_runtime()?;
    let patience = options.limits.patience;
    let asked = runtime.block_on(listen_until_asked(Arc::new(site), options))?;
    connections::shut_down(runtime, asked, patience);
    Ok(())
}

/// Serves until a signal arrives, and returns the time at which it did.
async fn listen_until_asked(site: Arc<Site>, options: WebOptions) -> Result<Instant> {
    let advice = PortAdvice {
        in_use: PORT_IN_USE,
        takes_other: options.takes_other_port,
    };
    let listener = listen::bind_loopback(options.address, advice).await?;
    let address = listener
        .local_addr()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let limits = options.limits;
    let visitors = Arc::new(VisitorList::new(address));
    let closing = CancellationToken::new();
    // At once and not when the last request has been answered: one may wait for such an operation.
    tokio::spawn({
        let (site, closing) = (site.clone(), closing.clone());
        async move {
            closing.cancelled().await;
            site.stop_jobs();
        }
    });
    let form_limits = BodyLimits {
        size: limits.form,
        arrival: limits.arrival,
    };
    let responder = PageResponder::new(site, PageGuard::new(address), visitors.clone(), form_limits);
    let bounds = ConnectionLimits {
        connections: limits.connections,
        strangers: limits.strangers,
        head: limits.head,
        patience: limits.patience,
    };
    let links = SignInLinks::new(visitors);
    let ready = || (options.ready)(WebAddress { address, links });
    Ok(connections::serve_until_asked(listener, Arc::new(responder), bounds, None, closing, ready).await)
}
