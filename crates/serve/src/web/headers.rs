//! The headers of every response.

use hyper::Response;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// What a page may load and do: everything comes from this server, and nothing is inline.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Features of browsers that no page here uses.
const PERMISSIONS_POLICY: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), \
    magnetometer=(), microphone=(), midi=(), payment=(), usb=()";

const SECURITY_HEADERS: [(HeaderName, &str); 8] = [
    (
        HeaderName::from_static("content-security-policy"),
        CONTENT_SECURITY_POLICY,
    ),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS_POLICY),
];

/// Adds the headers that every response has, and forbids to keep it unless it says otherwise.
pub(crate) fn add_security_headers<B>(response: &mut Response<B>) {
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let caching = hyper::header::CACHE_CONTROL;
    headers
        .entry(caching)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// Adds a header whose value was put together; one that cannot be a header is left out.
pub(crate) fn add_header(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.append(name, value);
    }
}

/// Returns the header that saves a response under a name. The plain form holds only what every browser reads alike;
/// the other holds the name itself.
pub(crate) fn name_download(file_name: &str) -> String {
    let name: String = file_name.chars().filter(|c| !c.is_control()).collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_name_leaves_its_header() {
        let check =
            |name: &str, expect: &str| assert_eq!(name_download(name), format!("attachment; {expect}"));
        check(
            "loci-a.jsonl",
            "filename=\"loci-a.jsonl\"; filename*=UTF-8''loci-a.jsonl",
        );
        check(
            "抽屉.jsonl",
            "filename=\"__.jsonl\"; filename*=UTF-8''%E6%8A%BD%E5%B1%89.jsonl",
        );
        check(
            "a\"; filename=\"b\r\nX: y\\../",
            "filename=\"a__ filename__bX_ y_.._\"; filename*=UTF-8''a%22%3B%20filename%3D%22bX%3A%20y%5C..%2F",
        );
    }
}
