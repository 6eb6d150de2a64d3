//! The names by which requests may call the server, and the origin of its own pages.
//!
//! A web page can send requests to this machine, and with a forged DNS name (DNS rebinding) make the browser treat the
//! server as part of its own site. So Host is checked before anything else. No CORS header is ever sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderName};
use hyper::{Request, StatusCode};

use super::refusal::HttpRefusal;

/// The names of a server.
pub(crate) struct HostNames {
    /// Each without and with the port.
    names: Vec<[String; 2]>,
    port: u16,
}

impl HostNames {
    /// Returns the names of the server at `address`.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            names: list_host_names(address),
            port: address.port(),
        }
    }

    /// Returns the names with the port only, as browsers send them; a browser leaves out the port of HTTP alone.
    pub(crate) fn with_port(address: SocketAddr) -> Self {
        let mut own = Self::new(address);
        if own.port != 80 {
            for [plain, full] in &mut own.names {
                plain.clone_from(full);
            }
        }
        own
    }

    /// Returns the name in the Host header without and with the port; it must be one of the server's own.
    pub(crate) fn check_host<B>(&self, request: &Request<B>) -> Result<&[String; 2], HttpRefusal> {
        let host = single_header(request.headers(), &HOST)
            .and_then(|host| host.ok_or(()))
            .map_err(|()| {
                HttpRefusal::new(
                    StatusCode::BAD_REQUEST,
                    "a request needs exactly one readable Host header",
                )
            })?;
        let known = |said: &str| {
            let mut names = self.names.iter();
            names.find(|forms| forms.iter().any(|form| form.eq_ignore_ascii_case(said)))
        };
        // A request line with an absolute URL names the server a second time; both must be its own names.
        let target = request.uri().authority();
        let same = target.is_none_or(|target| known(target.as_str()).is_some());
        known(host).filter(|_| same).ok_or_else(|| {
            HttpRefusal::new(StatusCode::FORBIDDEN, "the Host header does not name this server")
        })
    }

    /// Returns whether an Origin header names the server itself, called by the name that Host gives.
    pub(crate) fn is_own_origin(&self, origin: &str, [plain, full]: &[String; 2]) -> bool {
        let said = origin.strip_prefix("http://");
        said.is_some_and(|said| {
            said.eq_ignore_ascii_case(full) || (self.port == 80 && said.eq_ignore_ascii_case(plain))
        })
    }
}

/// Returns the value of a header that may occur once. An error if it occurs more often or is not text.
pub(crate) fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        // Of two values, a proxy and this server might each believe another one.
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        _ => Err(()),
    }
}

/// Lists the names a Host header may use, each without and with the port.
fn list_host_names(address: SocketAddr) -> Vec<[String; 2]> {
    let own = match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let usual = [
        "localhost".to_owned(),
        Ipv4Addr::LOCALHOST.to_string(),
        format!("[{}]", Ipv6Addr::LOCALHOST),
    ];
    let more = (!usual.contains(&own)).then_some(own);
    let named = usual.into_iter().chain(more);
    named
        .map(|name| [name.clone(), format!("{name}:{}", address.port())])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_answers_to_its_own_address_too() {
        let names = list_host_names("127.3.2.1:80".parse().unwrap());
        assert_eq!(names.len(), 4);
        assert_eq!(names[3], ["127.3.2.1".to_owned(), "127.3.2.1:80".to_owned()]);
        assert_eq!(list_host_names("[::1]:80".parse().unwrap()).len(), 3);
    }
}
