//! Several servers: dead ones are passed over, and `target_session_attrs` picks by kind.

use std::net::TcpListener;

use loci_core::ErrorKind;

use super::server::{ServerPlan, TestServer, ask, check_error, connect_to};

const OPEN: &str = "host all all 127.0.0.1/32 trust";

/// Returns a port on which nothing listens.
fn dead_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[tokio::test]
async fn the_first_server_that_works_is_used() {
    let server = TestServer::start(&ServerPlan {
        access: OPEN,
        ..ServerPlan::default()
    });
    let (dead, live) = (dead_port(), server.port);
    let url = format!("postgres://postgres@127.0.0.1:{dead},/nowhere,127.0.0.1:{live}/postgres");
    let url = url.replace("/nowhere", "%2Fnowhere");
    let connection = connect_to(&url).await.unwrap();
    assert_eq!(connection.server, format!("127.0.0.1:{live}"));
    assert_eq!(ask(&connection, "SHOW port").await.unwrap(), live.to_string());

    let error = connect_to(&format!("postgres://ada@127.0.0.1:{dead},localhost:{dead}/d"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let each = [
        format!("127.0.0.1:{dead}: Connection refused"),
        format!("localhost:{dead}: Connection refused"),
    ];
    check_error(
        &error,
        &[&each[0], &each[1], "as user \"ada\" to database \"d\""],
        "start the server",
    );

    // A refusal of the user ends the search.
    let error = connect_to(&format!(
        "postgres://eve@127.0.0.1:{live},127.0.0.1:{dead}/postgres"
    ))
    .await
    .unwrap_err();
    check_error(&error, &["role \"eve\" does not exist"], "CREATE ROLE");
    assert!(!error.message().contains(&dead.to_string()), "{error}");
    let random =
        format!("postgres://postgres@127.0.0.1:{dead},127.0.0.1:{live}/postgres?load_balance_hosts=random");
    assert!(connect_to(&random).await.is_ok());
}

#[tokio::test]
async fn target_session_attrs_picks_the_kind_of_server() {
    let writable = TestServer::start(&ServerPlan {
        access: OPEN,
        ..ServerPlan::default()
    });
    let read_only = TestServer::start(&ServerPlan {
        access: OPEN,
        settings: &[("default_transaction_read_only", "on")],
        ..ServerPlan::default()
    });
    let standby = TestServer::start(&ServerPlan {
        access: OPEN,
        is_standby: true,
        ..ServerPlan::default()
    });
    let [w, r, s] = [writable.port, read_only.port, standby.port];
    let check = async |target: &str, order: &[u16], expected: u16| {
        let hosts: Vec<String> = order.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let url = format!(
            "postgres://postgres@{}/postgres?target_session_attrs={target}",
            hosts.join(",")
        );
        let connection = connect_to(&url).await.unwrap();
        assert_eq!(
            connection.server,
            format!("127.0.0.1:{expected}"),
            "{target} {order:?}"
        );
    };
    check("any", &[s, r, w], s).await;
    check("read-write", &[s, r, w], w).await;
    check("read-only", &[w, r, s], r).await;
    check("read-only", &[w, s, r], s).await;
    check("primary", &[s, r, w], r).await;
    check("standby", &[w, r, s], s).await;
    check("prefer-standby", &[w, r, s], s).await;
    check("prefer-standby", &[w, r], w).await;

    let url =
        format!("postgres://postgres@127.0.0.1:{r},127.0.0.1:{s}/postgres?target_session_attrs=read-write");
    let error = connect_to(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_error(&error, &["the session is read-only"], "target_session_attrs");
}
