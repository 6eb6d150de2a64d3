//! One request to the server and what became of it: time-outs, keys, refusals, repetitions.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{ErrorKind, Result};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderValue};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy};

use super::address::Address;
use super::config::{check_name, check_variable};
use super::retry::{Again, Clock, GaveUp, Limits, persist};
use super::wire;

/// How much of a refusal is read, and how much of it is repeated to the user.
const REFUSAL_BYTES: u64 = 64 * 1024;
const REFUSAL_CHARS: usize = 200;

/// Speaks HTTP to one server. It connects when it is first asked something.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: Address,
    pub(super) limits: Limits,
    key_env: Option<String>,
    clock: Arc<dyn Clock>,
    agent: OnceLock<Agent>,
}

/// Why one try failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    /// What happened, as the end of a sentence; never holds the key.
    pub(super) what: String,
    /// What to do about it.
    pub(super) hint: String,
    /// Whether less at a time may work.
    pub(super) too_much: bool,
    /// Whether the server answered at all.
    pub(super) answered: bool,
    again: Again,
}

impl Failure {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            what: what.into(),
            hint: hint.into(),
            too_much: false,
            answered: false,
            again: Again::Never,
        }
    }

    fn config(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Invalid,
            ..Self::new(what, hint)
        }
    }

    fn again(self, again: Again) -> Self {
        Self { again, ..self }
    }
}

/// What a request came to.
pub(super) type Outcome = std::result::Result<Vec<u8>, GaveUp<Failure>>;

impl Client {
    /// Checks where `server` is and what may be sent there; connects to nothing.
    pub(super) fn new(
        server: &str,
        url: &str,
        allow_remote: bool,
        key_env: Option<&str>,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        check_name(server)?;
        if let Some(variable) = key_env {
            check_variable(server, variable)?;
        }
        let address = Address::parse(server, url)?;
        address.check(server, allow_remote, key_env.is_some())?;
        Ok(Self {
            address,
            limits,
            key_env: key_env.map(str::to_owned),
            clock,
            agent: OnceLock::new(),
        })
    }

    /// Sends `body` and returns the answer's.
    pub(super) fn post(&self, url: &str, body: &[u8]) -> Outcome {
        self.persist(|time| self.once(url, Some(body), time))
    }

    /// Asks for what lies at `url`.
    pub(super) fn get(&self, url: &str) -> Outcome {
        self.persist(|time| self.once(url, None, time))
    }

    /// Server text that may be shown: without the key, on one line, and short.
    pub(super) fn clean(&self, text: &str) -> String {
        let text = match self.key() {
            Ok(Some(key)) => text.replace(&key, "[key]"),
            _ => text.to_owned(),
        };
        let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let printable: String = printable.collect();
        let words: Vec<_> = printable.split_whitespace().collect();
        words.join(" ").chars().take(REFUSAL_CHARS).collect()
    }

    fn persist(&self, attempt: impl FnMut(Duration) -> std::result::Result<Vec<u8>, Failure>) -> Outcome {
        persist(
            &self.limits,
            &*self.clock,
            |failure: &Failure| failure.again,
            attempt,
        )
    }

    fn once(&self, url: &str, body: Option<&[u8]>, time: Duration) -> std::result::Result<Vec<u8>, Failure> {
        let agent = self.agent()?;
        let bearer = self.bearer()?;
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
        let (parts, mut answer) = sent.map_err(|error| self.broken(&error))?.into_parts();
        if !parts.status.is_success() {
            let refused = self.refused(parts.status.as_u16(), &parts.headers, &mut answer);
            return Err(Failure {
                answered: true,
                ..refused
            });
        }
        let limited = answer.with_config().limit(self.limits.answer_bytes);
        limited.read_to_vec().map_err(|error| self.broken(&error))
    }

    /// The key as the header wants it; read anew for each request, kept nowhere.
    fn bearer(&self) -> std::result::Result<Option<HeaderValue>, Failure> {
        let Some(key) = self.key()? else { return Ok(None) };
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
            let what = "the key in its environment variable holds characters no key can have";
            Failure::config(what, "nothing was sent; set the variable again")
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    fn key(&self) -> std::result::Result<Option<String>, Failure> {
        let Some(variable) = &self.key_env else {
            return Ok(None);
        };
        let value = std::env::var(variable).unwrap_or_default();
        match value.trim() {
            "" => {
                let what = format!("the environment variable {variable} with its key is not set");
                Err(Failure::config(what, format!("nothing was sent; set {variable}")))
            }
            key => Ok(Some(key.to_owned())),
        }
    }

    fn agent(&self) -> std::result::Result<&Agent, Failure> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        // Nothing but plain HTTP is ever spoken to this machine's own plain addresses.
        let roots = if self.address.secure || !self.address.loopback {
            roots(self.address.secure)?
        } else {
            Vec::new()
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .build();
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
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(self.limits.connect))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::default(), self.address.gate());
        Ok(self.agent.get_or_init(|| agent))
    }

    /// What a connection that failed means.
    fn broken(&self, error: &ureq::Error) -> Failure {
        let to = &self.address;
        let running = "nothing was stored; see that the server runs and that its address is right";
        let later = |what: String| Failure::new(what, running).again(Again::Later);
        match error {
            ureq::Error::Timeout(_) => later(format!("{to} did not answer in time")),
            ureq::Error::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => later(format!("nobody answers at {to}")),
                io::ErrorKind::TimedOut => later(format!("{to} did not answer in time")),
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof => later(format!("{to} broke off the connection")),
                _ => Failure::new(
                    format!("{to} cannot be spoken to: {}", self.clean(&error.to_string())),
                    running,
                ),
            },
            ureq::Error::HostNotFound => Failure::new(format!("the host of {to} is not known"), running),
            ureq::Error::BodyExceedsLimit(limit) => Failure::new(
                format!("its answer is longer than {limit} bytes"),
                "nothing was stored; no model's vectors are that long, so see what answers at that address",
            ),
            other => Failure::new(
                format!("{to} cannot be spoken to: {}", self.clean(&other.to_string())),
                running,
            ),
        }
    }

    /// What an answer other than success means.
    fn refused(&self, status: u16, headers: &HeaderMap, body: &mut Body) -> Failure {
        let limited = body.with_config().limit(REFUSAL_BYTES);
        let text = limited.read_to_vec().unwrap_or_default();
        let text = wire::said(&text).unwrap_or_else(|| String::from_utf8_lossy(&text).into_owned());
        let said = self.clean(&text);
        let what = match said.as_str() {
            "" => format!("it answered {status}"),
            said => format!("it answered {status}: {said}"),
        };
        match status {
            300..=399 => {
                let there = headers.get(LOCATION).and_then(|place| place.to_str().ok());
                let what = format!(
                    "it answered {status} and points to {:?}, which is not followed",
                    self.clean(there.unwrap_or_default())
                );
                Failure::new(
                    what,
                    "nothing was stored; register the address the server really has",
                )
            }
            // What a server says of a key may hold part of it.
            401 | 403 => Failure::new(
                format!("it answered {status}: it wants another key"),
                self.key_hint(),
            ),
            status if wire::too_much(status, &text) => Failure {
                too_much: true,
                ..Failure::new(what, "nothing was stored")
            },
            404 => Failure::new(
                what,
                "nothing was stored; see that the address is right and that the server has the model (Ollama: `ollama pull`)",
            ),
            408 | 429 | 500 | 502 | 503 | 504 => {
                Failure::new(what, "nothing was stored; try again later").again(wanted_pause(headers))
            }
            _ => Failure::new(what, "nothing was stored; see the server's own log"),
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

/// What the server says about when to come back; only whole seconds are understood.
fn wanted_pause(headers: &HeaderMap) -> Again {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    match seconds.and_then(|seconds| seconds.trim().parse().ok()) {
        Some(seconds) => Again::After(Duration::from_secs(seconds)),
        None => Again::Later,
    }
}

/// The certificates this machine trusts.
fn roots(needed: bool) -> std::result::Result<Vec<Certificate<'static>>, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if needed && found.certs.is_empty() {
        return Err(Failure::config(
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
