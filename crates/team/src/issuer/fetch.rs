//! Fetching a key set over HTTP, within bounds.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::jwks::LONGEST_KEY_SET;

/// The longest time to connect, and for all of a fetch.
const CONNECT_TIME: Duration = Duration::from_secs(3);
const FETCH_TIME: Duration = Duration::from_secs(5);

/// The address of a key set: https, or http on this machine.
#[derive(Debug, Clone)]
pub(super) struct KeyAddress {
    url: String,
    is_secure: bool,
    agent: Arc<OnceLock<Agent>>,
}

impl fmt::Display for KeyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl KeyAddress {
    /// Checks an address; resolves nothing.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let refuse = |what: &str| {
            let hint = "give an https address, or http://127.0.0.1 for a server on this machine";
            Err(Error::invalid(format!("the address of a key set {what}")).with_hint(hint))
        };
        // Refused before the address is repeated anywhere: it could hold a password.
        if url.contains(['@', '#']) {
            return refuse("may not have a user name or a fragment");
        }
        let Ok(parsed) = url.parse::<Uri>() else {
            return refuse("is not a URL");
        };
        let host = parsed.host().unwrap_or_default();
        let is_secure = match parsed.scheme_str() {
            Some("https") if !host.is_empty() => true,
            // A literal address: a name for this machine may be resolved to another one.
            Some("http") if is_loopback(host) => false,
            _ => return refuse(&format!("must be https, or http to this machine: {url:?}")),
        };
        Ok(Self {
            url: url.to_owned(),
            is_secure,
            agent: Arc::default(),
        })
    }

    /// Fetches the key set.
    pub(super) fn fetch(&self) -> Result<Vec<u8>> {
        let agent = self.open_agent()?;
        let fail = |what: String| {
            let message = format!("the key set {} cannot be fetched: {what}", self.url);
            Error::new(ErrorKind::Unavailable, message)
                .with_hint("check that its server runs and the address is right")
        };
        let mut answer = agent
            .get(&self.url)
            .call()
            .map_err(|error| fail(error.to_string()))?;
        let status = answer.status();
        if status != 200 {
            return Err(fail(format!("it answered {}", status.as_u16())));
        }
        let body = answer.body_mut().with_config().limit(LONGEST_KEY_SET);
        body.read_to_vec().map_err(|error| fail(error.to_string()))
    }

    fn open_agent(&self) -> Result<&Agent> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let roots = if self.is_secure { load_roots()? } else { Vec::new() };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            // Nothing is read from the environment here, so no proxy either.
            .proxy(None)
            .https_only(self.is_secure)
            .http_status_as_error(false)
            // A redirect could lead to another machine, past the check of the address.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIME))
            .timeout_global(Some(FETCH_TIME))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .accept("application/jwk-set+json, application/json")
            .build();
        // Two threads may build one at once; both then use the first that was stored.
        Ok(self.agent.get_or_init(|| Agent::new_with_config(config)))
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Loads the certificates that this machine trusts.
fn load_roots() -> Result<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let message = "this machine has no root certificates, so no https server can be trusted";
        return Err(Error::new(ErrorKind::Unavailable, message)
            .with_hint("install them, or name a file of them in SSL_CERT_FILE"));
    }
    let owned = found
        .certs
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    Ok(owned.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_tls_or_from_this_machine() {
        for right in [
            "https://id.example/keys?x=1",
            "http://127.0.0.1:8080/keys",
            "http://[::1]/k",
            "https://127.0.0.1",
        ] {
            assert!(KeyAddress::parse(right).is_ok(), "{right}");
        }
        for wrong in [
            "",
            "/keys",
            "id.example",
            "http://id.example/keys",
            "http://localhost/keys",
            "http://127.0.0.1.example/keys",
            "http://0.0.0.0/keys",
            "http://2130706433/keys",
            "ftp://127.0.0.1/keys",
            "file:///etc/keys",
            "https:///keys",
            "https://id.example/#keys",
        ] {
            assert!(KeyAddress::parse(wrong).is_err(), "{wrong}");
        }
        let secret = KeyAddress::parse("https://user:hunter2@id.example/keys").unwrap_err();
        assert!(!format!("{secret:?}").contains("hunter2"));
    }
}
