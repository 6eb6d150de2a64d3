//! The settings of a connection: a URL completed by service file, environment and defaults, in libpq's order.

use std::path::PathBuf;
use std::time::Duration;

use loci_core::{Error, Result};
use tokio_postgres::config::ChannelBinding;

use super::environment::ConnectionEnvironment;
use super::host::{HostTarget, list_targets};
use super::password::{PasswordFile, PasswordQuery, SecretPassword};
use super::service_file::find_service;
use super::session_target::SessionTarget;
use super::tls::TlsSettings;
use crate::address::{ConnectionParameter, PalaceUrl, ParameterValues};

/// The time that one server gets to accept a connection, unless `connect_timeout` says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The name by which administrators see our connections.
const APPLICATION_NAME: &str = "loci";

/// Everything that a connection needs. `Debug` does not show the password.
#[derive(Debug, Clone)]
pub struct ConnectionSettings {
    pub(super) targets: Vec<HostTarget>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) application_name: String,
    pub(super) options: Option<String>,
    /// The time for one address of one server; without it, a connection may wait for ever.
    pub(super) timeout: Option<Duration>,
    pub(super) keepalive: KeepaliveSettings,
    pub(super) tls: TlsSettings,
    pub(super) channel_binding: ChannelBinding,
    pub(super) session: SessionTarget,
    pub(super) is_shuffled: bool,
    /// The reason why a password file was left out, for the error when the server refuses the user.
    pub(super) ignored_password_file: Option<String>,
}

/// How the operating system notices that the other side of a connection is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeepaliveSettings {
    pub(super) is_on: bool,
    pub(super) idle: Option<Duration>,
    pub(super) interval: Option<Duration>,
    pub(super) count: Option<u32>,
    pub(super) user_timeout: Option<Duration>,
}

impl ConnectionSettings {
    /// Completes `url` from the service file it names, the environment, and defaults. Reads only those files.
    pub fn resolve(url: &PalaceUrl, environment: &ConnectionEnvironment) -> Result<Self> {
        environment.check_variables()?;
        let sources = ParameterSources::find(url, environment)?;
        check_fixed_parameters(&sources)?;
        let user = sources.read(ConnectionParameter::User);
        let user = user.or_else(|| environment.user()).ok_or_else(|| {
            Error::invalid(
                "neither the URL nor the environment names a user for Postgres; nothing was changed",
            )
            .with_hint("write `postgres://USER@HOST/DATABASE`, or set PGUSER")
        })?;
        let database = sources.read(ConnectionParameter::Database).unwrap_or(user);
        let targets = list_targets(
            sources.read(ConnectionParameter::Host),
            sources.read(ConnectionParameter::HostAddress),
            sources.read(ConnectionParameter::Port),
            environment,
        )?;
        let names = [
            ConnectionParameter::ApplicationName,
            ConnectionParameter::FallbackApplicationName,
        ];
        let application_name = names.into_iter().find_map(|name| sources.read(name));
        let mut settings = Self {
            targets,
            user: user.to_owned(),
            database: database.to_owned(),
            application_name: application_name.unwrap_or(APPLICATION_NAME).to_owned(),
            options: sources.read(ConnectionParameter::Options).map(str::to_owned),
            timeout: read_timeout(&sources)?,
            keepalive: read_keepalive(&sources)?,
            tls: TlsSettings::read(&sources)?,
            channel_binding: sources.choose(
                ConnectionParameter::ChannelBinding,
                &[
                    ("prefer", ChannelBinding::Prefer),
                    ("disable", ChannelBinding::Disable),
                    ("require", ChannelBinding::Require),
                ],
            )?,
            session: SessionTarget::read(&sources)?,
            is_shuffled: sources.choose(
                ConnectionParameter::LoadBalanceHosts,
                &[("disable", false), ("random", true)],
            )?,
            ignored_password_file: None,
        };
        settings.find_passwords(&sources);
        Ok(settings)
    }

    /// Returns the user at the server.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Returns the servers in the order in which they are tried, as errors name them.
    pub fn servers(&self) -> Vec<String> {
        self.targets.iter().map(HostTarget::to_string).collect()
    }

    /// Gives every server its password: one from the parameters, else the password file's line for that server.
    fn find_passwords(&mut self, sources: &ParameterSources<'_>) {
        let given = sources
            .read(ConnectionParameter::Password)
            .and_then(SecretPassword::new);
        if given.is_some() {
            for target in &mut self.targets {
                target.password.clone_from(&given);
            }
            return;
        }
        let path = sources.read(ConnectionParameter::PasswordFile).map(PathBuf::from);
        let Some(path) = path.or_else(|| sources.environment.home_path(".pgpass")) else {
            return;
        };
        let file = PasswordFile::read(&path);
        for target in &mut self.targets {
            let query = PasswordQuery {
                host: target.password_file_host(sources.environment),
                port: target.port,
                database: &self.database,
                user: &self.user,
            };
            target.password = file.find(&query);
        }
        self.ignored_password_file = file.ignored;
    }
}

/// The places that give parameters, in their order: URL, service file, environment.
pub(super) struct ParameterSources<'a> {
    url: &'a ParameterValues,
    service: ParameterValues,
    pub(super) environment: &'a ConnectionEnvironment,
}

impl<'a> ParameterSources<'a> {
    fn find(url: &'a PalaceUrl, environment: &'a ConnectionEnvironment) -> Result<Self> {
        let mut sources = Self {
            url: url.values(),
            service: ParameterValues::default(),
            environment,
        };
        if let Some(service) = sources.read(ConnectionParameter::Service) {
            let file = sources.read(ConnectionParameter::ServiceFile);
            sources.service = find_service(service, file, environment)?;
        }
        Ok(sources)
    }

    /// Returns the first value that is given. An empty value means the default, even if a later place gives one.
    pub(super) fn read(&self, parameter: ConnectionParameter) -> Option<&str> {
        let given = self.url.get(parameter);
        let given = given.or_else(|| self.service.get(parameter));
        let given = given.or_else(|| self.environment.value(parameter));
        given.filter(|value| !value.is_empty())
    }

    /// Returns the choice of that name; without one, the first.
    pub(super) fn choose<T: Copy>(&self, parameter: ConnectionParameter, choices: &[(&str, T)]) -> Result<T> {
        let given = self.read(parameter);
        let found = match given {
            Some(given) => choices.iter().find(|(name, _)| *name == given),
            None => choices.first(),
        };
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.refuse(parameter, &format!("one of {}", names.join(", ")))
        })
    }

    /// Returns an integer.
    fn read_number(&self, parameter: ConnectionParameter) -> Result<Option<i64>> {
        let Some(given) = self.read(parameter) else {
            return Ok(None);
        };
        let number = given.trim().parse::<i32>();
        number
            .map(|number| Some(number.into()))
            .map_err(|_| self.refuse(parameter, "an integer"))
    }

    /// Refuses a value and says where it can be corrected.
    pub(super) fn refuse(&self, parameter: ConnectionParameter, wanted: &str) -> Error {
        let name = parameter.name();
        let value = self.read(parameter).unwrap_or_default();
        let place = match (
            self.url.get(parameter),
            self.service.get(parameter),
            parameter.variable(),
        ) {
            (Some(_), _, _) => "the URL".to_owned(),
            (None, Some(_), _) | (None, None, None) => "the service file".to_owned(),
            (None, None, Some(variable)) => format!("the environment variable {variable}"),
        };
        Error::invalid(format!(
            "`{name}` is {value:?}, not {wanted}; nothing was changed"
        ))
        .with_hint(format!("correct it in {place}"))
    }
}

/// Checks parameters of which Loci supports only the value it uses anyway.
fn check_fixed_parameters(sources: &ParameterSources<'_>) -> Result<()> {
    let encoding = sources.read(ConnectionParameter::ClientEncoding);
    let names = ["utf8", "utf-8", "unicode", "auto"];
    if encoding.is_some_and(|encoding| !names.contains(&encoding.to_lowercase().as_str())) {
        return Err(sources.refuse(
            ConnectionParameter::ClientEncoding,
            "UTF8, the only encoding Loci uses",
        ));
    }
    let encryption = [("prefer", ()), ("disable", ())];
    sources.choose(ConnectionParameter::GssEncryption, &encryption)
}

/// Reads the time limit; as in libpq, zero or less waits without one.
fn read_timeout(sources: &ParameterSources<'_>) -> Result<Option<Duration>> {
    let Some(seconds) = sources.read_number(ConnectionParameter::ConnectTimeout)? else {
        return Ok(Some(DEFAULT_TIMEOUT));
    };
    let seconds = u64::try_from(seconds).unwrap_or_default();
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

fn read_keepalive(sources: &ParameterSources<'_>) -> Result<KeepaliveSettings> {
    // Zero or less leaves the system's own setting.
    let positive = |parameter| -> Result<Option<u32>> {
        let number = sources.read_number(parameter)?;
        Ok(number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0))
    };
    let seconds = |parameter| -> Result<Option<Duration>> {
        Ok(positive(parameter)?.map(|seconds| Duration::from_secs(seconds.into())))
    };
    let milliseconds = positive(ConnectionParameter::TcpUserTimeout)?;
    Ok(KeepaliveSettings {
        is_on: sources.read_number(ConnectionParameter::Keepalives)? != Some(0),
        idle: seconds(ConnectionParameter::KeepalivesIdle)?,
        interval: seconds(ConnectionParameter::KeepalivesInterval)?,
        count: positive(ConnectionParameter::KeepalivesCount)?,
        user_timeout: milliseconds.map(|milliseconds| Duration::from_millis(milliseconds.into())),
    })
}

#[cfg(test)]
mod tests;
