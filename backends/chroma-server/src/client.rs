//! Requests to one server: connections, the token, time limits, one retry.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderName, HeaderValue};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use crate::address::{ChromaUrl, TokenHeader};
use crate::deadline::ChromaDeadline;
use crate::failure::RequestRefusal;
use crate::wire::PreflightAnswer;

/// The time for a connection, and for an answer to a call without a budget.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(300);

/// Connections that were idle longer are not used again: servers before 1.0 close them after five seconds.
const IDLE: Duration = Duration::from_secs(3);

/// The most bytes of an answer.
const LONGEST_ANSWER: u64 = 4 * 1024 * 1024 * 1024;

/// The result of one request.
pub(crate) type ClientOutcome<T> = std::result::Result<T, RequestRefusal>;

/// An HTTP client for one server. Connects on the first request.
pub(crate) struct ChromaClient {
    pub(crate) url: ChromaUrl,
    token: Option<String>,
    agent: OnceLock<Agent>,
    limits: OnceLock<PreflightAnswer>,
}

impl fmt::Debug for ChromaClient {
    // The token is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChromaClient")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl ChromaClient {
    /// Creates a client; opens no connection. A token is refused if it would travel unencrypted to another machine.
    pub(crate) fn new(url: ChromaUrl, token: Option<String>) -> Result<Self> {
        if token.is_some() && !url.secure && !url.is_loopback() {
            return Err(Error::invalid(
                "the token in CHROMA_TOKEN would travel unencrypted to another machine",
            )
            .with_hint("nothing was sent; write chroma+https:// in the URL, or unset CHROMA_TOKEN"));
        }
        Ok(Self {
            url,
            token,
            agent: OnceLock::new(),
            limits: OnceLock::new(),
        })
    }

    /// Fetches `path`, which begins with a slash.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str, deadline: ChromaDeadline) -> ClientOutcome<T> {
        self.parse(&self.send_twice("GET", path, None, deadline)?)
    }

    /// Sends a question, or a write that may be repeated, and reads the answer.
    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        deadline: ChromaDeadline,
    ) -> ClientOutcome<T> {
        self.parse(&self.send_twice("POST", path, Some(&encode(body)), deadline)?)
    }

    /// Sends a write that may be repeated, and ignores what the answer says beyond success.
    pub(crate) fn post_write(&self, path: &str, body: &impl Serialize) -> ClientOutcome<()> {
        self.send_twice("POST", path, Some(&encode(body)), ChromaDeadline::default())
            .map(drop)
    }

    /// Sends a write that must not be repeated.
    pub(crate) fn post_once(&self, path: &str, body: &impl Serialize) -> ClientOutcome<Vec<u8>> {
        self.send_once("POST", path, Some(&encode(body)), ChromaDeadline::default())
    }

    /// Removes what `path` names.
    pub(crate) fn delete(&self, path: &str) -> ClientOutcome<()> {
        self.send_once("DELETE", path, None, ChromaDeadline::default())
            .map(drop)
    }

    /// Returns the server's limits; asked once.
    pub(crate) fn limits(&self) -> Result<PreflightAnswer> {
        if let Some(limits) = self.limits.get() {
            return Ok(*limits);
        }
        let asked = self.get("/pre-flight-checks", ChromaDeadline::default())?;
        Ok(*self.limits.get_or_init(|| asked))
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, answer: &[u8]) -> ClientOutcome<T> {
        serde_json::from_slice(answer).map_err(|cause| RequestRefusal::from_nonsense(&self.url, &cause))
    }

    /// A connection may have been closed while it was idle, so a request without any answer is sent once more.
    fn send_twice(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        deadline: ChromaDeadline,
    ) -> ClientOutcome<Vec<u8>> {
        match self.send_once(method, path, body, deadline) {
            Err(refusal) if refusal.status.is_none() && refusal.error.kind() != ErrorKind::TimedOut => {
                self.send_once(method, path, body, deadline)
            }
            outcome => outcome,
        }
    }

    fn send_once(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        deadline: ChromaDeadline,
    ) -> ClientOutcome<Vec<u8>> {
        let refuse = |error: Error| RequestRefusal { status: None, error };
        deadline.check().map_err(refuse)?;
        let agent = self.open_agent().map_err(refuse)?;
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url.base()));
        if let Some((name, value)) = self.token_header().map_err(refuse)? {
            request = request.header(name, value);
        }
        let time = deadline.time_left().unwrap_or(ANSWER);
        let lost = |cause: &ureq::Error| match deadline.check() {
            // The budget was shorter than the server needed.
            Err(error) => refuse(error),
            Ok(()) => RequestRefusal::from_transport(&self.url, cause),
        };
        let sent = match body {
            Some(body) => {
                let request = request.header(CONTENT_TYPE, "application/json").body(body);
                let request = request.expect("a method, a URL and headers are a request");
                agent.run(
                    agent
                        .configure_request(request)
                        .timeout_global(Some(time))
                        .build(),
                )
            }
            None => {
                let request = request.body(());
                let request = request.expect("a method, a URL and headers are a request");
                agent.run(
                    agent
                        .configure_request(request)
                        .timeout_global(Some(time))
                        .build(),
                )
            }
        };
        let (parts, mut answer) = sent.map_err(|cause| lost(&cause))?.into_parts();
        let limited = answer.with_config().limit(LONGEST_ANSWER);
        let bytes = limited.read_to_vec().map_err(|cause| lost(&cause))?;
        if !parts.status.is_success() {
            return Err(RequestRefusal::from_answer(
                &self.url,
                parts.status.as_u16(),
                &bytes,
            ));
        }
        Ok(bytes)
    }

    fn token_header(&self) -> Result<Option<(HeaderName, HeaderValue)>> {
        let Some(token) = &self.token else {
            return Ok(None);
        };
        let (name, text) = match self.url.token_header {
            TokenHeader::Authorization => (AUTHORIZATION, format!("Bearer {token}")),
            TokenHeader::ChromaToken => (HeaderName::from_static("x-chroma-token"), token.clone()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            Error::invalid("CHROMA_TOKEN contains characters that no token can have")
                .with_hint("nothing was sent; set it again")
        })?;
        // Keeps the token out of any debug output of the request.
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    fn open_agent(&self) -> Result<&Agent> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let roots = if self.url.secure {
            load_roots()?
        } else {
            Vec::new()
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .build();
        let proxy = if self.url.is_loopback() {
            None
        } else {
            Proxy::try_from_env()
        };
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .https_only(self.url.secure)
            .http_status_as_error(false)
            // A redirect could lead texts and token to another machine.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_age(IDLE)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        Ok(self.agent.get_or_init(|| config.new_agent()))
    }
}

fn encode(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("requests are always JSON")
}

fn load_roots() -> Result<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err(Error::invalid(
            "this machine has no root certificates, so no https server can be trusted",
        )
        .with_hint("nothing was sent; install them, or name a file of them in SSL_CERT_FILE"));
    }
    let owned = found
        .certs
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    Ok(owned.collect())
}
