//! The grammar of connection URLs, as libpq reads them.

use loci_core::{Error, Result};

use super::parameters::{ConnectionParameter, ParameterValues, list_parameter_names, read_parameter_name};
use super::percent::decode;

/// The schemes that mean Postgres.
const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// The contents of a URL, decoded.
pub(super) struct UrlContents {
    pub(super) values: ParameterValues,
    pub(super) palace: Option<String>,
    pub(super) namespace: Option<String>,
}

/// Returns the rest of the URL behind its scheme, if it is one of ours.
pub(super) fn strip_scheme(url: &str) -> Option<&str> {
    SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme))
}

/// Reads a URL into decoded values.
pub(super) fn read_url(url: &str) -> Result<UrlContents> {
    let rest = strip_scheme(url).ok_or_else(|| {
        Error::invalid(
            "the address does not begin with `postgres://` or `postgresql://`; nothing was changed",
        )
        .with_hint("write `postgres://USER@HOST/DATABASE?palace=NAME`")
    })?;
    let mut contents = UrlContents {
        values: ParameterValues::default(),
        palace: None,
        namespace: None,
    };
    let rest = contents.read_credentials(rest)?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
    // A second `@` is the mark of a password with an unencoded `@` or `/`. libpq would look for a server named by a
    // piece of the password, and say so.
    if place.contains('@') {
        return Err(unencoded_password());
    }
    contents.read_hosts(hosts)?;
    if !database.is_empty() {
        let database = decode(database, "the database name")?;
        contents.values.set(ConnectionParameter::Database, database);
    }
    contents.read_query(query, hosts.contains(':'))?;
    Ok(contents)
}

fn unencoded_password() -> Error {
    Error::invalid("the URL has an `@` behind its host, as if the password contained a special character; nothing was changed")
        .with_hint("write `@` as `%40`, `/` as `%2F`, `?` as `%3F` and `:` as `%3A` in user names, passwords, database names and values")
}

impl UrlContents {
    /// Reads `user:password@` and returns the rest behind it.
    fn read_credentials<'a>(&mut self, rest: &'a str) -> Result<&'a str> {
        let end = rest
            .find(['@', '/'])
            .filter(|end| rest.get(*end..).is_some_and(|at| at.starts_with('@')));
        let Some((credentials, rest)) = end.and_then(|end| rest.split_at_checked(end)) else {
            return Ok(rest);
        };
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        // libpq reads `host?password=a@b` as the user `host?password=a`, which would then be shown.
        if user.contains('?') {
            return Err(unencoded_password());
        }
        if !user.is_empty() {
            self.values
                .set(ConnectionParameter::User, decode(user, "the user name")?);
        }
        if !password.is_empty() {
            self.values
                .set(ConnectionParameter::Password, decode(password, "the password")?);
        }
        Ok(rest.strip_prefix('@').unwrap_or(rest))
    }

    /// Reads `host:port,[v6]:port,…`. Empty hosts and ports keep their places in the lists.
    fn read_hosts(&mut self, text: &str) -> Result<()> {
        let mut hosts = Vec::new();
        let mut ports = Vec::new();
        for entry in text.split(',') {
            let (host, port) = split_host(entry)?;
            let host = decode(host, "a host")?;
            let port = decode(port, "a port")?;
            // The text may be a password with an unencoded `/`, so it is not repeated.
            if !port.is_empty() && !port.parse::<u16>().is_ok_and(|port| port > 0) {
                return Err(Error::invalid(
                    "the port in the URL is not a number from 1 to 65535; nothing was changed",
                )
                .with_hint("write the port behind the host, as in `db.example:5432`, and encode `/` and `@` in passwords as `%2F` and `%40`"));
            }
            hosts.push(host);
            ports.push(port);
        }
        for (parameter, list) in [
            (ConnectionParameter::Host, hosts),
            (ConnectionParameter::Port, ports),
        ] {
            let list = list.join(",");
            if !list.is_empty() {
                self.values.set(parameter, list);
            }
        }
        Ok(())
    }

    /// Reads the parameters. `may_be_password` says that the text before them could be `user:password`.
    fn read_query(&mut self, query: &str, may_be_password: bool) -> Result<()> {
        if query.is_empty() {
            return Ok(());
        }
        let may_be_password = may_be_password && query.contains('@');
        for pair in query.split('&') {
            let split = pair.split_once('=').filter(|(_, value)| !value.contains('='));
            let Some((name, value)) = split else {
                return Err(Error::invalid(
                    "a parameter in the URL does not have the form `name=value`; nothing was changed",
                )
                .with_hint("write `&` between parameters, and `%3D` and `%26` for `=` and `&` in a value"));
            };
            let name = decode(name, "the name of a parameter")?;
            let value = decode(value, &format!("the value of `{}`", name.escape_debug()))?;
            match (name.as_str(), read_parameter_name(&name)) {
                (_, Some(parameter)) => self.values.set(parameter, value),
                ("palace", _) => self.palace = Some(value),
                ("namespace", _) => self.namespace = Some(value),
                // The spelling of JDBC, which libpq reads too.
                ("ssl", _) if value == "true" => {
                    self.values
                        .set(ConnectionParameter::SslMode, "require".to_owned());
                }
                _ if may_be_password => return Err(unencoded_password()),
                _ => return Err(unknown_parameter(&name)),
            }
        }
        Ok(())
    }
}

fn unknown_parameter(name: &str) -> Error {
    Error::invalid(format!(
        "the URL has an unknown parameter {name:?}; nothing was changed"
    ))
    .with_hint(format!(
        "known parameters: palace, namespace, {}",
        list_parameter_names()
    ))
}

/// Splits one entry of the host list into host and port.
fn split_host(entry: &str) -> Result<(&str, &str)> {
    let Some(bracketed) = entry.strip_prefix('[') else {
        return Ok(entry.split_once(':').unwrap_or((entry, "")));
    };
    let (host, rest) = bracketed.split_once(']').unwrap_or_default();
    if host.is_empty() || !(rest.is_empty() || rest.starts_with(':')) {
        return Err(
            Error::invalid("an IPv6 address in the URL is not closed by `]`; nothing was changed")
                .with_hint("write it as in `postgres://[::1]:5432/DATABASE`"),
        );
    }
    Ok((host, rest.strip_prefix(':').unwrap_or_default()))
}
