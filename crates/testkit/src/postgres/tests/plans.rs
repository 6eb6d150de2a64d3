//! A planned server has its build, files, rules and log from the start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::super::{PostgresServer, files};

#[test]
fn only_the_build_with_tls_knows_tls_and_both_read_one_template() {
    let library = |server: &PostgresServer| server.run_sql("postgres", "SHOW ssl_library");
    assert_eq!(library(&PostgresServer::start_private()), "");
    let with_tls = PostgresServer::plan_private().with_tls_build().start();
    assert_eq!(library(&with_tls), "OpenSSL");
}

#[test]
fn a_build_that_is_restarted_stays_the_same() {
    let mut server = PostgresServer::plan_private().with_tls_build().start();
    server.restart();
    assert_eq!(server.run_sql("postgres", "SHOW ssl_library"), "OpenSSL");
}

#[test]
fn files_and_access_rules_are_there_before_the_server_starts() {
    let server = PostgresServer::plan_private()
        .with_access_rules("local all postgres trust\n")
        .with_file("key", "for the server alone")
        .start();
    let rules = "SELECT type, user_name, auth_method FROM pg_hba_file_rules";
    assert_eq!(server.run_sql("postgres", rules), "local|{postgres}|trust");
    assert_eq!(
        server.run_sql("postgres", "SELECT pg_read_file('key')"),
        "for the server alone"
    );
    let about = fs::metadata(server.socket_folder().join("data/key")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_second_server_of_a_test_has_a_log_of_its_own() {
    let [first, second] = [(); 2].map(|()| PostgresServer::start_private());
    assert_ne!(first.log(), second.log());
    for server in [first, second] {
        let text = fs::read_to_string(server.log()).unwrap();
        assert_eq!(text.matches("ready to accept connections").count(), 1, "{text}");
    }
}

#[test]
fn a_link_between_names_of_a_library_is_copied_as_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir(&from).unwrap();
    fs::write(from.join("library.so.1"), "code").unwrap();
    std::os::unix::fs::symlink("library.so.1", from.join("library.so")).unwrap();
    files::copy_for_server(&from, &to);
    assert_eq!(
        fs::read_link(to.join("library.so")).unwrap().to_str(),
        Some("library.so.1")
    );
    assert_eq!(fs::read_to_string(to.join("library.so")).unwrap(), "code");
}
