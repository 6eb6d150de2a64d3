//! Finding out what a server is, and whether its vectors mean anything.

use std::sync::Arc;

use loci_core::{Embedder, ErrorKind, Result};
use loci_embed::http::probe::probe_with_limits;
use loci_embed::http::{EmbeddingApi, EmbeddingServer, RequestLimits, ServerCandidate, ServerConfig};
use serde_json::json;

use super::server::{DIMENSION, Reply, Request, TestServer, ollama, openai, reply, vector};
use super::{Book, config, embedder, limited};

fn candidate(url: &str) -> ServerCandidate {
    ServerCandidate {
        name: "desk".into(),
        url: url.into(),
        model: "bag-of-words".into(),
        ..ServerCandidate::default()
    }
}

fn ask(candidate: &ServerCandidate) -> Result<ServerConfig> {
    probe_with_limits(candidate, RequestLimits::default(), Arc::new(Book::default()))
}

fn lines(server: &TestServer) -> Vec<String> {
    server
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect()
}

fn digest() -> String {
    "0a".repeat(32)
}

/// A server that speaks as Ollama does, with its model in the given state.
fn like_ollama(digest: String) -> TestServer {
    TestServer::start(move |_, request| match request.line.as_str() {
        "GET /api/tags" => reply(
            200,
            &json!({"models": [{"name": "bag-of-words:latest", "digest": digest}]}),
        ),
        "POST /api/embed" => reply(200, &ollama(request)),
        _ => reply(404, &json!({"error": "404 page not found"})),
    })
}

fn like_openai(request: &Request) -> Reply {
    match request.line.as_str() {
        "POST /v1/embeddings" => reply(200, &openai(request)),
        _ => reply(404, &json!({"detail": "Not Found"})),
    }
}

#[test]
fn ollama_is_recognised_and_pinned_by_its_digest() {
    let server = like_ollama(digest());
    let found = ask(&candidate(&server.url())).unwrap();
    assert_eq!((found.api, found.dimension), (EmbeddingApi::Ollama, DIMENSION));
    assert_eq!(found.revision, Some(digest()));
    assert_eq!(lines(&server), ["GET /api/tags", "POST /api/embed"]);
    let registered = EmbeddingServer::new(found).unwrap();
    assert_eq!(registered.embed_query("sea").unwrap(), vector("sea"));
    assert_eq!(registered.identity().revision, digest());
}

#[test]
fn any_other_server_is_asked_the_common_way() {
    let server = TestServer::start(|_, request| like_openai(request));
    let found = ask(&candidate(&server.url())).unwrap();
    assert_eq!(
        (found.api, found.dimension, found.revision),
        (EmbeddingApi::OpenAi, DIMENSION, None)
    );
    assert_eq!(lines(&server), ["GET /api/tags", "POST /v1/embeddings"]);
}

#[test]
fn what_the_user_says_of_the_api_is_believed() {
    let server = TestServer::start(|_, request| like_openai(request));
    let mut told = candidate(&server.url());
    told.api = Some(EmbeddingApi::OpenAi);
    assert_eq!(ask(&told).unwrap().api, EmbeddingApi::OpenAi);
    let by_path = candidate(&format!("{}/v1/", server.url()));
    assert_eq!(ask(&by_path).unwrap().api, EmbeddingApi::OpenAi);
    assert_eq!(lines(&server), ["POST /v1/embeddings", "POST /v1/embeddings"]);

    let unlisted = TestServer::start(|_, request| match request.line.as_str() {
        "POST /api/embed" => reply(200, &ollama(request)),
        _ => reply(404, &json!({})),
    });
    let mut told = candidate(&unlisted.url());
    told.api = Some(EmbeddingApi::Ollama);
    let found = ask(&told).unwrap();
    assert_eq!((found.api, found.revision), (EmbeddingApi::Ollama, None));
}

#[test]
fn prefixes_are_kept_and_used() {
    let server = TestServer::start(|_, request| like_openai(request));
    let mut wanted = candidate(&format!("{}/v1", server.url()));
    wanted.passage_prefix = "passage: ".into();
    wanted.query_prefix = "query: ".into();
    let found = ask(&wanted).unwrap();
    assert_eq!(
        (found.passage_prefix.as_str(), found.query_prefix.as_str()),
        ("passage: ", "query: ")
    );
    assert!(server.requests()[0].texts()[0].starts_with("passage: "));
}

#[test]
fn what_is_no_embedding_server_is_not_registered() {
    let missing = TestServer::start(|_, _| reply(404, &json!({"error": "model not found"})));
    let talk = TestServer::start(|_, _| reply(200, &json!({"choices": []})));
    let empty = TestServer::start(|_, _| reply(200, &json!({"data": [{"index": 0, "embedding": []}]})));
    for (server, expect) in [
        (&missing, "it answered 404: model not found"),
        (&talk, "does not follow the openai API"),
        (&empty, "has no values"),
    ] {
        let error = ask(&candidate(&server.url())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(
            error.message().contains("\"desk\"") && error.message().contains(expect),
            "{error}"
        );
        assert!(
            error.hint_text().unwrap().starts_with("nothing was registered"),
            "{error:?}"
        );
    }
    let url = missing.url();
    drop(missing);
    let error = ask(&candidate(&url)).unwrap_err();
    assert!(error.message().contains("no server is listening"), "{error}");
}

#[test]
fn a_server_elsewhere_is_not_even_asked() {
    for url in [
        "http://192.0.2.1:9",
        "https://embed.invalid",
        "http://user:word@localhost",
    ] {
        assert_eq!(
            ask(&candidate(url)).unwrap_err().kind(),
            ErrorKind::Invalid,
            "{url}"
        );
    }
}

#[test]
fn a_server_that_tells_texts_apart_passes_its_check() {
    let server = like_ollama(digest());
    let (good, _) = embedder(&server.url(), EmbeddingApi::Ollama);
    assert!(good.self_check().unwrap().is_empty());
}

#[test]
fn one_vector_for_everything_is_refused() {
    for value in [0.5, 0.0] {
        let server = TestServer::start(move |_, request| {
            let same = vec![vec![value; DIMENSION]; request.texts().len()];
            reply(200, &json!({"embeddings": same}))
        });
        let (constant, _) = embedder(&server.url(), EmbeddingApi::Ollama);
        let error = constant.self_check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("cannot be used"), "{error}");
    }
}

#[test]
fn a_vector_of_zeros_is_refused() {
    let server = TestServer::start(|_, request| {
        let mut answer = openai(request);
        answer["data"][2]["embedding"] = json!(vec![0.0; DIMENSION]);
        reply(200, &answer)
    });
    let (zero, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let error = zero.self_check().unwrap_err();
    assert!(error.message().contains("a vector of zeros"), "{error}");
}

#[test]
fn a_poor_order_is_a_doubt_and_no_error() {
    let server = TestServer::start(|_, request| {
        let mut answer = openai(request);
        if let Some([_, second, third]) = answer["data"].as_array_mut().map(Vec::as_mut_slice) {
            std::mem::swap(&mut second["embedding"], &mut third["embedding"]);
        }
        reply(200, &answer)
    });
    let (poor, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let doubts = poor.self_check().unwrap();
    assert_eq!(doubts.len(), 1);
    assert!(
        doubts[0].contains("\"desk\"") && doubts[0].contains("paraphrase"),
        "{doubts:?}"
    );
}

#[test]
fn a_wrong_length_fails_the_check() {
    let server = like_ollama(digest());
    let mut config = config(&server.url(), EmbeddingApi::Ollama);
    config.dimension = DIMENSION + 1;
    let (wrong, _) = limited(config, RequestLimits::default());
    let error = wrong.self_check().unwrap_err();
    assert!(error.message().contains("has 64 values, not 65"), "{error}");
}

#[test]
fn a_model_exchanged_under_its_name_is_noticed() {
    let server = like_ollama("0b".repeat(32));
    let mut config = config(&server.url(), EmbeddingApi::Ollama);
    config.revision = Some(digest());
    let (changed, _) = limited(config.clone(), RequestLimits::default());
    let error = changed.self_check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdentityMismatch);
    assert!(
        error.message().contains(&digest()) && error.message().contains(&"0b".repeat(32)),
        "{error}"
    );
    config.revision = Some("a name the user chose".into());
    let (named, _) = limited(config, RequestLimits::default());
    assert!(named.self_check().unwrap().is_empty());
}
