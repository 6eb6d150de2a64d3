//! Standard input and output: one message per line.
//!
//! One thread reads and one writes, so that neither a slow client nor a slow palace delays the other. A line
//! that is not a message is answered with an error and skipped. When the client disconnects, the SDK waits a
//! few seconds for pending answers, and the server ends.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::server::McpServer;

/// The longest line that is accepted, in bytes.
const LONGEST: usize = 16 << 20;
/// The most messages queued in either direction.
const QUEUE_LENGTH: usize = 256;
/// The most unanswered requests; no more are read until some are answered.
const MAX_OPEN_REQUESTS: usize = 1_024;
/// The byte order mark that some programs write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The most requests carried out at the same time.
const THREADS: usize = 10;
/// The time an idle thread is kept.
const IDLE_THREAD_LIFE: Duration = Duration::from_secs(5);
/// The time allowed for writing the last answers, and for ending work that still runs.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves one client until it disconnects or the process receives a signal to end.
pub fn serve(
    server: McpServer,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    // One thread for messages is enough: all work on the palace runs on blocking threads.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE_THREAD_LIFE)
        .build()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let served = runtime.block_on(async {
        let end = CancellationToken::new();
        let (lines, writer) = StdioTransport::start(input, output, end.clone());
        tokio::spawn(crate::signals::cancel_on_signal(end.clone()));
        let ended = match serve_server_with_ct(server, lines, end).await {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(|cause| lost_client_error(&cause)),
            // A client that disconnects before `initialize` is not an error: some only test whether the
            // server starts.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(cause) => Err(lost_client_error(&cause)),
        };
        wait_for_writer(writer).await;
        ended
    });
    // A write that is under way gets time to finish. Cutting off longer work is safe: every write is one
    // transaction.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    served
}

fn lost_client_error(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the client was lost: {cause}"))
}

/// Waits until all answers are written, or the client no longer reads them.
async fn wait_for_writer(writer: thread::JoinHandle<()>) {
    let begun = Instant::now();
    // Polled, because a thread that hangs in a write to a full pipe cannot be joined with a time limit.
    while !writer.is_finished() && begun.elapsed() < SHUTDOWN_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A line of input.
enum StdioLine {
    Whole(Vec<u8>),
    TooLong,
}

/// The transport: messages as lines.
struct StdioTransport {
    incoming: mpsc::Receiver<StdioLine>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    /// Messages that were read and not yet handed to the SDK; a batch brings several.
    queue: VecDeque<Value>,
    /// Errors about lines that were not messages, to be sent as soon as the writer has room.
    refusals: VecDeque<Vec<u8>>,
    /// Whether a request has arrived; notifications before the first one are dropped.
    opened: bool,
    /// Requests that are not answered yet.
    open_requests: Arc<OpenRequests>,
}

/// Requests that are not answered yet.
#[derive(Default)]
struct OpenRequests {
    open: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl OpenRequests {
    fn with_open<T>(&self, look: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        look(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn mark_answered(&self, id: &RequestId) {
        self.with_open(|open| open.remove(id));
        self.answered.notify_one();
    }

    /// Waits until another request may be read: a client that does not read its answers gets no more of them.
    async fn wait_for_room(&self) {
        while self.with_open(|open| open.len()) >= MAX_OPEN_REQUESTS {
            self.answered.notified().await;
        }
    }
}

/// Returns the id in a line that is not a message, if one can be read.
fn read_line_id(bytes: &[u8]) -> Value {
    #[derive(serde::Deserialize)]
    struct LineId {
        #[serde(default)]
        id: Value,
    }
    let named = serde_json::from_slice::<LineId>(bytes).ok();
    named.map_or(Value::Null, |named| named.id)
}

impl StdioTransport {
    fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        end: CancellationToken,
    ) -> (Self, thread::JoinHandle<()>) {
        let (read, incoming) = mpsc::channel(QUEUE_LENGTH);
        let (outgoing, written) = mpsc::channel(QUEUE_LENGTH);
        thread::spawn(move || read_lines(input, &read));
        let writer = thread::spawn(move || {
            if write_lines(output, written).is_err() {
                end.cancel();
            }
        });
        let lines = Self {
            incoming,
            outgoing: Some(outgoing),
            queue: VecDeque::new(),
            refusals: VecDeque::new(),
            opened: false,
            open_requests: Arc::default(),
        };
        (lines, writer)
    }

    /// Queues an error response about a line that was not a message.
    fn queue_refusal(&mut self, id: Value, code: i32, message: &str) {
        let said = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        self.refusals.push_back(encode_line(&said));
    }

    /// Sends all queued refusals. `None` if the client is gone.
    async fn send_refusals(&mut self) -> Option<()> {
        while !self.refusals.is_empty() {
            // The SDK may drop this future at any await. Room is reserved before a refusal leaves the queue,
            // so none is lost.
            let room = self.outgoing.as_ref()?.reserve().await.ok()?;
            if let Some(said) = self.refusals.pop_front() {
                room.send(said);
            }
        }
        Some(())
    }

    /// Returns the message in a value; `None` if it is not a message, or arrives before the first request.
    fn read_message(&mut self, value: Value) -> Option<ClientJsonRpcMessage> {
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(value) else {
            self.queue_refusal(id, -32600, "this is not a valid request");
            return None;
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.opened = true;
                // Two answers with one id cannot be told apart, neither by the client nor by a cancellation.
                if !self
                    .open_requests
                    .with_open(|open| open.insert(request.id.clone()))
                {
                    self.queue_refusal(
                        id,
                        -32600,
                        "an earlier request with this id is still unanswered; nothing was done",
                    );
                    return None;
                }
            }
            JsonRpcMessage::Notification(said) => {
                // A cancelled request may never be answered, so it must not count as open any longer.
                if let ClientNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open_requests.mark_answered(id);
                }
            }
            _ => {}
        }
        // The SDK ends the server when a notification comes before `initialize`; such clients exist.
        self.opened.then_some(message)
    }

    /// Queues the messages of a line. Revision 2025-03-26 allows batches.
    fn queue_messages(&mut self, bytes: &[u8]) {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Array(batch)) if !batch.is_empty() => self.queue.extend(batch),
            Ok(value) => self.queue.push_back(value),
            Err(cause) => self.queue_refusal(
                read_line_id(bytes),
                -32700,
                &format!("this line is not JSON: {cause}"),
            ),
        }
    }
}

fn encode_line(message: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::result::Result<(), io::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let asked = self.open_requests.clone();
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            let outgoing = outgoing.ok_or_else(closed)?;
            // Closed only once it is queued for the writer: until then it counts against the limit on open
            // requests.
            outgoing.send(encode_line(&item)).await.map_err(|_| closed())?;
            match &item {
                JsonRpcMessage::Response(response) => asked.mark_answered(&response.id),
                JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| asked.mark_answered(id)),
                _ => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_refusals().await?;
            self.open_requests.wait_for_room().await;
            if let Some(value) = self.queue.pop_front() {
                match self.read_message(value) {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            match self.incoming.recv().await {
                Some(StdioLine::Whole(bytes)) => self.queue_messages(&bytes),
                Some(StdioLine::TooLong) => {
                    let message = format!("this line is longer than {LONGEST} bytes; nothing was done");
                    self.queue_refusal(Value::Null, -32600, &message);
                }
                None => return None,
            }
        }
    }

    async fn close(&mut self) -> std::result::Result<(), io::Error> {
        self.outgoing = None;
        Ok(())
    }
}

/// Reads lines until the input ends. A line that is too long is skipped without being kept in memory.
fn read_lines(input: impl Read, lines: &mpsc::Sender<StdioLine>) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let read = input
            .by_ref()
            // The extra byte is for the line break behind a line of exactly the limit.
            .take(LONGEST as u64 + 1)
            .read_until(b'\n', &mut line);
        let said = match read {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() > LONGEST && !line.ends_with(b"\n") => {
                if skip_line(&mut input).is_err() {
                    return;
                }
                StdioLine::TooLong
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => StdioLine::Whole(line),
        };
        if lines.blocking_send(said).is_err() {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let there = input.fill_buf()?;
        let (used, ended) = match there.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (there.len(), there.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

fn write_lines(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(line) = lines.blocking_recv() {
        output.write_all(&line)?;
        // Answers that are ready together are flushed together.
        while let Ok(line) = lines.try_recv() {
            output.write_all(&line)?;
        }
        output.flush()?;
    }
    Ok(())
}
