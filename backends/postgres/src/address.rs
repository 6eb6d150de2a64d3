//! The address of a palace in a Postgres server: a URL as libpq reads it, with the names of palace and namespace.

mod grammar;
mod parameters;
mod percent;

use std::fmt;

use loci_core::{Error, Result};

pub use parameters::ConnectionParameter;
pub(crate) use parameters::{ParameterValues, list_parameter_names, read_parameter_name};

/// The palace that a URL without `palace=` means.
const DEFAULT_PALACE: &str = "default";

/// The most bytes the name of a palace or namespace may have.
const LONGEST_NAME: usize = 512;

/// The URL of one palace: how to reach the server, which palace, and in which namespace.
///
/// Neither `Display` nor `Debug` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PalaceUrl {
    values: ParameterValues,
    palace: String,
    namespace: Option<String>,
}

/// Equal for URLs that mean the same server, user and database, and say the same about the connection.
///
/// Two palaces with equal keys may share their connections. The key holds the password, so that a wrong password never
/// borrows the connections of a right one; `Debug` does not show it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerKey(ParameterValues);

impl PalaceUrl {
    /// Reads a `postgres://` or `postgresql://` URL as libpq does, with the parameters `palace` and `namespace` of Loci.
    ///
    /// No error repeats a part of the URL that could belong to a password.
    pub fn parse(url: &str) -> Result<Self> {
        let read = grammar::read_url(url)?;
        let palace = read.palace.unwrap_or_else(|| DEFAULT_PALACE.to_owned());
        check_name("palace", &palace)?;
        if let Some(namespace) = &read.namespace {
            check_name("namespace", namespace)?;
        }
        Ok(Self {
            values: read.values,
            palace,
            namespace: read.namespace,
        })
    }

    /// Whether `text` has the scheme of such a URL.
    pub fn is_one(text: &str) -> bool {
        grammar::strip_scheme(text).is_some()
    }

    /// Returns the name of the palace.
    pub fn palace(&self) -> &str {
        &self.palace
    }

    /// Returns the namespace, if the URL names one.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the key under which palaces share their connections.
    pub fn server_key(&self) -> ServerKey {
        ServerKey(self.values.clone())
    }

    /// Returns the connection parameters that the URL gives.
    pub(crate) fn values(&self) -> &ParameterValues {
        &self.values
    }

    /// Writes hosts and ports before the path, if they have a form there.
    fn write_hosts(&self, f: &mut fmt::Formatter<'_>) -> std::result::Result<bool, fmt::Error> {
        let hosts = self.values.get(ConnectionParameter::Host).unwrap_or_default();
        let ports = self.values.get(ConnectionParameter::Port).unwrap_or_default();
        let hosts: Vec<&str> = hosts.split(',').collect();
        let ports: Vec<&str> = ports.split(',').collect();
        // One port for several hosts, and socket folders, can only be written as parameters.
        if hosts.len() != ports.len() || hosts.iter().any(|host| host.starts_with(['/', '@'])) {
            return Ok(false);
        }
        for (number, (host, port)) in hosts.iter().zip(ports).enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            if host.contains(':') {
                write!(f, "[{}]", percent::encode(host))?;
            } else {
                f.write_str(&percent::encode(host))?;
            }
            if !port.is_empty() {
                write!(f, ":{}", percent::encode(port))?;
            }
        }
        Ok(true)
    }
}

impl fmt::Display for PalaceUrl {
    /// Writes the canonical URL without the password; read again, it means the same palace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let user = self.values.get(ConnectionParameter::User);
        if let Some(user) = user.filter(|user| !user.is_empty()) {
            write!(f, "{}@", percent::encode(user))?;
        }
        let hosts_are_written = self.write_hosts(f)?;
        let database = self.values.get(ConnectionParameter::Database);
        if let Some(database) = database.filter(|database| !database.is_empty()) {
            write!(f, "/{}", percent::encode(database))?;
        }
        let mut separator = '?';
        let mut write_pair = |f: &mut fmt::Formatter<'_>, name: &str, value: &str| {
            write!(f, "{separator}{name}={}", percent::encode(value))?;
            separator = '&';
            Ok(())
        };
        for (parameter, value) in self.values.iter() {
            let is_elsewhere = match parameter {
                ConnectionParameter::Password => true,
                // An empty value counts: it keeps the environment's from being used.
                ConnectionParameter::User | ConnectionParameter::Database => !value.is_empty(),
                ConnectionParameter::Host | ConnectionParameter::Port => {
                    hosts_are_written && !value.is_empty()
                }
                _ => false,
            };
            if !is_elsewhere {
                write_pair(f, parameter.name(), value)?;
            }
        }
        if self.palace != DEFAULT_PALACE {
            write_pair(f, "palace", &self.palace)?;
        }
        if let Some(namespace) = &self.namespace {
            write_pair(f, "namespace", namespace)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PalaceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PalaceUrl").field(&self.to_string()).finish()
    }
}

/// Returns a URL without its password; the text itself if it is not such a URL.
pub fn redact_url(text: &str) -> String {
    match PalaceUrl::parse(text) {
        Ok(url) => url.to_string(),
        // What cannot be read may still hold a password.
        Err(_) if PalaceUrl::is_one(text) => "postgres://…".to_owned(),
        Err(_) => text.to_owned(),
    }
}

/// Checks the name of a palace or namespace. Percent-decoding has refused NUL already.
fn check_name(parameter: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(
            Error::invalid(format!("`{parameter}=` in the URL is empty; nothing was changed"))
                .with_hint(format!("write a name behind `{parameter}=`, or leave it out")),
        );
    }
    if name.len() > LONGEST_NAME {
        return Err(Error::invalid(format!(
            "`{parameter}=` in the URL has {} bytes, more than {LONGEST_NAME}; nothing was changed",
            name.len()
        ))
        .with_hint("choose a shorter name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
