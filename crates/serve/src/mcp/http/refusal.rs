//! Refusals that only the protocol knows.

use hyper::StatusCode;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use crate::http::refusal::HttpRefusal;

impl HttpRefusal {
    /// Refuses a missing or wrong token.
    pub(super) fn token_required() -> Self {
        let words = "send the token as `Authorization: Bearer TOKEN`; the server prints the path of its file when it starts";
        Self::new(StatusCode::UNAUTHORIZED, words)
            .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// Refuses a body that is not a protocol message, as a JSON-RPC error.
    pub(super) fn invalid_message(id: &Value, code: i32, words: &str) -> Self {
        let said = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}});
        Self::with_body(StatusCode::BAD_REQUEST, "application/json", said.to_string())
    }
}
