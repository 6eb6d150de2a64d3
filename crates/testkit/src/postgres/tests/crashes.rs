//! Private servers that are stopped, killed and started again keep what was committed.

use std::process::{Child, Stdio};

use super::super::{PostgresServer, PrivatePostgres, processes};
use super::wait_for;

/// Starts a server with one committed row.
fn start_with_a_row() -> PrivatePostgres {
    let server = PostgresServer::start_private();
    server.run_sql(
        "postgres",
        "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('kept')",
    );
    server
}

fn kept_words(server: &PostgresServer) -> String {
    server.run_sql("postgres", "SELECT word FROM kept")
}

/// Connects and leaves a transaction with an inserted row open.
fn hold_a_transaction(server: &PostgresServer) -> Child {
    let mut command = server.program("psql");
    command.args(["--no-psqlrc", "--dbname", &server.url("postgres")]);
    command.args([
        "--command",
        "BEGIN; INSERT INTO kept VALUES ('open'); SELECT pg_sleep(600)",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let holder = command.spawn().unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_for("an open transaction", || {
        server.run_sql("postgres", sleeping) == "1"
    });
    holder
}

#[test]
fn a_server_stopped_in_order_starts_again_with_its_data_and_settings() {
    let mut server = PostgresServer::start_private_with(&[("work_mem", "3MB")]);
    server.run_sql("postgres", "CREATE TABLE kept AS SELECT 'kept' AS word");
    server.stop_fast();
    assert_eq!(server.try_sql("postgres", "SELECT 1").code, 2);
    server.start_again();
    assert_eq!(kept_words(&server), "kept");
    assert_eq!(server.run_sql("postgres", "SHOW work_mem"), "3MB");
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(!log.contains("was not properly shut down"), "{log}");
}

#[test]
fn a_server_stopped_at_once_recovers_what_was_committed_and_nothing_else() {
    let mut server = start_with_a_row();
    let mut holder = hold_a_transaction(&server);
    server.stop_immediately();
    assert!(!holder.wait().unwrap().success());
    server.start_again();
    assert_eq!(kept_words(&server), "kept");
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(log.contains("was not properly shut down"), "{log}");
}

#[test]
fn a_killed_server_starts_again_although_a_connection_was_busy() {
    let mut server = start_with_a_row();
    let mut holder = hold_a_transaction(&server);
    let postmaster = server.postmaster_pid().unwrap();
    server.kill();
    assert!(!processes::is_running(postmaster));
    server.restart();
    assert_eq!(kept_words(&server), "kept");
    assert_ne!(server.postmaster_pid(), Some(postmaster));
    assert!(!holder.wait().unwrap().success());
}

#[test]
fn a_server_whose_backend_is_killed_ends_all_connections_and_goes_on() {
    let server = start_with_a_row();
    let mut holder = hold_a_transaction(&server);
    // The process behind a connection ends a moment after its client.
    wait_for("one connection", || server.backend_pids().len() == 1);
    server.kill_backend(server.backend_pids()[0]);
    assert!(!holder.wait().unwrap().success());
    server.wait_until_ready();
    assert_eq!(kept_words(&server), "kept");
}

#[test]
fn a_private_server_leaves_no_process_and_no_folder_but_its_log() {
    for kill in [false, true] {
        let mut server = PostgresServer::start_private();
        let folder = server.socket_folder().to_owned();
        let log = server.log().to_owned();
        let postmaster = server.postmaster_pid().unwrap();
        let mut all = processes::children_of(postmaster);
        assert!(!all.is_empty());
        all.push(postmaster);
        if kill {
            server.kill();
        }
        drop(server);
        assert!(!all.iter().any(|id| processes::is_running(*id)), "{all:?}");
        assert!(!folder.exists() && log.exists());
    }
}

#[test]
fn a_setting_the_server_refuses_is_shown_from_its_log() {
    let failed = std::panic::catch_unwind(|| {
        PostgresServer::start_private_with(&[("shared_buffers", "plenty")]);
    });
    let said = *failed.unwrap_err().downcast::<String>().unwrap();
    assert!(
        said.contains("ended while it started") && said.contains("\"plenty\""),
        "{said}"
    );
}
