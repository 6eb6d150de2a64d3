//! The server itself: it listens, watches its certificate and its signals, and ends in order.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result, Timestamp};
use loci_team::{AuditAct, AuditOutcome, AuditRecord, TeamActor};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::callers::CallerDesk;
use super::gate::TeamGate;
use super::hall::PalaceHall;
use super::mcp_sessions::SessionOwners;
use super::metrics::TeamMetrics;
use super::rates::CallerRates;
use super::router::{TeamRouter, TeamService};
use super::settings::{TeamLimits, TeamOptions, TeamSettings};
use super::tls::CertificateKeeper;
use super::trail::AuditTrail;
use crate::http::connections::{self, ConnectionLimits, TlsOpener};
use crate::mcp::http::{HttpSessions, McpEndpoint};
use crate::mcp::{HttpLimits, RequestRate};
use crate::web::carrier::MOST_STREAMS;

/// The most requests carried out at the same time.
const THREADS: usize = 64;
/// How often the head of the audit log is said.
const HEAD_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The largest message of an agent, in bytes.
const MOST_MESSAGE_BYTES: usize = 16 << 20;

/// Serves palaces until the process receives a signal to end. Requests in progress then finish.
pub fn serve_team(settings: TeamSettings, options: TeamOptions) -> Result<()> {
    check_exposure(&settings, &options)?;
    let tls = options.tls.clone().map(CertificateKeeper::open).transpose()?;
    let runtime = connections::build_runtime_with(THREADS)?;
    let patience = options.limits.patience;
    let (audit, clock) = (Arc::clone(&options.audit), Arc::clone(&options.clock));
    audit
        .append(server_record(clock(), AuditAct::START))?
        .wait_durable()?;
    let asked = runtime.block_on(listen_until_asked(settings, options, tls.map(Arc::new)))?;
    connections::shut_down(runtime, asked, patience);
    audit
        .append(server_record(clock(), AuditAct::STOP))?
        .wait_durable()
}

fn server_record(now: Timestamp, act: AuditAct) -> AuditRecord {
    AuditRecord::new(now, TeamActor::Server, act, AuditOutcome::Done)
}

/// Refuses to listen where passwords and words could be read on their way.
fn check_exposure(settings: &TeamSettings, options: &TeamOptions) -> Result<()> {
    let ip = options.address.ip();
    if ip.is_unspecified() && settings.public_url.is_none() {
        let error = Error::invalid(format!("{ip} stands for every address of this machine"));
        return Err(error.with_hint(
            "nothing was started; say by which address clients reach the server, with --public-url https://NAME",
        ));
    }
    if ip.is_loopback() || options.tls.is_some() || !settings.proxies.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} can be reached from other machines, and without TLS everything could be read on its way",
        options.address
    );
    Err(Error::new(ErrorKind::Unsupported, message).with_hint(
        "nothing was started; give a certificate with --tls-cert and --tls-key, name the proxy before it with \
         --behind-proxy, or listen on 127.0.0.1",
    ))
}

/// Serves until a signal arrives, and returns the time at which it did.
async fn listen_until_asked(
    settings: TeamSettings,
    options: TeamOptions,
    tls: Option<Arc<CertificateKeeper>>,
) -> Result<Instant> {
    let listener = bind(options.address).await?;
    let address = listener
        .local_addr()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let say = Arc::clone(&options.log);
    for (issuer, error) in settings.issuers.load_keys() {
        say(&format!(
            "tokens of {issuer} are refused until its keys can be read: {error}"
        ));
    }
    let closing = CancellationToken::new();
    let router = build_router(address, settings, &options, tls.is_some(), &closing);
    tokio::spawn(router.endpoint.sweep_expired());
    tokio::spawn(reload_on_signal(
        Arc::clone(&router),
        options.reload,
        Arc::clone(&say),
    ));
    tokio::spawn(say_heads(Arc::clone(&options.audit), Arc::clone(&say)));
    tokio::spawn({
        let (router, closing) = (Arc::clone(&router), closing.clone());
        async move {
            closing.cancelled().await;
            router.hall().stop_jobs();
        }
    });
    let opener = tls.map(|keeper| {
        tokio::spawn(Arc::clone(&keeper).watch(Arc::clone(&say)));
        keeper as Arc<dyn TlsOpener>
    });
    let bounds = ConnectionLimits {
        connections: options.limits.connections,
        strangers: options.limits.strangers,
        head: options.limits.head,
        patience: options.limits.patience,
    };
    let ready = || (options.ready)(address);
    let service = Arc::new(TeamService(router));
    Ok(connections::serve_until_asked(listener, service, bounds, opener, closing, ready).await)
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|cause| {
        Error::new(ErrorKind::Unavailable, format!("cannot listen on {address}"))
            .with_hint("nothing was started; another program may listen there, or the port be reserved")
            .caused_by(cause)
    })
}

fn build_router(
    address: SocketAddr,
    settings: TeamSettings,
    options: &TeamOptions,
    has_tls: bool,
    closing: &CancellationToken,
) -> Arc<TeamRouter> {
    let TeamLimits { requests, burst, .. } = options.limits;
    let gate = TeamGate::new(address, has_tls, settings.public_url.as_deref());
    let desk = CallerDesk::new(
        Arc::clone(&options.accounts),
        Arc::clone(&options.clock),
        gate.is_secure,
    );
    let sessions = HttpSessions::new(&HttpLimits::default());
    let metrics = Arc::new(TeamMetrics::default());
    let hall = PalaceHall::new(settings);
    metrics.set_palaces(hall.names());
    Arc::new(TeamRouter {
        gate,
        desk,
        hall: RwLock::new(Arc::new(hall)),
        trail: AuditTrail::new(
            Arc::clone(&options.audit),
            Arc::clone(&options.clock),
            Arc::clone(&options.log),
        ),
        endpoint: McpEndpoint::new(sessions, MOST_MESSAGE_BYTES, closing.clone()),
        mcp_sessions: SessionOwners::default(),
        rates: CallerRates::new(RequestRate {
            per_second: requests,
            burst,
        }),
        metrics,
        limits: options.limits.clone(),
        streams: Arc::new(Semaphore::new(MOST_STREAMS)),
    })
}

/// Reads the settings again whenever the process is asked to, for ever.
#[cfg(unix)]
async fn reload_on_signal(
    router: Arc<TeamRouter>,
    reload: Box<dyn Fn() -> Result<TeamSettings> + Send + Sync>,
    say: Arc<dyn Fn(&str) + Send + Sync>,
) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut asked) = signal(SignalKind::hangup()) else {
        return;
    };
    let reload = Arc::new(reload);
    while asked.recv().await.is_some() {
        let reading = Arc::clone(&reload);
        match tokio::task::spawn_blocking(move || reading()).await {
            Ok(Ok(settings)) => {
                router.exchange_hall(PalaceHall::new(settings));
                say("the settings were read again");
            }
            Ok(Err(error)) => say(&format!("the changed settings are not used: {error}")),
            Err(_) => say("the changed settings are not used: reading them failed"),
        }
    }
}

/// Without such a signal settings stay as they are.
#[cfg(not(unix))]
async fn reload_on_signal(
    _: Arc<TeamRouter>,
    _: Box<dyn Fn() -> Result<TeamSettings> + Send + Sync>,
    _: Arc<dyn Fn(&str) + Send + Sync>,
) {
}

/// Says the head of the audit log now and every hour, so that it is also kept where the server's log is.
async fn say_heads(audit: Arc<loci_team::AuditLog>, say: Arc<dyn Fn(&str) + Send + Sync>) {
    loop {
        let log = Arc::clone(&audit);
        if let Ok(Ok(head)) = tokio::task::spawn_blocking(move || log.head()).await {
            say(&format!("audit head {head}"));
        }
        tokio::time::sleep(HEAD_PAUSE).await;
    }
}
