//! Answers that are no: a status, one sentence, and never a word of what was shown.

use std::convert::Infallible;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// What is sent back.
pub(super) type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// Why a request is not carried out.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    header: Option<(HeaderName, HeaderValue)>,
    kind: &'static str,
    words: String,
}

impl Refusal {
    /// A refusal in one sentence.
    pub(super) fn new(status: StatusCode, words: &str) -> Self {
        Self {
            status,
            header: None,
            kind: "text/plain; charset=utf-8",
            words: format!("{words}\n"),
        }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Other methods are meant.
    pub(super) fn method(allowed: &'static str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "there is no such method here")
            .with(ALLOW, HeaderValue::from_static(allowed))
    }

    /// The token is missing or another.
    pub(super) fn token() -> Self {
        let words = "send the token as `Authorization: Bearer TOKEN`; the server says at its start which file holds it";
        Self::new(StatusCode::UNAUTHORIZED, words).with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// Too much at once; there may be room after so many seconds.
    pub(super) fn later(status: StatusCode, words: &str, seconds: u64) -> Self {
        Self::new(status, words).with(RETRY_AFTER, seconds.into())
    }

    /// What came is no message of the protocol.
    pub(super) fn message(id: &Value, code: i32, words: &str) -> Self {
        let said = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}});
        Self {
            status: StatusCode::BAD_REQUEST,
            header: None,
            kind: "application/json",
            words: said.to_string(),
        }
    }

    /// As it is sent.
    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = json_or_words(self.kind, self.words);
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// A short answer.
pub(super) fn json_or_words(kind: &'static str, words: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(words)).boxed_unsync());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
