//! One request of a browser: admitted, read, answered by the site.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderValue, LOCATION, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use loci_web::{PageFields, PageMethod, PageRequest, Site, SiteBase, Visit};
use tokio::sync::Semaphore;

use super::carrier::{
    MOST_STREAMS, PageOutcome, read_form, read_theme, render_refusal, render_reply, take_seat,
};
use super::fixed_pages;
use super::guard::{PageGuard, RequestSource, check_path, is_navigation, is_prefetch};
use super::headers::{add_header, add_security_headers};
use super::page_body::{PageBody, whole_body};
use super::visitors::{LinkOutcome, SIGN_IN_PATH, VisitorList};
use crate::http::bodies::{BodyLimits, drain_body};
use crate::http::connections::HttpService;
use crate::http::refusal::HttpRefusal;
use crate::http::seats::ConnectionSeat;

/// Answers the requests of browsers.
pub(super) struct PageResponder {
    site: Arc<Site>,
    guard: PageGuard,
    visitors: Arc<VisitorList>,
    form_limits: BodyLimits,
    streams: Arc<Semaphore>,
}

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
            read_form(request.headers(), body, self.form_limits).await?
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
            base: SiteBase::default(),
        };
        let site = self.site.clone();
        let answering = tokio::task::spawn_blocking(move || site.answer(&page, &visit));
        let reply = answering.await.map_err(|_| {
            let words = "this page failed, which it never should; the others still work";
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, words)
        })?;
        render_reply(reply, *request.method() == Method::HEAD, &self.streams).await
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
        let mut response = answered.unwrap_or_else(render_refusal);
        add_security_headers(&mut response);
        response
    }
}

fn see_first_page() -> Response<PageBody> {
    let mut response = Response::new(whole_body(Vec::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    response
        .headers_mut()
        .insert(LOCATION, HeaderValue::from_static("/"));
    response
}
