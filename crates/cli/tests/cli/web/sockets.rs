//! Bytes that two readers might read differently: request smuggling, pipelining, and heads that are none.

use super::content::SECRET_TEXT;
use super::scene::WebScene;
use crate::mcp_http::wire::Wire;

/// Sends bytes, and returns the statuses of everything that is answered until the server closes, and the whole answer.
#[track_caller]
fn exchange(scene: &WebScene, bytes: &[u8]) -> (Vec<u16>, String) {
    let mut wire = Wire::open(scene.server.address);
    wire.send(bytes);
    let answer = String::from_utf8_lossy(&wire.rest()).into_owned();
    let statuses = answer.split("HTTP/1.1 ").skip(1);
    let statuses = statuses.filter_map(|rest| rest.get(..3)?.parse().ok()).collect();
    (statuses, answer)
}

/// The head of a form of the signed-in visitor, without its end.
fn form_head(scene: &WebScene) -> String {
    let visitor = scene.visitor();
    let bytes = visitor.form("/theme", "").without("Content-Length").bytes();
    String::from_utf8(bytes).unwrap().trim_end().to_owned()
}

/// A request that reads the secret text, with which a smuggled one would show that it was believed.
fn hidden(scene: &WebScene) -> String {
    let ask = scene
        .visitor()
        .request("GET", "/drawer?id=roof-1")
        .with("Connection", "close");
    String::from_utf8(ask.bytes()).unwrap()
}

#[test]
fn a_second_request_in_a_body_is_never_answered() {
    let scene = WebScene::start(&[]);
    let (head, hidden) = (form_head(&scene), hidden(&scene));
    let length = hidden.len();
    let forms = [
        format!("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked, identity\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding:\tchunked\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("X: x\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{hidden}"),
        format!("Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Content-Length: 0, {length}\r\n\r\n{hidden}"),
        format!("Content-Length: +0\r\n\r\n{hidden}"),
        format!("Content-Length: -1\r\n\r\n{hidden}"),
        format!("Content-Length: 0x0\r\n\r\n{hidden}"),
        format!("Content-Length: 0 0\r\n\r\n{hidden}"),
        format!("Content-Length: \r\n\r\n{hidden}"),
        format!("Content-Length: 18446744073709551616\r\n\r\n{hidden}"),
        format!("Content-Length: 99999999999999999999999\r\n\r\n{hidden}"),
        format!("Content-Length:\r\n 0\r\n\r\n{hidden}"),
        format!("Content-Length : 0\r\n\r\n{hidden}"),
        format!("Content-Length\0: 0\r\n\r\n{hidden}"),
        format!("X: a\0b\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("X: a\rContent-Length: 0\r\n\r\n{hidden}"),
        format!(": x\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("no colon\r\nContent-Length: 0\r\n\r\n{hidden}"),
    ];
    for form in forms {
        let (statuses, answer) = exchange(&scene, format!("{head}\r\n{form}").as_bytes());
        assert!(statuses.len() <= 1, "{form}: {answer}");
        assert!(
            statuses.iter().all(|status| (400..500).contains(status)),
            "{form}: {answer}"
        );
        assert!(!answer.contains(SECRET_TEXT), "{form}: {answer}");
    }
}

#[test]
fn a_body_ends_where_its_length_says_whatever_became_of_it() {
    let scene = WebScene::start(&[]);
    let hidden = hidden(&scene);
    // The hidden request is the body of the first, which is refused or ignored; the second is a real one.
    let visitor = scene.visitor();
    let last = visitor
        .request("GET", "/drawer?id=bean-1")
        .with("Connection", "close");
    for first in [
        visitor.form("/theme", &hidden),
        visitor
            .form("/theme", &hidden)
            .having("Content-Type", "text/plain"),
        visitor
            .form("/theme", &hidden)
            .having("Origin", "http://evil.example"),
        visitor.form("/theme", &hidden).without("Cookie"),
        visitor.request("GET", "/map").with_body(hidden.as_bytes()),
        visitor.request("HEAD", "/nothing").with_body(hidden.as_bytes()),
    ] {
        let bytes = [first.bytes(), last.bytes()].concat();
        let (statuses, answer) = exchange(&scene, &bytes);
        assert_eq!((statuses.len(), statuses.last()), (2, Some(&200)), "{answer}");
        assert!(
            answer.contains("runner beans") && !answer.contains(SECRET_TEXT),
            "{answer}"
        );
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let scene = WebScene::start(&[]);
    let visitor = scene.visitor();
    let targets = ["/drawer?id=bean-1", "/nothing", "/drawer?id=roof-1", "/map"];
    let mut bytes = Vec::new();
    for target in targets {
        bytes.extend(visitor.request("GET", target).bytes());
    }
    bytes.extend(
        visitor
            .request("GET", "/list")
            .with("Connection", "close")
            .bytes(),
    );
    let (statuses, answer) = exchange(&scene, &bytes);
    assert_eq!(statuses, [200, 404, 200, 200, 200]);
    let (first, third) = (answer.find("runner beans"), answer.find(SECRET_TEXT));
    assert!(first.is_some() && first < third, "{answer}");
}

#[test]
fn heads_that_are_none_and_other_versions_end_the_connection() {
    let scene = WebScene::start(&[]);
    let visitor = scene.visitor();
    let request = String::from_utf8(visitor.request("GET", "/list").bytes()).unwrap();
    let versioned = |version: &str| request.replacen("HTTP/1.1", version, 1).into_bytes();
    let with = |header: &str| {
        request
            .replacen("\r\n", &format!("\r\n{header}\r\n"), 1)
            .into_bytes()
    };
    let many: String = (0..100).map(|n| format!("X-{n}: 1\r\n")).collect();
    for bytes in [
        b"\0\x01\x02 nonsense\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET /list\r\n\r\n".to_vec(),
        b"GET  /list HTTP/1.1\r\n\r\n".to_vec(),
        versioned("HTTP/1.0"),
        versioned("HTTP/0.9"),
        versioned("HTTP/2.0"),
        versioned("HTTP/1.10"),
        versioned("http/1.1"),
        with(&format!("X-Long: {}", "x".repeat(40 << 10))),
        with(many.trim_end()),
        with("X: a\r\n folded"),
        request
            .replacen("/list", &format!("/list?{}", "q".repeat(70_000)), 1)
            .into_bytes(),
    ] {
        let (statuses, answer) = exchange(&scene, &bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(statuses.len() <= 1, "{shown:?}: {answer}");
        assert!(
            statuses.iter().all(|status| (400..=505).contains(status)),
            "{shown:?}: {answer}"
        );
        assert!(!answer.contains("data-id"), "{shown:?}: {answer}");
    }
    visitor.get("/list").is(200);
}
