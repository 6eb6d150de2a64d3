//! One request over HTTP: admitted, read, answered.

use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use tokio_util::sync::CancellationToken;

use super::guard::{Guard, Place};
use super::refusal::{Body, Refusal, json_or_words};
use super::sessions::Sessions;
use super::stream::{Sent, read_past, whole};
use crate::mcp::server::Server;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// What answers requests.
pub(super) struct Desk {
    guard: Guard,
    sessions: Arc<Sessions>,
    service: StreamableHttpService<Server, LocalSessionManager>,
    longest: usize,
    closing: CancellationToken,
}

/// As much of a message as has to be known here.
#[derive(Deserialize)]
struct Peek {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    method: Option<String>,
}

impl Desk {
    /// A desk that ends what has no end of its own once `closing` is cancelled.
    pub(super) fn new(
        server: Server,
        guard: Guard,
        sessions: Arc<Sessions>,
        longest: usize,
        closing: CancellationToken,
    ) -> Self {
        // Names and origins were checked before, and more strictly.
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(longest);
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.inner.clone(), config);
        Self {
            guard,
            sessions,
            service,
            longest,
            closing,
        }
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match self.guard.admit(&request, Instant::now()) {
            Ok(Place::Health) => json_or_words("application/json", r#"{"ok":true}"#.to_owned()),
            Ok(Place::Mcp) => {
                let done = self.carry_out(request).await;
                done.unwrap_or_else(closing_if_unread)
            }
            Err(refusal) => turn_away(request, refusal),
        }
    }

    async fn carry_out(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let (mut parts, body) = request.into_parts();
        // What tools are told of a request holds no secret.
        parts.headers.remove(AUTHORIZATION);
        let method = parts.method.clone();
        let session = session_of(&parts.headers);
        let answering = session.as_deref().and_then(|id| self.sessions.answering(id));
        let (bytes, peek) = match method {
            Method::POST => self.read(&parts.headers, body).await?,
            _ => (Bytes::new(), None),
        };
        if session.is_none() && peek.as_ref().is_some_and(Peek::opens_a_session) {
            self.sessions.make_room()?;
        }
        let request = Request::from_parts(parts, Full::new(bytes));
        let response = self.service.handle(request).await;
        if let Some(peek) = peek.filter(|_| response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE) {
            return Err(Refusal::message(
                &peek.id,
                -32600,
                "this is no message that can be read",
            ));
        }
        self.note(&method, session.as_deref(), &response);
        let end = (method == Method::GET).then(|| self.closing.clone());
        Ok(response.map(|body| Sent::new(body.boxed_unsync(), answering, end).boxed_unsync()))
    }

    /// The bytes of a message, and what has to be known of it.
    async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<(Bytes, Option<Peek>), Refusal> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(is_json) {
            read_past(body);
            let words = "a message is sent as application/json";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        let bytes = whole(body, self.longest).await?;
        let peek = peek(&bytes)?;
        Ok((bytes, Some(peek)))
    }

    /// Keeps count of sessions that begin and end.
    fn note<B>(&self, method: &Method, session: Option<&str>, response: &Response<B>) {
        match session {
            None => {
                if let Some(id) = session_of(response.headers()) {
                    self.sessions.adopt(&id);
                }
            }
            Some(id) if *method == Method::DELETE && response.status().is_success() => {
                self.sessions.forget(id);
            }
            Some(_) => {}
        }
    }
}

impl Peek {
    fn opens_a_session(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }
}

fn peek(bytes: &[u8]) -> Result<Peek, Refusal> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        let words = "over HTTP each message is a request of its own; nothing was done";
        return Err(Refusal::message(&Value::Null, -32600, words));
    }
    serde_json::from_slice(bytes).map_err(|cause| match cause.classify() {
        Category::Data => Refusal::message(&Value::Null, -32600, "this is no message that can be read"),
        _ => Refusal::message(&Value::Null, -32700, &format!("this is no JSON: {cause}")),
    })
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(SESSION)?.to_str().ok()?;
    Some(id.to_owned())
}

/// Refuses a request whose body nobody will read.
pub(super) fn turn_away(request: Request<Incoming>, refusal: Refusal) -> Response<Body> {
    // Whoever waits to be told to go on sends nothing.
    if !request.headers().contains_key(EXPECT) {
        read_past(request.into_body());
    }
    refusal.into_response()
}

/// A connection on which a body was given up carries no further request.
fn closing_if_unread(refusal: Refusal) -> Response<Body> {
    let unread = matches!(
        refusal.status,
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
    );
    let mut response = refusal.into_response();
    if unread {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
