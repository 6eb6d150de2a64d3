//! What is said: sessions, tools, bodies of every size, and several clients at once.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::client::{call, hello};
use super::running::Home;
use super::wire::{Ask, Wire, ask};

/// The most bytes of a request.
const LONGEST: usize = 16 << 20;

#[test]
fn a_client_lists_and_calls_tools_within_its_session() {
    let home = Home::new();
    let server = home.serve();
    let mut client = server.client();
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"search") && names.contains(&"add"), "{names:?}");
    let text = "The cellar key hangs behind the clock.";
    let filed = client.call("add", &json!({"text": text, "wing": "house"}));
    let id = filed["id"].as_str().unwrap().to_owned();
    let found = client.call("search", &json!({"query": "cellar key"}));
    assert!(found.to_string().contains(&id), "{found}");
    for (tool, arguments) in [
        ("get", json!({"ids": 7})),
        ("search", json!({"query": ""})),
        ("search", json!({"query": " \n"})),
    ] {
        let refused = client.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(refused["isError"], true, "{refused}");
    }
}

#[test]
fn a_session_is_named_by_its_header_and_ends_when_it_is_deleted() {
    let home = Home::new();
    let server = home.serve();
    let mut client = server.client();
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"});
    ask(server.address, &Ask::message(&server.token, &list)).is(400);
    let stranger = Ask::message(&server.token, &list).with("Mcp-Session-Id", "no-such-session");
    ask(server.address, &stranger).is(404);
    let elsewhere = ask(server.address, &client.message(&list)).is(200);
    assert_eq!(elsewhere.message()["id"], 9, "a session outlives its connections");
    let delete = client.request("DELETE");
    assert!([200, 202, 204].contains(&client.wire.ask(&delete).status));
    ask(server.address, &client.message(&list)).is(404);
    ask(server.address, &client.request("GET")).is(404);
    server.client();
}

#[test]
fn a_client_without_a_session_speaks_the_newest_revision() {
    let home = Home::new();
    let server = home.serve();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bytes", "version": "1"},
    });
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let asked = Ask::message(&server.token, &list)
        .with("Mcp-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/list");
    let answer = ask(server.address, &asked).is(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.message()["result"]["tools"].is_array(), "{answer:?}");
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[test]
fn what_is_no_message_is_answered_in_words() {
    let home = Home::new();
    let server = home.serve();
    let mut client = server.client();
    let mut code = |body: &str| {
        let asked = Ask::posted(&server.token, body.as_bytes()).with("Mcp-Session-Id", &client.session);
        let said = client.wire.ask(&asked).is(400).message();
        said["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code(""), -32700);
    assert_eq!(code("{"), -32700);
    assert_eq!(code("\u{0}"), -32700);
    assert_eq!(code("7"), -32600);
    assert_eq!(code("{}"), -32600);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), -32600);
    assert_eq!(code(&format!("[{}]", hello())), -32600);
    assert_eq!(code(&"[".repeat(100_000)), -32600);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{}"#, "[".repeat(100_000));
    assert!([-32600, -32700].contains(&code(&deep)));
    let words = Ask::message(&server.token, &hello()).having("Content-Type", "text/plain");
    ask(server.address, &words).is(415);
    let picky = Ask::message(&server.token, &hello()).having("Accept", "text/html");
    ask(server.address, &picky).is(406);
    let unknown = json!({"jsonrpc": "2.0", "id": 5, "method": "no/such"});
    let said = client.wire.ask(&client.message(&unknown)).is(200).message();
    assert_eq!(said["error"]["code"], -32601, "{said}");
}

/// A message of so many bytes.
fn padded(bytes: usize) -> Vec<u8> {
    let mut message = hello().to_string().into_bytes();
    message.resize(bytes, b' ');
    message
}

#[test]
fn a_request_may_have_so_many_bytes_and_not_one_more() {
    let home = Home::new();
    let server = home.serve();
    ask(server.address, &Ask::posted(&server.token, &padded(LONGEST))).is(200);
    ask(server.address, &Ask::posted(&server.token, &padded(LONGEST + 1))).is(413);
    let mut wire = Wire::open(server.address);
    let announced = Ask::posted(&server.token, b"").having("Content-Length", "99999999999");
    assert_eq!(wire.ask(&announced).status, 413, "before a byte of it was sent");
}

#[test]
fn a_request_in_chunks_is_measured_while_it_comes() {
    let home = Home::new();
    let server = home.serve();
    let chunked = |bytes: usize| {
        let mut ask = Ask::posted(&server.token, b"")
            .having("Transfer-Encoding", "chunked")
            .bytes();
        ask = String::from_utf8(ask)
            .unwrap()
            .replace("Content-Length: 0\r\n", "")
            .into_bytes();
        for piece in padded(bytes).chunks(1 << 20) {
            ask.extend(format!("{:x}\r\n", piece.len()).as_bytes());
            ask.extend(piece);
            ask.extend(b"\r\n");
        }
        ask
    };
    let ended = |mut bytes: Vec<u8>| {
        bytes.extend(b"0\r\n\r\n");
        let mut wire = Wire::open(server.address);
        wire.send(&bytes);
        wire.answer()
    };
    ended(chunked(LONGEST)).is(200);
    ended(chunked(LONGEST + 1)).is(413);
    let mut wire = Wire::open(server.address);
    wire.send(&chunked(LONGEST + 1));
    wire.answer().is(413);
}

#[test]
fn clients_write_at_once_and_every_word_is_kept() {
    const EACH: usize = 20;
    let home = Home::new();
    let (one, other) = (home.serve(), home.serve());
    assert_eq!(one.token, other.token);
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = [&one, &one, &other]
            .into_iter()
            .enumerate()
            .map(|(writer, server)| {
                scope.spawn(move || {
                    let mut client = server.client();
                    let file = |n| {
                        let text = format!("writer {writer} says {n}");
                        let filed = client.call("add", &json!({"text": text, "wing": "crowd"}));
                        filed["id"].as_str().unwrap().to_owned()
                    };
                    (0..EACH).map(file).collect::<Vec<_>>()
                })
            })
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 3 * EACH);
    let mut reader = one.client();
    let wings = reader.call("wings", &json!({}));
    assert_eq!(wings["wings"][0]["drawers"], 3 * EACH, "{wings}");
}

#[test]
fn many_requests_of_one_session_are_answered_side_by_side() {
    let home = Home::new();
    let server = home.serve();
    let mut client = server.client();
    client.call("add", &json!({"text": "The swing is oak.", "wing": "garden"}));
    let mut wires: Vec<Wire> = (0..40)
        .map(|id| {
            let mut wire = Wire::open(server.address);
            wire.send(
                &client
                    .message(&call(100 + id, "search", &json!({"query": "oak"})))
                    .bytes(),
            );
            wire
        })
        .collect();
    let answered: BTreeSet<u64> = wires
        .iter_mut()
        .map(|wire| wire.answer().is(200).message())
        .map(|said: Json| {
            assert_ne!(said["result"]["isError"], true, "{said}");
            said["id"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(answered, (100..140).collect());
}
