//! Access to the server: the Host and Origin headers of a request, its token, and its rate.
//!
//! The Host header is checked before anything else, and Origin right after it.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use hyper::{Method, Request, StatusCode};

use super::HttpLimits;
use super::rate::RateBucket;
use super::token::AccessToken;
use crate::http::host_names::{HostNames, single_header};
use crate::http::refusal::HttpRefusal;

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
    names: HostNames,
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
            names: HostNames::new(address),
            token,
            requests: RateBucket::new(limits.requests, now),
            failures: RateBucket::new(limits.failures, now),
            health_checks: RateBucket::new(limits.requests, now),
        }
    }

    /// Returns the destination of a request, or the reason to refuse it.
    pub(super) fn admit<B>(&self, request: &Request<B>, now: Instant) -> Result<RequestRoute, HttpRefusal> {
        let name = self.names.check_host(request)?;
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

    /// Refuses requests of web pages, except from the server's own origin.
    fn check_origin(&self, headers: &HeaderMap, name: &[String; 2]) -> Result<(), HttpRefusal> {
        // Only browsers send an Origin; other clients pass without one.
        match single_header(headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if self.names.is_own_origin(origin, name) => Ok(()),
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

/// Returns the token of a bearer header.
fn parse_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
