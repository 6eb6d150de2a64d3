//! One HTTP request: admitted, read, answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use tokio_util::sync::CancellationToken;

use super::guard::{RequestGuard, RequestRoute};
use super::sessions::HttpSessions;
use super::stream::TrackedBody;
use crate::http::bodies::{BodyLimits, drain_body, read_whole_body, refuse_unread};
use crate::http::connections::HttpService;
use crate::http::refusal::{HttpRefusal, ResponseBody, short_response};
use crate::http::seats::ConnectionSeat;
use crate::mcp::server::McpServer;

/// The time a message may take to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// The header that names a session.
const SESSION_HEADER: &str = "mcp-session-id";

/// Answers requests.
pub(super) struct HttpResponder {
    guard: RequestGuard,
    server: McpServer,
    endpoint: McpEndpoint,
}

/// The place where MCP is spoken: the sessions of clients, and how their messages are read.
pub(crate) struct McpEndpoint {
    sessions: Arc<HttpSessions>,
    max_body_bytes: usize,
    closing: CancellationToken,
}

/// The fields of a message that are needed here.
#[derive(Deserialize)]
struct MessagePeek {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    method: Option<String>,
}

impl HttpResponder {
    /// Makes a responder for one server.
    pub(super) fn new(server: McpServer, guard: RequestGuard, endpoint: McpEndpoint) -> Self {
        Self {
            guard,
            server,
            endpoint,
        }
    }
}

impl McpEndpoint {
    /// Makes an endpoint that ends event streams, which never end by themselves, once `closing` is cancelled.
    pub(crate) fn new(
        sessions: Arc<HttpSessions>,
        max_body_bytes: usize,
        closing: CancellationToken,
    ) -> Self {
        Self {
            sessions,
            max_body_bytes,
            closing,
        }
    }

    /// Ends expired sessions, for ever.
    pub(crate) fn sweep_expired(&self) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.sessions).sweep_expired()
    }

    /// Makes the SDK's service of a server. It holds nothing of its own, so that one is made for each request.
    fn make_service(&self, server: McpServer) -> StreamableHttpService<McpServer, LocalSessionManager> {
        // The SDK's own checks of Host and Origin stay at their defaults: the guard has checked both, more
        // strictly.
        let config = StreamableHttpServerConfig::default()
            // Plain JSON where the protocol allows it: simple clients do not read event streams.
            .with_json_response(true)
            .with_max_request_body_bytes(self.max_body_bytes);
        StreamableHttpService::new(move || Ok(server.clone()), self.sessions.inner.clone(), config)
    }

    /// Carries out a request of a client; a new session speaks with `server`.
    pub(crate) async fn answer(
        &self,
        server: McpServer,
        request: Request<Incoming>,
    ) -> Result<Response<ResponseBody>, HttpRefusal> {
        let (mut parts, body) = request.into_parts();
        // The SDK hands the headers on to the handlers of a request; the secret must not travel with them.
        parts.headers.remove(AUTHORIZATION);
        let method = parts.method.clone();
        let session = find_session_id(&parts.headers);
        // Noted before the body is read, so that a session does not expire while a slow request arrives.
        let answering = session.as_deref().and_then(|id| self.sessions.begin_answer(id));
        // Only a POST carries a message: a GET opens the event stream, a DELETE ends the session.
        let (bytes, peek) = match method {
            Method::POST => self.read_message(&parts.headers, body).await?,
            _ => (Bytes::new(), None),
        };
        if session.is_none() && peek.as_ref().is_some_and(MessagePeek::opens_a_session) {
            // Only for a new session: a message of an existing one must never push another session out.
            self.sessions.make_room()?;
        }
        let request = Request::from_parts(parts, Full::new(bytes));
        let response = self.make_service(server).handle(request).await;
        // The SDK answers 415 to a body it cannot parse, although its content type was right.
        if let Some(peek) = peek.filter(|_| response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE) {
            return Err(HttpRefusal::invalid_message(
                &peek.id,
                -32600,
                "this is not a valid message",
            ));
        }
        self.track_session(&method, session.as_deref(), &response);
        // Only the stream of a GET has no end; answers to a POST are given the time that a shutdown allows.
        let end = (method == Method::GET).then(|| self.closing.clone());
        Ok(response.map(|body| TrackedBody::new(body.boxed_unsync(), answering, end).boxed_unsync()))
    }

    /// Reads the bytes of a message and peeks into it.
    async fn read_message(
        &self,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<(Bytes, Option<MessagePeek>), HttpRefusal> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        // A web page can send forms and plain text without a preflight request, so this is a guard as well.
        if !kind.is_some_and(is_json) {
            drain_body(body);
            let words = "the content type of a message must be application/json";
            return Err(HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        let limits = BodyLimits {
            size: self.max_body_bytes,
            arrival: ARRIVAL_TIMEOUT,
        };
        let bytes = read_whole_body(body, limits).await?;
        let peek = peek_message(&bytes)?;
        Ok((bytes, Some(peek)))
    }

    /// Notes sessions that begin and end.
    fn track_session<B>(&self, method: &Method, session: Option<&str>, response: &Response<B>) {
        match session {
            None => {
                if let Some(id) = find_session_id(response.headers()) {
                    self.sessions.add_session(&id);
                }
            }
            Some(id) if *method == Method::DELETE && response.status().is_success() => {
                self.sessions.forget_session(id);
            }
            Some(_) => {}
        }
    }
}

impl HttpService for HttpResponder {
    type Body = ResponseBody;

    async fn answer_request(
        &self,
        request: Request<Incoming>,
        seat: &ConnectionSeat,
    ) -> Response<ResponseBody> {
        match self.guard.admit(&request, Instant::now()) {
            Ok(RequestRoute::Health) => short_response("application/json", r#"{"ok":true}"#.to_owned()),
            Ok(RequestRoute::Mcp) if !seat.sit_down() => refuse_connection(request),
            Ok(RequestRoute::Mcp) => {
                let done = self.endpoint.answer(self.server.clone(), request).await;
                done.unwrap_or_else(close_if_unread)
            }
            Err(refusal) => refuse_unread(request, refusal),
        }
    }
}

impl MessagePeek {
    fn opens_a_session(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }
}

fn peek_message(bytes: &[u8]) -> Result<MessagePeek, HttpRefusal> {
    // The protocol dropped batches in revision 2025-06-18; over HTTP they were never supported here.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let words =
            "batches are not supported over HTTP: send each message as its own request; nothing was done";
        return Err(HttpRefusal::invalid_message(&Value::Null, -32600, words));
    }
    serde_json::from_slice(bytes).map_err(|cause| match cause.classify() {
        Category::Data => HttpRefusal::invalid_message(&Value::Null, -32600, "this is not a valid message"),
        _ => HttpRefusal::invalid_message(&Value::Null, -32700, &format!("this is not JSON: {cause}")),
    })
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

pub(crate) fn find_session_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(SESSION_HEADER)?.to_str().ok()?;
    Some(id.to_owned())
}

/// Turns a refusal into a response. A connection whose body was not read to its end cannot carry another
/// request and is closed.
pub(crate) fn close_if_unread(refusal: HttpRefusal) -> Response<ResponseBody> {
    let unread = refusal.leaves_body_unread();
    let mut response = refusal.into_response();
    if unread {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Refuses a request of a connection for which no seat is left, and closes it.
fn refuse_connection(request: Request<Incoming>) -> Response<ResponseBody> {
    let words = "too many connections";
    let refusal = HttpRefusal::retry_later(StatusCode::SERVICE_UNAVAILABLE, words, 1);
    let mut response = refuse_unread(request, refusal);
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
