//! Requests that somebody else made, or that somebody made up: each is refused, and the server goes on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::scene::{TeamHome, TeamServer};
use crate::mcp_http::client::hello;
use crate::mcp_http::wire::Wire;

fn start() -> (TeamHome, TeamServer, String) {
    let team = TeamHome::new(&[("work", "./work"), ("other", "./other")]);
    for palace in ["work", "other"] {
        team.home
            .run(&[
                "add",
                "the ship leaves",
                "--wing",
                "garden",
                "--palace",
                &format!("./{palace}"),
            ])
            .expect_code(0);
    }
    let token = team.add_user("ben", &["work:read,write"]);
    team.set_password("ben", "a long enough password");
    let server = team.serve();
    (team, server, token)
}

#[test]
fn without_credentials_there_is_nothing() {
    let (_team, server, token) = start();
    for target in [
        "/",
        "/admin",
        "/p/work/",
        "/p/work/search?q=ship",
        "/p/nowhere/",
        "/nowhere",
        "/metrics-of",
    ] {
        let ask = server.request("GET", target).with("Accept", "text/html");
        let answer = server.send(&ask).is(303);
        assert!(
            answer.header("location").unwrap().starts_with("/sign-in?next="),
            "{target}"
        );
        server.send(&server.request("GET", target)).is(401);
    }
    for (method, target) in [
        ("POST", "/api/v1/p/work/status"),
        ("GET", "/api/v1/palaces"),
        ("POST", "/p/work/mcp"),
    ] {
        let answer = server
            .send(&server.request(method, target).with("Content-Length", "0"))
            .is(401);
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(
            challenge.contains("/.well-known/oauth-protected-resource"),
            "{challenge}"
        );
    }
    // The metadata is for everyone, and the same whether there is such a palace or not.
    let metadata = |name: &str| {
        let target = format!("/.well-known/oauth-protected-resource/p/{name}/mcp");
        let answer = server.send(&server.request("GET", &target)).is(200);
        answer.body.replace(name, "NAME")
    };
    assert_eq!(metadata("work"), metadata("nowhere"));
    server
        .send(&server.call(&token, "work", "status", &json!({})))
        .is(200);
}

#[test]
fn wrong_tokens_are_refused_and_say_nothing() {
    let (_team, server, token) = start();
    let half = &token[..token.len() - 4];
    for wrong in [
        "",
        "x",
        half,
        &format!("{half}AAAA"),
        "eyJhbGciOiJub25lIn0.e30.",
        "Basic abc",
    ] {
        let answer = server
            .send(&server.call(wrong, "work", "status", &json!({})))
            .is(401);
        assert!(!answer.body.contains("ship"), "{wrong}: {answer:?}");
    }
    // Two of them: somebody between might believe the other one.
    let ask = server.call(&token, "work", "status", &json!({})).bearing(&token);
    server.send(&ask).is(401);
    // The right token is not kept out by the wrong ones before it.
    for _ in 0..60 {
        let refused = server.send(&server.call("loci_wrong", "work", "status", &json!({})));
        assert!([401, 429].contains(&refused.status), "{refused:?}");
    }
    server
        .send(&server.call(&token, "work", "status", &json!({})))
        .is(200);
}

#[test]
fn other_names_and_origins_are_refused() {
    let (_team, server, token) = start();
    let ask = server.call(&token, "work", "status", &json!({}));
    server.send(&ask.clone().having("Host", "evil.example")).is(403);
    server.send(&ask.clone().with("Host", "evil.example")).is(400);
    server
        .send(&ask.clone().with("Origin", "https://evil.example"))
        .is(403);
    server
        .send(
            &ask.clone()
                .with("Transfer-Encoding", "chunked")
                .without("Content-Length"),
        )
        .is(411);
    // Two lengths: two readers might see the end of the body at different places.
    let answer = Wire::open(server.address).ask(&ask.clone().with("Content-Length", "1"));
    assert_eq!(answer.status, 400, "{answer:?}");
    server.send(&ask.having("Content-Type", "text/plain")).is(415);
}

#[test]
fn a_form_of_another_site_signs_nobody_in_and_does_nothing() {
    let (_team, server, _) = start();
    let form = server.sign_in_form("ben", "a long enough password");
    server
        .send(&form.clone().having("Origin", "https://evil.example"))
        .is(403);
    server
        .send(&form.clone().having("Sec-Fetch-Site", "cross-site"))
        .is(403);
    server
        .send(&form.without("Origin").without("Sec-Fetch-Site"))
        .is(403);
    let cookie = server.sign_in("ben", "a long enough password");
    // A form without its secret, and with that of nobody.
    for secret in ["", "form_secret=0123456789abcdef&"] {
        let form = format!("{secret}text=forged&wing=garden");
        server
            .send(&server.form("/p/work/add", &form).with("Cookie", &cookie))
            .is(409);
        server
            .send(&server.form("/sign-out", secret).with("Cookie", &cookie))
            .is(409);
    }
    // The cookie is no key to what agents use.
    let hello = hello().to_string();
    let ask = server
        .request("POST", "/p/work/mcp")
        .with("Cookie", &cookie)
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
        .with_body(hello.as_bytes());
    server.send(&ask).is(401);
    server
        .send(&server.request("GET", "/p/work/").with("Cookie", &cookie))
        .is(200);
    server
        .send(&server.request("GET", "/p/other/").with("Cookie", &cookie))
        .is(404);
    server
        .send(&server.request("GET", "/admin").with("Cookie", &cookie))
        .is(404);
}

#[test]
fn guesses_are_slowed_down() {
    let (_team, server, _) = start();
    let mut throttled = false;
    for n in 0..12 {
        let answer = server.send(&server.sign_in_form("ben", &format!("a wrong password {n}")));
        throttled |= answer.status == 429 && answer.header("retry-after").is_some();
        assert!([403, 429].contains(&answer.status), "{answer:?}");
    }
    assert!(throttled);
    // Also with the right password now: the address has to wait.
    server
        .send(&server.sign_in_form("ben", "a long enough password"))
        .is(429);
}

#[test]
fn oversized_and_slow_requests_are_cut_off() {
    let (_team, server, token) = start();
    let huge = "x".repeat(40 << 20);
    let answer = server.send(&server.call(&token, "work", "add", &json!({"text": huge})));
    assert_eq!(answer.status, 413);
    let long = format!("/p/{}/", "a".repeat(60_000));
    let answer = server.send(&server.request("GET", &long));
    assert!([400, 414, 431].contains(&answer.status), "{answer:?}");
    // A head that never ends.
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    // Many that say nothing keep nobody out.
    let idle: Vec<_> = (0..600)
        .filter_map(|_| TcpStream::connect(server.address).ok())
        .collect();
    server
        .send(&server.call(&token, "work", "status", &json!({})))
        .is(200);
    drop(idle);
}

#[test]
fn a_session_is_for_the_caller_that_began_it() {
    let (team, server, token) = start();
    let other = team.add_user("eve", &["work:read"]);
    let message = |token: &str, body: &serde_json::Value| {
        server
            .request("POST", "/p/work/mcp")
            .bearing(token)
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with_body(body.to_string().as_bytes())
    };
    let opened = server.send(&message(&token, &hello())).is(200);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let within = |token: &str| message(token, &list).with("Mcp-Session-Id", &session);
    let tools = server.send(&within(&token)).is(200);
    assert!(
        tools.body.contains("\"add\"") && !tools.body.contains("\"delete\""),
        "{tools:?}"
    );
    assert!(!tools.body.contains("\"mine\""), "{tools:?}");
    server.send(&within(&other)).is(404);
    // Other rights are another caller: the client begins anew.
    team.manage(&["user", "rights", "ben", "work:read"]);
    server.send(&within(&token)).is(404);
}
