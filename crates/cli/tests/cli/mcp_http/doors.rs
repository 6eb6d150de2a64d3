//! Who gets in: names, origins, tokens, places and methods.

use super::client::hello;
use super::running::Home;
use super::wire::{Ask, Wire, ask};

#[test]
fn a_forged_name_is_refused_even_with_the_right_token() {
    let home = Home::new();
    let server = home.serve();
    let port = server.address.port();
    let good = Ask::message(&server.token, &hello());
    let other = format!("localhost:{}", port - 1);
    for host in [
        "evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "localhost.",
        "localhost:",
        "::1",
        "",
        &other,
        &format!("evil.example:{port}"),
    ] {
        let answer = ask(server.address, &good.clone().having("Host", host)).is(403);
        assert_eq!(answer.header("mcp-session-id"), None, "{host:?}");
        ask(server.address, &Ask::bare("GET", "/healthz").with("Host", host)).is(403);
        ask(server.address, &Ask::bare("GET", "/nowhere").with("Host", host)).is(403);
    }
    ask(server.address, &good).is(200);
}

#[test]
fn the_server_answers_to_its_names_with_and_without_the_port() {
    let home = Home::new();
    let server = home.serve();
    for name in ["localhost", "LocalHost", "127.0.0.1", "[::1]"] {
        for host in [name.to_owned(), format!("{name}:{}", server.address.port())] {
            let answer = ask(server.address, &Ask::bare("GET", "/healthz").with("Host", &host)).is(200);
            assert_eq!(answer.body, r#"{"ok":true}"#, "{host}");
        }
    }
}

#[test]
fn a_request_without_one_name_is_no_request() {
    let home = Home::new();
    let server = home.serve();
    ask(server.address, &Ask::bare("GET", "/healthz")).is(400);
    let twice = Ask::new("GET", "/healthz").with("Host", "evil.example");
    ask(server.address, &twice).is(400);
    let target = "http://evil.example/healthz";
    ask(server.address, &Ask::new("GET", target)).is(403);
    ask(server.address, &Ask::new("GET", "http://localhost/healthz")).is(200);
}

#[test]
fn pages_of_other_servers_are_refused_and_no_answer_lets_them_in() {
    let home = Home::new();
    let server = home.serve();
    let port = server.address.port();
    let good = Ask::message(&server.token, &hello());
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost",
        "http://localhost:3000",
        "",
        &format!("https://localhost:{port}"),
        &format!("http://127.0.0.1:{port}"),
        &format!("http://localhost:{port}/"),
        &format!("http://localhost:{port}.evil.example"),
    ] {
        for asked in [&good, &Ask::new("GET", "/healthz"), &Ask::new("OPTIONS", "/mcp")] {
            let answer = ask(server.address, &asked.clone().with("Origin", origin)).is(403);
            assert!(
                !answer.names().any(|name| name.starts_with("access-control")),
                "{answer:?}"
            );
        }
    }
    let own = format!("http://localhost:{port}");
    let answer = ask(server.address, &good.with("Origin", &own)).is(200);
    assert!(
        !answer.names().any(|name| name.starts_with("access-control")),
        "{answer:?}"
    );
    let asked = Ask::new("OPTIONS", "/mcp").with("Access-Control-Request-Method", "POST");
    let answer = ask(server.address, &asked).is(405);
    assert!(
        !answer.names().any(|name| name.starts_with("access-control")),
        "{answer:?}"
    );
}

#[test]
fn nothing_is_done_without_the_token() {
    let home = Home::new();
    let server = home.serve();
    let good = Ask::message(&server.token, &hello());
    let bearer = |token: &str| format!("Bearer {token}");
    let longer = format!("{}0", server.token);
    let other: String = server.token.chars().rev().collect();
    for shown in [
        bearer("wrong"),
        bearer(""),
        bearer(&longer),
        bearer(&other),
        bearer(&server.token[1..]),
        bearer(&server.token.to_uppercase()),
        format!("Basic {}", server.token),
        server.token.clone(),
    ] {
        let answer = ask(server.address, &good.clone().having("Authorization", &shown)).is(401);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    let twice = good.clone().bearing("wrong");
    ask(server.address, &twice).is(401);
    for method in ["GET", "POST", "DELETE"] {
        let answer = ask(
            server.address,
            &Ask::new(method, "/mcp").with("Content-Length", "0"),
        )
        .is(401);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    ask(
        server.address,
        &good.having("Authorization", &format!("bearer {}", server.token)),
    )
    .is(200);
    let token = server.token.clone();
    server.terminate();
    let (_, out, err) = server.ended();
    assert!(!out.contains(&token) && !err.contains(&token), "{out}{err}");
    assert!(!err.contains("wrong"), "{err}");
}

#[test]
fn there_is_nothing_but_the_protocol_and_a_sign_of_life() {
    let home = Home::new();
    let server = home.serve();
    for path in [
        "/",
        "/mcp/",
        "/MCP",
        "/mcp/x",
        "/healthz/",
        "/..%2fmcp",
        "/sse",
        "*",
    ] {
        let asked = Ask::new("GET", path).bearing(&server.token);
        let status = ask(server.address, &asked).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    let allowed = |method, path| {
        let answer = ask(server.address, &Ask::new(method, path).bearing(&server.token)).is(405);
        answer.header("allow").unwrap().to_owned()
    };
    assert_eq!(allowed("PUT", "/mcp"), "GET, POST, DELETE");
    assert_eq!(allowed("PATCH", "/mcp"), "GET, POST, DELETE");
    assert_eq!(allowed("POST", "/healthz"), "GET");
}

#[test]
fn a_head_without_measure_is_refused() {
    let home = Home::new();
    let server = home.serve();
    let long = Ask::new("GET", "/healthz").with("X-Long", &"x".repeat(40 << 10));
    assert!((400..500).contains(&ask(server.address, &long).status));
    let many = (0..100).fold(Ask::new("GET", "/healthz"), |many, _| many.with("X-Many", "1"));
    assert!((400..500).contains(&ask(server.address, &many).status));
    let mut wire = Wire::open(server.address);
    wire.send(b"\0\x01\x02 nonsense\r\n\r\n");
    wire.rest();
    ask(server.address, &Ask::new("GET", "/healthz")).is(200);
}
