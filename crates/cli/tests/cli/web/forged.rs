//! Forged requests, each of which would act or read if it were believed, and each of which is refused.

use super::content::SECRET_TEXT;
use super::front::check_headers;
use super::running::RawVisitor;
use super::scene::WebScene;
use crate::mcp_http::wire::{Ask, Wire};

/// What is forged, the statuses that refuse it, and the request.
type Forgery = (String, &'static [u16], Ask);

fn forge(forgeries: &mut Vec<Forgery>, what: impl Into<String>, refusals: &'static [u16], ask: Ask) {
    forgeries.push((what.into(), refusals, ask));
}

/// Names by which other sites could make a browser call the server.
fn forged_hosts(visitor: &RawVisitor, port: u16, into: &mut Vec<Forgery>) {
    let other = port.wrapping_add(1);
    for host in [
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("127.0.0.1:{other}"),
        format!("localhost:{other}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        "127.0.0.1:80".to_owned(),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f.1:{port}"),
        format!("localhost.:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("user@127.0.0.1:{port}"),
        format!("127.0.0.1:{port}/"),
        format!("127.0.0.1:{port}, evil.example"),
        format!("127.0.0.1:0{port}"),
        String::new(),
    ] {
        let ask = visitor.request("GET", "/drawer?id=roof-1").having("Host", &host);
        forge(into, format!("Host {host:?}"), &[400, 403], ask);
    }
    let twice = visitor.request("GET", "/list").with("Host", "evil.example");
    forge(into, "two Hosts", &[400], twice);
    let target = format!("http://evil.example:{port}/list");
    forge(
        into,
        "a target of another site",
        &[403],
        visitor.request("GET", &target),
    );
    let target = format!("http://evil@127.0.0.1:{port}/list");
    forge(
        into,
        "a target with a user",
        &[400, 403],
        visitor.request("GET", &target),
    );
}

/// Forms that a page of another site could make a browser send with the cookie.
fn forged_forms(visitor: &RawVisitor, port: u16, secret: &str, into: &mut Vec<Forgery>) {
    let body = format!("form_secret={secret}&theme=dark");
    let own = visitor.form("/theme", &body);
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        String::new(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port.wrapping_add(1)),
        "http://127.0.0.1".to_owned(),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}.evil.example"),
        format!("http://127.0.0.1:{port} http://evil.example"),
        "file://".to_owned(),
        "chrome-extension://abcdefghijklmnop".to_owned(),
    ] {
        let ask = own
            .clone()
            .having("Origin", &origin)
            .having("Sec-Fetch-Site", "cross-site");
        forge(into, format!("a form from {origin:?}"), &[403], ask);
        // A browser that does not say where a request comes from.
        let old = own.clone().having("Origin", &origin).without("Sec-Fetch-Site");
        forge(
            into,
            format!("a form from {origin:?} of an old browser"),
            &[403],
            old,
        );
    }
    for site in ["cross-site", "same-site"] {
        let ask = own.clone().having("Sec-Fetch-Site", site);
        forge(into, format!("a form that is {site}"), &[403], ask);
    }
    let bare = own.clone().without("Origin").without("Sec-Fetch-Site");
    forge(into, "a form from nowhere", &[403], bare);
    let typed = own.clone().without("Origin").having("Sec-Fetch-Site", "none");
    forge(into, "a form that a person typed", &[403], typed);
    forge(
        into,
        "two origins",
        &[403],
        own.clone().with("Origin", "http://evil.example"),
    );
    forge(
        into,
        "two sources",
        &[400],
        own.clone().with("Sec-Fetch-Site", "same-origin"),
    );
    forged_types(&own, into);
}

/// The same form under types that no form of ours has.
fn forged_types(own: &Ask, into: &mut Vec<Forgery>) {
    for kind in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json",
        "application/x-www-form-urlencoded-2",
        "",
    ] {
        let ask = own.clone().having("Content-Type", kind);
        forge(into, format!("a form of the type {kind:?}"), &[415], ask);
    }
    forge(
        into,
        "a form without a type",
        &[415],
        own.clone().without("Content-Type"),
    );
    let packed = own.clone().with("Content-Encoding", "gzip");
    forge(into, "a packed form", &[415], packed);
}

/// Forms without the secret of the visit, which only our own pages hold.
fn forged_secrets(visitor: &RawVisitor, secret: &str, into: &mut Vec<Forgery>) {
    let reversed: String = secret.chars().rev().collect();
    for field in [
        String::new(),
        "form_secret=".to_owned(),
        "form_secret=guessed".to_owned(),
        format!("form_secret={}", &secret[1..]),
        format!("form_secret={secret}0"),
        format!("form_secret={}", secret.to_uppercase()),
        format!("form_secret={reversed}"),
        format!("form_secret=&form_secret={secret}"),
        format!("Form_Secret={secret}"),
        format!("form_secret%00={secret}"),
        format!("form_secret={secret}%00"),
    ] {
        for target in ["/theme", "/add", "/delete", "/forget", "/undo", "/job/stop"] {
            let ask = visitor.form(target, &format!("{field}&theme=dark&id=roof-1&text=forged"));
            forge(into, format!("{target} with {field:?}"), &[409], ask);
        }
    }
    let in_query = visitor.form(&format!("/theme?form_secret={secret}"), "theme=dark");
    forge(into, "the secret in the address", &[409], in_query);
}

/// Reading that pages of other sites could cause: images, scripts, frames, links.
fn forged_reading(visitor: &RawVisitor, into: &mut Vec<Forgery>) {
    for (site, mode, dest) in [
        ("cross-site", "no-cors", "image"),
        ("cross-site", "no-cors", "script"),
        ("cross-site", "cors", "empty"),
        ("cross-site", "navigate", "iframe"),
        ("cross-site", "navigate", "document"),
        ("same-site", "no-cors", "script"),
        ("same-site", "navigate", "document"),
        ("same-site", "cors", "empty"),
    ] {
        let ask = visitor
            .request("GET", "/drawer?id=roof-1")
            .with("Sec-Fetch-Site", site);
        let ask = ask.with("Sec-Fetch-Mode", mode).with("Sec-Fetch-Dest", dest);
        forge(into, format!("{dest} by {mode}, {site}"), &[403], ask);
    }
    for origin in ["http://evil.example", "null", ""] {
        let ask = visitor.request("GET", "/drawer?id=roof-1").with("Origin", origin);
        forge(into, format!("reading from {origin:?}"), &[403], ask);
    }
    let asked = visitor
        .request("OPTIONS", "/drawer?id=roof-1")
        .with("Access-Control-Request-Method", "POST");
    forge(
        into,
        "a preflight",
        &[403, 405],
        asked.with("Origin", "http://evil.example"),
    );
    for method in [
        "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "get", "QUERY",
    ] {
        forge(
            into,
            format!("the method {method}"),
            &[400, 403, 405],
            visitor.request(method, "/drawer"),
        );
    }
}

/// Paths that some servers take for files or for other paths.
fn forged_paths(visitor: &RawVisitor, into: &mut Vec<Forgery>) {
    for path in [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../list",
        "/assets/..%2flist",
        "/assets/%2e%2e/list",
        "/assets//list",
        "//list",
        "//evil.example/list",
        "/./list",
        "/list/",
        "/list;x=y",
        "/list%00.css",
        "/list%20",
        "/LIST",
        "/l%69st",
        "/list\\..\\x",
        "/index.html",
        "/.git/config",
        "/palace.db",
        "*",
        "list",
    ] {
        forge(
            into,
            format!("the path {path}"),
            &[400, 403, 404],
            visitor.request("GET", path),
        );
    }
    let long = format!("/{}", "a".repeat(5000));
    forge(into, "a long path", &[400, 414], visitor.request("GET", &long));
}

#[test]
fn every_forged_request_is_refused_and_shows_and_changes_nothing() {
    let scene = WebScene::start(&[]);
    let (visitor, port) = (scene.visitor(), scene.server.address.port());
    let secret = visitor.form_secret();
    let mut forgeries = Vec::new();
    forged_hosts(visitor, port, &mut forgeries);
    forged_forms(visitor, port, &secret, &mut forgeries);
    forged_secrets(visitor, &secret, &mut forgeries);
    forged_reading(visitor, &mut forgeries);
    forged_paths(visitor, &mut forgeries);
    assert!(forgeries.len() >= 150, "{}", forgeries.len());
    let count = || scene.home.json(0, &["count"])["count"].clone();
    let before = count();
    for (what, refusals, ask) in &forgeries {
        let answer = Wire::open(scene.server.address).ask(ask);
        assert!(refusals.contains(&answer.status), "{what}: {answer:?}");
        assert!(
            !answer.body.contains(SECRET_TEXT) && !answer.body.contains("root:"),
            "{what}: {answer:?}"
        );
        assert_eq!(answer.header("set-cookie"), None, "{what}");
        // The rest is answered before any of our code sees it, without a body.
        if !answer.body.is_empty() {
            check_headers(&answer);
        }
    }
    assert_eq!(count(), before);
    assert!(
        visitor
            .get("/drawer?id=roof-1")
            .is(200)
            .body
            .contains(SECRET_TEXT)
    );
    let body = format!("form_secret={secret}&theme=dark");
    let answer = Wire::open(scene.server.address)
        .ask(&visitor.form("/theme", &body))
        .is(303);
    assert!(
        answer.header("set-cookie").unwrap().contains("=dark; Path=/; "),
        "{answer:?}"
    );
}
