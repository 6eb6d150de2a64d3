//! The plan of a private server: its build, settings, access rules and other files, and where it listens.

use std::net::TcpListener;

use super::files::PostgresBuild;
use super::{PrivatePostgres, USUAL_PORT};

/// A server of one test before it starts.
#[derive(Clone, Debug)]
#[must_use = "a plan does nothing until it is started"]
pub struct PrivatePostgresPlan {
    pub(super) build: PostgresBuild,
    pub(super) settings: Vec<(String, String)>,
    /// Files of the data folder, by name.
    pub(super) files: Vec<(String, String)>,
    pub(super) port: u16,
}

impl PrivatePostgresPlan {
    pub(super) fn new() -> Self {
        Self {
            build: PostgresBuild::WithVector,
            settings: Vec::new(),
            files: Vec::new(),
            port: USUAL_PORT,
        }
    }

    /// Takes the build of the server that knows TLS, which has no extension `vector`. It uses TLS if the setting `ssl` is
    /// on and a certificate and its key are among the files.
    pub fn with_tls_build(mut self) -> Self {
        self.build = PostgresBuild::WithTls;
        self
    }

    /// Adds settings of `postgresql.conf`; the last of two equal ones counts.
    pub fn with_settings(mut self, settings: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.settings.extend(settings.iter().map(own));
        self
    }

    /// Makes the server also listen on a free port of 127.0.0.1.
    pub fn on_loopback(mut self) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.port = listener.local_addr().unwrap().port();
        self.with_settings(&[("listen_addresses", "127.0.0.1")])
    }

    /// Replaces the rules of `pg_hba.conf`; see [`PrivatePostgres::set_access_rules`].
    pub fn with_access_rules(self, rules: &str) -> Self {
        self.with_file("pg_hba.conf", rules)
    }

    /// Writes a file into the data folder, which only the server may read.
    pub fn with_file(mut self, name: &str, contents: &str) -> Self {
        self.files.push((name.to_owned(), contents.to_owned()));
        self
    }

    /// Starts the server; it ends with the value.
    #[track_caller]
    pub fn start(self) -> PrivatePostgres {
        PrivatePostgres::start(self)
    }
}
