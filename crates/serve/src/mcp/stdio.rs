//! Standard input and output: one message to a line.
//!
//! A thread reads and a thread writes, so that neither a slow client nor a slow palace holds up the other. A line that is
//! no message is answered and passed over. When the client goes away the SDK waits a few seconds for answers that are on
//! their way, and the server ends.

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

use super::server::Server;

/// The longest line that is read, in bytes.
const LONGEST: usize = 16 << 20;
/// How many messages may wait on either side.
const WAITING: usize = 256;
/// How many requests may wait for their answers; more are not read before some are answered.
const MOST_ASKED: usize = 1_024;
/// What some programs put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How many requests are carried out at once.
const THREADS: usize = 10;
/// How long a thread without work is kept.
const IDLE: Duration = Duration::from_secs(5);
/// How long writing down the last answers may take, and ending what is still being done.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until it goes away or the process is asked to end.
pub fn serve(
    server: Server,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE)
        .build()
        .map_err(|cause| Error::new(ErrorKind::Io, "the server cannot start").caused_by(cause))?;
    let served = runtime.block_on(async {
        let end = CancellationToken::new();
        let (lines, writer) = Lines::start(input, output, end.clone());
        tokio::spawn(super::signals::end_when_asked(end.clone()));
        let ended = match serve_server_with_ct(server, lines, end).await {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(|cause| stumbled(&cause)),
            // A client that left before it said anything is no trouble of ours.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(cause) => Err(stumbled(&cause)),
        };
        finish(writer).await;
        ended
    });
    // What is being written is finished; what takes longer is safe to be cut off.
    runtime.shutdown_timeout(PATIENCE);
    served
}

fn stumbled(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the client was lost: {cause}"))
}

/// Waits until everything is written, as far as the client reads it.
async fn finish(writer: thread::JoinHandle<()>) {
    let begun = Instant::now();
    while !writer.is_finished() && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What was read.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// Messages as lines.
struct Lines {
    incoming: mpsc::Receiver<Line>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    /// Messages of a batch that wait their turn.
    queue: VecDeque<Value>,
    /// What is to be said of lines that were no messages, as soon as there is room.
    refusals: VecDeque<Vec<u8>>,
    /// Whether a request has come; nothing else means anything before that.
    opened: bool,
    /// Requests that are not answered yet.
    asked: Arc<Asked>,
}

/// Requests that are not answered yet.
#[derive(Default)]
struct Asked {
    open: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl Asked {
    fn with<T>(&self, look: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        look(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn close(&self, id: &RequestId) {
        self.with(|open| open.remove(id));
        self.answered.notify_one();
    }

    /// Waits until one more may be asked: whoever does not read answers gets no more of them.
    async fn has_room(&self) {
        while self.with(|open| open.len()) >= MOST_ASKED {
            self.answered.notified().await;
        }
    }
}

/// The id of a line that is no message, if that much can be read of it.
fn id_of(bytes: &[u8]) -> Value {
    #[derive(serde::Deserialize)]
    struct Named {
        #[serde(default)]
        id: Value,
    }
    let named = serde_json::from_slice::<Named>(bytes).ok();
    named.map_or(Value::Null, |named| named.id)
}

impl Lines {
    fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        end: CancellationToken,
    ) -> (Self, thread::JoinHandle<()>) {
        let (read, incoming) = mpsc::channel(WAITING);
        let (outgoing, written) = mpsc::channel(WAITING);
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
            asked: Arc::default(),
        };
        (lines, writer)
    }

    /// Says that something was no message.
    fn refuse(&mut self, id: Value, code: i32, message: &str) {
        let said = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        self.refusals.push_back(line(&said));
    }

    /// Waits until every refusal is on its way; none is lost if this is dropped halfway. None if the client is gone.
    async fn say_refusals(&mut self) -> Option<()> {
        while !self.refusals.is_empty() {
            let room = self.outgoing.as_ref()?.reserve().await.ok()?;
            if let Some(said) = self.refusals.pop_front() {
                room.send(said);
            }
        }
        Some(())
    }

    /// The message in a value, unless it is none or means nothing yet.
    fn read(&mut self, value: Value) -> Option<ClientJsonRpcMessage> {
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(value) else {
            self.refuse(id, -32600, "this is no request that can be read");
            return None;
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.opened = true;
                if !self.asked.with(|open| open.insert(request.id.clone())) {
                    self.refuse(
                        id,
                        -32600,
                        "another request with this id is not answered yet; nothing was done",
                    );
                    return None;
                }
            }
            JsonRpcMessage::Notification(said) => {
                if let ClientNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.asked.close(id);
                }
            }
            _ => {}
        }
        self.opened.then_some(message)
    }

    fn split(&mut self, bytes: &[u8]) {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Array(batch)) if !batch.is_empty() => self.queue.extend(batch),
            Ok(value) => self.queue.push_back(value),
            Err(cause) => self.refuse(id_of(bytes), -32700, &format!("this line is no JSON: {cause}")),
        }
    }
}

fn line(message: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::result::Result<(), io::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let asked = self.asked.clone();
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            let outgoing = outgoing.ok_or_else(closed)?;
            outgoing.send(line(&item)).await.map_err(|_| closed())?;
            match &item {
                JsonRpcMessage::Response(response) => asked.close(&response.id),
                JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| asked.close(id)),
                _ => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.say_refusals().await?;
            self.asked.has_room().await;
            if let Some(value) = self.queue.pop_front() {
                match self.read(value) {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            match self.incoming.recv().await {
                Some(Line::Whole(bytes)) => self.split(&bytes),
                Some(Line::TooLong) => {
                    let message = format!("this line is longer than {LONGEST} bytes; nothing was done");
                    self.refuse(Value::Null, -32600, &message);
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

/// Reads lines until there are none; a line that is too long is read past and never kept.
fn read_lines(input: impl Read, lines: &mpsc::Sender<Line>) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let read = input
            .by_ref()
            .take(LONGEST as u64 + 1)
            .read_until(b'\n', &mut line);
        let said = match read {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() > LONGEST && !line.ends_with(b"\n") => {
                if skip_line(&mut input).is_err() {
                    return;
                }
                Line::TooLong
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => Line::Whole(line),
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
        while let Ok(line) = lines.try_recv() {
            output.write_all(&line)?;
        }
        output.flush()?;
    }
    Ok(())
}
