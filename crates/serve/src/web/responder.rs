//! One request of a browser: admitted, read, answered by the site.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap,
    HeaderValue, LOCATION, SET_COOKIE,
};
use hyper::{Method, Request, Response, StatusCode};
use loci_web::{
    PageFields, PageMethod, PageReply, PageRequest, ReplyBody, ReplyCaching, Site, ThemeChoice, Visit,
};
use tokio::sync::Semaphore;

use super::fixed_pages;
use super::guard::{PageGuard, RequestSource, check_path, is_navigation, is_prefetch};
use super::headers::{add_header, add_security_headers, name_download};
use super::page_body::{PageBody, start_stream, whole_body};
use super::visitors::{LinkOutcome, SIGN_IN_PATH, VisitorList, list_cookies};
use crate::http::bodies::{BodyLimits, drain_body, read_whole_body};
use crate::http::connections::HttpService;
use crate::http::host_names::single_header;
use crate::http::refusal::HttpRefusal;
use crate::http::seats::ConnectionSeat;

/// The most downloads that are written at the same time. Each holds a thread for as long as its browser takes.
const MOST_STREAMS: usize = 8;
/// The cookie that remembers the colors.
const THEME_COOKIE: &str = "loci-theme";
/// How long it does, in seconds: a year.
const THEME_LIFE: u32 = 365 * 24 * 3600;

/// Answers the requests of browsers.
pub(super) struct PageResponder {
    site: Arc<Site>,
    guard: PageGuard,
    visitors: Arc<VisitorList>,
    form_limits: BodyLimits,
    streams: Arc<Semaphore>,
}

/// A response, or the reason there is none.
type PageOutcome = Result<Response<PageBody>, HttpRefusal>;

impl PageResponder {
    /// Makes a responder for a site.
    pub(super) fn new(
        site: Arc<Site>,
        guard: PageGuard,
        visitors: Arc<VisitorList>,
        form_limits: BodyLimits,
    ) -> Self {
        Self {
            site,
            guard,
            visitors,
            form_limits,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }

    async fn answer(&self, request: Request<Incoming>, seat: &ConnectionSeat) -> PageOutcome {
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, ());
        let admitted = self.admit(&request, seat);
        // A browser that sent `Expect: 100-continue` waits for permission and has not sent a body.
        let sends_unasked = !request.headers().contains_key(EXPECT);
        let visit = match admitted {
            Ok(Admission::Visitor(visit)) => visit,
            Ok(Admission::Answered(response)) => {
                drain_body(body);
                return Ok(response);
            }
            Err(refusal) => {
                if sends_unasked {
                    drain_body(body);
                }
                return Err(refusal);
            }
        };
        let is_post = *request.method() == Method::POST;
        let form = if is_post {
            self.read_form(request.headers(), body).await?
        } else {
            drain_body(body);
            PageFields::default()
        };
        let page = PageRequest {
            method: if is_post {
                PageMethod::Post
            } else {
                PageMethod::Get
            },
            path: request.uri().path().to_owned(),
            query: PageFields::parse(request.uri().query().unwrap_or_default().as_bytes()),
            form,
            theme: read_theme(request.headers()),
        };
        let site = self.site.clone();
        let answering = tokio::task::spawn_blocking(move || site.answer(&page, &visit));
        let reply = answering.await.map_err(|_| {
            let words = "this page failed, which it never should; the others still work";
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, words)
        })?;
        self.render(reply, *request.method() == Method::HEAD).await
    }

    /// Lets a visitor in, signs a browser in, or refuses the request.
    fn admit(&self, request: &Request<()>, seat: &ConnectionSeat) -> Result<Admission, HttpRefusal> {
        let source = self.guard.admit(request)?;
        let visitor = self.visitors.find_visitor(request.headers());
        if request.uri().path() == SIGN_IN_PATH {
            let is_known = visitor.is_some();
            return self
                .sign_in(request, source, is_known, seat)
                .map(Admission::Answered);
        }
        let visit = visitor.ok_or_else(fixed_pages::sign_in_required)?;
        take_seat(seat)?;
        check_path(request.uri().path())?;
        Ok(Admission::Visitor(visit))
    }

    fn sign_in(
        &self,
        request: &Request<()>,
        source: RequestSource,
        is_known: bool,
        seat: &ConnectionSeat,
    ) -> PageOutcome {
        // The link must be left for the person whom the browser prepares it for.
        if is_prefetch(request.headers()) || !is_navigation(request.headers()) {
            let words = "this link is opened by people only";
            return Err(HttpRefusal::retry_later(
                StatusCode::SERVICE_UNAVAILABLE,
                words,
                1,
            ));
        }
        if *request.method() == Method::HEAD {
            return Err(fixed_pages::sign_in_required());
        }
        // Opened again, perhaps by going back, it leads on; it is used up only by a browser that is not signed in.
        if is_known {
            return Ok(see_first_page());
        }
        let key = request.uri().query().and_then(|query| query.strip_prefix("key="));
        let outcome = self.visitors.sign_in(key.unwrap_or_default(), seat.peer());
        let cookie = match outcome {
            Ok(LinkOutcome::SignedIn(cookie)) => cookie,
            Ok(LinkOutcome::Unknown) => return Err(fixed_pages::link_refused()),
            Ok(LinkOutcome::OtherUser) => return Err(fixed_pages::link_of_another_user()),
            Ok(LinkOutcome::Untold) => {
                let words =
                    "the system does not tell whose browser this is; the link was not used up, open it again";
                return Err(HttpRefusal::retry_later(
                    StatusCode::SERVICE_UNAVAILABLE,
                    words,
                    1,
                ));
            }
            Err(_) => {
                let words = "the system provides no random numbers; the link was not used up";
                return Err(HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, words));
            }
        };
        take_seat(seat)?;
        let mut response = if source == RequestSource::OtherPage {
            let mut response = Response::new(whole_body(fixed_pages::go_to_first_page()));
            add_header(response.headers_mut(), CONTENT_TYPE, "text/html; charset=utf-8");
            response
        } else {
            see_first_page()
        };
        add_header(response.headers_mut(), SET_COOKIE, &cookie);
        Ok(response)
    }

    /// Reads the form of a POST.
    async fn read_form(&self, headers: &HeaderMap, body: Incoming) -> Result<PageFields, HttpRefusal> {
        let media_type = single_header(headers, &CONTENT_TYPE).ok().flatten();
        if !media_type.is_some_and(is_form) || headers.contains_key(CONTENT_ENCODING) {
            if !headers.contains_key(EXPECT) {
                drain_body(body);
            }
            let words =
                "the content type of a form must be application/x-www-form-urlencoded; nothing was done";
            return Err(HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        let bytes = read_whole_body(body, self.form_limits).await?;
        Ok(PageFields::parse(&bytes))
    }

    /// Turns the reply of the site into a response.
    async fn render(&self, reply: PageReply, is_head: bool) -> PageOutcome {
        let body = match reply.body {
            ReplyBody::Whole(bytes) => whole_body(bytes),
            ReplyBody::Streamed(_) if is_head => whole_body(Vec::new()),
            ReplyBody::Streamed(write) => {
                let permit = self.streams.clone().try_acquire_owned().map_err(|_| {
                    let words = "too many downloads at once; wait until one has ended";
                    HttpRefusal::retry_later(StatusCode::SERVICE_UNAVAILABLE, words, 5)
                })?;
                start_stream(write, permit).await.map_err(|cause| {
                    let words = format!("the download cannot be made: {cause}");
                    HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, &words)
                })?
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.media_type));
        if let Some(location) = &reply.location {
            add_header(headers, LOCATION, location);
        }
        if let Some(file_name) = &reply.file_name {
            add_header(headers, CONTENT_DISPOSITION, &name_download(file_name));
        }
        if reply.caching == ReplyCaching::Forever {
            let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
            headers.insert(CACHE_CONTROL, forever);
        }
        if let Some(theme) = reply.theme {
            let cookie = format!(
                "{THEME_COOKIE}={}; Path=/; Max-Age={THEME_LIFE}; HttpOnly; SameSite=Strict",
                theme.name()
            );
            add_header(headers, SET_COOKIE, &cookie);
        }
        Ok(response)
    }
}

/// What becomes of a request once its head was read.
enum Admission {
    /// The site answers it.
    Visitor(Arc<Visit>),
    /// It is answered.
    Answered(Response<PageBody>),
}

impl HttpService for PageResponder {
    type Body = PageBody;

    async fn answer_request(&self, request: Request<Incoming>, seat: &ConnectionSeat) -> Response<PageBody> {
        let answered = self.answer(request, seat).await;
        let mut response = answered.unwrap_or_else(|refusal| {
            // What follows on such a connection may be the rest of a body.
            let closes = refusal.leaves_body_unread() || refusal.status == StatusCode::LENGTH_REQUIRED;
            let closes = closes || refusal.status == StatusCode::SERVICE_UNAVAILABLE;
            let mut response = refusal
                .into_response()
                .map(|body| body.map_err(|never| match never {}).boxed_unsync());
            if closes {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            response
        });
        add_security_headers(&mut response);
        response
    }
}

fn take_seat(seat: &ConnectionSeat) -> Result<(), HttpRefusal> {
    if seat.sit_down() {
        return Ok(());
    }
    let words = "too many connections";
    Err(HttpRefusal::retry_later(
        StatusCode::SERVICE_UNAVAILABLE,
        words,
        1,
    ))
}

fn see_first_page() -> Response<PageBody> {
    let mut response = Response::new(whole_body(Vec::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    response
        .headers_mut()
        .insert(LOCATION, HeaderValue::from_static("/"));
    response
}

fn is_form(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default();
    media_type
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Reads the colors that the visitor chose.
fn read_theme(headers: &HeaderMap) -> ThemeChoice {
    let mut cookies = list_cookies(headers);
    let chosen = cookies.find(|(name, _)| *name == THEME_COOKIE);
    chosen
        .and_then(|(_, theme)| theme.parse().ok())
        .unwrap_or_default()
}
