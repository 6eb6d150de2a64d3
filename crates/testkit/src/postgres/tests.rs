//! Servers start, stop, crash and come back; tests in several processes share one; none is left behind.

mod crashes;
mod plans;
mod sharing;

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::PostgresServer;

/// Waits for something that another process does.
#[track_caller]
fn wait_for(wanted: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {wanted}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_fresh_database_is_utf8_in_byte_order_and_syncs() {
    let database = PostgresServer::shared().create_database();
    let setting = |name: &str| database.run_sql(&format!("SHOW {name}"));
    assert_eq!(setting("server_version_num").get(..2), Some("18"));
    assert_eq!(setting("server_encoding"), "UTF8");
    assert_eq!(setting("fsync"), "on");
    assert_eq!(setting("synchronous_commit"), "on");
    assert_eq!(setting("max_connections"), "200");
    let ordered =
        "SELECT string_agg(word, '' ORDER BY word) FROM (VALUES ('b'), ('ä'), ('B')) AS words (word)";
    assert_eq!(database.run_sql(ordered), "Bbä");
}

#[test]
fn a_fresh_database_has_the_vector_extension_only_once_it_is_created() {
    let database = PostgresServer::shared().create_database();
    let refused = database
        .server()
        .try_sql(database.name(), "SELECT '[1,2]'::vector");
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.err.contains("type \"vector\" does not exist"),
        "{refused:?}"
    );
    database.run_sql("CREATE EXTENSION vector");
    assert_eq!(database.run_sql("SELECT '[1,2]'::vector <-> '[1,4]'"), "2");
}

#[test]
fn a_database_goes_with_its_value_also_while_it_is_in_use() {
    let server = PostgresServer::shared();
    let database = server.create_database();
    let name = database.name().to_owned();
    let count = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(server.run_sql("postgres", &count), "1");
    let mut waiting = server.program("psql");
    waiting.args(["--dbname", &database.url(), "--command", "SELECT pg_sleep(600)"]);
    let mut waiting = waiting.stderr(Stdio::null()).spawn().unwrap();
    let in_use = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
    wait_for("a connection", || server.run_sql("postgres", &in_use) == "1");
    drop(database);
    assert_eq!(server.run_sql("postgres", &count), "0");
    assert!(!waiting.wait().unwrap().success());
}

#[test]
fn a_server_on_loopback_asks_for_the_password_its_rules_want() {
    let server = PostgresServer::start_private_on_loopback();
    server.run_sql("postgres", "CREATE ROLE ada LOGIN PASSWORD 'open sesame'");
    server.set_access_rules("local all postgres trust\nhost all ada 127.0.0.1/32 scram-sha-256\n");
    let connect = |password: &str| {
        let mut command = server.program("psql");
        let url = format!("postgresql://ada@127.0.0.1:{}/postgres", server.port());
        command.args([
            "--no-password",
            "--tuples-only",
            "--dbname",
            &url,
            "--command",
            "SELECT 1",
        ]);
        command.env("PGPASSWORD", password);
        crate::run_command(command, b"")
    };
    // The server reads the rules when it gets to it, and before that the role has no password to give.
    wait_for("a refusal", || connect("wrong").code == 2);
    let (refused, admitted) = (connect("wrong"), connect("open sesame"));
    assert!(
        refused.err.contains("password authentication failed"),
        "{refused:?}"
    );
    assert_eq!((admitted.code, admitted.out.trim()), (0, "1"), "{admitted:?}");
}
