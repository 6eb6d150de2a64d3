//! The token file, and the address that is listened on.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::running::Home;
use super::wire::{Ask, ask};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_start_makes_a_token_that_only_its_owner_reads() {
    let home = Home::new();
    let server = home.serve();
    let path = home.token_file();
    assert_eq!(server.said["token_file"], path.to_str().unwrap());
    assert_eq!(server.said["url"], format!("http://{}/mcp", server.address));
    assert_eq!(server.token.len(), 64);
    assert!(server.token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert!(!home.path("palace").exists(), "a start makes no palace");
}

#[test]
fn the_next_start_has_the_same_token_and_another_home_has_another() {
    let home = Home::new();
    let (first, second) = (home.serve(), home.serve());
    assert_eq!(first.token, second.token);
    second.client();
    assert_ne!(Home::new().serve().token, first.token);
}

#[test]
fn a_token_that_others_may_read_is_refused_with_what_to_type() {
    let home = Home::new();
    home.serve();
    let path = home.token_file();
    let before = fs::read(&path).unwrap();
    for open in [0o640, 0o604, 0o620, 0o601, 0o644] {
        set_mode(&path, open);
        let error = home.refused(&["--http", "0"]);
        let hint = error["hint"].as_str().unwrap();
        assert!(
            hint.contains(&format!("chmod 600 '{}'", path.display())),
            "{error}"
        );
        assert_eq!(mode(&path), open);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    set_mode(&path, 0o600);
    home.serve();
    let folder = path.parent().unwrap();
    set_mode(folder, 0o777);
    let error = home.refused(&["--http", "0"]);
    assert!(error["hint"].as_str().unwrap().contains("chmod go-w"), "{error}");
}

#[test]
fn a_file_that_holds_no_token_is_refused_and_left_alone() {
    let home = Home::new();
    let path = home.path("own-token");
    let name = path.to_str().unwrap();
    for text in [
        "",
        "\n",
        "short",
        &"a b".repeat(20),
        &"é".repeat(40),
        &"x".repeat(5000),
    ] {
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o600);
        let error = home.refused(&["--http", "0", "--token-file", name]);
        assert_eq!(error["kind"], "invalid", "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let error = home.refused(&["--http", "0", "--token-file", home.path("").to_str().unwrap()]);
    assert_eq!(error["kind"], "invalid", "{error}");
    let own = "correct-horse-battery-staple-again";
    fs::write(&path, format!("{own}\n")).unwrap();
    let server = home.serve_with(&["--http", "0", "--token-file", name]);
    assert_eq!(server.token, own);
    server.client();
    assert!(!home.token_file().exists());
}

#[test]
fn addresses_that_others_can_reach_are_refused() {
    let home = Home::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "0.0.0.0"] {
        let error = home.refused(&["--http", address]);
        assert_eq!(error["kind"], "unsupported", "{error}");
        assert!(error["hint"].as_str().unwrap().contains("ssh -L"), "{error}");
    }
    for nonsense in ["example.org:80", "99999", "localhost:", "x"] {
        assert_eq!(
            home.refused(&["--http", nonsense])["kind"],
            "invalid",
            "{nonsense}"
        );
    }
    assert!(!home.token_file().exists(), "nothing was made");
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = home.refused(&["--http", &address]);
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert!(error["message"].as_str().unwrap().contains(&address), "{error}");
    assert!(
        error["hint"].as_str().unwrap().contains("another port"),
        "{error}"
    );
}

#[test]
fn a_name_and_a_port_are_listened_on() {
    let home = Home::new();
    for address in ["localhost:0", "127.0.0.1:0"] {
        let server = home.serve_with(&["--http", address]);
        assert!(server.address.ip().is_loopback());
        ask(server.address, &Ask::new("GET", "/healthz")).is(200);
    }
}
