//! The connection parameters of libpq that Loci knows, and the environment variable of each.

use std::collections::BTreeMap;
use std::fmt;

/// One connection parameter of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "`name` gives the word that libpq documents")]
pub enum ConnectionParameter {
    Host,
    HostAddress,
    Port,
    Database,
    User,
    Password,
    PasswordFile,
    Service,
    ServiceFile,
    ApplicationName,
    FallbackApplicationName,
    ConnectTimeout,
    Options,
    ClientEncoding,
    Keepalives,
    KeepalivesIdle,
    KeepalivesInterval,
    KeepalivesCount,
    TcpUserTimeout,
    SslMode,
    SslNegotiation,
    SslRootCertificate,
    SslCertificate,
    SslKey,
    SslServerName,
    SslMinimumVersion,
    GssEncryption,
    ChannelBinding,
    TargetSession,
    LoadBalanceHosts,
}

use ConnectionParameter as P;

/// Every parameter with its name in URLs and service files, and its environment variable.
const PARAMETERS: [(ConnectionParameter, &str, Option<&str>); 30] = [
    (P::Host, "host", Some("PGHOST")),
    (P::HostAddress, "hostaddr", Some("PGHOSTADDR")),
    (P::Port, "port", Some("PGPORT")),
    (P::Database, "dbname", Some("PGDATABASE")),
    (P::User, "user", Some("PGUSER")),
    (P::Password, "password", Some("PGPASSWORD")),
    (P::PasswordFile, "passfile", Some("PGPASSFILE")),
    (P::Service, "service", Some("PGSERVICE")),
    (P::ServiceFile, "servicefile", Some("PGSERVICEFILE")),
    (P::ApplicationName, "application_name", Some("PGAPPNAME")),
    (P::FallbackApplicationName, "fallback_application_name", None),
    (P::ConnectTimeout, "connect_timeout", Some("PGCONNECT_TIMEOUT")),
    (P::Options, "options", Some("PGOPTIONS")),
    (P::ClientEncoding, "client_encoding", None),
    (P::Keepalives, "keepalives", None),
    (P::KeepalivesIdle, "keepalives_idle", None),
    (P::KeepalivesInterval, "keepalives_interval", None),
    (P::KeepalivesCount, "keepalives_count", None),
    (P::TcpUserTimeout, "tcp_user_timeout", None),
    (P::SslMode, "sslmode", Some("PGSSLMODE")),
    (P::SslNegotiation, "sslnegotiation", Some("PGSSLNEGOTIATION")),
    (P::SslRootCertificate, "sslrootcert", Some("PGSSLROOTCERT")),
    (P::SslCertificate, "sslcert", Some("PGSSLCERT")),
    (P::SslKey, "sslkey", Some("PGSSLKEY")),
    (P::SslServerName, "sslsni", Some("PGSSLSNI")),
    (
        P::SslMinimumVersion,
        "ssl_min_protocol_version",
        Some("PGSSLMINPROTOCOLVERSION"),
    ),
    (P::GssEncryption, "gssencmode", Some("PGGSSENCMODE")),
    (P::ChannelBinding, "channel_binding", Some("PGCHANNELBINDING")),
    (
        P::TargetSession,
        "target_session_attrs",
        Some("PGTARGETSESSIONATTRS"),
    ),
    (
        P::LoadBalanceHosts,
        "load_balance_hosts",
        Some("PGLOADBALANCEHOSTS"),
    ),
];

impl ConnectionParameter {
    /// Returns the name in URLs and service files.
    pub fn name(self) -> &'static str {
        self.entry().map_or("", |(_, name, _)| name)
    }

    /// Returns the environment variable that gives the value where URL and service file are silent.
    pub(crate) fn variable(self) -> Option<&'static str> {
        self.entry().and_then(|(_, _, variable)| *variable)
    }

    fn entry(self) -> Option<&'static (Self, &'static str, Option<&'static str>)> {
        PARAMETERS.iter().find(|(parameter, _, _)| *parameter == self)
    }

    /// Returns every environment variable that gives a parameter.
    pub(crate) fn all_variables() -> impl Iterator<Item = &'static str> {
        PARAMETERS.iter().filter_map(|(_, _, variable)| *variable)
    }
}

/// Returns the parameter of this name.
pub(crate) fn read_parameter_name(name: &str) -> Option<ConnectionParameter> {
    let mut entries = PARAMETERS.iter();
    entries
        .find(|(_, known, _)| *known == name)
        .map(|(parameter, ..)| *parameter)
}

/// Returns the names of all parameters, for errors.
pub(crate) fn list_parameter_names() -> String {
    PARAMETERS.map(|(_, name, _)| name).join(", ")
}

/// The values given for parameters in one place: a URL, or a section of a service file. `Debug` hides the password.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ParameterValues(BTreeMap<ConnectionParameter, String>);

impl ParameterValues {
    /// Returns the value, which may be empty: an empty value keeps later places from giving one.
    pub(crate) fn get(&self, parameter: ConnectionParameter) -> Option<&str> {
        self.0.get(&parameter).map(String::as_str)
    }

    /// Sets the value; a later one replaces an earlier one.
    pub(crate) fn set(&mut self, parameter: ConnectionParameter, value: String) {
        self.0.insert(parameter, value);
    }

    /// Sets the value unless there is one already.
    pub(crate) fn set_first(&mut self, parameter: ConnectionParameter, value: String) {
        self.0.entry(parameter).or_insert(value);
    }

    /// Returns all values, in the order of the parameters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnectionParameter, &str)> {
        self.0
            .iter()
            .map(|(parameter, value)| (*parameter, value.as_str()))
    }
}

impl fmt::Debug for ParameterValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(parameter, value)| {
            let is_secret = parameter == ConnectionParameter::Password;
            (parameter.name(), if is_secret { "(hidden)" } else { value })
        });
        f.debug_map().entries(shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_parameter_has_one_name_and_is_found_by_it() {
        let names: BTreeSet<&str> = PARAMETERS.iter().map(|(_, name, _)| *name).collect();
        assert_eq!(names.len(), PARAMETERS.len());
        for (parameter, name, variable) in PARAMETERS {
            assert_eq!(read_parameter_name(name), Some(parameter));
            assert_eq!(parameter.name(), name);
            assert_eq!(parameter.variable(), variable);
        }
    }
}
