//! Servers that are slow, busy, broken or gone: what is tried again, what is not, and what is said.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use loci_core::{Embedder, Error, ErrorKind};
use loci_embed::http::{EmbeddingApi, RequestLimits};
use loci_testkit::SeededRandom;
use serde_json::{Value, json};

use super::server::{DIMENSION, Reply, Request, TestServer, ollama, openai, reply, vector};
use super::{config, embedder, limited};

/// The error of three passages at a server with this behaviour, how often it was asked, and how often it was waited.
fn fails(handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> (Error, usize, usize) {
    let server = TestServer::start(handler);
    let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let error = embedder.embed_passages(&["one", "two", "three"]).unwrap_err();
    assert!(
        error.hint_text().is_some_and(|hint| hint.contains("nothing was")),
        "{error:?}"
    );
    (error, server.requests().len(), book.pauses().len())
}

/// Checks the message that every failure of a batch must have.
fn names_the_batch(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let begin =
        "the embedding server \"desk\" (model \"bag-of-words\") failed in batch 1 of 1 (texts 0..3 of 3): ";
    assert!(error.message().starts_with(begin), "{error}");
}

fn spoiled(spoil: impl Fn(&mut Value) + Send + Sync + 'static) -> Error {
    let (error, asked, _) = fails(move |_, request| {
        let mut answer = openai(request);
        spoil(&mut answer);
        reply(200, &answer)
    });
    assert_eq!(asked, 1, "a wrong answer is not asked for again");
    names_the_batch(&error);
    error
}

fn fitting(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn what_passes_by_itself_is_tried_again() {
    for status in [408, 429, 500, 502, 503, 504] {
        let server = TestServer::start(move |before, request| match before {
            0 | 1 => reply(status, &json!({"error": "busy"})),
            _ => reply(200, &openai(request)),
        });
        let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
        assert_eq!(embedder.embed_query("sea").unwrap(), vector("sea"), "{status}");
        assert_eq!(server.requests().len(), 3);
        let pauses = book.pauses();
        assert_eq!(pauses.len(), 2);
        for (pause, full) in pauses.iter().zip([250, 500].map(Duration::from_millis)) {
            assert!(*pause >= full / 2 && *pause <= full, "{pauses:?}");
        }
    }
}

#[test]
fn it_is_given_up_after_the_last_attempt() {
    let (error, asked, waited) = fails(|_, _| reply(503, &json!({"error": {"message": "loading model"}})));
    assert_eq!((asked, waited), (5, 4));
    names_the_batch(&error);
    assert!(
        error
            .message()
            .ends_with("it answered 503: loading model, after 5 attempts"),
        "{error}"
    );
}

#[test]
fn the_server_says_when_to_come_back() {
    for (said, waited) in [("7", 7), ("999999999999", 60)] {
        let server = TestServer::start(move |before, request| match before {
            0 => Reply::Answer(429, format!("Retry-After: {said}\r\n"), Vec::new()),
            _ => reply(200, &openai(request)),
        });
        let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
        embedder.embed_passages(&["sea"]).unwrap();
        assert_eq!(book.pauses(), [Duration::from_secs(waited)]);
    }
    let server = TestServer::start(|before, request| match before {
        0 => Reply::Answer(
            503,
            "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n".into(),
            Vec::new(),
        ),
        _ => reply(200, &openai(request)),
    });
    let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
    embedder.embed_passages(&["sea"]).unwrap();
    assert!(
        book.pauses()[0] <= Duration::from_millis(250),
        "a date is not understood"
    );
}

#[test]
fn all_attempts_together_have_an_end() {
    let server = TestServer::start(|_, _| Reply::Answer(503, "Retry-After: 60\r\n".into(), Vec::new()));
    let limits = RequestLimits {
        total: Duration::from_secs(100),
        ..RequestLimits::default()
    };
    let (embedder, book) = limited(config(&server.url(), EmbeddingApi::OpenAi), limits);
    let error = embedder.embed_passages(&["sea"]).unwrap_err();
    assert!(error.message().contains("after 2 attempts"), "{error}");
    assert_eq!(book.pauses(), [Duration::from_secs(60)]);
}

#[test]
fn a_refusal_is_final() {
    for status in [400, 401, 403, 404, 405, 422, 501] {
        let (error, asked, waited) = fails(move |_, _| reply(status, &json!({"error": "no such thing"})));
        names_the_batch(&error);
        assert_eq!((asked, waited), (1, 0), "{status}");
        assert!(error.message().contains(&status.to_string()), "{error}");
    }
}

#[test]
fn what_a_server_says_is_shown_on_one_short_line() {
    let long = format!("\u{1b}[31mbad\r\n\u{7}input {}", "x".repeat(5000));
    let (error, ..) = fails(move |_, _| reply(400, &json!({"error": long})));
    assert!(
        error.message().contains("it answered 400: [31mbad input xxx"),
        "{error}"
    );
    assert!(!error.message().chars().any(char::is_control), "{error}");
    assert!(error.message().len() < 400, "{error}");
}

#[test]
fn a_missing_model_is_said_so() {
    let (error, ..) = fails(|_, _| reply(404, &json!({"error": "model \"bag-of-words\" not found"})));
    assert!(
        error
            .message()
            .contains("it answered 404: model \"bag-of-words\" not found"),
        "{error}"
    );
    assert!(error.hint_text().unwrap().contains("has the model"), "{error:?}");
}

#[test]
fn a_batch_that_is_too_much_is_halved() {
    for (status, body) in [
        (413, json!({"error": "Payload Too Large"})),
        (
            400,
            json!({"error": {"message": "input too long for the context"}}),
        ),
    ] {
        let server = TestServer::start(move |_, request| match request.texts().len() {
            1..=3 => reply(200, &openai(request)),
            _ => reply(status, &body),
        });
        let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
        let texts: Vec<_> = (0..13).map(|n| format!("text number {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let expect: Vec<_> = texts.iter().map(|text| vector(text)).collect();
        assert_eq!(embedder.embed_passages(&texts).unwrap(), expect);
        let sizes: Vec<_> = server
            .requests()
            .iter()
            .map(|request| request.texts().len())
            .collect();
        assert_eq!(sizes, [13, 6, 3, 3, 7, 3, 4, 2, 2]);
        assert!(book.pauses().is_empty());
    }
}

#[test]
fn a_text_that_is_too_long_alone_is_named() {
    let server = TestServer::start(|_, request| {
        if request.texts().iter().any(|text| text.len() > 100) {
            return Reply::Answer(413, String::new(), Vec::new());
        }
        reply(200, &ollama(request))
    });
    let (embedder, _) = embedder(&server.url(), EmbeddingApi::Ollama);
    let long = "long ".repeat(40);
    let error = embedder
        .embed_passages(&["a", "b", "c", "d", "e", &long, "g"])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.message().contains("text 5 of 7 with 200 bytes is too long"),
        "{error}"
    );
    assert!(
        error.message().contains("\"desk\"") && error.message().contains("413"),
        "{error}"
    );
    assert_eq!(error.context(), [("text", "5".to_owned())]);
}

#[test]
fn answers_that_cannot_be_right_are_refused() {
    let check = |spoil: fn(&mut Value), expect: &str| {
        let error = spoiled(spoil);
        assert!(error.message().contains(expect), "{error}");
    };
    check(|answer| *answer = json!([1, 2]), "does not follow the openai API");
    check(
        |answer| *answer = json!({"error": "Unexpected endpoint"}),
        "Unexpected endpoint",
    );
    check(
        |answer| drop(answer["data"].as_array_mut().unwrap().pop()),
        "2 vectors for 3 texts",
    );
    check(
        |answer| answer["data"][1]["embedding"] = json!([1.0, 2.0]),
        "the vector of text 1 has 2 values, not 64",
    );
    check(
        |answer| answer["data"][2]["embedding"][9] = Value::Null,
        "text 2 is not a finite number at 9",
    );
    check(|answer| answer["data"][2]["index"] = json!(1), "index 1 twice");
    check(
        |answer| answer["data"][2]["index"] = json!(3),
        "index 3 among 3 vectors",
    );
}

#[test]
fn what_is_no_json_is_refused() {
    for garbage in [
        &b"<html>\x1b[31mhello"[..],
        b"",
        b"\xff\xfe\x00",
        b"{\"data\":[{\"index\":0,\"embedd",
    ] {
        let (error, asked, _) = fails(move |_, _| Reply::Bytes(fitting(garbage)));
        names_the_batch(&error);
        assert_eq!(asked, 1);
        assert!(!error.message().contains('\x1b'), "{error}");
    }
}

#[test]
fn what_is_no_http_is_refused() {
    for garbage in [
        &b"SSH-2.0-OpenSSH_9.6\r\n"[..],
        b"HTTP/1.1 9999 What\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let (error, ..) = fails(move |_, _| Reply::Bytes(garbage.to_vec()));
        names_the_batch(&error);
    }
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let server = TestServer::start(|before, request| {
        let whole = fitting(openai(request).to_string().as_bytes());
        Reply::Bytes(match before {
            0 => whole[..whole.len() - 1].to_vec(),
            1 => whole[..20].to_vec(),
            2 => Vec::new(),
            _ => whole,
        })
    });
    let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
    assert_eq!(embedder.embed_query("sea").unwrap(), vector("sea"));
    assert_eq!(book.pauses().len(), 3);
    let (error, asked, _) =
        fails(|_, _| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec()));
    names_the_batch(&error);
    assert_eq!(asked, 5);
    assert!(
        error
            .message()
            .contains("closed the connection too early, after 5 attempts"),
        "{error}"
    );
}

#[test]
fn an_answer_without_end_is_refused() {
    let server = TestServer::start(|_, _| Reply::Answer(200, String::new(), vec![b' '; 100_001]));
    let limits = RequestLimits {
        answer_bytes: 100_000,
        ..RequestLimits::default()
    };
    let (embedder, book) = limited(config(&server.url(), EmbeddingApi::OpenAi), limits);
    let error = embedder.embed_query("sea").unwrap_err();
    assert!(error.message().contains("longer than 100000 bytes"), "{error}");
    assert!(book.pauses().is_empty());
}

#[test]
fn a_server_that_never_answers_is_left() {
    let server = TestServer::start(|_, _| Reply::Silence);
    let limits = RequestLimits {
        request: Duration::from_millis(60),
        ..RequestLimits::default()
    };
    let (embedder, book) = limited(config(&server.url(), EmbeddingApi::OpenAi), limits);
    let error = embedder.embed_query("sea").unwrap_err();
    assert!(
        error
            .message()
            .contains("did not answer in time, after 5 attempts"),
        "{error}"
    );
    assert_eq!(book.pauses().len(), 4);
}

/// Limits under which a query gives up soon and a batch of passages would wait for minutes.
fn hasty() -> RequestLimits {
    RequestLimits {
        query: Duration::from_millis(80),
        ..RequestLimits::default()
    }
}

#[test]
fn a_query_gives_up_long_before_a_batch_would() {
    let server = TestServer::start(|_, _| Reply::Silence);
    let (embedder, book) = limited(config(&server.url(), EmbeddingApi::OpenAi), hasty());
    let error = embedder.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("did not answer in time"), "{error}");
    assert!(book.pauses().is_empty(), "no time was left for a second attempt");
}

#[test]
fn a_query_gives_up_on_a_server_that_drips() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Each byte comes in time, the answer never.
            let mut all = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
            while all.is_ok() {
                std::thread::sleep(Duration::from_millis(10));
                all = stream.write_all(b" ");
            }
        }
    });
    let (embedder, _) = limited(config(&url, EmbeddingApi::OpenAi), hasty());
    let error = embedder.embed_query("sea").unwrap_err();
    assert!(error.message().contains("did not answer in time"), "{error}");
}

#[test]
fn a_server_that_goes_away_between_batches_is_said_so() {
    let server = TestServer::start(|_, request| Reply::Last(fitting(openai(request).to_string().as_bytes())));
    let (embedder, book) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let texts: Vec<_> = (0..65).map(|n| format!("text number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let error = embedder.embed_passages(&texts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let expect = format!(
        "batch 2 of 2 (texts 64..65 of 65): no server is listening at {}, after 5",
        server.url()
    );
    assert!(error.message().contains(&expect), "{error}");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(book.pauses().len(), 4);
}

#[test]
fn where_nobody_listens_it_is_said_so() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (embedder, book) = embedder(&format!("http://{free}"), EmbeddingApi::OpenAi);
    let error = embedder.embed_query("sea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message().contains(&format!(
            "no server is listening at http://{free}, after 5 attempts"
        )),
        "{error}"
    );
    assert_eq!(book.pauses().len(), 4);
}

#[test]
fn a_redirect_is_not_followed() {
    let trap = TestServer::start(|_, _| reply(404, &json!({})));
    for status in [301, 302, 303, 307, 308] {
        let there = format!("Location: {}/v1/embeddings\r\n", trap.url());
        let (error, asked, _) = fails(move |_, _| Reply::Answer(status, there.clone(), Vec::new()));
        names_the_batch(&error);
        assert_eq!(asked, 1);
        assert!(error.message().contains("which is not followed"), "{error}");
    }
    assert_eq!(trap.connections(), 0);
}

#[test]
fn no_bytes_make_it_panic_or_take_what_is_no_vector() {
    let server = TestServer::start(|before, request| {
        let chunked = before % 2 == 1;
        let body = openai(request).to_string();
        let mut bytes = if chunked {
            format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            )
            .into_bytes()
        } else {
            fitting(body.as_bytes())
        };
        // The same bytes are spoiled in every run: a step through them, and what is put there.
        let mut random = SeededRandom::new(before as u64);
        let mut next = |below: usize| random.below(below);
        for _ in 0..next(4) {
            let near = if next(2) == 0 { 90 } else { bytes.len() };
            let at = next(near.min(bytes.len()));
            match next(3) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes.truncate(at + 1),
                _ => drop(bytes.splice(at..at, *b"\r\n")),
            }
        }
        Reply::Bytes(bytes)
    });
    let once = RequestLimits {
        attempts: 1,
        ..RequestLimits::default()
    };
    let (embedder, _) = limited(config(&server.url(), EmbeddingApi::OpenAi), once);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..400 {
        match embedder.embed_query("sea") {
            Ok(found) => {
                assert!(found.len() == DIMENSION && found.iter().all(|value| value.is_finite()));
                good += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                bad += 1;
            }
        }
    }
    assert!(good > 40 && bad > 40, "{good} answers passed and {bad} did not");
}
