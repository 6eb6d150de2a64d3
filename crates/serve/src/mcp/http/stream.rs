//! Answers as they are sent, and bodies as they are read.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::refusal::{Body, Refusal};
use super::sessions::Answering;

/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(60);
/// How much of a refused body is read, so that the client gets to read why.
const READ_PAST: usize = 64 << 20;
/// For how long.
const READ_PAST_FOR: Duration = Duration::from_secs(10);

/// All of a body, up to `limit` bytes.
pub(super) async fn whole(mut body: Incoming, limit: usize) -> Result<Bytes, Refusal> {
    let late = || Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
    let read = tokio::time::timeout(ARRIVAL, read_up_to(&mut body, limit)).await;
    match read.map_err(|_| late())? {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            read_past(body);
            let words = format!("a request may have {limit} bytes; nothing was done");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, &words))
        }
        Err(_) => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "the request ended before its end",
        )),
    }
}

/// A body, or nothing where it is longer.
async fn read_up_to(body: &mut Incoming, limit: usize) -> hyper::Result<Option<Bytes>> {
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

/// Reads on without keeping anything: a connection that is closed while the client still writes takes the answer with it.
pub(super) fn read_past(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    let reading = async move {
        let mut left = READ_PAST;
        while let Some(Ok(frame)) = body.frame().await {
            let read = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    tokio::spawn(tokio::time::timeout(READ_PAST_FOR, reading));
}

/// An answer that its session knows of.
pub(super) struct Sent {
    inner: Body,
    answering: Option<Answering>,
    end: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Sent {
    /// Watches an answer; one that would never end by itself ends with `end`.
    pub(super) fn new(inner: Body, answering: Option<Answering>, end: Option<CancellationToken>) -> Self {
        let end = end.map(|end| Box::pin(end.cancelled_owned()));
        Self {
            inner,
            answering,
            end,
        }
    }

    fn finish(&mut self) {
        if let Some(mut answering) = self.answering.take() {
            answering.finished = true;
        }
    }
}

impl hyper::body::Body for Sent {
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
        if asked {
            self.finish();
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.finish();
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

impl Drop for Sent {
    fn drop(&mut self) {
        if self.inner.is_end_stream() {
            self.finish();
        }
    }
}
