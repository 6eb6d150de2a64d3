//! A private server with access rules of its own and, if asked, under TLS; it stops when the test ends.

use loci_core::Result;
use loci_postgres::address::PalaceUrl;
use loci_postgres::connect::{ConnectionEnvironment, ConnectionSettings, ServerConnection, connect};
use loci_testkit::{PostgresServer, PrivatePostgres};

/// The plan of a server: its access rules for TCP, its settings, and whether it has TLS.
#[derive(Default)]
pub(crate) struct ServerPlan<'a> {
    /// Lines of pg_hba.conf; superusers are admitted over the socket in any case.
    pub(crate) access: &'a str,
    /// Settings of postgresql.conf.
    pub(crate) settings: &'a [(&'a str, &'a str)],
    /// PEM texts of certificate, key, and the authority of clients.
    pub(crate) tls: Option<(&'a str, &'a str, &'a str)>,
    /// Whether the server waits for a primary.
    pub(crate) is_standby: bool,
}

/// A running server on a socket and a port of its own.
pub(crate) struct TestServer {
    pub(crate) server: PrivatePostgres,
    pub(crate) port: u16,
}

impl TestServer {
    pub(crate) fn start(plan: &ServerPlan<'_>) -> Self {
        let access = format!("local all postgres trust\n{}\n", plan.access);
        let mut planned = PostgresServer::plan_private()
            .on_loopback()
            .with_access_rules(&access)
            .with_settings(plan.settings);
        if let Some((certificate, key, authority)) = plan.tls {
            planned = planned
                .with_tls_build()
                .with_settings(&[("ssl", "on"), ("ssl_ca_file", "clients.crt")])
                .with_file("server.crt", certificate)
                .with_file("server.key", key)
                .with_file("clients.crt", authority);
        }
        if plan.is_standby {
            planned = planned.with_file("standby.signal", "");
        }
        let server = planned.start();
        let port = server.port();
        Self { server, port }
    }

    /// Returns the folder of the socket.
    pub(crate) fn socket_folder(&self) -> String {
        self.server.socket_folder().display().to_string()
    }

    /// Runs statements as the superuser, over the socket, and returns the first value of the last row.
    pub(crate) async fn run_sql(&self, sql: &str) -> Option<String> {
        let connection = connect_to(&self.server.url("postgres")).await.unwrap();
        ask(&connection, sql).await
    }
}

/// An environment with nothing in it but the name of a user.
pub(crate) fn bare_environment() -> ConnectionEnvironment {
    ConnectionEnvironment::default().with_user("ada")
}

/// Connects with a URL alone.
pub(crate) async fn connect_to(url: &str) -> Result<ServerConnection> {
    connect_within(url, &bare_environment()).await
}

/// Connects with a URL and an environment.
pub(crate) async fn connect_within(
    url: &str,
    environment: &ConnectionEnvironment,
) -> Result<ServerConnection> {
    let url = PalaceUrl::parse(url).unwrap();
    connect(&ConnectionSettings::resolve(&url, environment)?).await
}

/// Returns the first value of the last row.
pub(crate) async fn ask(connection: &ServerConnection, sql: &str) -> Option<String> {
    let messages = connection
        .client
        .simple_query(sql)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let rows = messages.iter().rev().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.and_then(|row| row.get(0)).map(str::to_owned)
}

/// Checks the shape of an error: names, what stayed unchanged, a next step, and no password.
pub(crate) fn check_error(error: &loci_core::Error, parts: &[&str], hint: &str) {
    let message = error.message();
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    assert!(message.contains("nothing was changed"), "{message}");
    let given = error.hint_text().unwrap_or_default();
    assert!(given.contains(hint), "no {hint:?} in: {given}");
    assert!(!format!("{error:?} {error}").contains("hush"), "{error:?}");
}
