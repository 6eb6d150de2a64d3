//! Access to the server: the Host and Origin headers of a request, its token, and its rate.
//!
//! A web page can send requests to this machine, and with a forged DNS name (DNS rebinding) make the browser
//! treat the server as part of its own site. So Host is checked before anything else, and Origin right after
//! it. No CORS header is ever sent.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};

use super::HttpLimits;
use super::listen;
use super::rate::RateBucket;
use super::refusal::HttpRefusal;
use super::token::AccessToken;

/// The destination of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRoute {
    /// The MCP endpoint; the token was right.
    Mcp,
    /// The health check.
    Health,
}

/// Checks every request before it is read.
pub(super) struct RequestGuard {
    host_names: Vec<[String; 2]>,
    port: u16,
    token: AccessToken,
    requests: RateBucket,
    failures: RateBucket,
    health_checks: RateBucket,
}

impl RequestGuard {
    /// Makes the guard of a server at `address`.
    pub(super) fn new(address: SocketAddr, token: AccessToken, limits: &HttpLimits) -> Self {
        let now = Instant::now();
        Self {
            host_names: listen::list_host_names(address),
            port: address.port(),
            token,
            requests: RateBucket::new(limits.requests, now),
            failures: RateBucket::new(limits.failures, now),
            health_checks: RateBucket::new(limits.requests, now),
        }
    }

    /// Returns the destination of a request, or the reason to refuse it.
    pub(super) fn admit<B>(&self, request: &Request<B>, now: Instant) -> Result<RequestRoute, HttpRefusal> {
        let name = self.check_host(request)?;
        self.check_origin(request.headers(), name)?;
        match (request.uri().path(), request.method()) {
            // The token comes before the rate: strangers must not use up the rate of the clients that have
            // it.
            ("/mcp", &Method::GET | &Method::POST | &Method::DELETE) => {
                self.check_token(request.headers(), now)?;
                self.requests.take(now).map_err(too_many_requests)?;
                Ok(RequestRoute::Mcp)
            }
            ("/mcp", _) => Err(HttpRefusal::method_not_allowed("GET, POST, DELETE")),
            // Without a token, so monitors need no secret; with its own rate, so they cannot slow clients
            // down.
            ("/healthz", &Method::GET) => {
                self.health_checks.take(now).map_err(too_many_requests)?;
                Ok(RequestRoute::Health)
            }
            ("/healthz", _) => Err(HttpRefusal::method_not_allowed("GET")),
            _ => Err(HttpRefusal::new(
                StatusCode::NOT_FOUND,
                "not found; the server is at /mcp",
            )),
        }
    }

    /// Returns the name in the Host header, which must be one of the server's own.
    fn check_host<B>(&self, request: &Request<B>) -> Result<&[String; 2], HttpRefusal> {
        let host = single_header(request.headers(), &HOST)
            .and_then(|host| host.ok_or(()))
            .map_err(|()| {
                HttpRefusal::new(
                    StatusCode::BAD_REQUEST,
                    "a request needs exactly one readable Host header",
                )
            })?;
        let known = |said: &str| {
            let mut names = self.host_names.iter();
            names.find(|forms| forms.iter().any(|form| form.eq_ignore_ascii_case(said)))
        };
        // A request line with an absolute URL names the server a second time; both must be its own names.
        let target = request.uri().authority();
        let same = target.is_none_or(|target| known(target.as_str()).is_some());
        known(host).filter(|_| same).ok_or_else(|| {
            HttpRefusal::new(StatusCode::FORBIDDEN, "the Host header does not name this server")
        })
    }

    /// Refuses requests of web pages, except from the server's own origin.
    fn check_origin(&self, headers: &HeaderMap, [plain, full]: &[String; 2]) -> Result<(), HttpRefusal> {
        let own = |origin: &str| {
            let said = origin.strip_prefix("http://");
            said.is_some_and(|said| {
                said.eq_ignore_ascii_case(full) || (self.port == 80 && said.eq_ignore_ascii_case(plain))
            })
        };
        // Only browsers send an Origin; other clients pass without one.
        match single_header(headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if own(origin) => Ok(()),
            _ => Err(HttpRefusal::new(
                StatusCode::FORBIDDEN,
                "requests from other origins are not allowed",
            )),
        }
    }

    /// Checks the token. Wrong tokens are rate-limited; they never delay a client with the right one.
    fn check_token(&self, headers: &HeaderMap, now: Instant) -> Result<(), HttpRefusal> {
        let shown = single_header(headers, &AUTHORIZATION)
            .ok()
            .flatten()
            .and_then(parse_bearer);
        if shown.is_some_and(|shown| self.token.matches(shown.as_bytes())) {
            return Ok(());
        }
        self.failures.take(now).map_err(|seconds| {
            let words = "too many requests without the right token";
            HttpRefusal::retry_later(StatusCode::TOO_MANY_REQUESTS, words, seconds)
        })?;
        Err(HttpRefusal::token_required())
    }
}

fn too_many_requests(seconds: u64) -> HttpRefusal {
    HttpRefusal::retry_later(StatusCode::TOO_MANY_REQUESTS, "too many requests", seconds)
}

/// Returns the value of a header that may occur once. An error if it occurs more often or is not text.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        // Of two values, a proxy and this server might each believe another one.
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        _ => Err(()),
    }
}

/// Returns the token of a bearer header.
fn parse_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
