//! What a server is told by its options and its config file together.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;

use loci_core::Result;
use loci_serve::team::{ProxyRange, TeamLimits, TlsFiles};
use loci_team::TokenIssuerConfig;

use super::config::{PalaceEntry, check_palace_name};
use super::files::{ServerFiles, ServerPlaceArgs};
use super::listen::{USUAL_ADDRESS, check_public_url, check_reach, parse_address};
use crate::environment::ProcessEnvironment;

/// The options of the server itself. Each takes the place of its key in the config file.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct TeamServerArgs {
    /// A palace to serve, and its name for callers; can be repeated
    ///
    /// REF is what --palace takes elsewhere: a name, a path, a URL, or backend:path. Without NAME= the palace has the name
    /// that `loci web` shows. Without any, the palace that other commands would use is served.
    // Named as the global option, so that clap gives this command this one instead.
    #[arg(long, value_name = "NAME=REF")]
    palace: Vec<OsString>,

    /// The address to listen on: PORT, IP:PORT or [IPV6]:PORT [default: 127.0.0.1:7070]
    ///
    /// One that other machines can reach needs a certificate or a proxy.
    #[allow(
        rustdoc::broken_intra_doc_links,
        reason = "the text of --help: an address in brackets"
    )]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,

    /// The certificate and its chain, in PEM; read again when the file changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// The address of a proxy in front of the server, or a range of them; can be repeated
    ///
    /// The proxy adds TLS. Its word on the address and protocol of a client is taken; that of others is not.
    #[arg(long, value_name = "CIDR")]
    behind_proxy: Vec<String>,

    /// The address by which clients reach the server, such as https://loci.example.org
    ///
    /// Needed behind a proxy, and to listen on every address of the machine. Requests for other names are refused.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

/// What a server is told.
#[derive(Debug, Clone)]
pub(super) struct TeamServerPlan {
    pub(super) address: SocketAddr,
    pub(super) tls: Option<TlsFiles>,
    pub(super) files: ServerFiles,
    pub(super) limits: TeamLimits,
    pub(super) public_url: Option<String>,
    pub(super) proxies: Vec<ProxyRange>,
    pub(super) palaces: Vec<PalaceEntry>,
    pub(super) issuers: Vec<TokenIssuerConfig>,
}

impl TeamServerArgs {
    /// The options that were given and mean nothing to the commands below this one.
    pub(super) fn list_given(&self) -> Vec<&'static str> {
        let given = [
            ("--listen", self.listen.is_some()),
            ("--tls-cert", self.tls_cert.is_some()),
            ("--behind-proxy", !self.behind_proxy.is_empty()),
            ("--public-url", self.public_url.is_some()),
        ];
        let given = given.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(name, _)| name).collect()
    }

    fn find_tls(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
        })
    }
}

impl TeamServerPlan {
    /// Reads the config file and puts the options over it. Nothing is opened or made.
    pub(super) fn read(
        args: &TeamServerArgs,
        place: &ServerPlaceArgs,
        environment: &ProcessEnvironment,
    ) -> Result<Self> {
        let config = place.read_config()?;
        let files = place.find_files(&config, environment)?;
        let listen = args.listen.as_deref().map(parse_address).transpose()?;
        let address = listen.or(config.listen).unwrap_or(USUAL_ADDRESS);
        let given: Result<Vec<ProxyRange>> = args.behind_proxy.iter().map(|range| range.parse()).collect();
        let proxies = Some(given?)
            .filter(|given| !given.is_empty())
            .unwrap_or(config.proxies);
        let tls = args.find_tls().or(config.tls);
        if let Some(url) = &args.public_url {
            check_public_url(url)?;
        }
        let public_url = args.public_url.clone().or(config.public_url);
        check_reach(
            address,
            tls.is_some() || !proxies.is_empty(),
            public_url.is_some(),
        )?;
        let named: Result<Vec<PalaceEntry>> = args.palace.iter().map(|given| split_name(given)).collect();
        let mut palaces = Some(named?)
            .filter(|named| !named.is_empty())
            .unwrap_or(config.palaces);
        if palaces.is_empty() {
            palaces.push(PalaceEntry {
                name: None,
                reference: None,
            });
        }
        Ok(Self {
            address,
            tls,
            files,
            limits: config.limits,
            public_url,
            proxies,
            palaces,
            issuers: config.issuers,
        })
    }

    /// The settings that differ from those of a running server and that it takes only when it starts.
    pub(super) fn list_unheeded(&self, running: &Self) -> Vec<&'static str> {
        let changed = [
            ("listen", self.address != running.address),
            ("tls", self.tls != running.tls),
            ("data", self.files != running.files),
            ("limits", self.limits != running.limits),
        ];
        let changed = changed.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(name, _)| name).collect()
    }
}

/// Splits `NAME=REF`. A reference may hold `=` itself, but no name holds what makes a word a path or a URL.
fn split_name(given: &OsStr) -> Result<PalaceEntry> {
    let whole = || PalaceEntry {
        name: None,
        reference: Some(given.to_owned()),
    };
    let bytes = given.as_encoded_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return Ok(whole());
    };
    let name = bytes.get(..at).and_then(|name| std::str::from_utf8(name).ok());
    let Some(name) = name.filter(|name| !name.contains(['/', '\\', ':', '?', '~'])) else {
        return Ok(whole());
    };
    check_palace_name(name)?;
    let rest = bytes.get(at + 1..).unwrap_or_default();
    Ok(PalaceEntry {
        name: Some(name.to_owned()),
        reference: Some(bytes_to_word(rest)),
    })
}

#[cfg(unix)]
fn bytes_to_word(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn bytes_to_word(bytes: &[u8]) -> OsString {
    OsString::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_stands_before_the_first_equals_sign_unless_that_is_a_place() {
        let check = |given: &str, name: Option<&str>, reference: &str| {
            let entry = split_name(OsStr::new(given)).unwrap();
            assert_eq!(entry.name.as_deref(), name, "{given}");
            assert_eq!(entry.reference.as_deref(), Some(OsStr::new(reference)), "{given}");
        };
        check("work", None, "work");
        check("work=/srv/work", Some("work"), "/srv/work");
        check(
            "work=postgres://h/d?palace=x",
            Some("work"),
            "postgres://h/d?palace=x",
        );
        check("postgres://h/d?palace=x", None, "postgres://h/d?palace=x");
        check("/srv/a=b", None, "/srv/a=b");
        check("chroma:/srv/a=b", None, "chroma:/srv/a=b");
        check("a=b=c", Some("a"), "b=c");
        for wrong in ["Work=x", "=x", "a b=x", ".a=x"] {
            assert!(split_name(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }
}
