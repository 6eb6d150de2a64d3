//! Refusals of a server in words: role, database, rights, access rules.

use loci_core::ErrorKind;

use super::server::{ServerPlan, TestServer, check_error, connect_to};

#[tokio::test]
async fn each_refusal_names_the_thing_and_the_next_step() {
    let server = TestServer::start(&ServerPlan {
        access: "host all all 127.0.0.1/32 trust\nlocal all eve reject",
        settings: &[("superuser_reserved_connections", "3")],
        ..ServerPlan::default()
    });
    server.run_sql("CREATE ROLE ada LOGIN").await;
    server.run_sql("CREATE ROLE mute").await;
    server.run_sql("CREATE DATABASE closed").await;
    server
        .run_sql("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
        .await;
    let port = server.port;

    let check = async |url: String, reason: &str, hint: &str| {
        let error = connect_to(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        check_error(&error, &[reason, "cannot connect to Postgres at "], hint);
    };
    let tcp = |rest: &str| {
        format!(
            "postgres://{}",
            rest.replace("HOST", &format!("127.0.0.1:{port}"))
        )
    };
    check(
        tcp("nobody@HOST/postgres"),
        "role \"nobody\" does not exist",
        "`CREATE ROLE \"nobody\" LOGIN`",
    )
    .await;
    check(
        tcp("mute@HOST/postgres"),
        "not permitted to log in",
        "`CREATE ROLE \"mute\" LOGIN`",
    )
    .await;
    check(
        tcp("ada@HOST/missing"),
        "database \"missing\" does not exist",
        "`createdb \"missing\"`",
    )
    .await;
    check(
        tcp("ada@HOST"),
        "as user \"ada\" to database \"ada\"",
        "name another database",
    )
    .await;
    check(
        tcp("ada@HOST/closed"),
        "permission denied",
        "`GRANT CONNECT ON DATABASE \"closed\" TO \"ada\"`",
    )
    .await;
    let socket = format!(
        "postgres://eve@/postgres?host={}&port={port}",
        server.socket_folder()
    );
    check(socket, "socket /", "pg_hba.conf over the socket").await;
}

#[tokio::test]
async fn a_server_that_is_full_or_away_may_be_back_later() {
    let server = TestServer::start(&ServerPlan {
        access: "local all all trust",
        settings: &[
            ("max_connections", "4"),
            ("superuser_reserved_connections", "3"),
            ("max_wal_senders", "0"),
        ],
        ..ServerPlan::default()
    });
    server.run_sql("CREATE ROLE ada LOGIN").await;
    // The process behind a connection ends a moment after its client, and until then it has the only free place.
    while !server.server.backend_pids().is_empty() {
        tokio::task::yield_now().await;
    }
    let url = format!(
        "postgres://ada@/postgres?host={}&port={}",
        server.socket_folder(),
        server.port
    );
    let first = connect_to(&url).await.unwrap();
    let error = connect_to(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_error(&error, &["53300"], "try again");
    drop(first);

    let gone = url.replace("host=", "host=/nowhere");
    let error = connect_to(&gone).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_error(&error, &["socket /nowhere/", "No such file"], "start the server");
    let error = connect_to("postgres://ada@no-such-host.invalid/d")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_error(
        &error,
        &["no-such-host.invalid:5432", "cannot be resolved"],
        "correct the host",
    );
}
