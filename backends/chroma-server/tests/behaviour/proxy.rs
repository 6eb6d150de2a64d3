//! A proxy on loopback that loses requests or answers where a test asks for it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFate {
    /// It reaches the server, and its answer the client.
    Pass,
    /// It never reaches the server.
    Lose,
    /// It reaches the server, but its answer is lost.
    LoseAnswer,
}

/// Decides about a request by its path and the number of writes of records so far, this one included.
type FateRule = Box<dyn Fn(&str, usize) -> RequestFate + Send>;

/// A proxy in front of a Chroma server; it ends with the process.
pub(crate) struct FaultyProxy {
    pub(crate) port: u16,
    rule: Arc<Mutex<FateRule>>,
    upserts: Arc<AtomicUsize>,
}

impl FaultyProxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let rule: Arc<Mutex<FateRule>> = Arc::new(Mutex::new(Box::new(|_, _| RequestFate::Pass)));
        let upserts = Arc::new(AtomicUsize::new(0));
        let proxy = Self {
            port,
            rule: Arc::clone(&rule),
            upserts: Arc::clone(&upserts),
        };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (rule, upserts) = (Arc::clone(&rule), Arc::clone(&upserts));
                std::thread::spawn(move || serve(client, server, &rule, &upserts));
            }
        });
        proxy
    }

    /// Decides about requests by `rule` from now on; writes of records count from zero.
    pub(crate) fn decide_by(&self, rule: impl Fn(&str, usize) -> RequestFate + Send + 'static) {
        self.upserts.store(0, Ordering::SeqCst);
        *self.rule.lock().unwrap() = Box::new(rule);
    }

    /// Returns the number of writes of records since the rule was set.
    pub(crate) fn count_upserts(&self) -> usize {
        self.upserts.load(Ordering::SeqCst)
    }
}

/// Passes on one request of a connection and closes it.
fn serve(mut client: TcpStream, server: u16, rule: &Mutex<FateRule>, upserts: &AtomicUsize) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    if path.ends_with("/upsert") {
        upserts.fetch_add(1, Ordering::SeqCst);
    }
    let fate = (rule.lock().unwrap())(&path, upserts.load(Ordering::SeqCst));
    if fate == RequestFate::Lose {
        return;
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
    upstream.write_all(head.as_bytes()).unwrap();
    upstream.write_all(b"Connection: close\r\n\r\n").unwrap();
    upstream.write_all(&body).unwrap();
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).unwrap();
    if fate == RequestFate::Pass {
        // The client may have given up.
        let _ = client.write_all(&answer);
    }
}
