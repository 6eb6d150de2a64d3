//! A small HTTP/1.1 server on this machine that makes vectors from words, or misbehaves as a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// The number of values in the vectors.
pub(crate) const DIMENSION: usize = 64;

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    /// The whole head, as it was sent.
    pub(crate) head: String,
    /// The body, with its chunks put together.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The texts it wants vectors of.
    pub(crate) fn texts(&self) -> Vec<String> {
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        let texts = body["input"].as_array().unwrap().iter();
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    }
}

/// The answer of the server.
pub(crate) enum Reply {
    /// A well-formed answer: status, more header lines, body.
    Answer(u16, String, Vec<u8>),
    /// These bytes, and then the connection ends.
    Bytes(Vec<u8>),
    /// These bytes, after which the connection ends and no client can connect any more.
    Last(Vec<u8>),
    /// Nothing, until the client goes away.
    Silence,
}

/// A reply with a JSON body.
pub(crate) fn reply(status: u16, body: &Value) -> Reply {
    Reply::Answer(status, String::new(), body.to_string().into_bytes())
}

/// A wrapper around a connection, such as TLS.
pub(crate) type Wrap = Box<dyn Fn(TcpStream) -> Box<dyn Stream> + Send + Sync>;

/// A connection, plain or wrapped.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

type Handler = Box<dyn Fn(usize, &Request) -> Reply + Send + Sync>;

struct Shared {
    handler: Handler,
    wrap: Wrap,
    log: Mutex<Vec<Request>>,
    open: Mutex<Vec<TcpStream>>,
    stopped: AtomicBool,
    address: SocketAddr,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

/// A running server; it ends when it is dropped.
pub(crate) struct TestServer {
    shared: Arc<Shared>,
}

impl TestServer {
    /// Answers each request by `handler`, which is told how many came before.
    pub(crate) fn start(handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::wrapped(Box::new(|stream| Box::new(stream)), handler)
    }

    /// The same through `wrap`.
    pub(crate) fn wrapped(
        wrap: Wrap,
        handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            wrap,
            log: Mutex::default(),
            open: Mutex::default(),
            stopped: AtomicBool::new(false),
            address,
            accepting: Mutex::default(),
        });
        let accepting = std::thread::spawn({
            let shared = shared.clone();
            move || accept(&listener, &shared)
        });
        *shared.accepting.lock().unwrap() = Some(accepting);
        Self { shared }
    }

    /// Its base address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.shared.address.port()
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap().clone()
    }

    /// Returns the number of connections made.
    pub(crate) fn connections(&self) -> usize {
        self.shared.open.lock().unwrap().len()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.stop();
        for stream in self.shared.open.lock().unwrap().iter() {
            // A connection that ended by itself cannot be shut again.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    /// Stops listening; once this returns, no client can connect.
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.lock().unwrap().take() {
            // Wakes the thread that accepts.
            let _ = TcpStream::connect(self.address);
            accepting.join().unwrap();
        }
    }
}

/// Ends its connection, also when a handler panics: `open` holds the socket too, so letting go of it is not enough.
struct Ending(TcpStream);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let ending = Ending(stream.try_clone().unwrap());
        shared.open.lock().unwrap().push(stream.try_clone().unwrap());
        let shared = shared.clone();
        std::thread::spawn(move || {
            let mut connection = BufReader::new((shared.wrap)(stream));
            while let Some(request) = receive(&mut connection) {
                if !answer(&shared, &request, connection.get_mut()) {
                    break;
                }
            }
            drop(ending);
        });
    }
}

/// Reads one request; none where the client left.
fn receive(connection: &mut BufReader<Box<dyn Stream>>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
    };
    let mut body = Vec::new();
    if field("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let mut size = String::new();
            connection.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            connection.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = field("content-length") {
        body.resize(length.parse().ok()?, 0);
        connection.read_exact(&mut body).ok()?;
    }
    let first = head.lines().next()?;
    let line = first.strip_suffix(" HTTP/1.1")?.to_owned();
    Some(Request { line, head, body })
}

/// Sends the reply to one request; says whether the connection goes on.
fn answer(shared: &Shared, request: &Request, stream: &mut Box<dyn Stream>) -> bool {
    let before = {
        let mut log = shared.log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    match (shared.handler)(before, request) {
        Reply::Answer(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status} So\r\nContent-Length: {}\r\n{headers}\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).is_ok()
                && stream.write_all(&body).is_ok()
                && stream.flush().is_ok()
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
            false
        }
        Reply::Last(bytes) => {
            shared.stop();
            let _ = stream.write_all(&bytes);
            false
        }
        Reply::Silence => {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            false
        }
    }
}

/// A vector in which texts that share words are near each other.
pub(crate) fn vector(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0_f32; DIMENSION];
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
        counts[(hash >> 32) as usize % DIMENSION] += 1.0;
    }
    // No text is at the origin.
    counts[0] += 0.125;
    let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
    counts.into_iter().map(|count| count / length).collect()
}

/// The right answer in OpenAI's shape.
pub(crate) fn openai(request: &Request) -> Value {
    let texts = request.texts();
    let data = texts.iter().enumerate();
    let data: Vec<_> = data
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    json!({"object": "list", "data": data, "model": "bag-of-words", "usage": {"total_tokens": 1}})
}

/// The right answer in Ollama's shape.
pub(crate) fn ollama(request: &Request) -> Value {
    let vectors: Vec<_> = request.texts().iter().map(|text| vector(text)).collect();
    json!({"model": "bag-of-words", "embeddings": vectors, "total_duration": 1})
}
