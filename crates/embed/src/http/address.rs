//! Server addresses: the ones that may be connected to, and the paths of requests.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use loci_core::{Error, Result};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::config::{EmbeddingApi, invalid_server};

/// A parsed and usable server address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    /// Scheme, host and port.
    origin: String,
    /// The path that the user gave, without trailing slashes.
    path: String,
    /// True if it is reached over TLS.
    pub(super) secure: bool,
    /// True if it is this machine.
    pub(super) loopback: bool,
}

impl ServerAddress {
    /// Parses the address that the user gave for `server`; resolves nothing.
    pub(super) fn parse(server: &str, url: &str) -> Result<Self> {
        let refuse = |what: &str| {
            Error::invalid(format!("the address of the embedding server {server:?} {what}"))
                .with_hint("nothing was sent; give an address such as http://localhost:11434")
        };
        // Anything that may be a secret is refused first, and never repeated in the message.
        if url.contains('@') {
            return Err(refuse(
                "contains a user name or password; put keys in an environment variable",
            ));
        }
        if url.contains(['?', '#']) {
            return Err(refuse("may not have a query or a fragment"));
        }
        let parsed: Uri = url.parse().map_err(|_| refuse("is not a URL"))?;
        let secure = match parsed.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refuse(&format!("must begin with http:// or https://: {url:?}"))),
        };
        let authority = parsed.authority().ok_or_else(|| refuse("has no host"))?;
        let host = authority.host();
        let port = authority.as_str().get(host.len()..).unwrap_or_default();
        if host.is_empty() || host == "[]" {
            return Err(refuse("has no host"));
        }
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(refuse("has an invalid port"));
        }
        Ok(Self {
            origin: format!("{}://{authority}", if secure { "https" } else { "http" }),
            path: parsed.path().trim_end_matches('/').to_owned(),
            secure,
            // Decided by the literal host. A name that merely resolves to loopback today may point
            // elsewhere tomorrow.
            loopback: is_loopback(host),
        })
    }

    /// Refuses to let texts leave this machine without permission, or a key travel unencrypted.
    pub(super) fn check_allowed(&self, server: &str, allow_remote: bool, has_key: bool) -> Result<()> {
        if self.loopback {
            return Ok(());
        }
        if !allow_remote {
            let what = format!(
                "{} is not this machine, and texts may not leave this machine",
                self.origin
            );
            return Err(invalid_server(server, &what).with_hint(
                "nothing was sent; use 127.0.0.1, [::1] or localhost, or allow texts to leave this machine with --allow-remote",
            ));
        }
        if has_key && !self.secure {
            let what = format!("its key would be sent to {} unencrypted", self.origin);
            return Err(invalid_server(server, &what)
                .with_hint("nothing was sent; use https, or a server without a key"));
        }
        Ok(())
    }

    /// Returns the API that its path implies, if any.
    pub(super) fn hinted_api(&self) -> Option<EmbeddingApi> {
        if self.path.ends_with("/api/embed") || self.path.ends_with("/api") {
            Some(EmbeddingApi::Ollama)
        } else if self.path.ends_with("/embeddings") || self.path.ends_with("/v1") {
            Some(EmbeddingApi::OpenAi)
        } else {
            None
        }
    }

    /// Returns the URL to which texts are sent.
    pub(super) fn endpoint_url(&self, api: EmbeddingApi) -> String {
        let (origin, path) = (&self.origin, &self.path);
        match api {
            EmbeddingApi::OpenAi if path.ends_with("/embeddings") => format!("{origin}{path}"),
            EmbeddingApi::OpenAi if path.ends_with("/v1") => format!("{origin}{path}/embeddings"),
            EmbeddingApi::OpenAi => format!("{origin}{path}/v1/embeddings"),
            EmbeddingApi::Ollama => format!("{origin}{}/api/embed", self.ollama_root()),
        }
    }

    /// Returns the URL at which Ollama lists its models.
    pub(super) fn tags_url(&self) -> String {
        format!("{}{}/api/tags", self.origin, self.ollama_root())
    }

    /// Returns the resolver for this address.
    pub(super) fn loopback_gate(&self) -> LoopbackGate {
        LoopbackGate {
            loopback_only: self.loopback,
        }
    }

    fn ollama_root(&self) -> &str {
        // Users paste any of these paths; each is cut back to the base, so that the tags lie beside the
        // endpoint.
        let ends = ["/api/embed", "/api/embeddings", "/api", "/v1/embeddings", "/v1"];
        let root = ends.iter().find_map(|end| self.path.strip_suffix(end));
        root.unwrap_or(&self.path)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

/// Reports whether the host is `localhost` or a literal loopback address; any other name may point anywhere, so it
/// is not resolved.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || parse_literal(host).is_some_and(|ip| is_local_ip(&ip))
}

fn parse_literal(host: &str) -> Option<IpAddr> {
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.unwrap_or(host).parse().ok()
}

fn is_local_ip(ip: &IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Resolves hosts to addresses, and lets only loopback ones through if required.
#[derive(Debug)]
pub(super) struct LoopbackGate {
    loopback_only: bool,
}

impl LoopbackGate {
    fn resolve_host(&self, host: &str, port: u16) -> std::result::Result<Vec<SocketAddr>, ureq::Error> {
        let found = if let Some(ip) = parse_literal(host) {
            vec![SocketAddr::new(ip, port)]
        } else if host.eq_ignore_ascii_case("localhost") {
            // Never sent to a name server: it is this machine whatever a resolver would answer.
            let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            here.map(|ip| SocketAddr::new(ip, port)).to_vec()
        } else if self.loopback_only {
            Vec::new()
        } else {
            let found = (host, port).to_socket_addrs();
            found.map_err(|_| ureq::Error::HostNotFound)?.collect()
        };
        self.check_addresses(found)
    }

    /// Refuses the whole list if one address in it is not allowed.
    fn check_addresses(&self, found: Vec<SocketAddr>) -> std::result::Result<Vec<SocketAddr>, ureq::Error> {
        if found.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        if self.loopback_only && !found.iter().all(|address| is_local_ip(&address.ip())) {
            // One foreign address among loopback ones is refused as a whole: ureq would try each of them
            // in turn.
            return Err(ureq::Error::Other(
                "an address that is not this machine was refused".into(),
            ));
        }
        Ok(found)
    }
}

impl Resolver for LoopbackGate {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        let authority = uri.authority().ok_or(ureq::Error::HostNotFound)?;
        let usual = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let found = self.resolve_host(authority.host(), authority.port_u16().unwrap_or(usual))?;
        let mut kept = self.empty();
        // ureq's list has room for 16 addresses.
        for address in found.into_iter().take(16) {
            kept.push(address);
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<ServerAddress> {
        ServerAddress::parse("desk", url)
    }

    #[test]
    fn every_way_to_write_a_base_leads_to_one_endpoint() {
        for end in ["", "/", "//", "/v1", "/v1/", "/v1/embeddings", "/v1/embeddings/"] {
            let address = parse(&format!("http://localhost:8080{end}")).unwrap();
            let expect = "http://localhost:8080/v1/embeddings";
            assert_eq!(address.endpoint_url(EmbeddingApi::OpenAi), expect, "{end}");
        }
        for end in ["", "/", "/api", "/api/embed", "/api/embeddings", "/v1"] {
            let address = parse(&format!("http://localhost:8080{end}")).unwrap();
            assert_eq!(
                address.endpoint_url(EmbeddingApi::Ollama),
                "http://localhost:8080/api/embed"
            );
            assert_eq!(address.tags_url(), "http://localhost:8080/api/tags");
        }
        let deep = parse("https://host.example/team/v1beta/embeddings").unwrap();
        let expect = "https://host.example/team/v1beta/embeddings";
        assert_eq!(deep.endpoint_url(EmbeddingApi::OpenAi), expect);
        let prefixed = parse("https://host.example/gpu/").unwrap();
        assert_eq!(
            prefixed.endpoint_url(EmbeddingApi::Ollama),
            "https://host.example/gpu/api/embed"
        );
    }

    #[test]
    fn only_this_machine_is_this_machine() {
        for here in [
            "127.0.0.1",
            "127.9.8.7",
            "[::1]",
            "localhost",
            "LOCALHOST",
            "[::ffff:127.0.0.1]",
        ] {
            let address = parse(&format!("http://{here}:1")).unwrap();
            assert!(
                address.loopback && address.check_allowed("desk", false, true).is_ok(),
                "{here}"
            );
        }
        for elsewhere in [
            "192.0.2.1",
            "0.0.0.0",
            "127.1",
            "2130706433",
            "0x7f000001",
            "localhost.",
            "a.localhost",
            "localhost.example",
            "127.0.0.1.example",
            "[::]",
            "[2001:db8::1]",
        ] {
            let address = parse(&format!("http://{elsewhere}:1")).unwrap();
            let refused = address.check_allowed("desk", false, false).unwrap_err();
            assert!(refused.message().contains(elsewhere), "{refused}");
            assert!(address.check_allowed("desk", true, false).is_ok(), "{elsewhere}");
        }
    }

    #[test]
    fn a_key_never_leaves_in_the_clear() {
        let plain = parse("http://host.example").unwrap();
        assert!(
            plain
                .check_allowed("desk", true, true)
                .unwrap_err()
                .message()
                .contains("unencrypted")
        );
        assert!(
            parse("https://host.example")
                .unwrap()
                .check_allowed("desk", true, true)
                .is_ok()
        );
    }

    #[test]
    fn what_is_no_address_is_refused_and_secrets_in_it_are_not_repeated() {
        for url in [
            "",
            "localhost",
            "localhost:11434",
            "/v1",
            "ftp://localhost",
            "file:///etc/passwd",
            "http://",
            "http:///v1",
            "http://localhost:0",
            "http://localhost:99999",
            "http://localhost:",
            "http://local host",
            "http://[::1",
            "http://user:hunter2@localhost",
            "http://hunter2@localhost",
            "http://user:hunter2@localhost:11434",
            "http://hunter2@127.0.0.1:11434/v1",
            "http://localhost/?key=hunter2",
            "http://localhost/#hunter2",
            "http://127.0.0.1:1@192.0.2.1/",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn a_name_for_two_places_is_refused_whole() {
        let gate = parse("http://localhost").unwrap().loopback_gate();
        let here: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let there: SocketAddr = "192.0.2.1:1".parse().unwrap();
        assert_eq!(gate.check_addresses(vec![here]).unwrap(), [here]);
        assert!(gate.check_addresses(vec![here, there]).is_err());
        assert!(gate.check_addresses(vec![there]).is_err());
        assert!(
            gate.resolve_host("host.invalid", 1).is_err(),
            "not even looked up"
        );
        let names = gate.resolve_host("localhost", 1).unwrap();
        assert!(names.iter().all(|address| address.ip().is_loopback()) && names.len() == 2);
    }
}
