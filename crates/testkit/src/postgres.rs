//! Real Postgres servers for tests: one that all tests share, and private ones that a test may stop or kill.

mod files;
mod launch;
mod plan;
mod private;
mod processes;
mod shared;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use self::files::PostgresBuild;
use crate::{CommandOutcome, run_command};

pub use plan::PrivatePostgresPlan;
pub use private::PrivatePostgres;

/// The port of a server that listens only on its Unix socket; there it is merely part of the socket's name.
const USUAL_PORT: u16 = 5432;

/// A running Postgres 18 server with the user `postgres`, no password, and the extension `vector` ready to be created.
///
/// It listens on a Unix socket in its own folder and syncs its files, so that a crash can be tested.
#[derive(Clone, Debug)]
pub struct PostgresServer {
    /// The folder that `scripts/postgres-server` filled.
    prepared: PathBuf,
    /// The folder of the socket, with the data folder inside it.
    folder: PathBuf,
    port: u16,
    log: PathBuf,
}

impl PostgresServer {
    /// Returns the server that all tests share, also those in other processes; the first of them starts it.
    ///
    /// It stops within a minute after the last test that uses it has ended, however that test ended. Tests must not disturb
    /// each other: use a [`FreshDatabase`], change no setting of the server, and kill nothing.
    #[track_caller]
    pub fn shared() -> &'static Self {
        shared::shared_server()
    }

    /// Starts a server for this test alone, to be stopped, killed and restarted; it ends with the value.
    #[track_caller]
    pub fn start_private() -> PrivatePostgres {
        Self::plan_private().start()
    }

    /// Starts a server for this test alone with settings of `postgresql.conf`.
    #[track_caller]
    pub fn start_private_with(settings: &[(&str, &str)]) -> PrivatePostgres {
        Self::plan_private().with_settings(settings).start()
    }

    /// Starts a server for this test alone that also listens on [`Self::port`] of 127.0.0.1.
    #[track_caller]
    pub fn start_private_on_loopback() -> PrivatePostgres {
        Self::plan_private().on_loopback().start()
    }

    /// Returns the plan of a server for one test alone, to be changed and started.
    pub fn plan_private() -> PrivatePostgresPlan {
        PrivatePostgresPlan::new()
    }

    /// Returns the URL of a database on this server, through its Unix socket.
    pub fn url(&self, database: &str) -> String {
        let socket = self.folder.display();
        let port = self.port;
        if port == USUAL_PORT {
            format!("postgresql://postgres@/{database}?host={socket}")
        } else {
            format!("postgresql://postgres@/{database}?host={socket}&port={port}")
        }
    }

    /// Returns the folder of the socket.
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// Returns the port: of 127.0.0.1 for a server on loopback, otherwise only part of the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the server's log, which stays after the server.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Creates an empty database with a new name; it is dropped with the value.
    #[track_caller]
    pub fn create_database(&self) -> FreshDatabase {
        let name = unused_name();
        self.run_sql("postgres", &format!("CREATE DATABASE {name}"));
        FreshDatabase {
            server: self.clone(),
            name,
        }
    }

    /// Runs SQL through psql and returns the rows: a line each, with columns separated by `|`.
    #[track_caller]
    pub fn run_sql(&self, database: &str, sql: &str) -> String {
        let outcome = self.try_sql(database, sql);
        assert!(
            outcome.code == 0,
            "psql failed on {sql:?}: {}the server's log is {}",
            outcome.err,
            self.log.display()
        );
        outcome.out.trim_end_matches('\n').to_owned()
    }

    /// Runs SQL through psql, and returns what it printed and its exit status: 0, 2 without a connection, 3 if the SQL
    /// failed.
    pub fn try_sql(&self, database: &str, sql: &str) -> CommandOutcome {
        let mut command = self.program("psql");
        command.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]);
        command.args(["--set", "ON_ERROR_STOP=1", "--file", "-", "--dbname"]);
        command.arg(self.url(database));
        run_command(command, sql.as_bytes())
    }

    /// Returns a command for one of Postgres's own programs, such as `pg_dump`, with an empty environment.
    pub fn program(&self, name: &str) -> Command {
        // Of the build that has all of them; they serve the other one as well.
        let mut command = Command::new(PostgresBuild::WithVector.program_path(&self.prepared, name));
        command.env_clear().env("PGCLIENTENCODING", "UTF8");
        command
    }

    /// Waits until the server accepts connections: after one of its processes was killed, it restarts the others.
    #[track_caller]
    pub fn wait_until_ready(&self) {
        launch::wait_until_ready(self);
    }

    /// Returns the processes that serve connections.
    pub fn backend_pids(&self) -> Vec<i32> {
        self.postmaster_pid()
            .map_or_else(Vec::new, processes::backends_of)
    }

    /// Returns the server's main process, while there is one.
    pub fn postmaster_pid(&self) -> Option<i32> {
        files::postmaster_pid(&self.folder)
    }
}

/// A database of one test, dropped with the value.
#[derive(Debug)]
pub struct FreshDatabase {
    server: PostgresServer,
    name: String,
}

impl FreshDatabase {
    /// Returns its name, which needs no quotes in SQL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Returns its server.
    pub fn server(&self) -> &PostgresServer {
        &self.server
    }

    /// Runs SQL in it; see [`PostgresServer::run_sql`].
    #[track_caller]
    pub fn run_sql(&self, sql: &str) -> String {
        self.server.run_sql(&self.name, sql)
    }
}

impl Drop for FreshDatabase {
    fn drop(&mut self) {
        name_log_of_failed_test(&self.server);
        // The test may have stopped its server, and then there is nothing to drop.
        let drop_it = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let _ = self.server.try_sql("postgres", &drop_it);
    }
}

/// Names the server's log below the message of a failed test.
#[allow(clippy::print_stderr, reason = "the output of a failed test")]
fn name_log_of_failed_test(server: &PostgresServer) {
    if std::thread::panicking() {
        eprintln!("the server's log is {}", server.log.display());
    }
}

/// Returns a database name that no other test of this server has used: processes may get the same number in turn.
fn unused_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("test_{}_{}_{count}", since.as_micros(), std::process::id())
}
