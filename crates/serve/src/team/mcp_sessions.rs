//! MCP in a palace: whose session it is, and a server with the rights of its caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, COOKIE};
use hyper::{Method, Request, StatusCode};
use loci_team::TeamCaller;

use super::router::{CallerRequest, TeamRouter, not_found};
use super::watch::AuditedCalls;
use crate::http::bodies::drain_body;
use crate::http::refusal::HttpRefusal;
use crate::mcp::http::{close_if_unread, find_session_id};
use crate::mcp::{McpServer, ToolDialect};
use crate::web::carrier::PageOutcome;

/// The most sessions whose owners are remembered. Beyond that all are asked to begin anew.
const MOST_SESSIONS: usize = 4096;

/// The owner of each session. A session has the rights that its owner had when it began: a caller with other rights, or
/// another caller, cannot go on with it.
#[derive(Default)]
pub(super) struct SessionOwners(Mutex<HashMap<String, SessionOwner>>);

/// What a request must have in common with the one that began its session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionOwner {
    palace: String,
    caller: TeamCaller,
}

impl SessionOwners {
    fn is_owner(&self, session: &str, owner: &SessionOwner) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(session) == Some(owner)
    }

    fn add(&self, session: String, owner: SessionOwner) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SESSIONS {
            known.clear();
        }
        known.insert(session, owner);
    }

    fn remove(&self, session: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(session);
    }
}

impl TeamRouter {
    /// Answers a message of MCP.
    pub(super) async fn answer_mcp(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        palace: &str,
    ) -> PageOutcome {
        let Some(opened) = request.hall.open(palace, &request.known.caller) else {
            drain_body(body);
            return Err(not_found());
        };
        // A page of another site could make a browser send its cookie, so only tokens are taken here.
        if request.known.form_secret.is_some() {
            drain_body(body);
            let words = "agents show a token, as in `Authorization: Bearer TOKEN`";
            return Err(HttpRefusal::new(StatusCode::UNAUTHORIZED, words));
        }
        if !matches!(request.parts.method, Method::GET | Method::POST | Method::DELETE) {
            drain_body(body);
            return Err(HttpRefusal::method_not_allowed("GET, POST, DELETE"));
        }
        let owner = SessionOwner {
            palace: palace.to_owned(),
            caller: request.known.caller.clone(),
        };
        let session = find_session_id(&request.parts.headers);
        if let Some(session) = &session
            && !self.mcp_sessions.is_owner(session, &owner)
        {
            drain_body(body);
            // What the protocol answers to a session that has ended: the client begins a new one.
            return Err(HttpRefusal::new(
                StatusCode::NOT_FOUND,
                "this session does not exist",
            ));
        }
        let watch = AuditedCalls::new(
            self.trail.clone(),
            Arc::clone(&self.metrics),
            request.trail_subject(Some(palace)),
        );
        let server = McpServer::with_watch(opened.palace.clone(), ToolDialect::Loci, Some(watch));
        let mut parts = request.parts;
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove(COOKIE);
        let ends = parts.method == Method::DELETE;
        let answered = self
            .endpoint
            .answer(server, Request::from_parts(parts, body))
            .await;
        let response = answered.unwrap_or_else(close_if_unread);
        match session {
            None => {
                if let Some(id) = find_session_id(response.headers()) {
                    self.mcp_sessions.add(id, owner);
                }
            }
            Some(id) if ends && response.status().is_success() => self.mcp_sessions.remove(&id),
            Some(_) => {}
        }
        Ok(response.map(|body| body.map_err(|never| match never {}).boxed_unsync()))
    }
}
