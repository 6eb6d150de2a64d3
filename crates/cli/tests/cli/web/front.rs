//! The front: the link that signs in once, the cookie, and the headers of every response.

use loci_testkit::TempHome;

use super::content::{SECRET_TEXT, home_with_sample_palace};
use super::running::WebServer;
use super::scene::WebScene;
use crate::mcp_http::wire::{Answer, Ask, Wire};

/// The headers of every response, whatever it is.
const SECURITY_HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
];

/// Checks the headers that every response has.
#[track_caller]
pub(crate) fn check_headers(answer: &Answer) {
    for (name, value) in SECURITY_HEADERS {
        assert_eq!(answer.header(name), Some(value), "{answer:?}");
    }
    let policy = answer.header("content-security-policy").unwrap();
    let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ] {
        assert!(rules.contains(&rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let caching = answer.header("cache-control").unwrap();
    assert!(
        ["no-store", "private, max-age=31536000, immutable"].contains(&caching),
        "{answer:?}"
    );
    assert!(
        answer.names().all(|name| !name.starts_with("access-control")),
        "{answer:?}"
    );
    assert_eq!(answer.header("server"), None);
}

/// Returns the path of each file that a page is made of.
fn assets_of(page: &str) -> Vec<String> {
    let parts = page.split("\"/assets/").skip(1);
    parts
        .map(|rest| format!("/assets/{}", rest.split('"').next().unwrap()))
        .collect()
}

#[test]
fn every_response_has_the_security_headers() {
    let scene = WebScene::start(&[]);
    let (server, visitor) = (&scene.server, scene.visitor());
    let page = visitor.get("/").is(200);
    let assets = assets_of(&page.body);
    assert_eq!(assets.len(), 3, "{}", page.body);
    let ask = |ask: &Ask| Wire::open(server.address).ask(ask);
    let form = format!("form_secret={}&theme=dark&back=%2Fmap", visitor.form_secret());
    let mut answers = vec![
        (200, page),
        (303, visitor.get("/search")),
        (404, visitor.get("/nothing")),
        (404, visitor.get("/assets/loci-000000000000.js")),
        (400, visitor.get("/a/../b")),
        (400, visitor.get("/list?cursor=x")),
        (405, ask(&visitor.request("DELETE", "/map"))),
        (405, visitor.get("/undo")),
        (401, ask(&server.ask("GET", "/"))),
        (401, ask(&server.ask("GET", "/sign-in?key=wrong"))),
        (403, ask(&Ask::bare("GET", "/").with("Host", "evil.example"))),
        (400, ask(&Ask::bare("GET", "/"))),
        (303, ask(&visitor.form("/theme", &form))),
        (
            409,
            ask(&visitor.form("/theme", "theme=dark&form_secret=guessed")),
        ),
        (
            415,
            ask(&visitor
                .form("/theme", "{}")
                .having("Content-Type", "application/json")),
        ),
        (
            411,
            ask(&visitor
                .request("POST", "/theme")
                .with("Transfer-Encoding", "chunked")),
        ),
        (
            413,
            ask(&visitor.form("/theme", "").having("Content-Length", "99999999999")),
        ),
    ];
    answers.extend(assets.iter().map(|path| (200, visitor.get(path))));
    for (status, answer) in answers {
        check_headers(&answer.is(status));
    }
    for path in &assets {
        assert!(
            visitor
                .get(path)
                .header("cache-control")
                .unwrap()
                .contains("immutable")
        );
    }
    assert_eq!(visitor.get("/").header("cache-control"), Some("no-store"));
}

#[test]
fn a_link_signs_in_once_and_its_cookie_is_out_of_the_reach_of_scripts_and_other_sites() {
    let scene = WebScene::start(&[]);
    let server = &scene.server;
    let target = server.link.strip_prefix(&server.url("")).unwrap();
    let open = |target: &str| Wire::open(server.address).ask(&server.ask("GET", target));
    open("/sign-in").is(401);
    open("/sign-in?key=").is(401);
    open(&target[..target.len() - 1]).is(401);
    open(&format!("{target}0")).is(401);
    let answer = open(target).is(303);
    assert_eq!(answer.header("location"), Some("/"));
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    let start = format!("loci-{}=", server.address.port());
    assert!(
        pair.strip_prefix(&start).is_some_and(|secret| secret.len() == 64),
        "{cookie}"
    );
    let again = open(target).is(401);
    assert!(
        again.header("set-cookie").is_none() && again.body.contains("used already"),
        "{again:?}"
    );
    let signed_in = server.ask("GET", target).with("Cookie", pair);
    let answer = Wire::open(server.address).ask(&signed_in).is(303);
    assert_eq!(answer.header("set-cookie"), None);
}

#[test]
fn what_is_not_a_person_at_a_browser_does_not_use_up_the_link() {
    let server = WebServer::start(&home_with_sample_palace(), &[]);
    let target = server.link.strip_prefix(&server.url("")).unwrap();
    for (headers, status) in [
        (&[("Sec-Purpose", "prefetch")][..], 503),
        (&[("Sec-Purpose", "prefetch;prerender")], 503),
        (&[("Purpose", "prefetch")], 503),
        (&[("Purpose", "PREVIEW")], 503),
        (&[("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "no-cors")], 503),
        (
            &[
                ("Sec-Fetch-Site", "same-origin"),
                ("Sec-Fetch-Mode", "cors"),
                ("Sec-Fetch-Dest", "empty"),
            ],
            503,
        ),
        (
            &[
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "iframe"),
            ],
            403,
        ),
        (
            &[
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "no-cors"),
                ("Sec-Fetch-Dest", "image"),
            ],
            403,
        ),
    ] {
        let ask = headers
            .iter()
            .fold(server.ask("GET", target), |ask, (name, value)| {
                ask.with(name, value)
            });
        let answer = Wire::open(server.address).ask(&ask).is(status);
        assert_eq!(answer.header("set-cookie"), None, "{headers:?}");
    }
    for method in ["HEAD", "POST", "PUT", "OPTIONS"] {
        let mut wire = Wire::open(server.address);
        wire.send(&server.ask(method, target).with("Content-Length", "0").bytes());
        let head = wire.head().unwrap();
        assert!(
            [401, 405].contains(&head.status) && head.header("set-cookie").is_none(),
            "{head:?}"
        );
    }
    // A link in a chat or a mail: the page that follows is one of our own, so that its requests carry the cookie.
    let from_elsewhere = server
        .ask("GET", target)
        .with("Sec-Fetch-Site", "cross-site")
        .with("Sec-Fetch-Mode", "navigate")
        .with("Sec-Fetch-Dest", "document");
    let answer = Wire::open(server.address).ask(&from_elsewhere).is(200);
    assert!(
        answer.header("set-cookie").is_some() && answer.body.contains("url=/\""),
        "{answer:?}"
    );
}

#[test]
fn without_the_cookie_every_address_shows_the_same_page() {
    let scene = WebScene::start(&[]);
    let (server, visitor) = (&scene.server, scene.visitor());
    let assets = assets_of(&visitor.get("/").body);
    let fixed = Wire::open(server.address)
        .ask(&server.ask("GET", "/"))
        .is(401)
        .body;
    assert!(
        fixed.contains("loci web") && !fixed.contains("garden") && !fixed.contains(SECRET_TEXT),
        "{fixed}"
    );
    let other_port = visitor.cookie.replacen("loci-", "loci-1", 1);
    let wrong = format!("{}0", visitor.cookie);
    let paths = [
        "/",
        "/search?q=roof",
        "/list",
        "/map",
        "/drawer?id=roof-1",
        "/export/file",
        "/activity/feed",
        "/nothing",
        "/%2e%2e/etc",
        "//",
        "/favicon.ico",
    ];
    for target in paths.into_iter().chain(assets.iter().map(String::as_str)) {
        for cookie in [
            None,
            Some("loci=1"),
            Some(other_port.as_str()),
            Some(wrong.as_str()),
        ] {
            for method in ["GET", "POST"] {
                let ask = server
                    .ask(method, target)
                    .with("Origin", &server.url(""))
                    .with_body(b"");
                let ask = cookie
                    .into_iter()
                    .fold(ask, |ask, cookie| ask.with("Cookie", cookie));
                let answer = Wire::open(server.address).ask(&ask).is(401);
                assert_eq!(answer.body, fixed, "{method} {target}");
                assert_eq!(answer.header("set-cookie"), None);
            }
        }
    }
}

#[test]
fn a_head_is_answered_like_a_get_without_its_body() {
    let scene = WebScene::start(&[]);
    let visitor = scene.visitor();
    for target in ["/", "/map", "/nothing", "/assets/none.css"] {
        let whole = visitor.get(target);
        let mut wire = Wire::open(scene.server.address);
        wire.send(
            &visitor
                .request("HEAD", target)
                .with("Connection", "close")
                .bytes(),
        );
        let head = wire.head().unwrap();
        check_headers(&head);
        assert_eq!(head.status, whole.status, "{target}");
        assert_eq!(
            head.header("content-length"),
            whole.header("content-length"),
            "{target}"
        );
        assert_eq!(wire.rest(), b"", "{target}");
    }
}

#[test]
fn two_servers_of_one_machine_do_not_sign_each_other_out() {
    let home: TempHome = home_with_sample_palace();
    let (one, other) = (WebServer::start(&home, &[]), WebServer::start(&home, &[]));
    let (first, second) = (one.sign_in(), other.sign_in());
    let both = format!("{}; {}", first.cookie, second.cookie);
    for (server, visitor, foreign) in [(&one, &first, &second), (&other, &second, &first)] {
        let ask =
            |cookie: &str| Wire::open(server.address).ask(&server.ask("GET", "/map").with("Cookie", cookie));
        ask(&both).is(200);
        ask(&visitor.cookie).is(200);
        ask(&foreign.cookie).is(401);
    }
}
