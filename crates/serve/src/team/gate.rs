//! The gate: which requests are for this server, where they come from, and by which name it was called.
//!
//! Host is checked before anything else. What a proxy says of a client is believed only if it comes from a proxy that the
//! settings name.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::{Method, Request, StatusCode, Version};

use super::settings::ProxyRange;
use crate::http::host_names::{HostNames, single_header};
use crate::http::refusal::HttpRefusal;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The most addresses in one `X-Forwarded-For` that are looked at.
const MOST_HOPS: usize = 20;

/// Checks the head of every request.
pub(super) struct TeamGate {
    names: HostNames,
    /// The authority and origin of the public address, if one is set.
    public: Option<PublicName>,
    /// Whether clients speak TLS to this server or to a proxy before it.
    pub(super) is_secure: bool,
    /// The address by which documents name the server.
    pub(super) base_url: String,
}

/// The name by which clients reach the server.
struct PublicName {
    authority: String,
    origin: String,
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestPlace {
    /// The client's address, as far as it is known.
    pub(super) address: IpAddr,
    /// Whether the client itself is this machine, without a proxy between.
    pub(super) is_local: bool,
}

impl TeamGate {
    /// Makes the gate of a server at `address`. `public_url` has been checked.
    pub(super) fn new(address: SocketAddr, has_tls: bool, public_url: Option<&str>) -> Self {
        let scheme = if has_tls { "https" } else { "http" };
        let own = format!("{scheme}://{address}");
        let base_url = public_url.unwrap_or(&own).trim_end_matches('/').to_owned();
        let public = public_url.and_then(|url| {
            let origin = url.trim_end_matches('/');
            let (_, authority) = origin.split_once("://")?;
            Some(PublicName {
                authority: authority.to_owned(),
                origin: origin.to_owned(),
            })
        });
        Self {
            names: HostNames::new(address),
            public,
            is_secure: base_url.starts_with("https://"),
            base_url,
        }
    }

    /// Checks that a request is for this server and reads the same to every server on its way.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Result<(), HttpRefusal> {
        if request.version() != Version::HTTP_11 {
            let words = "only HTTP/1.1 is spoken here";
            return Err(HttpRefusal::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, words));
        }
        let headers = request.headers();
        // Two readers might see the end of such a body at different places.
        if headers.contains_key(TRANSFER_ENCODING) {
            let words = "a body must be sent with its length; nothing was done";
            return Err(HttpRefusal::new(StatusCode::LENGTH_REQUIRED, words));
        }
        if self.is_public(request) {
            return self.check_origin(headers, None);
        }
        let name = self.names.check_host(request)?;
        self.check_origin(headers, Some(name))
    }

    fn is_public<B>(&self, request: &Request<B>) -> bool {
        let Some(public) = &self.public else {
            return false;
        };
        let is_it = |said: &str| said.eq_ignore_ascii_case(&public.authority);
        let host = single_header(request.headers(), &HOST).ok().flatten();
        let target = request.uri().authority();
        host.is_some_and(is_it) && target.is_none_or(|target| is_it(target.as_str()))
    }

    /// Refuses requests that pages of other sites make. Only browsers send an Origin.
    fn check_origin(&self, headers: &HeaderMap, name: Option<&[String; 2]>) -> Result<(), HttpRefusal> {
        let is_own = |origin: &str| match (name, &self.public) {
            (Some(name), _) => self.names.is_own_origin(origin, name),
            (None, Some(public)) => origin.eq_ignore_ascii_case(&public.origin),
            (None, None) => false,
        };
        match single_header(headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if is_own(origin) => Ok(()),
            // Our pages send no referrer, and a browser then calls the origin of a form `null`.
            Ok(Some("null")) if says(headers, &SEC_FETCH_SITE, "same-origin") => Ok(()),
            _ => Err(HttpRefusal::new(
                StatusCode::FORBIDDEN,
                "requests from other origins are not allowed",
            )),
        }
    }

    /// Refuses a request for a page that another site made, unless it opens the page in a window.
    pub(super) fn check_page<B>(&self, request: &Request<B>) -> Result<(), HttpRefusal> {
        let headers = request.headers();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let site = single_header(headers, &SEC_FETCH_SITE).map_err(|()| {
            let words = "the header Sec-Fetch-Site is there twice";
            HttpRefusal::new(StatusCode::BAD_REQUEST, words)
        })?;
        let comes_from_here = match site {
            Some("same-origin") => true,
            Some("none") => reads,
            // A link in a message of the team may lead here; a frame or an image may not.
            Some(_) => {
                reads
                    && says(headers, &SEC_FETCH_MODE, "navigate")
                    && says(headers, &SEC_FETCH_DEST, "document")
            }
            // A program, or a browser that sends an Origin with what it posts.
            None => reads || headers.contains_key(ORIGIN),
        };
        if comes_from_here {
            return Ok(());
        }
        let words = "pages of other sites cannot do this; nothing was done";
        Err(HttpRefusal::new(StatusCode::FORBIDDEN, words))
    }
}

fn says(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    single_header(headers, name).is_ok_and(|said| said == Some(value))
}

/// Returns where a request comes from. Behind proxies it is the last address that none of them has.
pub(super) fn find_place(headers: &HeaderMap, peer: SocketAddr, proxies: &[ProxyRange]) -> RequestPlace {
    let is_proxy = |address: IpAddr| proxies.iter().any(|range| range.contains(address));
    let peer = peer.ip().to_canonical();
    let direct = RequestPlace {
        address: peer,
        is_local: peer.is_loopback() && !headers.contains_key(FORWARDED_FOR),
    };
    if !is_proxy(peer) {
        return direct;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let hops: Vec<&str> = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .collect();
    let mut address = peer;
    for hop in hops.into_iter().rev().take(MOST_HOPS) {
        // What follows an address that is no address was written by somebody else.
        let Some(said) = parse_hop(hop.trim()) else { break };
        address = said;
        if !is_proxy(address) {
            break;
        }
    }
    RequestPlace {
        address,
        is_local: direct.is_local,
    }
}

fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let text = bare.map_or(text, |(address, _)| address);
    let parsed = text.parse::<IpAddr>().ok();
    let parsed = parsed.or_else(|| text.parse::<SocketAddr>().ok().map(|at| at.ip()));
    parsed.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_place(peer: &str, forwarded: &[&str], expect: &str) {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let proxies = ["10.0.0.0/8".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        let peer = SocketAddr::new(peer.parse().unwrap(), 9);
        let place = find_place(&headers, peer, &proxies);
        assert_eq!(place.address.to_string(), expect, "{forwarded:?}");
    }

    #[test]
    fn only_named_proxies_are_believed() {
        check_place("203.0.113.5", &["198.51.100.1"], "203.0.113.5");
        check_place("10.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check_place("10.0.0.1", &["1.2.3.4, 198.51.100.1, 10.9.9.9"], "198.51.100.1");
        check_place("10.0.0.1", &["1.2.3.4", "198.51.100.1"], "198.51.100.1");
        check_place("10.0.0.1", &["nonsense"], "10.0.0.1");
        check_place("10.0.0.1", &["1.2.3.4, nonsense"], "10.0.0.1");
        check_place("10.0.0.1", &["[2001:db8::1]:443"], "2001:db8::1");
        check_place("10.0.0.1", &["198.51.100.1:4711"], "198.51.100.1");
        check_place("10.0.0.1", &[], "10.0.0.1");
    }

    fn gate() -> TeamGate {
        TeamGate::new(
            "127.0.0.1:9000".parse().unwrap(),
            false,
            Some("https://loci.example.org"),
        )
    }

    #[track_caller]
    fn check_head(headers: &[(&str, &str)], expect: u16) {
        let mut request = Request::builder().uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let admitted = gate().admit(&request.body(()).unwrap());
        let status = admitted.err().map_or(200, |refusal| refusal.status.as_u16());
        assert_eq!(status, expect, "{headers:?}");
    }

    #[test]
    fn only_requests_for_this_server_are_admitted() {
        check_head(&[("Host", "loci.example.org")], 200);
        check_head(&[("Host", "LOCI.example.org")], 200);
        check_head(&[("Host", "127.0.0.1:9000")], 200);
        check_head(&[("Host", "evil.example")], 403);
        check_head(&[("Host", "loci.example.org.evil.example")], 403);
        check_head(&[], 400);
        check_head(&[("Host", "loci.example.org"), ("Host", "evil.example")], 400);
        let own = ("Host", "loci.example.org");
        check_head(&[own, ("Origin", "https://loci.example.org")], 200);
        check_head(&[own, ("Origin", "http://loci.example.org")], 403);
        check_head(&[own, ("Origin", "https://evil.example")], 403);
        check_head(&[own, ("Origin", "null")], 403);
        check_head(&[own, ("Origin", "null"), ("Sec-Fetch-Site", "same-origin")], 200);
        check_head(&[own, ("Transfer-Encoding", "chunked")], 411);
    }

    #[track_caller]
    fn check_source(method: &str, headers: &[(&str, &str)], expect: bool) {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        assert_eq!(
            gate().check_page(&request.body(()).unwrap()).is_ok(),
            expect,
            "{method} {headers:?}"
        );
    }

    #[test]
    fn other_sites_may_open_a_page_and_do_nothing_else() {
        let cross = ("Sec-Fetch-Site", "cross-site");
        let window = [
            cross,
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ];
        check_source("GET", &window, true);
        check_source(
            "GET",
            &[
                cross,
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "iframe"),
            ],
            false,
        );
        check_source("GET", &[cross, ("Sec-Fetch-Mode", "no-cors")], false);
        check_source("POST", &window, false);
        check_source("POST", &[("Sec-Fetch-Site", "same-origin")], true);
        check_source("POST", &[("Sec-Fetch-Site", "none")], false);
        check_source("POST", &[], false);
        check_source("GET", &[], true);
    }
}
