//! Bodies of requests as they are read: bounded in size and time.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::EXPECT;
use hyper::{Request, Response, StatusCode};

use super::refusal::{HttpRefusal, ResponseBody};

/// The most bytes read of a refused body, so that the client gets to read the response.
const MAX_DRAINED_BYTES: usize = 64 << 20;
/// The most time spent on that.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Bounds on the body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimits {
    /// Its size, in bytes.
    pub(crate) size: usize,
    /// The time it may take to arrive.
    pub(crate) arrival: Duration,
}

/// Reads a whole body.
pub(crate) async fn read_whole_body(mut body: Incoming, limits: BodyLimits) -> Result<Bytes, HttpRefusal> {
    let late = || HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
    let read = tokio::time::timeout(limits.arrival, read_body_up_to(&mut body, limits.size)).await;
    match read.map_err(|_| late())? {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            drain_body(body);
            let words = format!(
                "a request may have at most {} bytes; nothing was done",
                limits.size
            );
            Err(HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, &words))
        }
        Err(_) => Err(HttpRefusal::new(
            StatusCode::BAD_REQUEST,
            "the request was cut short",
        )),
    }
}

/// Reads a body, or returns `None` if it is longer than `limit`.
async fn read_body_up_to(body: &mut Incoming, limit: usize) -> hyper::Result<Option<Bytes>> {
    // A declared length that is too large is refused before any of the body is held in memory.
    if body.size_hint().lower() > limit as u64 {
        return Ok(None);
    }
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if piece.len() > limit - read.len() {
            return Ok(None);
        }
        read.extend_from_slice(&piece);
    }
    Ok(Some(read.into()))
}

/// Reads the rest of a body and discards it, in the background: closing a connection while the client still
/// writes would discard the response as well.
pub(crate) fn drain_body(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    let reading = async move {
        let mut left = MAX_DRAINED_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let read = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, reading));
}

/// Refuses a request without using its body.
pub(crate) fn refuse_unread(request: Request<Incoming>, refusal: HttpRefusal) -> Response<ResponseBody> {
    // A client that sent `Expect: 100-continue` waits for permission and has not sent a body.
    if !request.headers().contains_key(EXPECT) {
        drain_body(request.into_body());
    }
    refusal.into_response()
}
