//! Bodies of requests as they are read, and of responses as they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::refusal::{HttpRefusal, ResponseBody};
use super::sessions::AnswerInProgress;

/// The time a body may take to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes read of a refused body, so that the client gets to read the response.
const MAX_DRAINED_BYTES: usize = 64 << 20;
/// The most time spent on that.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn read_whole_body(mut body: Incoming, limit: usize) -> Result<Bytes, HttpRefusal> {
    let late = || HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
    let read = tokio::time::timeout(ARRIVAL_TIMEOUT, read_body_up_to(&mut body, limit)).await;
    match read.map_err(|_| late())? {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            drain_body(body);
            let words = format!("a request may have at most {limit} bytes; nothing was done");
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
pub(super) fn drain_body(mut body: Incoming) {
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

/// A response body that reports to its session when it is complete.
pub(super) struct TrackedBody {
    inner: ResponseBody,
    answering: Option<AnswerInProgress>,
    end: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl TrackedBody {
    /// Wraps a body. One that never ends by itself ends once `end` is cancelled.
    pub(super) fn new(
        inner: ResponseBody,
        answering: Option<AnswerInProgress>,
        end: Option<CancellationToken>,
    ) -> Self {
        let end = end.map(|end| Box::pin(end.cancelled_owned()));
        Self {
            inner,
            answering,
            end,
        }
    }

    fn mark_finished(&mut self) {
        if let Some(mut answering) = self.answering.take() {
            answering.finished = true;
        }
    }
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let asked = self
            .end
            .as_mut()
            .is_some_and(|end| end.as_mut().poll(context).is_ready());
        // A stream ended by a shutdown counts as complete: the client did not vanish.
        if asked {
            self.mark_finished();
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        // hyper may stop polling once a body says that it has ended, so `None` alone is not enough.
        if matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.mark_finished();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if self.inner.is_end_stream() {
            self.mark_finished();
        }
    }
}
