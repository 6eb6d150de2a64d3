//! Passwords reach the server from each of their places.

use loci_core::ErrorKind;

use super::authority::write_private;
use super::server::{ServerPlan, TestServer, ask, bare_environment, check_error, connect_to, connect_within};

async fn start() -> TestServer {
    let server = TestServer::start(&ServerPlan {
        access: "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256",
        ..ServerPlan::default()
    });
    server
        .run_sql("CREATE ROLE ada LOGIN PASSWORD 'hush: p@ss\\'")
        .await;
    server
}

#[tokio::test]
async fn a_password_comes_from_the_url_the_environment_the_password_file_or_a_service_file() {
    let server = start().await;
    let port = server.port;
    let home = tempfile::tempdir().unwrap();
    let bare = bare_environment().with_home(home.path());

    let url = format!("postgres://ada:hush%3A%20p%40ss%5C@127.0.0.1:{port}/postgres");
    let connection = connect_within(&url, &bare).await.unwrap();
    assert_eq!(ask(&connection, "SELECT current_user").await.unwrap(), "ada");
    let name = ask(
        &connection,
        "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()",
    );
    assert_eq!(name.await.unwrap(), "loci");
    assert_eq!(connection.server, format!("127.0.0.1:{port}"));

    let url = format!("postgres://127.0.0.1:{port}/postgres");
    let environment = bare.clone().with_variable("PGPASSWORD", "hush: p@ss\\");
    assert!(connect_within(&url, &environment).await.is_ok());

    let error = connect_within(&url, &bare).await.unwrap_err();
    check_error(
        &error,
        &["asks for a password, and none was found"],
        "PGPASSWORD, ~/.pgpass",
    );
    write_private(
        home.path(),
        ".pgpass",
        &format!("127.0.0.1:{port}:postgres:ada:hush\\: p@ss\\\\\n"),
    );
    assert!(connect_within(&url, &bare).await.is_ok());
    let socket = server.socket_folder();
    let over_socket = format!("postgres:///postgres?host={socket}&port={port}");
    assert!(
        connect_within(&over_socket, &bare).await.is_err(),
        "the file names another host"
    );
    write_private(
        home.path(),
        ".pgpass",
        &format!("{socket}:*:*:*:hush\\: p@ss\\\\\n"),
    );
    assert!(connect_within(&over_socket, &bare).await.is_ok());

    let service = format!("[palaces]\nhost=127.0.0.1\nport={port}\ndbname=postgres\npassword=hush: p@ss\\\n");
    write_private(home.path(), ".pg_service.conf", &service);
    let connection = connect_within("postgres://?service=palaces&palace=p", &bare)
        .await
        .unwrap();
    assert_eq!(ask(&connection, "SELECT current_user").await.unwrap(), "ada");
}

#[tokio::test]
async fn a_wrong_password_is_named_with_its_places_and_never_shown() {
    let server = start().await;
    let url = format!("postgres://ada:hush-wrong@127.0.0.1:{}/postgres", server.port);
    let error = connect_to(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let place = format!(
        "at 127.0.0.1:{} as user \"ada\" to database \"postgres\"",
        server.port
    );
    check_error(
        &error,
        &[&place, "password authentication failed", "28P01"],
        "give the password in PGPASSWORD",
    );

    // A password file that others may read is left out, and the error says so.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open-file");
    std::fs::write(&file, "*:*:*:*:hush: p@ss\\\\\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&file, mode).unwrap();
    let url = format!(
        "postgres://ada@127.0.0.1:{}/postgres?passfile={}",
        server.port,
        file.display()
    );
    let error = connect_to(&url).await.unwrap_err();
    check_error(
        &error,
        &["none was found"],
        "open-file was ignored because group or others have access",
    );
}
