//! Connections to Postgres: the settings of one, and connecting as libpq does.

mod certificate;
mod environment;
mod failure;
mod host;
mod password;
mod service_file;
mod session_target;
mod settings;
mod tls;
mod tls_stream;
mod verifier;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use loci_core::{Error, ErrorKind};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::{CancelToken, Client, Config};

pub use environment::ConnectionEnvironment;
pub use settings::ConnectionSettings;

use failure::{AttemptFailure, FailureStage, join_failures};
use host::{HostTarget, ServerPlace};
use session_target::{SessionState, SessionTarget};
use tls::TlsMode;
use tls_stream::TlsDialer;

/// An open connection. Its task runs on the runtime that connected, and ends when the client is dropped.
pub struct ServerConnection {
    /// Sends statements.
    pub client: Client,
    /// Cancels the statement that is running.
    pub cancel: QueryCancel,
    /// The server that was reached, as errors name it.
    pub server: String,
    /// Whether the connection is under TLS.
    pub is_encrypted: bool,
}

impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection")
            .field("server", &self.server)
            .field("is_encrypted", &self.is_encrypted)
            .finish_non_exhaustive()
    }
}

/// Asks the server to cancel the running statement of one connection, over a connection of the same kind.
#[derive(Clone)]
pub struct QueryCancel {
    token: CancelToken,
    dialer: TlsDialer,
    server: String,
    timeout: Option<Duration>,
}

impl QueryCancel {
    /// Sends the request. The statement fails soon after, unless it ended before; nothing else is affected.
    pub async fn cancel(&self) -> loci_core::Result<()> {
        let request = self.token.cancel_query(self.dialer.clone());
        let sent = limit_time(self.timeout, async {
            request.await.map_err(|error| error.to_string())
        })
        .await;
        let reason = match sent {
            Some(Ok(())) => return Ok(()),
            Some(Err(reason)) => reason,
            None => "the server did not answer in time".to_owned(),
        };
        let server = &self.server;
        Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "cannot ask Postgres at {server} to cancel a statement: {reason}; the statement may still run"
            ),
        )
        .with_hint("wait for it, or end it with pg_cancel_backend"))
    }
}

/// Connects to the first server that works.
///
/// Servers are tried in the order of the URL, each address of each, every one for as long as `connect_timeout` allows. A
/// server that refuses this user ends the search, as in libpq; one that is down, starting, or not what
/// `target_session_attrs` asks for does not.
pub async fn connect(settings: &ConnectionSettings) -> loci_core::Result<ServerConnection> {
    let mut targets: Vec<&HostTarget> = settings.targets.iter().collect();
    if settings.is_shuffled {
        shuffle(&mut targets);
    }
    let mut failures = Vec::new();
    for demand in settings.session.rounds() {
        failures.clear();
        for target in &targets {
            match connect_target(settings, target, demand).await {
                Ok(connection) => return Ok(connection),
                Err(failure) => {
                    let is_final = !failure.moves_on;
                    failures.push((target.to_string(), failure));
                    if is_final {
                        return Err(join_failures(settings, &failures));
                    }
                }
            }
        }
    }
    Err(join_failures(settings, &failures))
}

/// Puts items into a random order. Each `RandomState` has keys of its own.
fn shuffle<T>(items: &mut [T]) {
    items.sort_by_cached_key(|_| RandomState::new().hash_one(0));
}

/// Runs `work` for at most `limit`; returns nothing if the time was not enough.
async fn limit_time<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

fn timed_out(settings: &ConnectionSettings) -> AttemptFailure {
    let seconds = settings.timeout.unwrap_or_default().as_secs();
    AttemptFailure::unreachable(
        format!("no answer within {seconds} s"),
        "check host, port and firewalls, or raise `connect_timeout=`",
    )
}

/// Tries every address of one server.
async fn connect_target(
    settings: &ConnectionSettings,
    target: &HostTarget,
    demand: SessionTarget,
) -> Result<ServerConnection, AttemptFailure> {
    let mut failure = None;
    for address in find_addresses(settings, target).await? {
        let attempt = connect_address(settings, target, address, demand);
        let outcome = limit_time(settings.timeout, attempt).await;
        match outcome.unwrap_or_else(|| Err(timed_out(settings))) {
            Ok(connection) => return Ok(connection),
            Err(found) if found.moves_on => failure = Some(found),
            Err(found) => return Err(found),
        }
    }
    Err(failure.unwrap_or_else(|| AttemptFailure::unreachable("the host has no address", "correct the host")))
}

/// Returns the addresses of a server; a socket is one without an address.
async fn find_addresses(
    settings: &ConnectionSettings,
    target: &HostTarget,
) -> Result<Vec<Option<IpAddr>>, AttemptFailure> {
    let name = match &target.place {
        ServerPlace::SocketFolder(_) => return Ok(vec![None]),
        ServerPlace::NetworkHost {
            address: Some(address),
            ..
        } => return Ok(vec![Some(*address)]),
        ServerPlace::NetworkHost { name, .. } => name,
    };
    let lookup = tokio::net::lookup_host((name.as_str(), target.port));
    let found = limit_time(settings.timeout, lookup)
        .await
        .ok_or_else(|| timed_out(settings))?;
    let found = found.map_err(|error| {
        AttemptFailure::unreachable(
            format!("the host name cannot be resolved: {error}"),
            "correct the host, or write its address",
        )
    })?;
    let mut addresses: Vec<Option<IpAddr>> = found.map(|address| Some(address.ip())).collect();
    if settings.is_shuffled {
        shuffle(&mut addresses);
    }
    Ok(addresses)
}

/// Tries one address, first in the way that `sslmode` prefers, then in the other if it allows one.
async fn connect_address(
    settings: &ConnectionSettings,
    target: &HostTarget,
    address: Option<IpAddr>,
    demand: SessionTarget,
) -> Result<ServerConnection, AttemptFailure> {
    let (first, second) = match (&target.place, settings.tls.mode) {
        // TLS does not exist on Unix sockets, whatever the mode.
        (ServerPlace::SocketFolder(_), _) | (_, TlsMode::Disable) => (SslMode::Disable, None),
        (_, TlsMode::Allow) => (SslMode::Disable, Some(SslMode::Require)),
        (_, TlsMode::Prefer) => (SslMode::Prefer, Some(SslMode::Disable)),
        (_, TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull) => (SslMode::Require, None),
    };
    let dialer = build_dialer(settings, target);
    let failure = match connect_once(settings, target, address, demand, first, &dialer).await {
        Ok(connection) => return Ok(connection),
        Err(failure) => failure,
    };
    // A server without TLS was already tried in plain text under `Prefer`. A server that is down, starting or unwanted
    // will be so with and without TLS.
    let was_plain = first == SslMode::Prefer && !dialer.has_begun();
    let is_about_tls = failure.stage != FailureStage::Network && !failure.moves_on;
    match second {
        Some(second) if is_about_tls && !was_plain => {
            let again = connect_once(settings, target, address, demand, second, &dialer).await;
            again.map_err(|other| failure.or_clearer(other))
        }
        _ => Err(failure),
    }
}

fn build_dialer(settings: &ConnectionSettings, target: &HostTarget) -> TlsDialer {
    let host = match &target.place {
        ServerPlace::NetworkHost { name, .. } => name,
        ServerPlace::SocketFolder(folder) => folder,
    };
    TlsDialer::new(settings.tls.build_config(host))
}

/// Connects once, in one way, and checks that the server is the kind that is wanted.
async fn connect_once(
    settings: &ConnectionSettings,
    target: &HostTarget,
    address: Option<IpAddr>,
    demand: SessionTarget,
    encryption: SslMode,
    dialer: &TlsDialer,
) -> Result<ServerConnection, AttemptFailure> {
    let fail = |error: tokio_postgres::Error| AttemptFailure::from_client(&error, settings, target);
    let config = build_client_config(settings, target, address, encryption);
    let (client, connection) = config.connect(dialer.clone()).await.map_err(fail)?;
    let reported = SessionState::from_reported(
        connection.parameter("in_hot_standby"),
        connection.parameter("default_transaction_read_only"),
    );
    // Its end is not lost: every later call on the client fails with "connection closed".
    tokio::spawn(connection);
    if demand != SessionTarget::Any {
        let state = match reported {
            Some(state) => state,
            None => SessionState::ask(&client).await.map_err(fail)?,
        };
        if let Some(objection) = demand.find_objection(state) {
            return Err(AttemptFailure::unwanted(objection));
        }
    }
    let cancel = QueryCancel {
        token: client.cancel_token(),
        dialer: dialer.clone(),
        server: target.to_string(),
        timeout: settings.timeout,
    };
    Ok(ServerConnection {
        client,
        cancel,
        server: target.to_string(),
        is_encrypted: encryption != SslMode::Disable && dialer.has_begun(),
    })
}

fn build_client_config(
    settings: &ConnectionSettings,
    target: &HostTarget,
    address: Option<IpAddr>,
    encryption: SslMode,
) -> Config {
    let mut config = Config::new();
    config
        .user(&settings.user)
        .dbname(&settings.database)
        .application_name(&settings.application_name)
        .port(target.port)
        .ssl_mode(encryption)
        .channel_binding(settings.channel_binding)
        .keepalives(settings.keepalive.is_on);
    match &target.place {
        ServerPlace::SocketFolder(folder) => config.host_path(folder),
        ServerPlace::NetworkHost { name, .. } => config.host(name),
    };
    if let Some(address) = address {
        config.hostaddr(address);
    }
    if let Some(password) = &target.password {
        config.password(password.bytes());
    }
    if let Some(options) = &settings.options {
        config.options(options);
    }
    if settings.tls.is_direct && encryption == SslMode::Require {
        config.ssl_negotiation(SslNegotiation::Direct);
    }
    // The limit also holds for the connection that cancels.
    if let Some(timeout) = settings.timeout {
        config.connect_timeout(timeout);
    }
    let keepalive = &settings.keepalive;
    if let Some(idle) = keepalive.idle {
        config.keepalives_idle(idle);
    }
    if let Some(interval) = keepalive.interval {
        config.keepalives_interval(interval);
    }
    if let Some(count) = keepalive.count {
        config.keepalives_retries(count);
    }
    if let Some(timeout) = keepalive.user_timeout {
        config.tcp_user_timeout(timeout);
    }
    config
}
