//! What a team server is told: its palaces, whom it trusts, where it listens, and its bounds.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{Error, Result, Timestamp};
use loci_engine::Palace;
use loci_team::{AuditLog, TeamAccounts, TokenIssuers};
use loci_web::SiteHost;

/// A palace under the name by which callers know it.
#[derive(Debug, Clone)]
pub struct ServedPalace {
    /// Its name in addresses: lower-case letters, digits, `-`, `_` and `.`; it begins with a letter or digit.
    pub name: String,
    /// The palace, with the rights of the server.
    pub palace: Palace,
    /// The machine around it, as its pages show it.
    pub host: Arc<dyn SiteHost>,
}

/// What a server may be told anew while it runs.
#[derive(Debug)]
pub struct TeamSettings {
    /// The palaces, each name once.
    pub palaces: Vec<ServedPalace>,
    /// The issuers whose tokens are accepted beside our own.
    pub issuers: TokenIssuers,
    /// The address by which clients reach the server, such as `https://loci.example.org`; else that of the listener.
    pub public_url: Option<String>,
    /// The proxies in front of the server, whose word on the address and protocol of a client is taken.
    pub proxies: Vec<ProxyRange>,
}

/// The clock of a server.
pub type TeamClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The files of a certificate, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates, the server's own first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Where a server listens, what it keeps, and how it is told anew.
pub struct TeamOptions {
    /// The address. One that other machines can reach needs `tls` or proxies.
    pub address: SocketAddr,
    /// The certificate; without one, HTTP is spoken.
    pub tls: Option<TlsFiles>,
    /// Users and tokens.
    pub accounts: Arc<TeamAccounts>,
    /// The audit log.
    pub audit: Arc<AuditLog>,
    /// Bounds on clients and requests.
    pub limits: TeamLimits,
    /// Reads the settings again; called on SIGHUP. If it fails, the server goes on with those it has.
    pub reload: Box<dyn Fn() -> Result<TeamSettings> + Send + Sync>,
    /// Tells the time.
    pub clock: TeamClock,
    /// Takes one line of the server's log.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
    /// Called with the address once the server listens there.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

impl fmt::Debug for TeamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamOptions")
            .field("address", &self.address)
            .field("tls", &self.tls)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Bounds on clients and requests.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamLimits {
    /// The most connections at the same time that have shown who they are.
    pub connections: usize,
    /// The most connections at the same time that have not; one more replaces the oldest.
    pub strangers: usize,
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The time the head of a request may take to arrive, and a connection may be idle between two requests.
    pub head: Duration,
    /// The time a body may take to arrive.
    pub arrival: Duration,
    /// The requests of one caller each second, on average.
    pub requests: f64,
    /// How many a caller may send at once.
    pub burst: f64,
    /// The time requests in progress may take once the server shuts down.
    pub patience: Duration,
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            strangers: 256,
            body: 32 << 20,
            head: Duration::from_secs(10),
            arrival: Duration::from_secs(60),
            requests: 50.0,
            burst: 500.0,
            patience: Duration::from_secs(10),
        }
    }
}

/// The addresses of proxies: an address, or a range as in `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyRange {
    first: u128,
    mask: u128,
}

impl ProxyRange {
    /// Reports whether an address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        to_bits(address) & self.mask == self.first
    }
}

impl FromStr for ProxyRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || {
            Error::invalid(format!("{text:?} is not a range of addresses"))
                .with_hint("give one as 10.0.0.0/8, fd00::/8 or 127.0.0.1")
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length: u32 = match length {
            Some(length) => length.parse().map_err(|_| refused())?,
            None => width,
        };
        if length > width {
            return Err(refused());
        }
        let mask = u128::MAX.checked_shl(width - length).unwrap_or(0);
        // Addresses of IPv4 are the last 32 bits of those that stand for them in IPv6.
        let mask = if width == 32 {
            mask | !u128::from(u32::MAX)
        } else {
            mask
        };
        Ok(Self {
            first: to_bits(address) & mask,
            mask,
        })
    }
}

/// Returns an address as 128 bits; one of IPv4 as that which stands for it in IPv6.
fn to_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(range: &str, address: &str, expect: bool) {
        let range: ProxyRange = range.parse().unwrap();
        assert_eq!(range.contains(address.parse().unwrap()), expect, "{address}");
    }

    #[test]
    fn a_range_contains_its_addresses_and_no_others() {
        check("10.0.0.0/8", "10.200.3.4", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.0.0.0/8", "::ffff:10.1.1.1", true);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("0.0.0.0/0", "203.0.113.9", true);
        check("0.0.0.0/0", "2001:db8::1", false);
        check("fd00::/8", "fd12::1", true);
        check("fd00::/8", "fe80::1", false);
        check("::/0", "2001:db8::1", true);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "host/8",
        ] {
            assert!(text.parse::<ProxyRange>().is_err(), "{text}");
        }
    }
}
