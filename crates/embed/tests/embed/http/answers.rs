//! Requests to and answers of a well-behaved server: both APIs, order, batches, prefixes, long and foreign texts.

use loci_core::Embedder;
use loci_embed::CheckedEmbedder;
use loci_embed::http::{EmbeddingApi, RequestLimits};
use serde_json::Value;

use super::server::{TestServer, ollama, openai, reply, vector};
use super::{config, embedder, limited};

fn sizes(server: &TestServer) -> Vec<usize> {
    server
        .requests()
        .iter()
        .map(|request| request.texts().len())
        .collect()
}

#[test]
fn both_apis_give_the_vectors_of_the_texts_in_order() {
    let texts = ["a red boat", "the blue sea", "a red boat at sea"];
    let expect: Vec<_> = texts.iter().map(|text| vector(text)).collect();
    for (api, path) in [
        (EmbeddingApi::OpenAi, "POST /v1/embeddings"),
        (EmbeddingApi::Ollama, "POST /api/embed"),
    ] {
        let server = TestServer::start(move |_, request| match api {
            EmbeddingApi::OpenAi => reply(200, &openai(request)),
            EmbeddingApi::Ollama => reply(200, &ollama(request)),
        });
        let (embedder, book) = embedder(&server.url(), api);
        let embedder = CheckedEmbedder::new(embedder);
        assert_eq!(embedder.embed_passages(&texts).unwrap(), expect);
        assert_eq!(embedder.embed_query("the blue sea").unwrap(), expect[1]);
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!(request.line, path);
            let head = request.head.to_lowercase();
            assert!(head.contains("content-type: application/json\r\n"), "{head}");
            assert!(!head.contains("authorization"), "{head}");
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let keys: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
            assert_eq!(keys, ["input", "model"]);
            assert_eq!(body["model"], "bag-of-words");
        }
        assert!(book.pauses().is_empty());
    }
}

#[test]
fn answers_are_put_back_by_their_index() {
    let server = TestServer::start(|_, request| {
        let mut answer = openai(request);
        let data = answer["data"].as_array_mut().unwrap();
        data.reverse();
        data.swap(1, 3);
        reply(200, &answer)
    });
    let (embedder, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let texts = ["one", "two", "three", "four", "five", "six"];
    let expect: Vec<_> = texts.iter().map(|text| vector(text)).collect();
    assert_eq!(embedder.embed_passages(&texts).unwrap(), expect);
}

#[test]
fn texts_go_in_batches_over_one_connection() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (embedder, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    assert!(embedder.embed_passages(&[]).unwrap().is_empty());
    assert_eq!(server.requests().len(), 0, "nothing to ask");
    let texts: Vec<_> = (0..150).map(|n| format!("text number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let expect: Vec<_> = texts.iter().map(|text| vector(text)).collect();
    assert_eq!(embedder.embed_passages(&texts).unwrap(), expect);
    assert_eq!(embedder.embed_passages(&texts[..64]).unwrap(), expect[..64]);
    assert_eq!(embedder.embed_passages(&texts[..65]).unwrap(), expect[..65]);
    assert_eq!(sizes(&server), [64, 64, 22, 64, 64, 1]);
    assert_eq!(server.connections(), 1);
}

#[test]
fn long_texts_are_sent_whole() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (embedder, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    // Four of these and four bytes more are exactly what one request may hold.
    let quarter = "word ".repeat(64 * 1024 / 5);
    let huge = "x1 y2 z3 ".repeat(1024 * 1024 / 9);
    let texts = [
        quarter.as_str(),
        &quarter,
        &quarter,
        &quarter,
        "four",
        &huge,
        "short",
        "last",
    ];
    let vectors = embedder.embed_passages(&texts).unwrap();
    assert_eq!(sizes(&server), [5, 1, 2]);
    assert_eq!(server.requests()[1].texts(), [huge.as_str()]);
    for (text, found) in texts.iter().zip(vectors) {
        assert_eq!(found, vector(text));
    }
}

#[test]
fn a_batch_ends_at_the_last_byte_that_fits() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let limits = RequestLimits {
        batch_bytes: 20,
        ..RequestLimits::default()
    };
    let mut config = config(&server.url(), EmbeddingApi::OpenAi);
    config.passage_prefix = "p: ".into();
    let (embedder, _) = limited(config, limits);
    embedder.embed_passages(&["1234567", "1234567", "x"]).unwrap();
    embedder.embed_passages(&["1234567", "12345678"]).unwrap();
    assert_eq!(sizes(&server), [2, 1, 1, 1], "prefixes count");
}

#[test]
fn questions_and_passages_get_their_own_prefix() {
    let server = TestServer::start(|_, request| reply(200, &ollama(request)));
    let mut config = config(&server.url(), EmbeddingApi::Ollama);
    config.query_prefix = "search_query: ".into();
    config.passage_prefix = "search_document: ".into();
    let (embedder, _) = limited(config, RequestLimits::default());
    embedder.embed_passages(&["a boat", ""]).unwrap();
    embedder.embed_query("a boat").unwrap();
    let requests = server.requests();
    assert_eq!(
        requests[0].texts(),
        ["search_document: a boat", "search_document: "]
    );
    assert_eq!(requests[1].texts(), ["search_query: a boat"]);
}

#[test]
fn every_script_and_control_character_arrives_as_it_is() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (embedder, _) = embedder(&server.url(), EmbeddingApi::OpenAi);
    let texts = [
        "čaj 茶 🍵 שלום",
        "\0\u{1}\u{7f}\u{2028}\"\\\n",
        "\u{10ffff}e\u{301}",
        "/v1\r\n\r\nGET / HTTP/1.1",
    ];
    embedder.embed_passages(&texts).unwrap();
    assert_eq!(server.requests()[0].texts(), texts);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_identity_is_the_registered_one() {
    let mut config = config("http://localhost:1", EmbeddingApi::Ollama);
    let (unpinned, _) = limited(config.clone(), RequestLimits::default());
    assert_eq!(
        unpinned.identity().to_string(),
        "bag-of-words (unpinned, 64 dimensions)"
    );
    config.revision = Some("v2".into());
    let (pinned, _) = limited(config, RequestLimits::default());
    assert_eq!(pinned.identity().revision, "v2");
    assert_ne!(pinned.identity(), unpinned.identity());
}

#[test]
fn localhost_is_this_machine() {
    let server = TestServer::start(|_, request| reply(200, &openai(request)));
    let (embedder, _) = embedder(
        &format!("http://LocalHost:{}/v1/", server.port()),
        EmbeddingApi::OpenAi,
    );
    assert_eq!(embedder.embed_query("sea").unwrap(), vector("sea"));
}
