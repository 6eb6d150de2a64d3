//! The command: what it prints, how it ends, and palaces of every condition.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use loci_testkit::{PostgresServer, TempHome, chroma_folder};
use rustix::process::Signal;
use serde_json::Value as Json;

use super::content::{SECRET_TEXT, copy_folder};
use super::running::{RawVisitor, WebServer};
use super::scene::WebScene;
use crate::new_home;

/// Every page that reads and needs no field.
const READING_PAGES: [&str; 4] = ["/map", "/list", "/timeline", "/search?q=roof"];

/// The error of a start that is refused.
#[track_caller]
fn refused(home: &TempHome, args: &[&str]) -> Json {
    home.json(2, &[&["web", "--no-open"], args].concat())["error"].clone()
}

#[test]
fn the_link_is_printed_at_once_and_a_signal_ends_the_server() {
    let home = new_home();
    for signal in [Signal::INT, Signal::TERM] {
        let server = WebServer::start(&home, &[]);
        assert!(
            server.link.starts_with(&server.url("/sign-in?key=")),
            "{}",
            server.link
        );
        let visitor = server.sign_in();
        visitor.get("/").is(200);
        assert_eq!(server.end(signal), (Some(0), String::new(), String::new()));
    }
    let plain = home.command(&["web", "--no-open", "--port", "0"]);
    let (link, server) = plain_link(plain);
    assert!(
        link.starts_with("http://127.0.0.1:") && link.ends_with('\n'),
        "{link:?}"
    );
    drop(server);
    assert_eq!(
        home.list_names(),
        Vec::<String>::new(),
        "nothing is made by looking"
    );
}

/// Starts a server and returns the line it prints. It ends with the value.
fn plain_link(mut command: std::process::Command) -> (String, KilledAtEnd) {
    use std::io::BufRead as _;
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufReader::new(out).read_line(&mut line).unwrap();
    (line, KilledAtEnd(child))
}

struct KilledAtEnd(std::process::Child);

impl Drop for KilledAtEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_port_in_use_is_an_error_if_it_was_named_and_else_another_is_taken() {
    let home = new_home();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = refused(&home, &["--port", &port]);
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
    assert!(
        error["hint"].as_str().unwrap().contains("another port"),
        "{error}"
    );
    // If this fails, another program has the usual port, which is as good.
    let _taken = TcpListener::bind("127.0.0.1:7077");
    let server = WebServer::of_command(home.command(&["--json", "web", "--no-open"]));
    let port = server.address.port();
    assert_ne!(port, 7077);
    server.sign_in();
    let (code, _, err) = server.end(Signal::TERM);
    assert_eq!(code, Some(0));
    assert_eq!(err, format!("port 7077 is in use; serving on port {port}\n"));
}

#[test]
fn a_missing_palace_is_offered_first_steps_and_not_made() {
    let scene = WebScene::start_without_palace(&[]);
    let visitor = scene.visitor();
    let first = visitor.get("/").is(200).body;
    assert!(
        first.contains("Nothing is filed here yet") && first.contains("href=\"/mine\""),
        "{first}"
    );
    for target in READING_PAGES {
        assert!(visitor.get(target).is(404).body.contains("loci init"), "{target}");
    }
    assert_eq!(scene.home.list_names(), Vec::<String>::new());
}

#[test]
fn a_reader_is_offered_nothing_to_do_and_one_wing_is_all_there_is() {
    let scene = WebScene::start(&["--read-only", "--wing", "garden", "--wing", "shop"]);
    for target in ["/", "/map", "/list", "/search?q=roof+beans", "/drawer?id=bean-1"] {
        let page = scene.visitor().get(target).is(200).body;
        for absent in [
            "href=\"/add\"",
            "href=\"/edit",
            "href=\"/delete",
            "Casa do Beco",
            "wing=house",
            "大阪",
        ] {
            assert!(!page.contains(absent), "{target}: {absent}");
        }
    }
    let map = scene.visitor().get("/map").is(200).body;
    assert!(map.contains("wing=garden") && map.contains("wing=shop"), "{map}");
    scene.visitor().get("/drawer?id=roof-1").is(404);
}

#[test]
fn a_damaged_palace_is_shown_as_such_and_left_untouched() {
    let home = new_home();
    let file = home.palace().join("palace.db");
    fs::create_dir(home.palace()).unwrap();
    fs::write(&file, "this was a palace").unwrap();
    let scene = WebScene::serve(home, &[]);
    for target in ["/", "/map", "/list"] {
        let page = scene.visitor().get(target).is(500).body;
        assert!(page.contains("loci rescue"), "{target}: {page}");
    }
    assert_eq!(fs::read(file).unwrap(), b"this was a palace");
}

/// Opens the reading pages of a palace that holds the secret text as `roof-1`.
#[track_caller]
fn read_pages(visitor: &RawVisitor) {
    for target in READING_PAGES {
        visitor.get(target).is(200);
    }
    assert!(visitor.get("/search?q=roof").body.contains("Casa do Beco"));
    assert!(
        visitor
            .get("/drawer?id=roof-1")
            .is(200)
            .body
            .contains(SECRET_TEXT)
    );
}

#[test]
fn palaces_of_a_server_and_of_a_plug_in_are_shown() {
    let home = new_home();
    let database = format!("{}&palace=web-pages", PostgresServer::shared().url("postgres"));
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    let plug_in = bin.join("loci-backend-python");
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/backend-python/loci-backend-python"
    );
    fs::copy(example, &plug_in).unwrap();
    fs::set_permissions(&plug_in, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for palace in [database.as_str(), "python:./there"] {
        let command = |args: &[&str]| {
            let mut command = home.command(&[&["--json", "--palace", palace], args].concat());
            command.env("PATH", &path);
            command
        };
        let add = command(&[
            "add",
            SECRET_TEXT,
            "--id",
            "roof-1",
            "--wing",
            "house",
            "--upsert",
        ]);
        loci_testkit::run_command(add, b"").expect_code(0);
        let server = WebServer::of_command(command(&["web", "--no-open", "--port", "0"]));
        read_pages(&server.sign_in());
        assert_eq!(
            server.end(Signal::TERM),
            (Some(0), String::new(), String::new()),
            "{palace}"
        );
    }
}

#[test]
fn a_server_that_is_not_there_and_a_folder_of_chroma_are_told_as_they_are() {
    let home = new_home();
    let gone = WebServer::start(&home, &["--palace", "postgres://nobody@127.0.0.1:1/x"]);
    let page = gone.sign_in().get("/").is(503).body;
    assert!(page.contains("cannot connect to Postgres"), "{page}");
    let folder = home.path("chroma");
    copy_folder(&chroma_folder().join("1.5.9/flushed/db"), &folder);
    let before = home.list_names();
    let listed = home.json(0, &["--palace", "chroma", "list", "--limit", "1"]);
    let id = listed["drawers"][0]["id"].as_str().unwrap();
    let server = WebServer::start(&home, &["--palace", "chroma"]);
    let visitor = server.sign_in();
    for target in ["/", "/map", "/list", "/timeline"] {
        visitor.get(target).is(200);
    }
    let page = visitor.get("/list?order=id").is(200).body;
    assert!(page.contains(&format!("data-id=\"{id}\"")), "{page}");
    assert_eq!(home.list_names(), before, "nothing is written beside it");
}
