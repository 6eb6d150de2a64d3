//! Bodies of responses as they are sent, and what their sessions learn of it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as _, Bytes, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::sessions::AnswerInProgress;
use crate::http::refusal::ResponseBody;

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
