//! Tests of the order in which URL, service file, environment and defaults count.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::connect::host::ServerPlace;
use crate::connect::tls::TlsMode;

fn resolve(url: &str, environment: &ConnectionEnvironment) -> Result<ConnectionSettings> {
    ConnectionSettings::resolve(&PalaceUrl::parse(url).unwrap(), environment)
}

fn settings(url: &str, environment: &ConnectionEnvironment) -> ConnectionSettings {
    resolve(url, environment).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn environment() -> ConnectionEnvironment {
    ConnectionEnvironment::default().with_user("osuser")
}

fn password(settings: &ConnectionSettings) -> Option<&str> {
    let password = settings.targets.first().unwrap().password.as_ref()?;
    Some(std::str::from_utf8(password.bytes()).unwrap())
}

fn write_private(path: &Path, contents: &str) {
    fs::write(path, contents).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn defaults_complete_an_empty_url() {
    let found = settings("postgres://", &environment());
    assert_eq!((found.user(), found.database()), ("osuser", "osuser"));
    assert_eq!(found.servers(), ["localhost:5432"]);
    assert_eq!(found.application_name, "loci");
    assert_eq!(found.timeout, Some(Duration::from_secs(10)));
    assert_eq!(found.tls.mode, TlsMode::Prefer);
    assert_eq!(found.channel_binding, ChannelBinding::Prefer);
    assert_eq!(found.session, SessionTarget::Any);
    assert!(found.keepalive.is_on);
    assert_eq!(settings("postgres://ada@", &environment()).database(), "ada");
    let error = resolve("postgres://", &ConnectionEnvironment::default()).unwrap_err();
    assert!(error.message().contains("names a user"), "{error}");
}

#[test]
fn the_url_counts_before_the_service_file_and_that_before_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let service = "[team]\nhost=service\nport=2\nuser=sue\npassword=from-service\napplication_name=svc\n";
    fs::write(home.path().join(".pg_service.conf"), service).unwrap();
    let variables = [
        ("PGHOST", "environment"),
        ("PGPORT", "3"),
        ("PGUSER", "eve"),
        ("PGDATABASE", "envdb"),
        ("PGPASSWORD", "from-variable"),
        ("PGAPPNAME", "envapp"),
        ("PGOPTIONS", "-c geqo=off"),
        ("PGCONNECT_TIMEOUT", "7"),
        ("PGSSLMODE", "require"),
        ("PGTARGETSESSIONATTRS", "primary"),
        ("PGCHANNELBINDING", "require"),
    ];
    let all = variables
        .iter()
        .fold(environment().with_home(home.path()), |all, (name, value)| {
            all.with_variable(name, *value)
        });

    let alone = settings("postgres://", &all);
    assert_eq!(alone.servers(), ["environment:3"]);
    assert_eq!((alone.user(), alone.database()), ("eve", "envdb"));
    assert_eq!(password(&alone), Some("from-variable"));
    assert_eq!(
        (alone.application_name.as_str(), alone.options.as_deref()),
        ("envapp", Some("-c geqo=off"))
    );
    assert_eq!(alone.timeout, Some(Duration::from_secs(7)));
    assert_eq!(
        (alone.tls.mode, alone.session),
        (TlsMode::Require, SessionTarget::Primary)
    );
    assert_eq!(alone.channel_binding, ChannelBinding::Require);

    for found in [
        settings("postgres://?service=team", &all),
        settings("postgres://", &all.clone().with_variable("PGSERVICE", "team")),
    ] {
        assert_eq!(found.servers(), ["service:2"]);
        assert_eq!((found.user(), found.database()), ("sue", "envdb"));
        assert_eq!(
            (password(&found), found.application_name.as_str()),
            (Some("from-service"), "svc")
        );
    }

    let url = "postgres://ada:from-url@url:1/urldb?service=team&application_name=x&sslmode=disable&connect_timeout=0";
    let found = settings(url, &all);
    assert_eq!(found.servers(), ["url:1"]);
    assert_eq!((found.user(), found.database()), ("ada", "urldb"));
    assert_eq!(
        (password(&found), found.application_name.as_str()),
        (Some("from-url"), "x")
    );
    assert_eq!((found.tls.mode, found.timeout), (TlsMode::Disable, None));
}

#[test]
fn an_empty_value_means_the_default_and_not_the_next_place() {
    let variables = environment()
        .with_variable("PGHOST", "environment")
        .with_variable("PGUSER", "");
    let found = settings("postgres://?host=", &variables);
    assert_eq!(
        (found.servers(), found.user()),
        (vec!["localhost:5432".to_owned()], "osuser")
    );
}

#[test]
fn the_service_file_may_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("services");
    fs::write(&path, "[s]\nhost=there\n").unwrap();
    let path = path.to_str().unwrap();
    let named = environment().with_variable("PGSERVICEFILE", path);
    assert_eq!(
        settings("postgres://?service=s", &named).servers(),
        ["there:5432"]
    );
    let url = format!("postgres://?service=s&servicefile={path}");
    assert_eq!(settings(&url, &environment()).servers(), ["there:5432"]);
    let error = resolve("postgres://?service=missing", &named).unwrap_err();
    assert!(
        error.message().contains("\"missing\" is not defined") && error.message().contains(path),
        "{error}"
    );
}

#[test]
fn hosts_addresses_and_ports_make_one_list() {
    let found = settings("postgres://a:1,b,[::1]:3/d", &environment());
    assert_eq!(found.servers(), ["a:1", "b:5432", "[::1]:3"]);
    let found = settings("postgres://?host=a,/run/x,&port=7", &environment());
    assert_eq!(
        found.servers(),
        ["a:7", "socket /run/x/.s.PGSQL.7", "localhost:7"]
    );
    let found = settings("postgres://name?hostaddr=192.0.2.1", &environment());
    assert_eq!(found.servers(), ["name:5432 (192.0.2.1)"]);
    let found = settings("postgres://?hostaddr=192.0.2.1,::1&port=1,2", &environment());
    assert_eq!(found.servers(), ["192.0.2.1:1", "[::1]:2"]);
    for (url, reason) in [
        (
            "postgres://?host=a,b&hostaddr=192.0.2.1",
            "`hostaddr` lists 1 values for 2 servers",
        ),
        (
            "postgres://?host=a,b&port=1,2,3",
            "`port` lists 3 values for 2 servers",
        ),
        ("postgres://a?hostaddr=b", "not an IP address"),
        ("postgres://?host=%40abstract", "abstract socket"),
        ("postgres://?host=a&port=x", "the port \"x\""),
    ] {
        let error = resolve(url, &environment()).unwrap_err();
        assert!(error.message().contains(reason), "{url}: {error}");
        assert!(
            error.message().contains("nothing was changed") && error.hint_text().is_some(),
            "{error}"
        );
    }
}

#[test]
fn without_a_host_the_local_sockets_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let places = environment()
        .with_socket_folder(folder.path().join("missing"))
        .with_socket_folder(&link)
        .with_socket_folder(&real);
    assert_eq!(settings("postgres://", &places).servers(), ["localhost:5432"]);
    fs::write(real.join(".s.PGSQL.5432"), "").unwrap();
    let found = settings("postgres://", &places);
    let expected = format!("socket {}/.s.PGSQL.5432", link.display());
    assert_eq!(found.servers(), [expected], "the same folder is used once");
    assert_eq!(settings("postgres://?port=9", &places).servers(), ["localhost:9"]);
    assert!(matches!(&found.targets[0].place, ServerPlace::SocketFolder(_)));
}

#[test]
fn the_password_file_is_searched_for_each_server() {
    let home = tempfile::tempdir().unwrap();
    let sockets = tempfile::tempdir().unwrap();
    let lines = "a:1:d:ada:for-a\nb:5432:*:ada:for-b\nlocalhost:*:*:*:for-local\n/run/x:*:*:*:for-x\n";
    write_private(&home.path().join(".pgpass"), lines);
    let places = environment()
        .with_home(home.path())
        .with_socket_folder(sockets.path());
    let found = settings("postgres://ada@a:1,b,c/d", &places);
    let found: Vec<Option<&[u8]>> = found
        .targets
        .iter()
        .map(|target| target.password.as_ref().map(SecretPassword::bytes))
        .collect();
    assert_eq!(found, [Some(b"for-a".as_slice()), Some(b"for-b"), None]);
    let socket = sockets.path().display();
    assert_eq!(
        password(&settings(&format!("postgres:///?host={socket}"), &places)),
        Some("for-local")
    );
    assert_eq!(
        password(&settings("postgres:///?host=/run/x", &places)),
        Some("for-x")
    );
    assert_eq!(password(&settings("postgres:///?host=/run/y", &places)), None);
    assert_eq!(password(&settings("postgres://", &places)), Some("for-local"));
    assert_eq!(
        password(&settings(
            "postgres://",
            &places.clone().with_variable("PGPASSWORD", "first")
        )),
        Some("first")
    );

    let other = home.path().join("other");
    write_private(&other, "*:*:*:*:for-all\n");
    let named = places
        .clone()
        .with_variable("PGPASSFILE", other.to_str().unwrap());
    assert_eq!(password(&settings("postgres://a:1", &named)), Some("for-all"));
    let url = format!("postgres://a:1?passfile={}", other.display());
    assert_eq!(password(&settings(&url, &places)), Some("for-all"));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
    let found = settings(&url, &places);
    assert_eq!(password(&found), None);
    assert!(found.ignored_password_file.unwrap().contains("other"));
}

#[test]
fn wrong_values_name_the_parameter_and_the_place() {
    for (url, reason) in [
        (
            "postgres://?sslmode=on",
            "`sslmode` is \"on\", not one of prefer, disable, allow, require",
        ),
        (
            "postgres://?connect_timeout=soon",
            "`connect_timeout` is \"soon\", not an integer",
        ),
        (
            "postgres://?target_session_attrs=master",
            "not one of any, read-write",
        ),
        (
            "postgres://?channel_binding=maybe",
            "not one of prefer, disable, require",
        ),
        ("postgres://?client_encoding=latin1", "not UTF8"),
        ("postgres://?gssencmode=require", "`gssencmode` is \"require\""),
        (
            "postgres://?sslrootcert=system&sslmode=require",
            "verify-full, which `sslrootcert=system` needs",
        ),
        ("postgres://?sslnegotiation=direct", "weaker than require"),
        ("postgres://?keepalives_idle=x", "`keepalives_idle` is \"x\""),
    ] {
        let error = resolve(url, &environment()).unwrap_err();
        assert!(error.message().contains(reason), "{url}: {error}");
        assert_eq!(error.hint_text(), Some("correct it in the URL"));
    }
    let error = resolve("postgres://", &environment().with_variable("PGSSLMODE", "x")).unwrap_err();
    assert_eq!(
        error.hint_text(),
        Some("correct it in the environment variable PGSSLMODE")
    );
    let error = resolve(
        "postgres://",
        &environment().with_variable("PGREQUIREAUTH", "scram-sha-256"),
    )
    .unwrap_err();
    assert!(error.message().contains("PGREQUIREAUTH"), "{error}");
}

#[test]
fn keepalives_and_roots_of_the_system_are_read() {
    let url = "postgres://?keepalives_idle=30&keepalives_interval=0&keepalives_count=4&tcp_user_timeout=1500";
    let expected = KeepaliveSettings {
        is_on: true,
        idle: Some(Duration::from_secs(30)),
        interval: None,
        count: Some(4),
        user_timeout: Some(Duration::from_millis(1500)),
    };
    assert_eq!(settings(url, &environment()).keepalive, expected);
    assert!(
        !settings("postgres://?keepalives=0", &environment())
            .keepalive
            .is_on
    );
    assert_eq!(
        settings("postgres://?sslrootcert=system", &environment())
            .tls
            .mode,
        TlsMode::VerifyFull
    );
}

#[test]
fn settings_show_no_password() {
    let found = settings("postgres://ada:hush@a", &environment());
    assert!(password(&found) == Some("hush") && !format!("{found:?}").contains("hush"));
}
