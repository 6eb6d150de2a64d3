//! TLS in every mode, against servers with and without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use loci_core::ErrorKind;
use tempfile::TempDir;

use super::authority::{IssuedCertificate, TestAuthority, write_private};
use super::server::{ServerPlan, TestServer, ask, bare_environment, check_error, connect_to, connect_within};
use super::waiting::check_cancelling;

const MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

/// A server under TLS, and files with certificates.
struct TlsScene {
    server: TestServer,
    authority: TestAuthority,
    files: TempDir,
}

impl TlsScene {
    /// Starts a server with the certificate that `issue` gives.
    fn start(access: &str, issue: impl FnOnce(&TestAuthority) -> IssuedCertificate) -> Self {
        let authority = TestAuthority::new("Test Authority");
        let issued = issue(&authority);
        let server = TestServer::start(&ServerPlan {
            access,
            tls: Some((&issued.certificate, &issued.key, &authority.pem())),
            ..ServerPlan::default()
        });
        let files = tempfile::tempdir().unwrap();
        write_private(files.path(), "root.crt", &authority.pem());
        write_private(files.path(), "other.crt", &TestAuthority::new("Other").pem());
        Self {
            server,
            authority,
            files,
        }
    }

    /// Starts a server that is made out to localhost.
    fn start_usual(access: &str) -> Self {
        Self::start(access, |authority| {
            authority.issue("server", &["localhost", "127.0.0.1"])
        })
    }

    fn url(&self, user: &str, parameters: &str) -> String {
        let parameters = parameters.replace("FILES", &self.files.path().display().to_string());
        format!(
            "postgres://{user}@localhost:{}/postgres?hostaddr=127.0.0.1&{parameters}",
            self.server.port
        )
    }

    /// Connects, and returns whether the server saw TLS.
    async fn connect(&self, user: &str, parameters: &str) -> loci_core::Result<bool> {
        let connection = connect_to(&self.url(user, parameters)).await?;
        let seen = ask(
            &connection,
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        )
        .await;
        assert_eq!(
            seen.as_deref() == Some("t"),
            connection.is_encrypted,
            "{parameters}"
        );
        Ok(connection.is_encrypted)
    }

    async fn refuse(&self, user: &str, parameters: &str, reason: &str, hint: &str) {
        let error = self.connect(user, parameters).await.expect_err(parameters);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        check_error(&error, &[reason], hint);
    }
}

#[tokio::test]
async fn each_mode_uses_tls_as_libpq_does() {
    let scene = TlsScene::start_usual("host all all 127.0.0.1/32 trust");
    for (mode, is_encrypted) in MODES.iter().zip([false, false, true, true, true, true]) {
        let found = scene
            .connect("postgres", &format!("sslmode={mode}&sslrootcert=FILES/root.crt"))
            .await;
        assert_eq!(found.unwrap(), is_encrypted, "{mode}");
    }
    assert!(
        scene
            .connect("postgres", "sslmode=require&sslnegotiation=postgres&sslsni=0")
            .await
            .unwrap()
    );
    assert!(
        scene
            .connect("postgres", "sslmode=require&ssl_min_protocol_version=TLSv1.3")
            .await
            .unwrap()
    );

    assert!(
        scene
            .connect("postgres", "sslmode=require&sslnegotiation=direct")
            .await
            .unwrap()
    );

    // On a socket the mode does not matter.
    let socket = scene.server.socket_folder();
    let url = format!(
        "postgres://postgres@/postgres?host={socket}&port={}&sslmode=verify-full",
        scene.server.port
    );
    assert!(!connect_to(&url).await.unwrap().is_encrypted);
    check_cancelling(&scene.server, &scene.url("postgres", "sslmode=require")).await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_the_mode_requires_it() {
    let access = "host all all 127.0.0.1/32 trust";
    let server = TestServer::start(&ServerPlan {
        access,
        ..ServerPlan::default()
    });
    let files = tempfile::tempdir().unwrap();
    let root = write_private(
        files.path(),
        "root.crt",
        &TestAuthority::new("Test Authority").pem(),
    );
    for (mode, works) in MODES.iter().zip([true, true, true, false, false, false]) {
        let url = format!(
            "postgres://postgres@127.0.0.1:{}/postgres?sslmode={mode}&sslrootcert={}",
            server.port,
            root.display()
        );
        match connect_to(&url).await {
            Ok(connection) => assert!(works && !connection.is_encrypted, "{mode}"),
            Err(error) => {
                assert!(!works, "{mode}: {error}");
                check_error(&error, &["does not offer TLS"], "sslmode=prefer");
            }
        }
    }
}

#[tokio::test]
async fn access_rules_for_one_kind_of_connection_are_found_by_trying_the_other() {
    let encrypted_only = "hostssl all all 127.0.0.1/32 scram-sha-256\nhostnossl all all 127.0.0.1/32 reject";
    let scene = TlsScene::start_usual(encrypted_only);
    scene
        .server
        .run_sql("CREATE ROLE ada LOGIN PASSWORD 'hush'")
        .await;
    assert!(scene.connect("ada:hush", "sslmode=allow").await.unwrap());
    assert!(scene.connect("ada:hush", "sslmode=prefer").await.unwrap());
    scene
        .refuse(
            "ada:hush",
            "sslmode=disable",
            "no encryption",
            "with or without TLS",
        )
        .await;
    for mode in ["allow", "prefer"] {
        let parameters = format!("sslmode={mode}");
        scene
            .refuse(
                "ada:hush-wrong",
                &parameters,
                "password authentication failed",
                "PGPASSWORD",
            )
            .await;
    }
    // `prefer` gives up TLS for a certificate it cannot trust, as libpq does; the server then refuses, and the error
    // is about the certificate.
    let parameters = "sslmode=prefer&sslrootcert=FILES/other.crt";
    scene
        .refuse("ada:hush", parameters, "authority is unknown", "sslrootcert")
        .await;

    let plain_only = "hostnossl all all 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 reject";
    let scene = TlsScene::start_usual(plain_only);
    assert!(!scene.connect("postgres", "sslmode=allow").await.unwrap());
    assert!(!scene.connect("postgres", "sslmode=prefer").await.unwrap());
    assert!(
        !scene
            .connect("postgres", "sslmode=prefer&sslrootcert=FILES/other.crt")
            .await
            .unwrap()
    );
    scene
        .refuse(
            "postgres",
            "sslmode=require",
            "pg_hba.conf rejects",
            "with or without TLS",
        )
        .await;
}

#[tokio::test]
async fn certificates_are_checked_as_far_as_the_mode_says() {
    let scene = TlsScene::start_usual("host all all 127.0.0.1/32 trust");
    // Without a root file `require` takes any certificate; with one it checks the authority.
    assert!(
        scene
            .connect("postgres", "sslmode=require&sslrootcert=FILES/missing.crt")
            .await
            .unwrap()
    );
    for mode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert=FILES/other.crt");
        scene
            .refuse(
                "postgres",
                &parameters,
                "not trusted: its authority is unknown",
                "root.crt",
            )
            .await;
    }
    for mode in ["verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert=FILES/missing.crt");
        scene
            .refuse(
                "postgres",
                &parameters,
                "missing.crt does not exist",
                "sslrootcert=system",
            )
            .await;
    }
    let system = scene.connect("postgres", "sslrootcert=system").await.unwrap_err();
    assert_eq!(
        system.kind(),
        ErrorKind::Invalid,
        "the system does not know our authority: {system}"
    );

    // The default root file lies in the home folder.
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    let environment = bare_environment().with_home(home.path());
    let url = scene.url("postgres", "sslmode=verify-full");
    assert!(connect_within(&url, &environment).await.is_err());
    write_private(home.path(), ".postgresql/root.crt", &scene.authority.pem());
    assert!(connect_within(&url, &environment).await.unwrap().is_encrypted);
    write_private(home.path(), ".postgresql/root.crt", "rubbish");
    let error = connect_within(&url, &environment).await.unwrap_err();
    check_error(
        &error,
        &["root.crt cannot be read: it holds no certificate"],
        "PEM",
    );
}

#[tokio::test]
async fn only_verify_full_compares_the_host_name() {
    let scene = TlsScene::start_usual("host all all 127.0.0.1/32 trust");
    let wrong = |mode: &str| {
        scene
            .url("postgres", &format!("sslmode={mode}&sslrootcert=FILES/root.crt"))
            .replace("localhost", "db.example")
    };
    assert!(connect_to(&wrong("require")).await.unwrap().is_encrypted);
    assert!(connect_to(&wrong("verify-ca")).await.unwrap().is_encrypted);
    let error = connect_to(&wrong("verify-full")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let reason = "the server's certificate is not made out to \"db.example\", but to";
    check_error(
        &error,
        &[reason, "localhost"],
        "host name that the certificate has",
    );
    let by_address = scene.url("postgres", "sslmode=verify-full&sslrootcert=FILES/root.crt");
    let by_address = by_address.replace("localhost", "127.0.0.1");
    assert!(connect_to(&by_address).await.unwrap().is_encrypted);
}

#[tokio::test]
async fn certificates_as_openssl_makes_them_by_default_are_taken() {
    let full = "sslmode=verify-full&sslrootcert=FILES/root.crt";
    // No alternative names: the common name counts.
    let scene = TlsScene::start("host all all 127.0.0.1/32 trust", |authority| {
        authority.issue("localhost", &[])
    });
    assert!(scene.connect("postgres", full).await.unwrap());
    let wrong = scene.url("postgres", full).replace("localhost", "db.example");
    assert!(connect_to(&wrong).await.is_err());
    // Self-signed, and its own root.
    let scene = TlsScene::start("host all all 127.0.0.1/32 trust", TestAuthority::own_certificate);
    assert!(
        scene
            .connect("postgres", "sslmode=verify-ca&sslrootcert=FILES/root.crt")
            .await
            .unwrap()
    );
    let other = "sslmode=verify-ca&sslrootcert=FILES/other.crt";
    assert!(scene.connect("postgres", other).await.is_err());
}

#[tokio::test]
async fn a_client_certificate_logs_in_and_its_key_must_be_private() {
    let scene = TlsScene::start_usual("hostssl all ada 127.0.0.1/32 cert");
    scene.server.run_sql("CREATE ROLE ada LOGIN").await;
    let client = scene.authority.issue("ada", &[]);
    let folder = scene.files.path();
    write_private(folder, "ada.crt", &client.certificate);
    let key = write_private(folder, "ada.key", &client.key);
    write_private(folder, "other.key", &scene.authority.issue("eve", &[]).key);
    let with = "sslmode=require&sslcert=FILES/ada.crt&sslkey=FILES/ada.key";
    assert!(scene.connect("ada", with).await.unwrap());
    scene
        .refuse(
            "ada",
            "sslmode=require",
            "valid client certificate",
            "pg_hba.conf",
        )
        .await;
    scene
        .refuse(
            "ada",
            &with.replace("ada.key", "other.key"),
            "cannot be used",
            "is the key of",
        )
        .await;
    scene
        .refuse(
            "ada",
            &with.replace("ada.key", "no.key"),
            "no.key cannot be read",
            "sslkey=",
        )
        .await;
    scene
        .refuse(
            "ada",
            &with.replace("ada.crt", "no.crt"),
            "no.crt cannot be read",
            "PEM",
        )
        .await;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    scene
        .refuse(
            "ada",
            with,
            "ada.key was refused because others have access",
            "chmod 600",
        )
        .await;
}

#[tokio::test]
async fn a_client_certificate_is_found_at_home_and_must_be_of_the_right_authority() {
    let scene = TlsScene::start_usual("hostssl all ada 127.0.0.1/32 cert");
    scene.server.run_sql("CREATE ROLE ada LOGIN").await;
    let client = scene.authority.issue("ada", &[]);
    let folder = scene.files.path();

    // Without parameters, the files in the home folder are used.
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    write_private(home.path(), ".postgresql/postgresql.crt", &client.certificate);
    write_private(home.path(), ".postgresql/postgresql.key", &client.key);
    let environment = bare_environment().with_home(home.path());
    assert!(
        connect_within(&scene.url("ada", "sslmode=require"), &environment)
            .await
            .is_ok()
    );

    // A certificate of another authority is refused by the server, in the handshake.
    let stranger = TestAuthority::new("Stranger").issue("ada", &[]);
    write_private(folder, "stranger.crt", &stranger.certificate);
    write_private(folder, "stranger.key", &stranger.key);
    let with = "sslmode=require&sslcert=FILES/stranger.crt&sslkey=FILES/stranger.key";
    scene
        .refuse("ada", with, "refused the TLS handshake", "client certificate")
        .await;
}

#[tokio::test]
async fn passwords_are_bound_to_the_tls_channel() {
    let access = "host all all 127.0.0.1/32 scram-sha-256\nlocal all all scram-sha-256";
    let scene = TlsScene::start_usual(access);
    scene
        .server
        .run_sql("CREATE ROLE ada LOGIN PASSWORD 'hush'")
        .await;
    let required = "sslmode=require&channel_binding=require";
    assert!(scene.connect("ada:hush", required).await.unwrap());
    assert!(
        scene
            .connect("ada:hush", "sslmode=require&channel_binding=disable")
            .await
            .unwrap()
    );
    assert!(scene.connect("ada:hush", "sslmode=require").await.unwrap());
    let plain = "sslmode=disable&channel_binding=require";
    scene
        .refuse(
            "ada:hush",
            plain,
            "did not bind the password to TLS",
            "channel_binding=prefer",
        )
        .await;
    scene
        .refuse(
            "ada:hush-wrong",
            required,
            "password authentication failed",
            "PGPASSWORD",
        )
        .await;
}
