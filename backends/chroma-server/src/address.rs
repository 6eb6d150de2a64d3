//! The address of a palace in a Chroma server: a URL with tenant and database.

use std::fmt;

use loci_core::{Error, Result};

/// The tenant and the database that every server has.
const DEFAULT_TENANT: &str = "default_tenant";
const DEFAULT_DATABASE: &str = "default_database";

/// The URL of one palace: `chroma://HOST:PORT/?tenant=T&database=D`, or `chroma+https://…` for an encrypted connection.
///
/// It never holds a secret: a URL with a user or a password is refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChromaUrl {
    pub(crate) secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tenant: String,
    pub(crate) database: String,
    pub(crate) token_header: TokenHeader,
}

/// The header in which a server expects the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum TokenHeader {
    /// `Authorization: Bearer TOKEN`.
    #[default]
    Authorization,
    /// `X-Chroma-Token: TOKEN`.
    ChromaToken,
}

impl ChromaUrl {
    /// The schemes of such URLs: plain and encrypted.
    pub const SCHEMES: [&'static str; 2] = ["chroma", "chroma+https"];

    /// Reads a URL. No error repeats a part of it that could belong to a password.
    pub fn parse(url: &str) -> Result<Self> {
        let (secure, rest) = strip_scheme(url).ok_or_else(|| {
            Error::invalid(
                "a palace in a Chroma server has a URL that begins with chroma:// or chroma+https://",
            )
            .with_hint("write chroma://HOST:PORT/?database=NAME")
        })?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        if authority.contains('@') {
            return Err(
                Error::invalid("a URL of a Chroma server takes no user or password")
                    .with_hint("nothing was sent; set the token in CHROMA_TOKEN"),
            );
        }
        if !path.is_empty() {
            return Err(Error::invalid(
                "a URL of a Chroma server has no path; its parameters name the palace",
            )
            .with_hint("write chroma://HOST:PORT/?tenant=T&database=D"));
        }
        let (host, port) = split_port(authority, secure)?;
        let mut read = Self {
            secure,
            host,
            port,
            tenant: DEFAULT_TENANT.to_owned(),
            database: DEFAULT_DATABASE.to_owned(),
            token_header: TokenHeader::default(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            read.set_parameter(key, &decode_percent(value)?)?;
        }
        Ok(read)
    }

    /// Whether `text` has a scheme of such a URL.
    pub fn is_one(text: &str) -> bool {
        strip_scheme(text).is_some()
    }

    fn set_parameter(&mut self, key: &str, value: &str) -> Result<()> {
        if value.is_empty() {
            return Err(Error::invalid(format!("`{key}=` in the URL is empty"))
                .with_hint("write a value behind it, or leave it out"));
        }
        match key {
            "tenant" => self.tenant = value.to_owned(),
            "database" => self.database = value.to_owned(),
            "token_header" => {
                self.token_header = match value.to_ascii_lowercase().as_str() {
                    "authorization" => TokenHeader::Authorization,
                    "x-chroma-token" => TokenHeader::ChromaToken,
                    _ => {
                        return Err(
                            Error::invalid("`token_header=` in the URL is not a header of Chroma")
                                .with_hint("write authorization or x-chroma-token"),
                        );
                    }
                };
            }
            _ => {
                return Err(
                    Error::invalid(format!("the URL has an unknown parameter {key:?}"))
                        .with_hint("known parameters: tenant, database, token_header"),
                );
            }
        }
        Ok(())
    }

    /// Returns the beginning of every request's URL.
    pub(crate) fn base(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}:{}/api/v2", self.bracketed_host(), self.port)
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }
}

impl fmt::Display for ChromaUrl {
    /// Writes the canonical URL; read again, it means the same palace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "chroma+https" } else { "chroma" };
        write!(f, "{scheme}://{}:{}/", self.bracketed_host(), self.port)?;
        let mut separator = '?';
        let mut write_pair = |f: &mut fmt::Formatter<'_>, key: &str, value: &str| {
            write!(f, "{separator}{key}={}", encode_percent(value))?;
            separator = '&';
            Ok(())
        };
        if self.tenant != DEFAULT_TENANT {
            write_pair(f, "tenant", &self.tenant)?;
        }
        if self.database != DEFAULT_DATABASE {
            write_pair(f, "database", &self.database)?;
        }
        if self.token_header == TokenHeader::ChromaToken {
            write_pair(f, "token_header", "x-chroma-token")?;
        }
        Ok(())
    }
}

/// Returns a URL as it may be shown; the text itself if it is not such a URL.
pub fn redact_url(text: &str) -> String {
    match ChromaUrl::parse(text) {
        Ok(url) => url.to_string(),
        // What cannot be read may hold a password.
        Err(_) if ChromaUrl::is_one(text) => "chroma://…".to_owned(),
        Err(_) => text.to_owned(),
    }
}

fn strip_scheme(url: &str) -> Option<(bool, &str)> {
    let encrypted = url.strip_prefix("chroma+https://").map(|rest| (true, rest));
    encrypted.or_else(|| url.strip_prefix("chroma://").map(|rest| (false, rest)))
}

fn split_port(authority: &str, secure: bool) -> Result<(String, u16)> {
    let refuse = || {
        Error::invalid("the URL names no valid host and port of a Chroma server")
            .with_hint("write chroma://HOST:PORT/?database=NAME")
    };
    let usual = if secure { 443 } else { 8000 };
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(refuse)?;
            (host, after.strip_prefix(':').or(after.is_empty().then_some("")))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let port = match port.ok_or_else(refuse)? {
        "" => usual,
        digits => digits.parse().map_err(|_| refuse())?,
    };
    // The host becomes part of another URL, in which these would end it.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(refuse());
    }
    Ok((host.to_ascii_lowercase(), port))
}

fn decode_percent(text: &str) -> Result<String> {
    let refuse = || {
        Error::invalid("a parameter of the URL is not percent-encoded UTF-8")
            .with_hint("write a percent sign as `%25`")
    };
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(refuse());
        };
        decoded.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits are one byte"));
    }
    String::from_utf8(decoded).map_err(|_| refuse())
}

/// Encodes everything but the characters that mean themselves in every part of a URL.
pub(crate) fn encode_percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_reads_back_as_the_same_palace() {
        for (given, shown) in [
            ("chroma://localhost", "chroma://localhost:8000/"),
            ("chroma://h:9/?tenant=default_tenant", "chroma://h:9/"),
            ("chroma+https://H", "chroma+https://h:443/"),
            (
                "chroma://[::1]:7/?database=a%20b&tenant=%C3%BC",
                "chroma://[::1]:7/?tenant=%C3%BC&database=a%20b",
            ),
            (
                "chroma://h/?token_header=X-Chroma-Token",
                "chroma://h:8000/?token_header=x-chroma-token",
            ),
        ] {
            let read = ChromaUrl::parse(given).unwrap();
            assert_eq!(read.to_string(), shown);
            assert_eq!(ChromaUrl::parse(shown).unwrap(), read);
        }
    }

    #[test]
    fn a_url_that_means_nothing_is_refused_without_repeating_a_password() {
        for url in [
            "http://h",
            "chroma://",
            "chroma://u:hush@h",
            "chroma://h:port",
            "chroma://h/path",
            "chroma://h/?hush=1",
            "chroma://h/?tenant=",
            "chroma://h/?tenant=%zz",
            "chroma://h x",
            "chroma://[::1",
        ] {
            let error = ChromaUrl::parse(url).unwrap_err();
            assert!(!error.message().contains("u:hush"), "{error}");
            assert!(error.hint_text().is_some(), "{error}");
        }
        assert_eq!(redact_url("chroma://u:hush@h"), "chroma://…");
    }
}
