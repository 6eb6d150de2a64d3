//! The surroundings that complete a URL: libpq's environment variables, the home folder, the user of this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use crate::address::ConnectionParameter;

/// Folders in which servers put their Unix sockets by default.
const SOCKET_FOLDERS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// Folders in which packages put `pg_service.conf`, unless PGSYSCONFDIR names another.
const SYSTEM_FOLDERS: [&str; 2] = ["/etc/postgresql-common", "/usr/local/pgsql/etc"];

/// The variable that names the folder of the system's service file.
const SYSTEM_FOLDER_VARIABLE: &str = "PGSYSCONFDIR";

/// Variables by which libpq narrows what it accepts, and which Loci cannot honour.
const REFUSED_VARIABLES: [&str; 4] = ["PGREQUIREAUTH", "PGREQUIREPEER", "PGSSLCRL", "PGSSLCRLDIR"];

/// The surroundings of a connection, as values: nothing below reads the environment of the process.
///
/// Not `Debug`, because it holds PGPASSWORD.
#[derive(Clone, Default)]
pub struct ConnectionEnvironment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
    socket_folders: Vec<PathBuf>,
}

impl ConnectionEnvironment {
    /// Reads the environment of this process.
    pub fn from_process() -> Result<Self> {
        let mut environment = Self {
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            user: whoami::username().ok(),
            socket_folders: SOCKET_FOLDERS.map(PathBuf::from).to_vec(),
            ..Self::default()
        };
        let names = ConnectionParameter::all_variables().chain([SYSTEM_FOLDER_VARIABLE]);
        for name in names.chain(REFUSED_VARIABLES) {
            let Some(value) = std::env::var_os(name) else {
                continue;
            };
            let value = value.into_string().map_err(|_| {
                Error::invalid(format!(
                    "the environment variable {name} is not UTF-8; nothing was changed"
                ))
                .with_hint(format!("set {name} to UTF-8 text, or unset it"))
            })?;
            environment.variables.insert(name.to_owned(), value);
        }
        Ok(environment)
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the home folder.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Sets the user of the operating system.
    #[must_use]
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Adds a folder to look for a socket in when no host is named.
    #[must_use]
    pub fn with_socket_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.socket_folders.push(folder.into());
        self
    }

    /// Returns the variable of a parameter; like libpq, an empty one counts as given.
    pub(super) fn value(&self, parameter: ConnectionParameter) -> Option<&str> {
        self.variables.get(parameter.variable()?).map(String::as_str)
    }

    /// Returns the user of the operating system.
    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns a path in the home folder.
    pub(super) fn home_path(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }

    /// Returns the folders in which a socket may be when no host is named.
    pub(super) fn socket_folders(&self) -> &[PathBuf] {
        &self.socket_folders
    }

    /// Returns the places of the system's service file.
    pub(super) fn system_service_files(&self) -> Vec<PathBuf> {
        let named = self.variables.get(SYSTEM_FOLDER_VARIABLE);
        let folders = match named {
            Some(folder) => vec![folder.as_str()],
            None => SYSTEM_FOLDERS.to_vec(),
        };
        folders
            .into_iter()
            .map(|folder| Path::new(folder).join("pg_service.conf"))
            .collect()
    }

    /// Refuses variables that ask for a check which Loci does not make: ignoring them would weaken the connection.
    pub(super) fn check_variables(&self) -> Result<()> {
        let set = |name: &&str| self.variables.get(*name).is_some_and(|value| !value.is_empty());
        let Some(name) = REFUSED_VARIABLES.iter().find(|name| set(name)) else {
            return Ok(());
        };
        Err(Error::invalid(format!(
            "the environment variable {name} asks for a check that Loci does not make; nothing was changed"
        ))
        .with_hint(format!(
            "unset {name} for Loci, or use sslmode=verify-full with channel_binding=require"
        )))
    }
}
