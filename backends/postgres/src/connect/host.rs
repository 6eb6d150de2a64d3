//! The servers that a connection may go to, in the order in which they are tried.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use loci_core::{Error, Result};

use super::environment::ConnectionEnvironment;
use super::password::SecretPassword;

/// The port of a server that names none.
const DEFAULT_PORT: u16 = 5432;

/// The way to one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerPlace {
    /// A Unix socket in this folder.
    SocketFolder(String),
    /// A host by name or address, and the address to use instead of looking the name up.
    NetworkHost { name: String, address: Option<IpAddr> },
}

/// One server to try, and the password for it.
#[derive(Debug, Clone)]
pub(super) struct HostTarget {
    pub(super) place: ServerPlace,
    pub(super) port: u16,
    pub(super) password: Option<SecretPassword>,
}

impl fmt::Display for HostTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.place {
            ServerPlace::SocketFolder(folder) => write!(f, "socket {folder}/.s.PGSQL.{port}"),
            ServerPlace::NetworkHost { name, address } => {
                if name.contains(':') {
                    write!(f, "[{name}]:{port}")?;
                } else {
                    write!(f, "{name}:{port}")?;
                }
                match address {
                    Some(address) if address.to_string() != *name => write!(f, " ({address})"),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Builds the list from the comma-separated values of `host`, `hostaddr` and `port`, which may be empty.
pub(super) fn list_targets(
    hosts: Option<&str>,
    addresses: Option<&str>,
    ports: Option<&str>,
    environment: &ConnectionEnvironment,
) -> Result<Vec<HostTarget>> {
    let hosts = split_list(hosts);
    let addresses = split_list(addresses);
    let ports = split_list(ports);
    let count = hosts.len().max(addresses.len()).max(1);
    for (parameter, list) in [("host", &hosts), ("hostaddr", &addresses)] {
        if !list.is_empty() && list.len() != count {
            return Err(unequal_lists(parameter, list.len(), count));
        }
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(unequal_lists("port", ports.len(), count));
    }
    let mut targets = Vec::new();
    for number in 0..count {
        let port = match ports.get(number).or_else(|| ports.first()) {
            Some(port) if !port.is_empty() => read_port(port)?,
            _ => DEFAULT_PORT,
        };
        let host = hosts.get(number).copied().unwrap_or_default();
        let address = addresses.get(number).copied().unwrap_or_default();
        for place in find_places(host, address, port, environment)? {
            targets.push(HostTarget {
                place,
                port,
                password: None,
            });
        }
    }
    Ok(targets)
}

fn split_list(list: Option<&str>) -> Vec<&str> {
    let list = list.filter(|list| !list.is_empty());
    list.map(|list| list.split(',').map(str::trim).collect())
        .unwrap_or_default()
}

fn unequal_lists(parameter: &str, given: usize, count: usize) -> Error {
    Error::invalid(format!(
        "`{parameter}` lists {given} values for {count} servers; nothing was changed"
    ))
    .with_hint("give as many hosts as addresses, and one port for all or one for each")
}

fn read_port(port: &str) -> Result<u16> {
    port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        Error::invalid(format!(
            "the port {port:?} is not a number from 1 to 65535; nothing was changed"
        ))
        .with_hint("correct `port=`, the service file or PGPORT")
    })
}

/// Returns the place that `host` and `hostaddr` mean; without both, the local sockets, or localhost if there is none.
fn find_places(
    host: &str,
    address: &str,
    port: u16,
    environment: &ConnectionEnvironment,
) -> Result<Vec<ServerPlace>> {
    if !address.is_empty() {
        let parsed = address.parse().map_err(|_| {
            Error::invalid(format!(
                "`hostaddr` is {address:?}, not an IP address; nothing was changed"
            ))
            .with_hint("write names as `host=` and only addresses as `hostaddr=`")
        })?;
        // The name stays: certificates and the password file are looked up by it.
        let name = if host.is_empty() || host.starts_with(['/', '@']) {
            address
        } else {
            host
        };
        return Ok(vec![ServerPlace::NetworkHost {
            name: name.to_owned(),
            address: Some(parsed),
        }]);
    }
    if host.starts_with('@') {
        return Err(Error::invalid(format!(
            "the host {host:?} is an abstract socket, which Loci does not support; nothing was changed"
        ))
        .with_hint("use a socket in a folder, as in `?host=/var/run/postgresql`"));
    }
    if host.starts_with('/') {
        return Ok(vec![ServerPlace::SocketFolder(host.to_owned())]);
    }
    if !host.is_empty() {
        return Ok(vec![network_host(host)]);
    }
    let socket = format!(".s.PGSQL.{port}");
    let folders = environment.socket_folders().iter();
    let mut found: Vec<&Path> = Vec::new();
    let mut seen = Vec::new();
    for folder in folders.filter(|folder| folder.join(&socket).exists()) {
        // `/var/run` is often a link to `/run`.
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if !seen.contains(&real) {
            seen.push(real);
            found.push(folder);
        }
    }
    if found.is_empty() {
        return Ok(vec![network_host("localhost")]);
    }
    let places = found.into_iter().map(|folder| folder.display().to_string());
    Ok(places.map(ServerPlace::SocketFolder).collect())
}

fn network_host(name: &str) -> ServerPlace {
    ServerPlace::NetworkHost {
        name: name.to_owned(),
        address: name.parse().ok(),
    }
}

impl HostTarget {
    /// Returns the name under which the password file knows this server: the default sockets are `localhost` there.
    pub(super) fn password_file_host<'a>(&'a self, environment: &ConnectionEnvironment) -> &'a str {
        match &self.place {
            ServerPlace::NetworkHost { name, .. } => name,
            ServerPlace::SocketFolder(folder) => {
                let is_default = environment
                    .socket_folders()
                    .iter()
                    .any(|known| known == Path::new(folder));
                if is_default { "localhost" } else { folder }
            }
        }
    }
}
