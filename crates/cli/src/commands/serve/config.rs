//! The config file of a server, checked as a whole before any of it is used.

mod table;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, Result};
use loci_serve::team::{ProxyRange, TeamLimits, TlsFiles};
use loci_team::{ClaimGrant, TokenIssuerConfig, TokenIssuers};
use serde_json::Value as Json;
use toml_edit::Document;

use self::table::{ConfigMistakes, ConfigTable};
use super::listen::{check_public_url, parse_address};
use crate::errors::io_error;

/// The most bytes of a config file that are read.
const MOST_BYTES: u64 = 1 << 20;

/// A palace to serve, as it was named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PalaceEntry {
    /// Its name for callers; its own if `None`.
    pub(super) name: Option<String>,
    /// Its reference; the usual palace if `None`.
    pub(super) reference: Option<OsString>,
}

/// What a config file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ServeConfig {
    pub(super) listen: Option<SocketAddr>,
    pub(super) public_url: Option<String>,
    pub(super) tls: Option<TlsFiles>,
    pub(super) proxies: Vec<ProxyRange>,
    pub(super) data: Option<PathBuf>,
    pub(super) accounts: Option<PathBuf>,
    pub(super) limits: TeamLimits,
    pub(super) palaces: Vec<PalaceEntry>,
    pub(super) issuers: Vec<TokenIssuerConfig>,
}

impl ServeConfig {
    /// Reads a file. Relative paths in it start from its folder.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let wrong = |cause| io_error(format!("cannot read the config {}", path.display()), cause);
        let length = std::fs::metadata(path).map_err(wrong)?.len();
        if length > MOST_BYTES {
            let message = format!("the config {} is longer than {MOST_BYTES} bytes", path.display());
            return Err(Error::invalid(message).with_hint("name another file with --config"));
        }
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        let folder = std::path::absolute(path).map_err(wrong)?;
        let folder = folder.parent().unwrap_or(Path::new("/"));
        Self::parse(&text, folder).map_err(|mistakes| {
            Error::invalid(format!("{}: {mistakes}", path.display()))
                .with_hint("correct the file; nothing was changed")
        })
    }

    fn parse(text: &str, folder: &Path) -> std::result::Result<Self, String> {
        let mistakes = ConfigMistakes::new(text);
        let document = Document::parse(text).map_err(|error| {
            let line = mistakes.find_line(error.span());
            format!("line {line}: {}", error.message().replace('\n', " "))
        })?;
        let root = ConfigTable::new("", 1, document.as_table(), &mistakes);
        let config = read_root(&root, folder);
        root.finish();
        mistakes.describe().map_or(Ok(config), Err)
    }
}

fn read_root(root: &ConfigTable<'_>, folder: &Path) -> ServeConfig {
    let path = |(_, text): (usize, String)| folder.join(text);
    let keep = |(line, error): (usize, Error)| root.mistakes.add(line, tell(&error));
    let listen = root.text("listen").and_then(|(line, text)| {
        let parsed = parse_address(&text).map_err(|error| (line, error));
        parsed.map_err(keep).ok()
    });
    let public_url = root.text("public_url").and_then(|(line, url)| {
        let checked = check_public_url(&url).map_err(|error| (line, error));
        checked.map_err(keep).ok().map(|()| url)
    });
    let proxies = root.texts("behind_proxy").into_iter().filter_map(|(line, text)| {
        let parsed = text.parse::<ProxyRange>().map_err(|error| (line, error));
        parsed.map_err(keep).ok()
    });
    ServeConfig {
        listen,
        public_url,
        proxies: proxies.collect(),
        data: root.text("data").map(path),
        accounts: root.text("accounts").map(path),
        tls: root.table("tls").and_then(|table| read_tls(table, folder)),
        limits: root.table("limits").map(read_limits).unwrap_or_default(),
        palaces: root
            .table("palaces")
            .map(|table| read_palaces(&table, folder))
            .unwrap_or_default(),
        issuers: read_issuers(root, folder),
    }
}

fn read_tls(table: ConfigTable<'_>, folder: &Path) -> Option<TlsFiles> {
    let (certificate, key) = (table.text("certificate"), table.text("key"));
    let files = certificate.zip(key).map(|((_, certificate), (_, key))| TlsFiles {
        certificate: folder.join(certificate),
        key: folder.join(key),
    });
    if files.is_none() {
        table.mistakes.add(table.line, "tls needs certificate and key");
    }
    table.finish();
    files
}

fn read_limits(table: ConfigTable<'_>) -> TeamLimits {
    let usual = TeamLimits::default();
    let size = |key, usual: usize| {
        let given = table.count(key).and_then(|count| usize::try_from(count).ok());
        given.unwrap_or(usual)
    };
    let time = |key, usual| table.count(key).map_or(usual, Duration::from_secs);
    let limits = TeamLimits {
        connections: size("connections", usual.connections),
        strangers: size("strangers", usual.strangers),
        body: size("body_bytes", usual.body),
        head: time("head_seconds", usual.head),
        arrival: time("arrival_seconds", usual.arrival),
        requests: table.number("requests_per_second").unwrap_or(usual.requests),
        burst: table.number("burst").unwrap_or(usual.burst),
        patience: time("patience_seconds", usual.patience),
    };
    table.finish();
    limits
}

fn read_palaces(table: &ConfigTable<'_>, folder: &Path) -> Vec<PalaceEntry> {
    let mut palaces = Vec::new();
    for (line, name, reference) in table.named_texts() {
        if let Err(error) = check_palace_name(&name) {
            table.mistakes.add(line, tell(&error));
        }
        // Only what is written as relative: a bare word is the name of a palace.
        let is_relative = reference.starts_with("./") || reference.starts_with("../");
        let reference = if is_relative {
            folder.join(reference).into_os_string()
        } else {
            OsString::from(reference)
        };
        palaces.push(PalaceEntry {
            name: Some(name),
            reference: Some(reference),
        });
    }
    palaces
}

/// The keys of an issuer, and of its grants.
const ISSUER_KEYS: [&str; 7] = [
    "issuer",
    "audiences",
    "jwks_file",
    "jwks_url",
    "algorithms",
    "leeway_seconds",
    "user_claim",
];
const GRANT_KEYS: [&str; 3] = ["claim", "value", "grants"];

fn read_issuers(root: &ConfigTable<'_>, folder: &Path) -> Vec<TokenIssuerConfig> {
    let mut issuers: Vec<TokenIssuerConfig> = Vec::new();
    for table in root.tables("issuers") {
        let (line, mistakes) = (table.line, table.mistakes);
        let mut fields = table.to_json(&ISSUER_KEYS);
        let grants = table.tables("grants").into_iter().filter_map(read_grant);
        let grants: Vec<ClaimGrant> = grants.collect();
        table.finish();
        if let Some(Json::String(file)) = fields.get_mut("jwks_file") {
            *file = folder.join(&*file).to_string_lossy().into_owned();
        }
        let read = serde_json::from_value::<TokenIssuerConfig>(Json::Object(fields));
        let mut issuer = match read {
            Ok(issuer) => issuer,
            Err(error) => {
                mistakes.add(line, format!("issuers: {error}"));
                continue;
            }
        };
        issuer.grants = grants;
        let is_double = issuers.iter().any(|known| known.issuer == issuer.issuer);
        if is_double {
            mistakes.add(
                line,
                format!("the issuer {:?} is configured twice", issuer.issuer),
            );
        } else if let Err(error) = TokenIssuers::new(vec![issuer.clone()]) {
            mistakes.add(line, error.message());
        }
        issuers.push(issuer);
    }
    issuers
}

fn read_grant(table: ConfigTable<'_>) -> Option<ClaimGrant> {
    let (line, mistakes) = (table.line, table.mistakes);
    let fields = table.to_json(&GRANT_KEYS);
    table.finish();
    let read = serde_json::from_value(Json::Object(fields));
    read.map_err(|error| mistakes.add(line, format!("issuers.grants: {error}")))
        .ok()
}

/// Refuses a name that a palace cannot have in addresses and grants.
pub(super) fn check_palace_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_valid = name.starts_with(is_plain)
        && name.len() <= 64
        && name.chars().all(|c| is_plain(c) || "-_.".contains(c));
    if is_valid {
        return Ok(());
    }
    Err(
        Error::invalid(format!("{name:?} cannot be the name of a served palace")).with_hint(
            "write NAME=REF, with a name of 1 to 64 of a-z, 0-9 and - _ . that begins with a letter or digit",
        ),
    )
}

/// An error and its hint in one line.
fn tell(error: &Error) -> String {
    match error.hint_text() {
        Some(hint) => format!("{} ({hint})", error.message()),
        None => error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests;
