//! Texts and keys leave this machine only as permitted, and keys appear nowhere but in their header.

use std::process::Command;
use std::sync::Arc;

use loci_core::{Embedder, Error, ErrorKind};
use loci_embed::http::probe::probe_with_limits;
use loci_embed::http::{EmbeddingApi, EmbeddingServer, RequestLimits, ServerCandidate};
use serde_json::json;

use super::certificate::Certificate;
use super::server::{Reply, TestServer, ollama, openai, reply, vector};
use super::{Book, config, embedder, limited};

const KEY: &str = "sk-5ecret-0123456789";

/// Runs this very test again in a process with these variables; true in that process.
fn inside(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var("LOCI_TEST_INSIDE").is_ok_and(|name| name == test) {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([test, "--exact"]).env("LOCI_TEST_INSIDE", test);
    again.envs(variables.iter().copied());
    let done = again.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    false
}

fn with_key(url: &str, api: EmbeddingApi) -> (EmbeddingServer, Arc<Book>) {
    let mut config = config(url, api);
    config.key_env = Some("LOCI_TEST_KEY".into());
    limited(config, RequestLimits::default())
}

fn tells_no_key(error: &Error) {
    for shown in [format!("{error}"), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!shown.contains("5ecret"), "{shown}");
    }
}

#[test]
fn a_key_is_sent_once_in_each_request_and_only_in_its_header() {
    let name = "http::secrets::a_key_is_sent_once_in_each_request_and_only_in_its_header";
    if !inside(name, &[("LOCI_TEST_KEY", "  sk-5ecret-0123456789\n")]) {
        return;
    }
    let server = TestServer::start(|before, request| match (before, request.line.as_str()) {
        (0, _) => reply(503, &json!({})),
        (_, "GET /api/tags") => reply(200, &json!({"models": []})),
        _ => reply(200, &ollama(request)),
    });
    let (keyed, _) = with_key(&server.url(), EmbeddingApi::Ollama);
    keyed.embed_passages(&["one", "two"]).unwrap();
    let wanted = ServerCandidate {
        name: "desk".into(),
        url: server.url(),
        model: "bag-of-words".into(),
        key_env: Some("LOCI_TEST_KEY".into()),
        ..ServerCandidate::default()
    };
    probe_with_limits(&wanted, RequestLimits::default(), Arc::new(Book::default())).unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in requests {
        let header = format!("authorization: Bearer {KEY}\r\n");
        assert!(request.head.contains(&header), "{}", request.head);
        assert_eq!(request.head.matches("5ecret").count(), 1);
        assert!(!String::from_utf8_lossy(&request.body).contains("5ecret"));
    }
    assert!(!format!("{keyed:?}").contains("5ecret"));
}

#[test]
fn a_key_is_in_no_message_even_where_the_server_repeats_it() {
    let name = "http::secrets::a_key_is_in_no_message_even_where_the_server_repeats_it";
    if !inside(name, &[("LOCI_TEST_KEY", KEY)]) {
        return;
    }
    for status in [200, 301, 400, 401, 403, 404, 413, 418, 500, 503] {
        let server = TestServer::start(move |_, _| {
            let body =
                json!({"error": {"message": format!("Incorrect API key {KEY}, sk-5ecret*** is wrong")}});
            let body = if matches!(status, 401 | 403) {
                body.to_string()
            } else {
                format!("you sent {KEY}")
            };
            let more = format!("Location: http://localhost/{KEY}\r\nX-Key: {KEY}\r\n");
            Reply::Answer(status, more, body.into_bytes())
        });
        let (keyed, _) = with_key(&server.url(), EmbeddingApi::OpenAi);
        let error = keyed.embed_query("sea").unwrap_err();
        tells_no_key(&error);
        if status != 200 {
            assert!(error.message().contains(&status.to_string()), "{error}");
        }
    }
    let echo = TestServer::start(|_, _| reply(200, &json!({"data": format!("Bearer {KEY}")})));
    let (keyed, _) = with_key(&echo.url(), EmbeddingApi::OpenAi);
    tells_no_key(&keyed.embed_query("sea").unwrap_err());
}

#[test]
fn a_wrong_key_is_said_so_with_the_variable_to_set() {
    let name = "http::secrets::a_wrong_key_is_said_so_with_the_variable_to_set";
    if !inside(name, &[("LOCI_TEST_KEY", KEY)]) {
        return;
    }
    let server = TestServer::start(|_, _| reply(401, &json!({"error": "unauthorized"})));
    let (keyed, book) = with_key(&server.url(), EmbeddingApi::OpenAi);
    let error = keyed.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("401"), "{error}");
    assert!(error.hint_text().unwrap().contains("LOCI_TEST_KEY"), "{error:?}");
    assert!(book.pauses().is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn without_its_key_nothing_is_sent() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (keyed, _) = with_key(&server.url(), EmbeddingApi::OpenAi);
    let error = keyed.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.message().contains("LOCI_TEST_KEY for its key is not set"),
        "{error}"
    );
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_key_no_header_can_hold_is_refused() {
    let name = "http::secrets::a_key_no_header_can_hold_is_refused";
    if !inside(name, &[("LOCI_TEST_KEY", "sk-5ecret\r\nX-Other: 1")]) {
        return;
    }
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (keyed, _) = with_key(&server.url(), EmbeddingApi::OpenAi);
    let error = keyed.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    tells_no_key(&error);
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_key_given_for_its_variable_is_refused_and_not_repeated() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let wanted = ServerCandidate {
        name: "desk".into(),
        url: server.url(),
        model: "bag-of-words".into(),
        key_env: Some(KEY.into()),
        ..ServerCandidate::default()
    };
    let error = probe_with_limits(&wanted, RequestLimits::default(), Arc::new(Book::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    tells_no_key(&error);
    assert_eq!(server.connections(), 0);
}

#[test]
fn what_is_elsewhere_is_refused_without_leave() {
    for url in [
        "http://192.0.2.1",
        "https://192.0.2.1:8443/v1",
        "http://embed.invalid:11434",
        "http://localhost.embed.invalid",
        "http://[2001:db8::1]",
    ] {
        let mut config = config(url, EmbeddingApi::OpenAi);
        let error = EmbeddingServer::new(config.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains("not this machine"), "{error}");
        config.allow_remote = true;
        assert!(EmbeddingServer::new(config.clone()).is_ok(), "{url}");
        config.key_env = Some("LOCI_TEST_KEY".into());
        let keyed = EmbeddingServer::new(config);
        assert_eq!(keyed.is_ok(), url.starts_with("https"), "{url}");
    }
}

#[test]
fn proxies_are_for_elsewhere_only() {
    let name = "http::secrets::proxies_are_for_elsewhere_only";
    let proxy = TestServer::start(|_, _| reply(502, &json!({})));
    let variables = [
        "ALL_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "all_proxy",
        "https_proxy",
        "http_proxy",
    ];
    let mut all: Vec<(&str, &str)> = vec![("NO_PROXY", ""), ("no_proxy", "")];
    let url = proxy.url();
    all.extend(variables.map(|variable| (variable, url.as_str())));
    if !inside(name, &all) {
        let asked: Vec<_> = proxy.requests().into_iter().map(|request| request.line).collect();
        assert_eq!(asked, ["CONNECT embed.invalid:80"]);
        return;
    }
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    for host in ["localhost", "127.0.0.1"] {
        let (here, _) = embedder(&format!("http://{host}:{}", server.port()), EmbeddingApi::OpenAi);
        assert_eq!(here.embed_query("sea").unwrap(), vector("sea"));
    }
    let mut config = config("http://embed.invalid", EmbeddingApi::OpenAi);
    config.allow_remote = true;
    let (elsewhere, _) = limited(config, RequestLimits::default());
    let error = elsewhere.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn a_certificate_must_be_one_this_machine_trusts() {
    let name = "http::secrets::a_certificate_must_be_one_this_machine_trusts";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("root.pem");
    let path = file.to_str().unwrap().to_owned();
    std::fs::write(&file, Certificate::new().pem()).unwrap();
    if !inside(name, &[("SSL_CERT_FILE", &path), ("LOCI_TEST_KEY", KEY)]) {
        return;
    }
    let trusted = Certificate::new();
    std::fs::write(std::env::var("SSL_CERT_FILE").unwrap(), trusted.pem()).unwrap();
    let server = TestServer::wrapped(trusted.wrap(), |_, request| reply(200, &openai(request)));
    let (good, _) = with_key(
        &format!("https://127.0.0.1:{}", server.port()),
        EmbeddingApi::OpenAi,
    );
    assert_eq!(good.embed_query("sea").unwrap(), vector("sea"));
    assert!(server.requests()[0].head.contains(KEY));

    let stranger = TestServer::wrapped(Certificate::new().wrap(), |_, request| {
        reply(200, &openai(request))
    });
    let (untrusted, book) = with_key(
        &format!("https://127.0.0.1:{}", stranger.port()),
        EmbeddingApi::OpenAi,
    );
    let error = untrusted.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("invalid peer certificate"), "{error}");
    assert!(book.pauses().is_empty());

    let plain = TestServer::start(|_, request| reply(200, &openai(request)));
    let (unwrapped, _) = with_key(
        &format!("https://127.0.0.1:{}", plain.port()),
        EmbeddingApi::OpenAi,
    );
    assert_eq!(
        unwrapped.embed_query("sea").unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    assert!(stranger.requests().is_empty() && plain.requests().is_empty());
}
