//! Refusals: a status and one sentence, which never repeats what the client sent.

use std::convert::Infallible;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// The body of a response.
pub(super) type ResponseBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// The reason a request is not carried out.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    header: Option<(HeaderName, HeaderValue)>,
    kind: &'static str,
    words: String,
}

impl HttpRefusal {
    /// Makes a refusal with one sentence.
    pub(super) fn new(status: StatusCode, words: &str) -> Self {
        Self {
            status,
            header: None,
            kind: "text/plain; charset=utf-8",
            words: format!("{words}\n"),
        }
    }

    fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Refuses a method; `allowed` lists those that exist.
    pub(super) fn method_not_allowed(allowed: &'static str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
            .with_header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// Refuses a missing or wrong token.
    pub(super) fn token_required() -> Self {
        let words = "send the token as `Authorization: Bearer TOKEN`; the server prints the path of its file when it starts";
        Self::new(StatusCode::UNAUTHORIZED, words)
            .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// Refuses a request for now; it may succeed after so many seconds.
    pub(super) fn retry_later(status: StatusCode, words: &str, seconds: u64) -> Self {
        Self::new(status, words).with_header(RETRY_AFTER, seconds.into())
    }

    /// Refuses a body that is not a protocol message, as a JSON-RPC error.
    pub(super) fn invalid_message(id: &Value, code: i32, words: &str) -> Self {
        let said = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}});
        Self {
            status: StatusCode::BAD_REQUEST,
            header: None,
            kind: "application/json",
            words: said.to_string(),
        }
    }

    /// Converts the refusal into a response.
    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let mut response = short_response(self.kind, self.words);
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Makes a short response.
pub(super) fn short_response(kind: &'static str, words: String) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(Bytes::from(words)).boxed_unsync());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
