//! Refusals: a status and one sentence, which never repeats what the client sent.

use std::convert::Infallible;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

/// The body of a response.
pub(crate) type ResponseBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// The reason a request is not carried out.
#[derive(Debug)]
pub(crate) struct HttpRefusal {
    pub(crate) status: StatusCode,
    header: Option<(HeaderName, HeaderValue)>,
    media_type: &'static str,
    words: String,
}

impl HttpRefusal {
    /// Makes a refusal with one sentence.
    pub(crate) fn new(status: StatusCode, words: &str) -> Self {
        Self {
            status,
            header: None,
            media_type: "text/plain; charset=utf-8",
            words: format!("{words}\n"),
        }
    }

    /// Makes a refusal with a body of this media type.
    pub(crate) fn with_body(status: StatusCode, media_type: &'static str, words: String) -> Self {
        Self {
            status,
            header: None,
            media_type,
            words,
        }
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Refuses a method; `allowed` lists those that exist.
    pub(crate) fn method_not_allowed(allowed: &'static str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
            .with_header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// Refuses a request for now; it may succeed after so many seconds.
    pub(crate) fn retry_later(status: StatusCode, words: &str, seconds: u64) -> Self {
        Self::new(status, words).with_header(RETRY_AFTER, seconds.into())
    }

    /// Returns whether the body of the request was not read to its end, so that the connection cannot carry another.
    pub(crate) fn leaves_body_unread(&self) -> bool {
        matches!(
            self.status,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
        )
    }

    /// Converts the refusal into a response.
    pub(crate) fn into_response(self) -> Response<ResponseBody> {
        let mut response = short_response(self.media_type, self.words);
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Makes a short response.
pub(crate) fn short_response(media_type: &'static str, words: String) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(Bytes::from(words)).boxed_unsync());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
