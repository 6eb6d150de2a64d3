//! The bodies of pages: whole ones, and long ones that are sent while they are written.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame};
use loci_web::StreamedBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// The body of a response.
pub(crate) type PageBody = http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error>;

/// The bytes of a streamed body that are sent at once.
const PART_BYTES: usize = 64 << 10;
/// The parts that wait to be sent; the writer waits for more room.
const WAITING_PARTS: usize = 4;

/// Makes the body of bytes.
pub(crate) fn whole_body(bytes: impl Into<Bytes>) -> PageBody {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A message of the writer.
enum StreamPart {
    Bytes(Bytes),
    End,
    Failed(io::Error),
}

/// Starts to write a body on a thread of its own, and returns it once there is something to send. An error before that
/// is returned; a later one, or a panic, cuts the connection. `permit` is given back when the writer has ended.
pub(crate) async fn start_stream(write: StreamedBody, permit: OwnedSemaphorePermit) -> io::Result<PageBody> {
    let (sender, mut parts) = mpsc::channel(WAITING_PARTS);
    tokio::task::spawn_blocking(move || {
        write_stream(write, &sender);
        drop(permit);
    });
    let first = match parts.recv().await {
        Some(StreamPart::Bytes(bytes)) => Some(bytes),
        Some(StreamPart::End) => return Ok(whole_body(Bytes::new())),
        Some(StreamPart::Failed(cause)) => return Err(cause),
        None => return Err(writer_is_gone()),
    };
    Ok(StreamedPage {
        first,
        parts,
        has_ended: false,
    }
    .boxed_unsync())
}

fn write_stream(write: StreamedBody, sender: &Sender<StreamPart>) {
    let mut writer = PartWriter {
        sender,
        waiting: Vec::with_capacity(PART_BYTES),
    };
    let written = write(&mut writer).and_then(|()| writer.flush());
    let last = match written {
        Ok(()) => StreamPart::End,
        Err(cause) => StreamPart::Failed(cause),
    };
    // If the browser is gone there is nobody left to tell.
    let _ = sender.blocking_send(last);
}

fn writer_is_gone() -> io::Error {
    io::Error::other("the writer of a download ended early")
}

/// Collects what is written into parts. Waits while the browser is slow; fails once it is gone.
struct PartWriter<'a> {
    sender: &'a Sender<StreamPart>,
    waiting: Vec<u8>,
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PART_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::replace(&mut self.waiting, Vec::with_capacity(PART_BYTES));
        let sent = self.sender.blocking_send(StreamPart::Bytes(bytes.into()));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// A body that is sent while it is written.
struct StreamedPage {
    first: Option<Bytes>,
    parts: Receiver<StreamPart>,
    has_ended: bool,
}

impl Body for StreamedPage {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let part = std::task::ready!(self.parts.poll_recv(context));
        self.has_ended = !matches!(part, Some(StreamPart::Bytes(_)));
        Poll::Ready(match part {
            Some(StreamPart::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(StreamPart::End) => None,
            Some(StreamPart::Failed(cause)) => Some(Err(cause)),
            // Without a last word it is not known whether everything was written.
            None => Some(Err(writer_is_gone())),
        })
    }
}
