//! The address at which a server listens, and the one by which its clients reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use loci_core::{Error, Result};

/// The address unless another is named.
pub(super) const USUAL_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7070);

/// Parses `PORT`, `IP:PORT`, `[IPV6]:PORT` or `localhost:PORT`.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr> {
    let local = |port: &str| {
        let port = port.parse().ok()?;
        Some(SocketAddr::new(USUAL_ADDRESS.ip(), port))
    };
    let parsed = match text.strip_prefix("localhost:") {
        Some(port) => local(port),
        None => text.parse().ok().or_else(|| local(text)),
    };
    parsed.ok_or_else(|| {
        Error::invalid(format!("{text:?} is not an address to listen on"))
            .with_hint("nothing was started; write PORT, IP:PORT or [IPV6]:PORT, such as 0.0.0.0:7070")
    })
}

/// Refuses an address that other machines can reach if nothing would encrypt what they send, or if nothing says by which
/// name they reach it.
pub(super) fn check_reach(address: SocketAddr, is_encrypted: bool, is_named: bool) -> Result<()> {
    let ip = address.ip().to_canonical();
    if !is_encrypted && !ip.is_loopback() {
        let message = format!(
            "other machines can reach {address}, and their passwords and tokens would not be encrypted"
        );
        return Err(Error::invalid(message).with_hint(
            "nothing was started; give --tls-cert and --tls-key, or --behind-proxy with the address of the proxy \
             that adds TLS, or listen on 127.0.0.1",
        ));
    }
    if ip.is_unspecified() && !is_named {
        let message = format!("{ip} stands for every address of this machine");
        return Err(Error::invalid(message).with_hint(
            "nothing was started; say by which address clients reach the server: --public-url https://NAME",
        ));
    }
    Ok(())
}

/// Refuses what is not the beginning of a URL: a protocol, a host and perhaps a port.
pub(super) fn check_public_url(url: &str) -> Result<()> {
    let host = ["https://", "http://"]
        .iter()
        .find_map(|start| url.strip_prefix(start));
    let is_host = |host: &str| {
        !host.is_empty()
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-.:[]".contains(c))
    };
    if host.is_some_and(is_host) {
        return Ok(());
    }
    Err(Error::invalid(format!("{url:?} is not the address of a server"))
        .with_hint("write it without a path, such as https://loci.example.org"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_ports_and_ip_addresses_with_ports() {
        let check = |text: &str, expect: &str| assert_eq!(parse_address(text).unwrap().to_string(), expect);
        check("7070", "127.0.0.1:7070");
        check("localhost:0", "127.0.0.1:0");
        check("0.0.0.0:443", "0.0.0.0:443");
        check("[::1]:80", "[::1]:80");
        for wrong in ["", "host:80", "127.0.0.1", "65536", "::1:80:x", "localhost"] {
            assert!(parse_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_machines_are_served_only_with_encryption() {
        let check = |address: &str, is_encrypted, is_named, expect| {
            let address = address.parse().unwrap();
            let checked = check_reach(address, is_encrypted, is_named);
            assert_eq!(checked.is_ok(), expect, "{address}");
        };
        check("127.0.0.1:1", false, false, true);
        check("[::1]:1", false, false, true);
        check("[::ffff:127.0.0.1]:1", false, false, true);
        check("0.0.0.0:1", false, true, false);
        check("[::]:1", false, true, false);
        check("192.168.1.2:1", false, true, false);
        check("192.168.1.2:1", true, false, true);
        check("0.0.0.0:1", true, true, true);
        check("0.0.0.0:1", true, false, false);
        check("[::]:1", true, false, false);
    }

    #[test]
    fn a_public_url_has_a_host_and_no_path() {
        assert!(check_public_url("https://loci.example.org").is_ok());
        assert!(check_public_url("http://[::1]:7070").is_ok());
        for wrong in [
            "",
            "https://",
            "loci.example.org",
            "https://a/",
            "https://a/b",
            "https://a b",
            "ftp://a",
        ] {
            assert!(check_public_url(wrong).is_err(), "{wrong}");
        }
    }
}
