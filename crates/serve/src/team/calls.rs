//! The JSON interface over HTTP: its description, the palaces of a caller, and calls of tools.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response, StatusCode};
use loci_core::{Error, ErrorKind};
use loci_engine::mine::StopSignal;
use loci_team::{RightsVerb, VerbSet};

use super::api::{ApiCall, ApiReply, PalaceListing, describe_api, run_api_call};
use super::hall::CallerPalace;
use super::router::{CallerRequest, TeamRoute, TeamRouter, run_blocking, typed_response};
use super::trail::TrailSubject;
use super::watch::AuditedCalls;
use crate::http::bodies::{drain_body, read_whole_body};
use crate::http::refusal::HttpRefusal;
use crate::mcp::server::StopWhenDropped;
use crate::mcp::tools::find_tool;
use crate::mcp::watch::CallWatch as _;
use crate::web::carrier::PageOutcome;
use crate::web::page_body::PageBody;

/// The header in which a program names itself.
const CLIENT: &str = "loci-client";
/// The longest such name, in characters.
const LONGEST_CLIENT: usize = 64;

impl TeamRouter {
    /// Answers a request of the JSON interface.
    pub(super) async fn answer_api(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        route: &TeamRoute,
    ) -> PageOutcome {
        let reads = matches!(request.parts.method, Method::GET | Method::HEAD);
        match route {
            TeamRoute::ApiCall(palace, tool) if request.parts.method == Method::POST => {
                self.answer_call(request, body, palace, tool).await
            }
            TeamRoute::ApiCall(..) => {
                drain_body(body);
                Err(HttpRefusal::method_not_allowed("POST"))
            }
            _ if !reads => {
                drain_body(body);
                Err(HttpRefusal::method_not_allowed("GET, HEAD"))
            }
            TeamRoute::ApiPalaces => {
                drain_body(body);
                let listed = request.hall.list(&request.known.caller);
                let palaces = listed.iter().map(|(name, rights)| {
                    let verbs = [
                        (RightsVerb::Read, !rights.reads.is_nowhere()),
                        (RightsVerb::Write, !rights.writes.is_nowhere()),
                        (RightsVerb::Delete, !rights.deletes.is_nowhere()),
                        (RightsVerb::Admin, rights.administers),
                    ];
                    let held = verbs.into_iter().filter_map(|(verb, held)| held.then_some(verb));
                    (name.as_str(), held.collect::<VerbSet>())
                });
                let listing = PalaceListing::from_rights(palaces);
                Ok(json_reply(
                    StatusCode::OK,
                    serde_json::to_value(listing).unwrap_or_default(),
                ))
            }
            _ => {
                drain_body(body);
                let listed = request.hall.list(&request.known.caller);
                let names: Vec<String> = listed.into_iter().map(|(name, _)| name).collect();
                Ok(json_reply(
                    StatusCode::OK,
                    describe_api(None, &names, &self.gate.base_url, self.desk.cookie_name()),
                ))
            }
        }
    }

    async fn answer_call(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        palace: &str,
        tool: &str,
    ) -> PageOutcome {
        // A form of another site can be sent with the cookie of a browser, but not as JSON.
        let media_type = request.parts.headers.get(CONTENT_TYPE);
        let is_json = media_type.is_some_and(|kind| {
            let kind = kind
                .to_str()
                .unwrap_or_default()
                .split(';')
                .next()
                .unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            drain_body(body);
            let words = "the content type of a call must be application/json";
            return Err(HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        let bytes = read_whole_body(body, self.body_limits()).await?;
        let opened = request.hall.open(palace, &request.known.caller);
        let from = request.trail_subject(Some(palace));
        let client = name_client(&request);
        let call = ApiCall::from_body(tool, &bytes);
        let router = Arc::clone(self);
        // Asked to stop once nobody waits any more.
        let stop = StopSignal::default();
        let _when_dropped = StopWhenDropped(stop.clone());
        let waiting = self.metrics.wait_for_turn();
        let reply = run_blocking(move || match (opened, call) {
            (Some(opened), Ok(call)) => {
                drop(waiting);
                router.run_audited(&opened, call, client, stop, from)
            }
            (None, _) => {
                let error = Error::new(ErrorKind::NotFound, "this palace does not exist for you");
                ApiReply::from_error(&error.with_hint("GET /api/v1/palaces lists those there are"))
            }
            (_, Err(error)) => ApiReply::from_error(&error),
        })
        .await?;
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = String::from_utf8(reply.to_body()).unwrap_or_default();
        Ok(typed_response(status, reply.media_type(), body))
    }

    /// Runs a call between its records in the audit log.
    fn run_audited(
        &self,
        opened: &CallerPalace,
        call: ApiCall,
        client: Option<String>,
        stop: StopSignal,
        from: TrailSubject,
    ) -> ApiReply {
        let tool = find_tool(opened.palace.access(), &call.tool);
        let watch = AuditedCalls::new(self.trail.clone(), Arc::clone(&self.metrics), from);
        let watched = tool.map(|tool| watch.begin_tool(tool, &call.arguments));
        let watched = match watched.transpose() {
            Ok(watched) => watched,
            Err(error) => return ApiReply::from_error(&error),
        };
        let reply = run_api_call(&opened.palace, call, client, stop);
        if let Some(watched) = watched {
            let failed = reply.failure.map(|kind| Error::new(kind, "the call failed"));
            watched.end(failed.as_ref().map_or(Ok(&reply.value), Err));
        }
        reply
    }
}

/// Returns the name under which what a program files is recorded: its own, or that of its user.
fn name_client(request: &CallerRequest) -> Option<String> {
    let said = request.parts.headers.get(CLIENT);
    let said = said.and_then(|said| said.to_str().ok()).map(str::trim);
    let said = said.filter(|said| !said.is_empty() && said.chars().count() <= LONGEST_CLIENT);
    Some(said.map_or_else(|| request.known.caller.actor.to_string(), str::to_owned))
}

fn json_reply(status: StatusCode, value: serde_json::Value) -> Response<PageBody> {
    typed_response(status, "application/json", value.to_string())
}
