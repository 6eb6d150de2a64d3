//! Where a server is: which addresses may be connected to, and the paths of its requests.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use loci_core::{Error, Result};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::config::{Api, invalid};

/// A server's address, taken apart and found usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Scheme, host and port.
    origin: String,
    /// The path the user gave, without slashes at its end.
    path: String,
    /// Whether it is spoken to over TLS.
    pub(super) secure: bool,
    /// Whether it is this machine.
    pub(super) loopback: bool,
}

impl Address {
    /// Takes apart what the user gave for `server`; looks nothing up.
    pub(super) fn parse(server: &str, url: &str) -> Result<Self> {
        let refuse = |what: &str| {
            Error::invalid(format!("the address of the embedding server {server:?} {what}"))
                .hint("nothing was sent; give an address such as http://localhost:11434")
        };
        // What may be a secret is refused first, and never repeated.
        if url.contains('@') {
            return Err(refuse(
                "holds a user name or password; keys belong into an environment variable",
            ));
        }
        if url.contains(['?', '#']) {
            return Err(refuse("may not have a query or a fragment"));
        }
        let parsed: Uri = url.parse().map_err(|_| refuse("is not a URL"))?;
        let secure = match parsed.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refuse("must begin with http:// or https://")),
        };
        let authority = parsed.authority().ok_or_else(|| refuse("names no host"))?;
        let host = authority.host();
        let port = authority.as_str().get(host.len()..).unwrap_or_default();
        if host.is_empty() || host == "[]" {
            return Err(refuse("names no host"));
        }
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(refuse("has a port that does not exist"));
        }
        Ok(Self {
            origin: format!("{}://{authority}", if secure { "https" } else { "http" }),
            path: parsed.path().trim_end_matches('/').to_owned(),
            secure,
            loopback: is_loopback(host),
        })
    }

    /// Refuses what must not leave this machine: texts without leave, a key in the clear.
    pub(super) fn check(&self, server: &str, allow_remote: bool, has_key: bool) -> Result<()> {
        if self.loopback {
            return Ok(());
        }
        if !allow_remote {
            let what = format!("{} is not this machine, and texts may not leave it", self.origin);
            return Err(invalid(server, &what).hint(
                "nothing was sent; use 127.0.0.1, [::1] or localhost, or allow texts to leave this machine with --allow-remote",
            ));
        }
        if has_key && !self.secure {
            let what = format!("its key would go to {} unencrypted", self.origin);
            return Err(invalid(server, &what).hint("nothing was sent; use https, or a server without a key"));
        }
        Ok(())
    }

    /// The API its path tells of, where it does.
    pub(super) fn hinted(&self) -> Option<Api> {
        if self.path.ends_with("/api/embed") || self.path.ends_with("/api") {
            Some(Api::Ollama)
        } else if self.path.ends_with("/embeddings") || self.path.ends_with("/v1") {
            Some(Api::OpenAi)
        } else {
            None
        }
    }

    /// Where texts are sent.
    pub(super) fn endpoint(&self, api: Api) -> String {
        let (origin, path) = (&self.origin, &self.path);
        match api {
            Api::OpenAi if path.ends_with("/embeddings") => format!("{origin}{path}"),
            Api::OpenAi if path.ends_with("/v1") => format!("{origin}{path}/embeddings"),
            Api::OpenAi => format!("{origin}{path}/v1/embeddings"),
            Api::Ollama => format!("{origin}{}/api/embed", self.ollama_root()),
        }
    }

    /// Where Ollama lists its models.
    pub(super) fn tags(&self) -> String {
        format!("{}{}/api/tags", self.origin, self.ollama_root())
    }

    /// How the network is reached for this address.
    pub(super) fn gate(&self) -> Gate {
        Gate {
            loopback_only: self.loopback,
        }
    }

    fn ollama_root(&self) -> &str {
        let ends = ["/api/embed", "/api/embeddings", "/api", "/v1/embeddings", "/v1"];
        let root = ends.iter().find_map(|end| self.path.strip_suffix(end));
        root.unwrap_or(&self.path)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

/// `localhost` and literal loopback addresses; any other name may mean anything, so it is not looked up.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || literal(host).is_some_and(|ip| stays_here(&ip))
}

fn literal(host: &str) -> Option<IpAddr> {
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.unwrap_or(host).parse().ok()
}

fn stays_here(ip: &IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Turns hosts into the addresses that are connected to, and lets only loopback ones through where it must.
#[derive(Debug)]
pub(super) struct Gate {
    loopback_only: bool,
}

impl Gate {
    fn addresses(&self, host: &str, port: u16) -> std::result::Result<Vec<SocketAddr>, ureq::Error> {
        let found = if let Some(ip) = literal(host) {
            vec![SocketAddr::new(ip, port)]
        } else if host.eq_ignore_ascii_case("localhost") {
            // Never asked of a name server: it is this machine whatever anybody answers.
            let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            here.map(|ip| SocketAddr::new(ip, port)).to_vec()
        } else if self.loopback_only {
            Vec::new()
        } else {
            let found = (host, port).to_socket_addrs();
            found.map_err(|_| ureq::Error::HostNotFound)?.collect()
        };
        self.pass(found)
    }

    /// Refuses the whole list where one address in it is not allowed.
    fn pass(&self, found: Vec<SocketAddr>) -> std::result::Result<Vec<SocketAddr>, ureq::Error> {
        if found.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        if self.loopback_only && !found.iter().all(|address| stays_here(&address.ip())) {
            return Err(ureq::Error::Other(
                "an address that is not this machine was refused".into(),
            ));
        }
        Ok(found)
    }
}

impl Resolver for Gate {
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
        let found = self.addresses(authority.host(), authority.port_u16().unwrap_or(usual))?;
        let mut kept = self.empty();
        // The list holds no more than its length.
        for address in found.into_iter().take(16) {
            kept.push(address);
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address> {
        Address::parse("desk", url)
    }

    #[test]
    fn every_way_to_write_a_base_leads_to_one_endpoint() {
        for end in ["", "/", "//", "/v1", "/v1/", "/v1/embeddings", "/v1/embeddings/"] {
            let address = parse(&format!("http://localhost:8080{end}")).unwrap();
            let expect = "http://localhost:8080/v1/embeddings";
            assert_eq!(address.endpoint(Api::OpenAi), expect, "{end}");
        }
        for end in ["", "/", "/api", "/api/embed", "/api/embeddings", "/v1"] {
            let address = parse(&format!("http://localhost:8080{end}")).unwrap();
            assert_eq!(address.endpoint(Api::Ollama), "http://localhost:8080/api/embed");
            assert_eq!(address.tags(), "http://localhost:8080/api/tags");
        }
        let deep = parse("https://host.example/team/v1beta/embeddings").unwrap();
        let expect = "https://host.example/team/v1beta/embeddings";
        assert_eq!(deep.endpoint(Api::OpenAi), expect);
        let prefixed = parse("https://host.example/gpu/").unwrap();
        assert_eq!(
            prefixed.endpoint(Api::Ollama),
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
                address.loopback && address.check("desk", false, true).is_ok(),
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
            let refused = address.check("desk", false, false).unwrap_err();
            assert!(refused.message().contains(elsewhere), "{refused}");
            assert!(address.check("desk", true, false).is_ok(), "{elsewhere}");
        }
    }

    #[test]
    fn a_key_never_leaves_in_the_clear() {
        let plain = parse("http://host.example").unwrap();
        assert!(
            plain
                .check("desk", true, true)
                .unwrap_err()
                .message()
                .contains("unencrypted")
        );
        assert!(
            parse("https://host.example")
                .unwrap()
                .check("desk", true, true)
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
        let gate = parse("http://localhost").unwrap().gate();
        let here: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let there: SocketAddr = "192.0.2.1:1".parse().unwrap();
        assert_eq!(gate.pass(vec![here]).unwrap(), [here]);
        assert!(gate.pass(vec![here, there]).is_err());
        assert!(gate.pass(vec![there]).is_err());
        assert!(gate.addresses("host.invalid", 1).is_err(), "not even looked up");
        let names = gate.addresses("localhost", 1).unwrap();
        assert!(names.iter().all(|address| address.ip().is_loopback()) && names.len() == 2);
    }
}
