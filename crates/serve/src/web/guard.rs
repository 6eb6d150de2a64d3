//! Which requests come from the pages themselves, or from the person at the browser.
//!
//! Other web pages can send requests to this machine. The cookie is not sent with them by browsers of today, except by
//! pages of other servers on this machine, which count as the same site. So Host, Origin and what the browser says
//! about the origin of the request (`Sec-Fetch-Site`) are checked as well. No CORS header is ever sent.

use std::net::SocketAddr;

use hyper::header::{HeaderMap, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::{Method, Request, StatusCode, Version};

use super::visitors::SIGN_IN_PATH;
use crate::http::host_names::{HostNames, single_header};
use crate::http::refusal::HttpRefusal;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");
const PURPOSE: HeaderName = HeaderName::from_static("purpose");

/// The longest path of a page, in bytes.
const LONGEST_PATH: usize = 200;

/// Where a request comes from, as the browser says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestSource {
    /// A page of this server.
    OwnPage,
    /// The person: the address bar, a bookmark, a program that opened the browser.
    Person,
    /// A page of another server.
    OtherPage,
    /// The browser, or a program that is none, does not say.
    Unsaid,
}

/// Checks every request before it is read.
pub(super) struct PageGuard {
    names: HostNames,
}

impl PageGuard {
    /// Makes the guard of a server at `address`.
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            names: HostNames::with_port(address),
        }
    }

    /// Returns where a request comes from, or the reason to refuse it.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Result<RequestSource, HttpRefusal> {
        // Before 1.1 a body that is sent while it is written cannot be told from one that was cut off.
        if request.version() != Version::HTTP_11 {
            let words = "only HTTP/1.1 is spoken here";
            return Err(HttpRefusal::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, words));
        }
        let name = self.names.check_host(request)?;
        let is_sign_in = request.uri().path() == SIGN_IN_PATH;
        match *request.method() {
            Method::GET | Method::HEAD => {}
            Method::POST if !is_sign_in => {}
            _ if is_sign_in => return Err(HttpRefusal::method_not_allowed("GET, HEAD")),
            _ => return Err(HttpRefusal::method_not_allowed("GET, HEAD, POST")),
        }
        let headers = request.headers();
        // Browsers give the length of what they send. A body whose end two readers might see at different places is
        // refused before either looks.
        if headers.contains_key(TRANSFER_ENCODING) {
            let words = "a form must be sent with its length; nothing was done";
            return Err(HttpRefusal::new(StatusCode::LENGTH_REQUIRED, words));
        }
        let source = read_source(headers)?;
        let opens_sign_in = is_sign_in && is_navigation(headers);
        if source == RequestSource::OtherPage && !opens_sign_in {
            let words = "pages of other sites cannot open this one; type its address, or use a bookmark";
            return Err(HttpRefusal::new(StatusCode::FORBIDDEN, words));
        }
        let is_post = *request.method() == Method::POST;
        match single_header(headers, &ORIGIN) {
            Ok(Some(origin)) if self.names.is_own_origin(origin, name) => Ok(source),
            // Our pages send no referrer, and a browser then calls the origin of a form `null` or leaves it out.
            Ok(None | Some("null")) if is_post && source == RequestSource::OwnPage => Ok(source),
            Ok(None) if !is_post => Ok(source),
            Ok(Some("null")) if opens_sign_in => Ok(source),
            _ => Err(HttpRefusal::new(
                StatusCode::FORBIDDEN,
                "requests from other origins are not allowed",
            )),
        }
    }
}

/// Reads what the browser says about where a request comes from.
fn read_source(headers: &HeaderMap) -> Result<RequestSource, HttpRefusal> {
    match single_header(headers, &SEC_FETCH_SITE) {
        Ok(None) => Ok(RequestSource::Unsaid),
        Ok(Some("same-origin")) => Ok(RequestSource::OwnPage),
        Ok(Some("none")) => Ok(RequestSource::Person),
        // `same-site` is another port of this machine, at which anyone may serve.
        Ok(Some("cross-site" | "same-site")) => Ok(RequestSource::OtherPage),
        _ => Err(HttpRefusal::new(
            StatusCode::BAD_REQUEST,
            "the header Sec-Fetch-Site has no such value",
        )),
    }
}

/// Returns whether a request opens a page in a window, and not in a frame or as a part of another page.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    let says = |name: &HeaderName, value: &str| {
        single_header(headers, name).is_ok_and(|said| said.is_none_or(|said| said == value))
    };
    says(&SEC_FETCH_MODE, "navigate") && says(&SEC_FETCH_DEST, "document")
}

/// Returns whether the browser asks for a page in advance, which may never be looked at.
pub(super) fn is_prefetch(headers: &HeaderMap) -> bool {
    let named = headers
        .get_all(&SEC_PURPOSE)
        .iter()
        .chain(headers.get_all(&PURPOSE));
    named.into_iter().any(|purpose| {
        let purpose = purpose.as_bytes().to_ascii_lowercase();
        let has = |word: &[u8]| purpose.windows(word.len()).any(|part| part == word);
        has(b"prefetch") || has(b"prerender") || has(b"preview")
    })
}

/// Refuses a path that no page can have: pages are found by their exact paths, in which nothing is encoded.
pub(super) fn check_path(path: &str) -> Result<(), HttpRefusal> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let fits = path.len() <= LONGEST_PATH && path.starts_with('/') && path.bytes().all(is_plain);
    let steps = path.split('/').skip(1);
    let is_straight = !path.contains("//") && !steps.into_iter().any(|step| step == "." || step == "..");
    if fits && is_straight {
        return Ok(());
    }
    Err(HttpRefusal::new(
        StatusCode::BAD_REQUEST,
        "no page has such an address",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, path: &str, headers: &[(&str, &str)], expect: u16) {
        let guard = PageGuard::new("127.0.0.1:8123".parse().unwrap());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("Host", "127.0.0.1:8123");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let admitted = guard.admit(&request.body(()).unwrap());
        let status = admitted.map_or_else(|refusal| refusal.status.as_u16(), |_| 200);
        assert_eq!(status, expect, "{method} {path} {headers:?}");
    }

    #[test]
    fn reading_is_for_people_and_own_pages() {
        let site = |value| [("Sec-Fetch-Site", value)];
        check("GET", "/", &[], 200);
        check("HEAD", "/", &[], 200);
        for (value, expect) in [
            ("none", 200),
            ("same-origin", 200),
            ("same-site", 403),
            ("cross-site", 403),
        ] {
            check("GET", "/map", &site(value), expect);
        }
        check("GET", "/map", &site("None"), 400);
        check("GET", "/", &[("Origin", "http://127.0.0.1:8123")], 200);
        for origin in [
            "null",
            "http://127.0.0.1:8124",
            "https://127.0.0.1:8123",
            "http://evil.example",
        ] {
            check("GET", "/", &[("Origin", origin)], 403);
        }
        check("GET", "/", &[("Origin", "http://localhost:8123")], 403);
    }

    #[test]
    fn acting_is_for_own_pages() {
        let own = ("Origin", "http://127.0.0.1:8123");
        check("POST", "/add", &[own], 200);
        check("POST", "/add", &[own, ("Sec-Fetch-Site", "same-origin")], 200);
        check("POST", "/add", &[("Sec-Fetch-Site", "same-origin")], 200);
        check(
            "POST",
            "/add",
            &[("Origin", "null"), ("Sec-Fetch-Site", "same-origin")],
            200,
        );
        check("POST", "/add", &[], 403);
        check("POST", "/add", &[("Origin", "null")], 403);
        check(
            "POST",
            "/add",
            &[("Origin", "null"), ("Sec-Fetch-Site", "none")],
            403,
        );
        check("POST", "/add", &[own, ("Sec-Fetch-Site", "cross-site")], 403);
        check("POST", "/add", &[own, ("Origin", "http://evil.example")], 403);
        check("POST", "/sign-in", &[own], 405);
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            check(method, "/add", &[own], 405);
        }
        check("POST", "/add", &[own, ("Transfer-Encoding", "chunked")], 411);
    }

    #[test]
    fn the_link_may_be_opened_from_elsewhere_but_only_in_a_window() {
        let from = |mode, dest| {
            [
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", mode),
                ("Sec-Fetch-Dest", dest),
            ]
        };
        check("GET", "/sign-in?key=x", &from("navigate", "document"), 200);
        check("GET", "/sign-in?key=x", &from("navigate", "iframe"), 403);
        check("GET", "/sign-in?key=x", &from("no-cors", "image"), 403);
        check("GET", "/sign-in/", &from("navigate", "document"), 403);
    }

    #[test]
    fn only_plain_paths_are_those_of_pages() {
        for path in ["/", "/search", "/source/part", "/assets/loci-0a1b.css"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
        let long = format!("/{}", "a".repeat(300));
        for path in [
            "",
            "*",
            "//",
            "//evil",
            "/a//b",
            "/../a",
            "/a/..",
            "/./a",
            "/%2e%2e/a",
            "/a%00",
            "/a%2fb",
            "/a\\b",
            "/é",
            &long,
        ] {
            assert!(check_path(path).is_err(), "{path}");
        }
    }
}
