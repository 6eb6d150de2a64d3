//! The address the server listens on, which is always a loopback address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use loci_core::{Error, ErrorKind, Result};
use tokio::net::TcpListener;

/// The port if none is named.
const DEFAULT_PORT: u16 = 8765;

/// Parses `PORT`, `HOST` or `HOST:PORT`. Only loopback addresses are accepted.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr> {
    let text = text.trim();
    let address = parse_address(text).ok_or_else(|| {
        Error::invalid(format!("{text:?} is not a valid address to listen on"))
            .with_hint("give a port, 127.0.0.1:PORT or [::1]:PORT; port 0 picks a free one")
    })?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(remote_address_error(address))
    }
}

fn parse_address(text: &str) -> Option<SocketAddr> {
    // Checked digit by digit: Rust's number parser accepts a leading plus sign.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((Ipv4Addr::LOCALHOST, text.parse().ok()?).into());
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address);
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Ok(ip) = bare.unwrap_or(text).parse::<IpAddr>() {
        return Some((ip, DEFAULT_PORT).into());
    }
    // `localhost` is the only name: resolving others would be a DNS query, whose answer may change.
    let (host, port) = text.split_once(':').unwrap_or((text, "8765"));
    let known = host.eq_ignore_ascii_case("localhost") && port.bytes().all(|byte| byte.is_ascii_digit());
    known.then_some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into())
}

fn remote_address_error(address: SocketAddr) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{address} is reachable from other machines; a palace is served on loopback only"),
    )
    .with_hint(
        "nothing was started; listen on 127.0.0.1 or [::1], and let others in through `ssh -L` or a reverse proxy \
         with TLS",
    )
}

/// What else may listen on a port, and what to do if something does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortAdvice {
    /// The hint for a port in use.
    pub(crate) in_use: &'static str,
    /// Whether a free port is taken in the place of one that cannot be had.
    pub(crate) takes_other: bool,
}

/// Listens on a loopback address.
pub(crate) async fn bind_loopback(address: SocketAddr, advice: PortAdvice) -> Result<TcpListener> {
    // Checked again: a caller may have built the address without parsing it here.
    if !address.ip().is_loopback() {
        return Err(remote_address_error(address));
    }
    let mut bound = TcpListener::bind(address).await;
    if bound.is_err() && advice.takes_other {
        bound = TcpListener::bind(SocketAddr::new(address.ip(), 0)).await;
    }
    bound.map_err(|cause| {
        let hint = match cause.kind() {
            io::ErrorKind::AddrInUse => advice.in_use,
            io::ErrorKind::PermissionDenied => "ports below 1024 are reserved for the system; name another",
            _ => "nothing was started; name another address",
        };
        Error::new(ErrorKind::Unavailable, format!("cannot listen on {address}"))
            .with_context("address", address)
            .with_hint(hint)
            .caused_by(cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let read = parse_listen_address(text).ok().map(|address| address.to_string());
        assert_eq!(read.as_deref(), expect, "{text:?}");
    }

    #[test]
    fn ports_and_addresses_of_this_machine_are_understood() {
        check("9000", Some("127.0.0.1:9000"));
        check("0", Some("127.0.0.1:0"));
        check("localhost", Some("127.0.0.1:8765"));
        check("LOCALHOST:1", Some("127.0.0.1:1"));
        check("127.0.0.1:8080", Some("127.0.0.1:8080"));
        check("127.0.0.1", Some("127.0.0.1:8765"));
        check("127.3.2.1:8080", Some("127.3.2.1:8080"));
        check("[::1]:8080", Some("[::1]:8080"));
        check("[::1]", Some("[::1]:8765"));
        check("::1", Some("[::1]:8765"));
    }

    #[test]
    fn other_machines_and_nonsense_are_refused() {
        for text in [
            "",
            "0.0.0.0",
            "0.0.0.0:8765",
            "[::]:8765",
            "192.168.1.7:8765",
            "[::ffff:127.0.0.1]:8765",
            "example.org:8765",
            "localhost.example.org:8765",
            "localhost:",
            "localhost:+1",
            "localhost:65536",
            "65536",
            "-1",
            "[::1",
        ] {
            check(text, None);
        }
        let error = parse_listen_address("0.0.0.0:8765").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint_text().unwrap().contains("ssh -L"), "{error:?}");
    }
}
