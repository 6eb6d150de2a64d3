//! Being asked to end, and clients that go away.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;

use super::client::call;
use super::running::Home;
use super::wire::{Ask, DEADLINE, Wire, ask};

/// A palace whose settings are read from a pipe: whoever asks for it waits until somebody writes there.
fn slow_palace(home: &Home) -> PathBuf {
    let palace = home.path("palace");
    fs::create_dir(&palace).unwrap();
    let pipe = palace.join("config.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    pipe
}

/// Waits until a call reads its settings there.
fn caught(pipe: &PathBuf) -> File {
    OpenOptions::new().write(true).open(pipe).unwrap()
}

#[test]
fn a_server_that_is_asked_to_end_lets_go_of_those_who_listen() {
    let home = Home::new();
    let server = home.serve();
    let mut client = server.client();
    let listen = client.request("GET");
    client.wire.send(&listen.bytes());
    assert_eq!(client.wire.head().unwrap().status, 200);
    let mut idle = Wire::open(server.address);
    idle.ask(&Ask::new("GET", "/healthz")).is(200);
    let mut silent = Wire::open(server.address);
    server.terminate();
    while client.wire.chunk().unwrap().is_some() {}
    idle.rest();
    silent.rest();
    let (code, out, err) = server.ended();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, "");
}

#[test]
fn what_is_being_answered_is_answered_before_the_end() {
    let home = Home::new();
    let pipe = slow_palace(&home);
    let server = home.serve();
    let mut client = server.client();
    client
        .wire
        .send(&client.message(&call(7, "status", &json!({}))).bytes());
    let mut settings = caught(&pipe);
    server.terminate();
    let begun = Instant::now();
    while TcpStream::connect(server.address).is_ok() {
        assert!(begun.elapsed() < DEADLINE, "clients are still let in");
    }
    fs::remove_file(&pipe).unwrap();
    settings.write_all(b"{}").unwrap();
    drop(settings);
    let said = client.wire.answer().is(200).message();
    assert_eq!(said["id"], 7, "{said}");
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn a_call_that_does_not_end_holds_up_nobody_for_long() {
    let home = Home::new();
    let pipe = slow_palace(&home);
    let server = home.serve();
    let mut client = server.client();
    client
        .wire
        .send(&client.message(&call(7, "status", &json!({}))).bytes());
    let _settings = caught(&pipe);
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn a_client_that_goes_away_in_mid_call_leaves_the_others_alone() {
    let home = Home::new();
    let pipe = slow_palace(&home);
    let server = home.serve();
    let mut client = server.client();
    client
        .wire
        .send(&client.message(&call(7, "status", &json!({}))).bytes());
    let settings = caught(&pipe);
    let session = client.session.clone();
    drop(client);
    server.client().ask("tools/list", &json!({}));
    fs::remove_file(&pipe).unwrap();
    drop(settings);
    let list = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list"});
    let back = Ask::message(&server.token, &list).with("Mcp-Session-Id", &session);
    let said = ask(server.address, &back).is(200).message();
    assert_eq!(
        said["id"], 8,
        "a client that comes back soon has its session still"
    );
    let mut other = server.client();
    other.call("add", &json!({"text": "Life goes on.", "wing": "house"}));
}
