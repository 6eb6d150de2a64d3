//! Between HTTP and pages: forms are read, replies and refusals become responses.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap,
    HeaderValue, LOCATION, SET_COOKIE,
};
use hyper::{Response, StatusCode};
use loci_web::{PageFields, PageReply, ReplyBody, ReplyCaching, ThemeChoice};
use tokio::sync::Semaphore;

use super::headers::{add_header, name_download};
use super::page_body::{PageBody, start_stream, whole_body};
use super::visitors::list_cookies;
use crate::http::bodies::{BodyLimits, drain_body, read_whole_body};
use crate::http::host_names::single_header;
use crate::http::refusal::HttpRefusal;
use crate::http::seats::ConnectionSeat;

/// The most downloads that are written at the same time. Each holds a thread for as long as its browser takes.
pub(crate) const MOST_STREAMS: usize = 8;
/// The cookie that remembers the colors.
const THEME_COOKIE: &str = "loci-theme";
/// How long it does, in seconds: a year.
const THEME_LIFE: u32 = 365 * 24 * 3600;

/// A response, or the reason there is none.
pub(crate) type PageOutcome = Result<Response<PageBody>, HttpRefusal>;

/// Reads the form of a POST.
pub(crate) async fn read_form(
    headers: &HeaderMap,
    body: Incoming,
    limits: BodyLimits,
) -> Result<PageFields, HttpRefusal> {
    let media_type = single_header(headers, &CONTENT_TYPE).ok().flatten();
    if !media_type.is_some_and(is_form) || headers.contains_key(CONTENT_ENCODING) {
        if !headers.contains_key(EXPECT) {
            drain_body(body);
        }
        let words = "the content type of a form must be application/x-www-form-urlencoded; nothing was done";
        return Err(HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
    }
    let bytes = read_whole_body(body, limits).await?;
    Ok(PageFields::parse(&bytes))
}

/// Turns the reply of the site into a response.
pub(crate) async fn render_reply(reply: PageReply, is_head: bool, streams: &Arc<Semaphore>) -> PageOutcome {
    let body = match reply.body {
        ReplyBody::Whole(bytes) => whole_body(bytes),
        ReplyBody::Streamed(_) if is_head => whole_body(Vec::new()),
        ReplyBody::Streamed(write) => {
            let permit = streams.clone().try_acquire_owned().map_err(|_| {
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
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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

/// Turns a refusal into a response.
pub(crate) fn render_refusal(refusal: HttpRefusal) -> Response<PageBody> {
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
}

/// Takes a seat, because the connection has shown its secret.
pub(crate) fn take_seat(seat: &ConnectionSeat) -> Result<(), HttpRefusal> {
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

fn is_form(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default();
    media_type
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Reads the colors that the visitor chose.
pub(crate) fn read_theme(headers: &HeaderMap) -> ThemeChoice {
    let mut cookies = list_cookies(headers);
    let chosen = cookies.find(|(name, _)| *name == THEME_COOKIE);
    chosen
        .and_then(|(_, theme)| theme.parse().ok())
        .unwrap_or_default()
}
