//! Who may ask for what: the name a request calls the server by, where it comes from, and the token it shows.
//!
//! A page in a browser can send requests to this machine, and by a forged name make the browser believe that they are its
//! own. So the name is looked at before anything else, and where a page may come from right after it. No header that would
//! open the server to other pages is ever sent.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};

use super::Limits;
use super::listen;
use super::rate::Bucket;
use super::refusal::Refusal;
use super::token::Token;

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The protocol; the token was right.
    Mcp,
    /// Whether the server lives.
    Health,
}

/// What stands before the server.
pub(super) struct Guard {
    names: Vec<[String; 2]>,
    port: u16,
    token: Token,
    requests: Bucket,
    failures: Bucket,
    glances: Bucket,
}

impl Guard {
    /// The guard of a server at `address`.
    pub(super) fn new(address: SocketAddr, token: Token, limits: &Limits) -> Self {
        let now = Instant::now();
        Self {
            names: listen::names(address),
            port: address.port(),
            token,
            requests: Bucket::new(limits.requests, now),
            failures: Bucket::new(limits.failures, now),
            glances: Bucket::new(limits.requests, now),
        }
    }

    /// What a request is about, if it may be asked at all.
    pub(super) fn admit<B>(&self, request: &Request<B>, now: Instant) -> Result<Place, Refusal> {
        let name = self.name(request)?;
        self.check_origin(request.headers(), name)?;
        match (request.uri().path(), request.method()) {
            ("/mcp", &Method::GET | &Method::POST | &Method::DELETE) => {
                self.check_token(request.headers(), now)?;
                self.requests.take(now).map_err(too_often)?;
                Ok(Place::Mcp)
            }
            ("/mcp", _) => Err(Refusal::method("GET, POST, DELETE")),
            ("/healthz", &Method::GET) => {
                self.glances.take(now).map_err(too_often)?;
                Ok(Place::Health)
            }
            ("/healthz", _) => Err(Refusal::method("GET")),
            _ => Err(Refusal::new(StatusCode::NOT_FOUND, "there is only /mcp here")),
        }
    }

    /// What the request calls this server, which has to be one of its names.
    fn name<B>(&self, request: &Request<B>) -> Result<&[String; 2], Refusal> {
        let host = only(request.headers(), &HOST)
            .and_then(|host| host.ok_or(()))
            .map_err(|()| {
                Refusal::new(
                    StatusCode::BAD_REQUEST,
                    "one Host header is needed, and one that can be read",
                )
            })?;
        let known = |said: &str| {
            let mut names = self.names.iter();
            names.find(|forms| forms.iter().any(|form| form.eq_ignore_ascii_case(said)))
        };
        let target = request.uri().authority();
        let same = target.is_none_or(|target| known(target.as_str()).is_some());
        known(host)
            .filter(|_| same)
            .ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "this server has another name"))
    }

    /// A page may ask only where it came from this server itself.
    fn check_origin(&self, headers: &HeaderMap, [plain, full]: &[String; 2]) -> Result<(), Refusal> {
        let own = |origin: &str| {
            let said = origin.strip_prefix("http://");
            said.is_some_and(|said| {
                said.eq_ignore_ascii_case(full) || (self.port == 80 && said.eq_ignore_ascii_case(plain))
            })
        };
        match only(headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if own(origin) => Ok(()),
            _ => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "pages of other servers may not ask this one",
            )),
        }
    }

    /// Strangers who guess are slowed down; whoever has the token is never locked out by them.
    fn check_token(&self, headers: &HeaderMap, now: Instant) -> Result<(), Refusal> {
        let shown = only(headers, &AUTHORIZATION).ok().flatten().and_then(bearer);
        if shown.is_some_and(|shown| self.token.is(shown.as_bytes())) {
            return Ok(());
        }
        self.failures.take(now).map_err(|seconds| {
            let words = "too many requests without the right token";
            Refusal::later(StatusCode::TOO_MANY_REQUESTS, words, seconds)
        })?;
        Err(Refusal::token())
    }
}

fn too_often(seconds: u64) -> Refusal {
    Refusal::later(StatusCode::TOO_MANY_REQUESTS, "too many requests", seconds)
}

/// The value of a header that may be there once; an error where it is there more often or no text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        _ => Err(()),
    }
}

/// What is shown as a bearer token.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
