//! Problems: failures as RFC 9457 writes them, with Loci's kind and hint.

use hyper::StatusCode;
use loci_core::Error;
use loci_web::http_status;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::mcp::words::cut_to_bytes;

/// The longest detail or hint, in bytes: they repeat arguments, which may be of any length.
const LONGEST_WORDS: usize = 2_400;

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ApiProblem {
    /// The meaning of the status.
    title: String,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    pub(crate) status: u16,
    /// The kind of the problem, for programs: a lower-case word such as `invalid`, `not_found` or `locked`.
    kind: String,
    /// What went wrong.
    detail: String,
    /// What stayed unchanged, and what to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl ApiProblem {
    /// The media type of a problem.
    pub(crate) const MEDIA_TYPE: &'static str = "application/problem+json";

    /// Describes an error.
    pub(crate) fn from_error(error: &Error) -> Self {
        let status = http_status(error.kind());
        Self::new(status, error.kind().name(), error.message(), error.hint_text())
    }

    /// Describes a refusal of the server itself, such as one for lack of a token. Neither text may repeat a secret.
    pub(crate) fn new(status: u16, kind: &str, detail: &str, hint: Option<&str>) -> Self {
        let known = StatusCode::from_u16(status).ok();
        let title = known.and_then(|status| status.canonical_reason());
        Self {
            title: title.unwrap_or("Problem").to_owned(),
            status,
            kind: kind.to_owned(),
            detail: cut_to_bytes(detail, LONGEST_WORDS),
            hint: hint.map(|hint| cut_to_bytes(hint, LONGEST_WORDS)),
        }
    }

    /// Returns the problem as JSON.
    pub(crate) fn to_value(&self) -> Value {
        // Texts and a number are always JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}
