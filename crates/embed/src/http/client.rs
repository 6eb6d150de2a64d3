//! One request to the server: time-outs, keys, refusals, retries.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{ErrorKind, Result};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderValue};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy};

use super::address::ServerAddress;
use super::config::{check_name, check_variable};
use super::retry::{RequestLimits, RetryAdvice, RetryClock, RetryFailure, retry_request};
use super::wire;

/// The most bytes of a refusal that are read, and the most characters that are shown.
const REFUSAL_BYTES: u64 = 64 * 1024;
const REFUSAL_CHARS: usize = 200;

/// An HTTP client for one server. Connects on the first request.
#[derive(Debug)]
pub(super) struct EmbeddingClient {
    pub(super) address: ServerAddress,
    pub(super) limits: RequestLimits,
    key_env: Option<String>,
    clock: Arc<dyn RetryClock>,
    agent: OnceLock<Agent>,
}

/// The failure of one attempt.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) kind: ErrorKind,
    /// The event, as the end of a sentence; never contains the key.
    pub(super) what: String,
    /// The next step for the user.
    pub(super) hint: String,
    /// True if a smaller request may work.
    pub(super) too_much: bool,
    /// True if the server answered at all.
    pub(super) answered: bool,
    again: RetryAdvice,
}

impl RequestFailure {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            what: what.into(),
            hint: hint.into(),
            too_much: false,
            answered: false,
            again: RetryAdvice::Never,
        }
    }

    fn from_config(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Invalid,
            ..Self::new(what, hint)
        }
    }

    fn with_retry(self, again: RetryAdvice) -> Self {
        Self { again, ..self }
    }
}

/// The outcome of a request.
pub(super) type RequestOutcome = std::result::Result<Vec<u8>, RetryFailure<RequestFailure>>;

impl EmbeddingClient {
    /// Checks the address of `server` and what may be sent there; opens no connection.
    pub(super) fn new(
        server: &str,
        url: &str,
        allow_remote: bool,
        key_env: Option<&str>,
        limits: RequestLimits,
        clock: Arc<dyn RetryClock>,
    ) -> Result<Self> {
        check_name(server)?;
        if let Some(variable) = key_env {
            check_variable(server, variable)?;
        }
        let address = ServerAddress::parse(server, url)?;
        address.check_allowed(server, allow_remote, key_env.is_some())?;
        Ok(Self {
            address,
            limits,
            key_env: key_env.map(str::to_owned),
            clock,
            agent: OnceLock::new(),
        })
    }

    /// Sends `body` within `limits` and returns the body of the answer.
    pub(super) fn post(&self, url: &str, body: &[u8], limits: &RequestLimits) -> RequestOutcome {
        self.send_with_retries(limits, |time| self.send_once(url, Some(body), time))
    }

    /// Fetches `url`.
    pub(super) fn get(&self, url: &str) -> RequestOutcome {
        self.send_with_retries(&self.limits, |time| self.send_once(url, None, time))
    }

    /// Makes text from a server presentable: without the key, on one line, and short.
    pub(super) fn clean_text(&self, text: &str) -> String {
        let text = match self.read_key() {
            // Some servers echo the rejected key in their error.
            Ok(Some(key)) => text.replace(&key, "[key]"),
            _ => text.to_owned(),
        };
        let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let printable: String = printable.collect();
        let words: Vec<_> = printable.split_whitespace().collect();
        words.join(" ").chars().take(REFUSAL_CHARS).collect()
    }

    fn send_with_retries(
        &self,
        limits: &RequestLimits,
        attempt: impl FnMut(Duration) -> std::result::Result<Vec<u8>, RequestFailure>,
    ) -> RequestOutcome {
        retry_request(
            limits,
            &*self.clock,
            |failure: &RequestFailure| failure.again,
            attempt,
        )
    }

    fn send_once(
        &self,
        url: &str,
        body: Option<&[u8]>,
        time: Duration,
    ) -> std::result::Result<Vec<u8>, RequestFailure> {
        let agent = self.open_agent()?;
        let bearer = self.bearer_header()?;
        let sent = match body {
            Some(body) => {
                let mut request = agent.post(url).config().timeout_global(Some(time)).build();
                request = request.header(CONTENT_TYPE, "application/json");
                if let Some(bearer) = bearer {
                    request = request.header(AUTHORIZATION, bearer);
                }
                request.send(body)
            }
            None => {
                let mut request = agent.get(url).config().timeout_global(Some(time)).build();
                if let Some(bearer) = bearer {
                    request = request.header(AUTHORIZATION, bearer);
                }
                request.call()
            }
        };
        let (parts, mut answer) = sent
            .map_err(|error| self.connection_failure(&error))?
            .into_parts();
        if !parts.status.is_success() {
            let refused = self.refusal_failure(parts.status.as_u16(), &parts.headers, &mut answer);
            return Err(RequestFailure {
                answered: true,
                ..refused
            });
        }
        // Bounded, so that a wrong address that streams without end cannot fill the memory.
        let limited = answer.with_config().limit(self.limits.answer_bytes);
        limited
            .read_to_vec()
            .map_err(|error| self.connection_failure(&error))
    }

    /// Returns the key as a header value; read again for each request, stored nowhere.
    fn bearer_header(&self) -> std::result::Result<Option<HeaderValue>, RequestFailure> {
        let Some(key) = self.read_key()? else {
            return Ok(None);
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
            let what = "the key in its environment variable contains characters that no key can have";
            RequestFailure::from_config(what, "nothing was sent; set the variable again")
        })?;
        // Keeps the key out of any debug output of the request.
        value.set_sensitive(true);
        Ok(Some(value))
    }

    fn read_key(&self) -> std::result::Result<Option<String>, RequestFailure> {
        let Some(variable) = &self.key_env else {
            return Ok(None);
        };
        let value = std::env::var(variable).unwrap_or_default();
        match value.trim() {
            "" => {
                let what = format!("the environment variable {variable} for its key is not set");
                Err(RequestFailure::from_config(
                    what,
                    format!("nothing was sent; set {variable}"),
                ))
            }
            key => Ok(Some(key.to_owned())),
        }
    }

    fn open_agent(&self) -> std::result::Result<&Agent, RequestFailure> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        // Plain HTTP to this machine needs no certificates, so none are loaded.
        let roots = if self.address.secure || !self.address.loopback {
            load_roots(self.address.secure)?
        } else {
            Vec::new()
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .build();
        // A proxy for this machine would send texts that were promised to stay here to another one.
        let proxy = if self.address.loopback {
            None
        } else {
            Proxy::try_from_env()
        };
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .https_only(self.address.secure)
            .http_status_as_error(false)
            // A redirect could lead texts and key to another machine, past the check of the address.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(self.limits.connect))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::default(), self.address.loopback_gate());
        // Two threads may build one at once; both then use the first that was stored.
        Ok(self.agent.get_or_init(|| agent))
    }

    /// Describes a failed connection.
    fn connection_failure(&self, error: &ureq::Error) -> RequestFailure {
        let to = &self.address;
        let running = "nothing was stored; check that the server is running and that its address is right";
        let later = |what: String| RequestFailure::new(what, running).with_retry(RetryAdvice::Later);
        match error {
            ureq::Error::Timeout(_) => later(format!("{to} did not answer in time")),
            ureq::Error::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => later(format!("no server is listening at {to}")),
                io::ErrorKind::TimedOut => later(format!("{to} did not answer in time")),
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof => later(format!("{to} closed the connection too early")),
                _ => RequestFailure::new(
                    format!("cannot talk to {to}: {}", self.clean_text(&error.to_string())),
                    running,
                ),
            },
            ureq::Error::HostNotFound => {
                RequestFailure::new(format!("cannot resolve the host of {to}"), running)
            }
            ureq::Error::BodyExceedsLimit(limit) => RequestFailure::new(
                format!("its answer is longer than {limit} bytes"),
                "nothing was stored; no model's vectors are that long, so check what answers at that address",
            ),
            other => RequestFailure::new(
                format!("cannot talk to {to}: {}", self.clean_text(&other.to_string())),
                running,
            ),
        }
    }

    /// Describes an answer other than success.
    fn refusal_failure(&self, status: u16, headers: &HeaderMap, body: &mut Body) -> RequestFailure {
        let limited = body.with_config().limit(REFUSAL_BYTES);
        let text = limited.read_to_vec().unwrap_or_default();
        let text =
            wire::read_error_message(&text).unwrap_or_else(|| String::from_utf8_lossy(&text).into_owned());
        let said = self.clean_text(&text);
        let what = match said.as_str() {
            "" => format!("it answered {status}"),
            said => format!("it answered {status}: {said}"),
        };
        match status {
            300..=399 => {
                let there = headers.get(LOCATION).and_then(|place| place.to_str().ok());
                let what = format!(
                    "it answered {status} and points to {:?}, which is not followed",
                    self.clean_text(there.unwrap_or_default())
                );
                RequestFailure::new(what, "nothing was stored; register the server's real address")
            }
            // The server's own message is not shown: it may repeat part of the key.
            401 | 403 => RequestFailure::new(
                format!("it answered {status}: it does not accept the key"),
                self.key_hint(),
            ),
            // Before the retries below: a 500 for a text that is too long would be repeated in vain.
            status if wire::is_too_much(status, &text) => RequestFailure {
                too_much: true,
                ..RequestFailure::new(what, "nothing was stored")
            },
            404 => RequestFailure::new(
                what,
                "nothing was stored; check that the address is right and that the server has the model (Ollama: `ollama pull`)",
            ),
            408 | 429 | 500 | 502 | 503 | 504 => {
                RequestFailure::new(what, "nothing was stored; try again later")
                    .with_retry(read_retry_after(headers))
            }
            _ => RequestFailure::new(what, "nothing was stored; see the server's log"),
        }
    }

    fn key_hint(&self) -> String {
        match &self.key_env {
            Some(variable) => format!("nothing was stored; set {variable} to a key the server accepts"),
            None => {
                "nothing was stored; register the server with the environment variable that holds its key"
                    .into()
            }
        }
    }
}

/// Reads the server's wish for a pause; only whole seconds are understood.
fn read_retry_after(headers: &HeaderMap) -> RetryAdvice {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    match seconds.and_then(|seconds| seconds.trim().parse().ok()) {
        Some(seconds) => RetryAdvice::After(Duration::from_secs(seconds)),
        None => RetryAdvice::Later,
    }
}

/// Loads the certificates that this machine trusts.
fn load_roots(needed: bool) -> std::result::Result<Vec<Certificate<'static>>, RequestFailure> {
    let found = rustls_native_certs::load_native_certs();
    if needed && found.certs.is_empty() {
        return Err(RequestFailure::from_config(
            "this machine has no root certificates, so no https server can be trusted",
            "nothing was sent; install them, or name a file of them in SSL_CERT_FILE",
        ));
    }
    let owned = found
        .certs
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    Ok(owned.collect())
}
