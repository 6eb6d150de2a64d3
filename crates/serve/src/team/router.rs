//! One request of a team server: admitted, attributed to a caller, and answered by what its path names.

use std::sync::Arc;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use loci_team::{AuditAct, AuditOutcome, AuditReason, AuditSubject, TeamActor};
use loci_web::find_asset;
use tokio::sync::Semaphore;

use super::callers::{CallerDesk, KnownCaller, ShownCredentials};
use super::gate::{RequestPlace, TeamGate, find_place};
use super::hall::PalaceHall;
use super::metrics::{RequestWay, TeamMetrics};
use super::rates::CallerRates;
use super::settings::TeamLimits;
use super::trail::{AuditTrail, TrailSubject};
use crate::http::bodies::{BodyLimits, drain_body};
use crate::http::connections::HttpService;
use crate::http::refusal::HttpRefusal;
use crate::http::seats::ConnectionSeat;
use crate::mcp::http::McpEndpoint;
use crate::web::carrier::{PageOutcome, render_refusal, render_reply, take_seat};
use crate::web::headers::add_security_headers;
use crate::web::page_body::{PageBody, whole_body};

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TeamRoute {
    /// The server answers.
    Health,
    /// Its palaces can be read.
    Ready,
    /// Figures for a monitor.
    Metrics,
    /// A style sheet, script or icon.
    Asset,
    /// What clients must know to get a token for the MCP server of a palace, or of the server.
    Metadata(Option<String>),
    /// The page by which people sign in.
    SignIn,
    /// The act of signing out.
    SignOut,
    /// The list of palaces.
    Palaces,
    /// Users and tokens.
    Admin,
    /// The description of the JSON interface.
    ApiDescription,
    /// The palaces of a caller, as JSON.
    ApiPalaces,
    /// A call of a tool in a palace.
    ApiCall(String, String),
    /// MCP in a palace.
    Mcp(String),
    /// A page of a palace: the palace, and the path in its site.
    Page(String, String),
    /// Nothing.
    Unknown,
}

impl TeamRoute {
    /// Finds where a path leads.
    pub(super) fn find(path: &str) -> Self {
        const METADATA: &str = "/.well-known/oauth-protected-resource";
        match path {
            "/healthz" => return Self::Health,
            "/readyz" => return Self::Ready,
            "/metrics" => return Self::Metrics,
            "/sign-in" => return Self::SignIn,
            "/sign-out" => return Self::SignOut,
            "/" => return Self::Palaces,
            "/admin" => return Self::Admin,
            "/api/v1/openapi.json" => return Self::ApiDescription,
            "/api/v1/palaces" => return Self::ApiPalaces,
            METADATA => return Self::Metadata(None),
            _ => {}
        }
        if path.starts_with("/assets/") {
            return Self::Asset;
        }
        if let Some(rest) = path.strip_prefix(METADATA) {
            return match rest
                .strip_prefix("/p/")
                .and_then(|rest| rest.strip_suffix("/mcp"))
            {
                Some(name) if !name.contains('/') => Self::Metadata(Some(name.to_owned())),
                _ => Self::Unknown,
            };
        }
        if let Some(rest) = path.strip_prefix("/api/v1/p/") {
            return match rest.split_once('/') {
                Some((name, tool)) if !tool.contains('/') => Self::ApiCall(name.to_owned(), tool.to_owned()),
                _ => Self::Unknown,
            };
        }
        match path
            .strip_prefix("/p/")
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
        {
            Some((name, "mcp")) => Self::Mcp(name.to_owned()),
            Some((name, page)) if !name.is_empty() => Self::Page(name.to_owned(), format!("/{page}")),
            _ => Self::Unknown,
        }
    }

    /// Whether browsers show what it answers, so that a stranger is asked to sign in.
    fn is_page(&self) -> bool {
        matches!(
            self,
            Self::Palaces | Self::Admin | Self::SignOut | Self::Page(..) | Self::Unknown
        )
    }

    /// Returns the palace that a path names.
    fn palace(&self) -> Option<&str> {
        match self {
            Self::Mcp(palace) | Self::Page(palace, _) | Self::ApiCall(palace, _) => Some(palace),
            _ => None,
        }
    }

    fn way(&self) -> RequestWay {
        match self {
            Self::Mcp(_) => RequestWay::Mcp,
            Self::ApiCall(..) | Self::ApiPalaces | Self::ApiDescription => RequestWay::Api,
            Self::Health | Self::Ready | Self::Metrics | Self::Metadata(_) => RequestWay::Monitor,
            _ => RequestWay::Page,
        }
    }
}

/// Answers every request of a team server.
pub(super) struct TeamRouter {
    pub(super) gate: TeamGate,
    pub(super) desk: CallerDesk,
    pub(super) hall: RwLock<Arc<PalaceHall>>,
    pub(super) trail: AuditTrail,
    pub(super) endpoint: McpEndpoint,
    pub(super) mcp_sessions: super::mcp_sessions::SessionOwners,
    pub(super) rates: CallerRates,
    pub(super) metrics: Arc<TeamMetrics>,
    pub(super) limits: TeamLimits,
    pub(super) streams: Arc<Semaphore>,
}

/// A request of a caller, on its way to what answers it.
pub(super) struct CallerRequest {
    pub(super) parts: hyper::http::request::Parts,
    pub(super) place: RequestPlace,
    pub(super) known: KnownCaller,
    pub(super) hall: Arc<PalaceHall>,
}

impl CallerRequest {
    /// Returns what the records of this request share.
    pub(super) fn trail_subject(&self, palace: Option<&str>) -> TrailSubject {
        TrailSubject {
            who: self.known.caller.actor.clone(),
            token: self.known.caller.token.clone(),
            address: self.place.address,
            palace: palace.map(str::to_owned),
        }
    }

    /// Returns the secret of the forms of this session; a caller with a token has none and sends no forms.
    pub(super) fn form_secret(&self) -> Result<&str, HttpRefusal> {
        self.known.form_secret.as_deref().ok_or_else(|| {
            let words = "pages are for browsers that have signed in; use the JSON interface with a token";
            HttpRefusal::new(StatusCode::FORBIDDEN, words)
        })
    }
}

impl TeamRouter {
    /// Returns the settings of the moment.
    pub(super) fn hall(&self) -> Arc<PalaceHall> {
        Arc::clone(&self.hall.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes on with other settings.
    pub(super) fn exchange_hall(&self, hall: PalaceHall) {
        self.metrics.set_palaces(hall.names());
        *self.hall.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hall);
    }

    pub(super) fn body_limits(&self) -> BodyLimits {
        BodyLimits {
            size: self.limits.body,
            arrival: self.limits.arrival,
        }
    }

    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: &TeamRoute,
        seat: &ConnectionSeat,
    ) -> PageOutcome {
        let (parts, body) = request.into_parts();
        let head = Request::from_parts(parts, ());
        if let Err(refusal) = self.gate.admit(&head) {
            drain_body(body);
            return Err(refusal);
        }
        let hall = self.hall();
        let place = find_place(head.headers(), seat.peer(), &hall.settings.proxies);
        if let Some(response) = self.answer_anyone(&head, route, place, &hall, seat).await {
            drain_body(body);
            return response;
        }
        if *route == TeamRoute::SignIn {
            return self.answer_sign_in(head, body, place).await;
        }
        let known = match self.identify(&head, place, &hall).await {
            Ok(Some(known)) => known,
            refused => {
                drain_body(body);
                return match refused {
                    Err(refusal) => Err(refusal),
                    _ => self.ask_to_sign_in(&head, route),
                };
            }
        };
        if let Err(refusal) =
            take_seat(seat).and_then(|()| self.rates.admit(&known.caller.actor, Instant::now()))
        {
            drain_body(body);
            return Err(refusal);
        }
        let (parts, ()) = head.into_parts();
        let request = CallerRequest {
            parts,
            place,
            known,
            hall,
        };
        self.answer_caller(request, body, route, seat).await
    }

    /// Answers what needs no credentials; `None` for everything else.
    async fn answer_anyone(
        self: &Arc<Self>,
        head: &Request<()>,
        route: &TeamRoute,
        place: RequestPlace,
        hall: &Arc<PalaceHall>,
        seat: &ConnectionSeat,
    ) -> Option<PageOutcome> {
        let answer = match route {
            TeamRoute::Health => json_response(StatusCode::OK, r#"{"ok":true}"#.to_owned()),
            TeamRoute::Ready => self.answer_ready(Arc::clone(hall)).await,
            TeamRoute::Metrics if place.is_local => self.answer_metrics(seat),
            TeamRoute::Metadata(palace) => self.answer_metadata(palace.as_deref(), hall),
            TeamRoute::Asset => match find_asset(head.uri().path()) {
                Some(reply) => {
                    return Some(render_reply(reply, *head.method() == Method::HEAD, &self.streams).await);
                }
                None => return Some(Err(not_found())),
            },
            _ => return None,
        };
        if !matches!(*head.method(), Method::GET | Method::HEAD) {
            return Some(Err(HttpRefusal::method_not_allowed("GET, HEAD")));
        }
        Some(Ok(answer))
    }

    async fn answer_caller(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        route: &TeamRoute,
        seat: &ConnectionSeat,
    ) -> PageOutcome {
        match route {
            TeamRoute::Metrics => {
                drain_body(body);
                if request.known.caller.rights.administers_server() {
                    Ok(self.answer_metrics(seat))
                } else {
                    Err(not_found())
                }
            }
            TeamRoute::Mcp(palace) => self.answer_mcp(request, body, palace).await,
            TeamRoute::ApiDescription | TeamRoute::ApiPalaces | TeamRoute::ApiCall(..) => {
                self.answer_api(request, body, route).await
            }
            TeamRoute::Palaces | TeamRoute::Admin | TeamRoute::SignOut => {
                self.answer_lobby(request, body, route).await
            }
            TeamRoute::Page(palace, path) => self.answer_page(request, body, palace, path).await,
            _ => {
                drain_body(body);
                Err(not_found())
            }
        }
    }

    /// Finds who sent a request; `None` if it shows nothing.
    async fn identify(
        self: &Arc<Self>,
        head: &Request<()>,
        place: RequestPlace,
        hall: &Arc<PalaceHall>,
    ) -> Result<Option<KnownCaller>, HttpRefusal> {
        let (router, headers, hall) = (Arc::clone(self), head.headers().clone(), Arc::clone(hall));
        let found = run_blocking(move || {
            router
                .desk
                .identify(&headers, place.address, &hall.settings.issuers)
        })
        .await?;
        match found {
            Ok(ShownCredentials::Right(known)) => Ok(Some(*known)),
            Ok(ShownCredentials::Nothing) => Ok(None),
            Ok(ShownCredentials::Wrong(reason)) => {
                let from = TrailSubject {
                    who: TeamActor::Anonymous,
                    token: None,
                    address: place.address,
                    palace: None,
                };
                let outcome = AuditOutcome::Refused(AuditReason::from(reason));
                self.trail
                    .note(&from, AuditAct::SIGN_IN, AuditSubject::default(), outcome);
                Ok(None)
            }
            Ok(ShownCredentials::Throttled(wait)) => {
                let words = "too many wrong tokens from this address";
                Err(HttpRefusal::retry_later(
                    StatusCode::TOO_MANY_REQUESTS,
                    words,
                    wait.whole_seconds(),
                ))
            }
            Err(error) => Err(HttpRefusal::retry_later(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("credentials cannot be checked now: {error}"),
                5,
            )),
        }
    }

    /// Sends a browser to the page by which people sign in, and tells a program which credentials it needs.
    fn ask_to_sign_in(&self, head: &Request<()>, route: &TeamRoute) -> PageOutcome {
        let accepts_page = head
            .headers()
            .get(ACCEPT)
            .is_some_and(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")));
        let shows_token = head.headers().contains_key(AUTHORIZATION);
        if route.is_page() && accepts_page && !shows_token && *head.method() == Method::GET {
            let next = head.uri().path_and_query().map_or("/", |path| path.as_str());
            let query: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            return Ok(see_other(&format!("/sign-in?next={query}")));
        }
        let words =
            "this needs a token, as in `Authorization: Bearer TOKEN`, or a browser that has signed in";
        let mut response = render_refusal(HttpRefusal::new(StatusCode::UNAUTHORIZED, words));
        let resource = match route {
            TeamRoute::Mcp(palace) => format!("/p/{palace}/mcp"),
            _ => String::new(),
        };
        let challenge = format!(
            "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource{resource}\"",
            self.gate.base_url
        );
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        Ok(response)
    }
}

/// The service of every connection.
pub(super) struct TeamService(pub(super) Arc<TeamRouter>);

impl HttpService for TeamService {
    type Body = PageBody;

    async fn answer_request(&self, request: Request<Incoming>, seat: &ConnectionSeat) -> Response<PageBody> {
        let began = Instant::now();
        let router = &self.0;
        let route = TeamRoute::find(request.uri().path());
        let answered = router.answer(request, &route, seat).await;
        let mut response = answered.unwrap_or_else(render_refusal);
        add_security_headers(&mut response);
        if router.gate.is_secure {
            let value = HeaderValue::from_static("max-age=31536000");
            response
                .headers_mut()
                .insert(hyper::header::STRICT_TRANSPORT_SECURITY, value);
        }
        router.metrics.note_request(
            route.way(),
            route.palace(),
            response.status().as_u16(),
            began.elapsed(),
        );
        response
    }
}

/// Runs work on a thread that may wait. A panic ends one request and not the server.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpRefusal> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        let words = "the server failed on this request, which it never should; others go on";
        HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, words)
    })
}

/// What does not exist for a caller, for whatever reason, is answered alike.
pub(super) fn not_found() -> HttpRefusal {
    HttpRefusal::new(StatusCode::NOT_FOUND, "there is nothing here for you")
}

pub(super) fn see_other(location: &str) -> Response<PageBody> {
    let mut response = Response::new(whole_body(Vec::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

pub(super) fn json_response(status: StatusCode, body: String) -> Response<PageBody> {
    typed_response(status, "application/json", body)
}

pub(super) fn typed_response(
    status: StatusCode,
    media_type: &'static str,
    body: String,
) -> Response<PageBody> {
    let mut response = Response::new(whole_body(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Adds the seconds after which a request may be repeated.
pub(super) fn retry_after(headers: &mut HeaderMap, seconds: u64) {
    headers.insert(RETRY_AFTER, seconds.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_one_place() {
        let page = |palace: &str, path: &str| TeamRoute::Page(palace.into(), path.into());
        let cases = [
            ("/", TeamRoute::Palaces),
            ("/p/work", page("work", "/")),
            ("/p/work/", page("work", "/")),
            ("/p/work/source/part", page("work", "/source/part")),
            ("/p/work/mcp", TeamRoute::Mcp("work".into())),
            ("/p/", TeamRoute::Unknown),
            ("/p", TeamRoute::Unknown),
            (
                "/api/v1/p/work/search",
                TeamRoute::ApiCall("work".into(), "search".into()),
            ),
            ("/api/v1/p/work/a/b", TeamRoute::Unknown),
            ("/api/v1/p/work", TeamRoute::Unknown),
            ("/api/v1/other", TeamRoute::Unknown),
            (
                "/.well-known/oauth-protected-resource/p/work/mcp",
                TeamRoute::Metadata(Some("work".into())),
            ),
            ("/.well-known/oauth-protected-resource", TeamRoute::Metadata(None)),
            ("/.well-known/oauth-protected-resource/x", TeamRoute::Unknown),
        ];
        for (path, expect) in cases {
            assert_eq!(TeamRoute::find(path), expect, "{path}");
        }
    }
}
