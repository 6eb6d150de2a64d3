//! Requests to a server and its possible answers.

use loci_core::Error;
use serde::{Deserialize, Serialize};

use super::config::EmbeddingApi;

/// The request, which both APIs share.
#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

/// Encodes the body of a request for the vectors of `texts`.
pub(super) fn encode_question(model: &str, texts: &[&str]) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(&EmbeddingRequest { model, input: texts })
        .map_err(|error| Error::invalid("the texts cannot be written as JSON").caused_by(error))
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiVector>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    index: Option<usize>,
    embedding: NullableValues,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<NullableValues>,
}

/// The values of a vector. Servers whose model broke write NaN as null.
type NullableValues = Vec<Option<f32>>;

/// Decodes the vectors in an answer to `count` texts, in the order of the texts; the error describes the fault.
///
/// `first` is the position of the first text, so that a bad vector is named by its text.
pub(super) fn decode_vectors(
    api: EmbeddingApi,
    body: &[u8],
    first: usize,
    count: usize,
    dimension: Option<usize>,
) -> Result<Vec<Vec<f32>>, String> {
    let found = match api {
        EmbeddingApi::OpenAi => serde_json::from_slice(body).map(order_by_index),
        EmbeddingApi::Ollama => {
            serde_json::from_slice(body).map(|answer: OllamaAnswer| Ok(answer.embeddings))
        }
    };
    let found = found.map_err(|error| match read_error_message(body) {
        Some(said) => format!("it answered: {said}"),
        None => format!("its answer does not follow the {api} API: {error}"),
    })??;
    if found.len() != count {
        return Err(format!("it sent {} vectors for {count} texts", found.len()));
    }
    let numbered = found.into_iter().enumerate();
    numbered
        .map(|(at, values)| {
            require_finite(values, dimension)
                .map_err(|what| format!("the vector of text {} {what}", first + at))
        })
        .collect()
}

/// Sorts vectors by their indices; if none has one, they are in order already.
fn order_by_index(answer: OpenAiAnswer) -> Result<Vec<NullableValues>, String> {
    let count = answer.data.len();
    if answer.data.iter().all(|vector| vector.index.is_none()) {
        return Ok(answer.data.into_iter().map(|vector| vector.embedding).collect());
    }
    // The API numbers its vectors and does not promise their order.
    let mut placed: Vec<Option<NullableValues>> = vec![None; count];
    for vector in answer.data {
        let index = vector.index.ok_or("some of its vectors have no index")?;
        let place = placed
            .get_mut(index)
            .ok_or_else(|| format!("it sent index {index} among {count} vectors"))?;
        if place.replace(vector.embedding).is_some() {
            return Err(format!("it sent index {index} twice"));
        }
    }
    // There are as many places as vectors and none is taken twice, so all are taken.
    Ok(placed.into_iter().flatten().collect())
}

fn require_finite(values: NullableValues, dimension: Option<usize>) -> Result<Vec<f32>, String> {
    if let Some(expected) = dimension.filter(|expected| *expected != values.len()) {
        return Err(format!("has {} values, not {expected}", values.len()));
    }
    if values.is_empty() {
        return Err("has no values".to_owned());
    }
    let numbered = values.into_iter().enumerate();
    numbered
        .map(|(at, value)| {
            let usable = value.filter(|value| value.is_finite());
            usable.ok_or_else(|| format!("is not a finite number at {at}"))
        })
        .collect()
}

/// Returns the message of an error answer, in any of the shapes that servers use.
pub(super) fn read_error_message(body: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    let inside = |key: &str| {
        let value = answer.get(key)?;
        let text = value.get("message").unwrap_or(value).as_str()?;
        Some(text.to_owned()).filter(|text| !text.trim().is_empty())
    };
    ["error", "detail", "message"].into_iter().find_map(inside)
}

/// Reports whether a refusal says that the request is too large, in the words that servers use.
pub(super) fn is_too_much(status: u16, message: &str) -> bool {
    let words = [
        "too long",
        "too large",
        "context length",
        "context size",
        "too many tokens",
        "too many inputs",
        "maximum allowed batch",
        "maximum number of tokens",
        "max_tokens",
        "must have less than",
        "input length exceeds",
    ];
    let lower = message.to_lowercase();
    match status {
        413 => true,
        // 500: some servers notice only while computing; a retry would give the same answer.
        400 | 422 | 500 => words.iter().any(|word| lower.contains(word)),
        _ => false,
    }
}

#[derive(Deserialize)]
struct OllamaTags {
    models: Vec<OllamaTag>,
}

#[derive(Deserialize)]
struct OllamaTag {
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: String,
}

/// Looks up `model` in a list of models: the outer `None` if it is not such a list, the inner one if it has no
/// digest.
pub(super) fn find_digest(body: &[u8], model: &str) -> Option<Option<String>> {
    let tags: OllamaTags = serde_json::from_slice(body).ok()?;
    // Ollama lists every model with a tag, and a name without one means `latest`.
    let latest = format!("{model}:latest");
    let named = |wanted: &str| tags.models.iter().find(|tag| tag.name == wanted);
    let tag = named(model).or_else(|| named(&latest));
    Some(
        tag.map(|tag| tag.digest.clone())
            .filter(|digest| is_digest(digest)),
    )
}

/// Reports whether a revision is a digest, which can be compared with a server's list.
pub(super) fn is_digest(revision: &str) -> bool {
    let hex = revision.strip_prefix("sha256:").unwrap_or(revision);
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Expect<'a> = Result<&'a [[f32; 2]], &'a str>;

    fn check(api: EmbeddingApi, body: &str, expect: Expect<'_>) {
        match (decode_vectors(api, body.as_bytes(), 10, 2, Some(2)), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{body}"),
            (Err(said), Err(expect)) => assert!(said.contains(expect), "{said:?} for {body}"),
            (found, expect) => panic!("{found:?}, not {expect:?}, for {body}"),
        }
    }

    #[test]
    fn answers_are_read_strictly() {
        let both = [[1.0, 2.0], [3.0, 4.0]];
        check(EmbeddingApi::Ollama, r#"{"embeddings":[[1,2],[3,4]]}"#, Ok(&both));
        let openai: [(&str, Expect<'_>); 9] = [
            (
                r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]}"#,
                Ok(&both),
            ),
            (r#"{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}"#, Ok(&both)),
            (
                r#"{"data":[{"index":0,"embedding":[1,2]},{"embedding":[3,4]}]}"#,
                Err("no index"),
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}"#,
                Err("twice"),
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1,2]},{"index":2,"embedding":[3,4]}]}"#,
                Err("index 2"),
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1,2]}]}"#,
                Err("1 vectors for 2 texts"),
            ),
            (
                r#"{"data":[{"embedding":[1,2]},{"embedding":[3]}]}"#,
                Err("text 11 has 1 values, not 2"),
            ),
            (
                r#"{"data":[{"embedding":[1,null]},{"embedding":[3,4]}]}"#,
                Err("text 10 is not a finite number at 1"),
            ),
            (
                r#"{"data":[{"embedding":[1,1e300]},{"embedding":[3,4]}]}"#,
                Err("out of range"),
            ),
        ];
        for (body, expect) in openai {
            check(EmbeddingApi::OpenAi, body, expect);
        }
        for (body, expect) in [
            ("", "does not follow the openai API"),
            ("<html>", "does not follow the openai API"),
            (r#"{"data":[{"embedding":[1,NaN]}]}"#, "does not follow"),
            (r#"{"data":[{"index":-1,"embedding":[1,2]}]}"#, "does not follow"),
            (r#"{"data":[{"embedding":"AACAPw=="}]}"#, "does not follow"),
            (r#"{"error":"Unexpected endpoint"}"#, "Unexpected endpoint"),
        ] {
            check(EmbeddingApi::OpenAi, body, Err(expect));
        }
        assert!(decode_vectors(EmbeddingApi::Ollama, br#"{"embeddings":[[]]}"#, 0, 1, None).is_err());
    }

    #[test]
    fn the_message_is_found_in_every_shape() {
        for (body, expect) in [
            (r#"{"error":{"message":"no","type":"x"}}"#, Some("no")),
            (r#"{"error":"no"}"#, Some("no")),
            (r#"{"detail":"no"}"#, Some("no")),
            (r#"{"message":"no"}"#, Some("no")),
            (r#"{"error":{"code":1}}"#, None),
            (r#"{"error":" "}"#, None),
            ("no", None),
        ] {
            assert_eq!(read_error_message(body.as_bytes()).as_deref(), expect, "{body}");
        }
    }

    #[test]
    fn too_much_is_told_from_other_refusals() {
        assert!(is_too_much(413, ""));
        assert!(is_too_much(
            400,
            "This model's maximum Context Length is 512 tokens"
        ));
        assert!(is_too_much(422, "batch size 64 > maximum allowed batch size 32"));
        assert!(is_too_much(500, "input is too large to process"));
        assert!(!is_too_much(400, "unknown model"));
        assert!(!is_too_much(500, "out of memory"));
        assert!(!is_too_much(503, "too large a load"));
    }

    #[test]
    fn a_digest_is_the_models_own() {
        let one = "a".repeat(64);
        let two = format!("sha256:{}", "b".repeat(64));
        let list = format!(
            r#"{{"models":[{{"name":"m:small","digest":"{two}"}},{{"name":"m:latest","digest":"{one}"}},{{"name":"x","digest":"short"}}]}}"#
        );
        let ask = |model: &str| find_digest(list.as_bytes(), model);
        assert_eq!(ask("m"), Some(Some(one.clone())));
        assert_eq!(ask("m:latest"), Some(Some(one)));
        assert_eq!(ask("m:small"), Some(Some(two)));
        assert_eq!(ask("x"), Some(None));
        assert_eq!(ask("gone"), Some(None));
        assert_eq!(find_digest(b"404 page not found", "m"), None);
    }
}
