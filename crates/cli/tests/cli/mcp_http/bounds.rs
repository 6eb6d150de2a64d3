//! Limits, on a server with small ones: rates, connections, sessions, and heads that never end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result, Timestamp};
use loci_engine::{EmbedderCatalog, Palace, PalaceAddress};
use loci_serve::mcp::{
    HttpLimits, HttpOptions, McpServer, RequestRate, ToolDialect, parse_listen_address, serve_http,
};
use serde_json::json;
use tempfile::TempDir;

use super::client::{Client, call, hello};
use super::wire::{Ask, DEADLINE, Wire, ask};

/// Nothing embeds.
#[derive(Debug)]
struct Nothing;

impl EmbedderCatalog for Nothing {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(None)
    }

    fn find_embedder(&self, _: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        Err(Error::new(ErrorKind::NotFound, "nothing embeds here"))
    }
}

/// A server on a thread of its own, which ends with the test's process.
struct Bounded {
    address: SocketAddr,
    token: String,
    /// Says when a call looks for the palace.
    looked: mpsc::Receiver<()>,
    /// Such a call ends when this is dropped.
    _hold: mpsc::Sender<()>,
    _folder: TempDir,
}

impl Bounded {
    fn start(limits: HttpLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        let (look, looked) = mpsc::channel();
        let (hold, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let find = move || -> Result<PalaceAddress> {
            look.send(()).unwrap();
            let _ = held.lock().unwrap().recv();
            Err(Error::new(ErrorKind::NotFound, "no palace exists"))
        };
        let clock = || Timestamp::from_micros(0).unwrap();
        let palace = Palace::with_locator(find, Arc::new(Nothing), clock);
        let (ready, told) = mpsc::channel();
        let listening = HttpOptions {
            address: parse_listen_address("0").unwrap(),
            token_file: token_file.clone(),
            limits,
            ready: Box::new(move |address| ready.send(address).unwrap()),
        };
        std::thread::spawn(move || serve_http(McpServer::new(palace, ToolDialect::Loci), listening));
        Self {
            address: told.recv().unwrap(),
            token: std::fs::read_to_string(token_file).unwrap().trim().to_owned(),
            looked,
            _hold: hold,
            _folder: folder,
        }
    }

    #[track_caller]
    fn client(&self) -> Client {
        Client::open(self.address, &self.token)
    }

    fn hello(&self) -> Ask {
        Ask::message(&self.token, &hello())
    }
}

/// So many at once, and hardly one more after that.
fn only(burst: f64) -> RequestRate {
    RequestRate {
        per_second: 0.001,
        burst,
    }
}

#[test]
fn whoever_guesses_is_slowed_down_and_whoever_knows_is_not() {
    let server = Bounded::start(HttpLimits {
        failures: only(3.0),
        ..HttpLimits::default()
    });
    let wrong = server.hello().having("Authorization", "Bearer wrong");
    let mut wire = Wire::open(server.address);
    let statuses: Vec<u16> = (0..5).map(|_| wire.ask(&wrong).status).collect();
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
    let answer = wire.ask(&wrong).is(429);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(wait > 1, "{answer:?}");
    wire.ask(&server.hello()).is(200);
}

#[test]
fn too_many_requests_are_told_when_to_come_again() {
    let server = Bounded::start(HttpLimits {
        requests: only(3.0),
        ..HttpLimits::default()
    });
    let mut client = server.client();
    client.ask("ping", &json!({}));
    let answer = ask(server.address, &server.hello()).is(429);
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    ask(
        server.address,
        &server.hello().having("Authorization", "Bearer wrong"),
    )
    .is(401);
    let life = Ask::new("GET", "/healthz");
    let statuses: Vec<u16> = (0..4).map(|_| ask(server.address, &life).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[test]
fn one_connection_too_many_is_told_so_and_let_in_when_another_leaves() {
    let server = Bounded::start(HttpLimits {
        connections: 2,
        head: DEADLINE,
        ..HttpLimits::default()
    });
    let mut kept: Vec<Wire> = (0..2).map(|_| Wire::open(server.address)).collect();
    for wire in &mut kept {
        wire.ask(&server.hello()).is(200);
    }
    let answer = ask(server.address, &server.hello()).is(503);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    // Without a token there is nothing to wait for.
    ask(server.address, &Ask::new("GET", "/healthz")).is(200);
    kept.pop();
    until(|| ask(server.address, &server.hello()).status == 200);
}

#[test]
fn slow_connections_without_a_token_keep_no_client_out() {
    let server = Bounded::start(HttpLimits {
        // None of them is given up for its slowness within this test.
        head: DEADLINE,
        ..HttpLimits::default()
    });
    let slow: Vec<Wire> = (0..200)
        .map(|_| {
            let mut wire = Wire::open(server.address);
            wire.send(b"POST /mcp HTTP/1.1\r\nHost: localh");
            wire
        })
        .collect();
    let mut client = server.client();
    client.ask("ping", &json!({}));
    ask(server.address, &Ask::new("GET", "/healthz")).is(200);
    // A client that is in stays in, whatever else connects.
    let more: Vec<Wire> = (0..200).map(|_| Wire::open(server.address)).collect();
    client.ask("ping", &json!({}));
    drop((slow, more));
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    let server = Bounded::start(HttpLimits {
        head: Duration::from_millis(100),
        ..HttpLimits::default()
    });
    let mut wire = Wire::open(server.address);
    wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow");
    let rest = wire.rest();
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    Wire::open(server.address).rest();
}

#[test]
fn a_session_of_which_nothing_is_heard_ends() {
    let server = Bounded::start(HttpLimits {
        idle: Duration::from_millis(50),
        ..HttpLimits::default()
    });
    let opened = ask(server.address, &server.hello()).is(200);
    let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let session = opened.header("mcp-session-id").unwrap();
    let said = Ask::message(&server.token, &said).with("Mcp-Session-Id", session);
    // Asking is a sign of life, so each time it is asked later.
    let mut pause = Duration::from_millis(50);
    until(|| {
        std::thread::sleep(pause);
        pause *= 2;
        ask(server.address, &said).status == 404
    });
}

#[test]
fn one_session_too_many_takes_the_place_of_the_silent_one() {
    let server = Bounded::start(HttpLimits {
        sessions: 2,
        ..HttpLimits::default()
    });
    let mut first = server.client();
    let second = server.client();
    first.ask("ping", &json!({}));
    let mut third = server.client();
    first.ask("ping", &json!({}));
    third.ask("ping", &json!({}));
    let ping = second.message(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    until(|| ask(server.address, &ping).status == 404);
}

#[test]
fn a_client_that_goes_away_in_mid_call_makes_room_for_another() {
    let server = Bounded::start(HttpLimits {
        sessions: 1,
        ..HttpLimits::default()
    });
    let mut client = server.client();
    client
        .wire
        .send(&client.message(&call(1, "status", &json!({}))).bytes());
    server.looked.recv_timeout(DEADLINE).unwrap();
    let answer = ask(server.address, &server.hello()).is(503);
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    drop(client);
    until(|| ask(server.address, &server.hello()).status == 200);
}

/// Waits for something to be true.
#[track_caller]
fn until(mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < DEADLINE, "it never came true");
    }
}
