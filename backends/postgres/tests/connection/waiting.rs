//! Time limits, and cancelling a statement.

use std::net::TcpListener;

use loci_core::ErrorKind;
use tokio_postgres::error::SqlState;

use super::server::{ServerPlan, TestServer, ask, check_error, connect_to};

#[tokio::test]
async fn a_server_that_stays_silent_is_given_up_and_the_next_one_tried() {
    // The system accepts connections into the queue of a listener that never looks at them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = connect_to(&format!("postgres://ada@127.0.0.1:{port}/d?connect_timeout=1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    check_error(
        &error,
        &[&format!("127.0.0.1:{port}"), "no answer within 1 s"],
        "connect_timeout",
    );

    let access = "host all all 127.0.0.1/32 trust";
    let server = TestServer::start(&ServerPlan {
        access,
        ..ServerPlan::default()
    });
    let live = server.port;
    let url = format!("postgres://postgres@127.0.0.1:{port},127.0.0.1:{live}/postgres?connect_timeout=1");
    assert_eq!(
        connect_to(&url).await.unwrap().server,
        format!("127.0.0.1:{live}")
    );
}

#[tokio::test]
async fn a_statement_can_be_cancelled() {
    let server = TestServer::start(&ServerPlan::default());
    let url = format!(
        "postgres://postgres@/postgres?host={}&port={}",
        server.socket_folder(),
        server.port
    );
    check_cancelling(&server, &url).await;
}

/// Cancels a statement of a connection to `url`, once the server is running it.
pub(crate) async fn check_cancelling(server: &TestServer, url: &str) {
    let connection = connect_to(url).await.unwrap();
    let cancel = connection.cancel.clone();
    let sleeping = tokio::spawn(async move {
        let outcome = connection.client.batch_execute("SELECT pg_sleep(600)").await;
        (connection, outcome)
    });
    let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND wait_event = 'PgSleep'";
    while server.run_sql(running).await.unwrap() != "1" {
        tokio::task::yield_now().await;
    }
    cancel.cancel().await.unwrap();
    let (connection, outcome) = sleeping.await.unwrap();
    assert_eq!(outcome.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(
        ask(&connection, "SELECT 1").await.unwrap(),
        "1",
        "the connection lives on"
    );
}
