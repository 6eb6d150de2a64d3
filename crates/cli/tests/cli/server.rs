//! A small embedding server on loopback that speaks OpenAI's API: bags of hashed words.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value as Json, json};

/// A running server; its thread ends with the test's process.
pub(crate) struct Server {
    pub(crate) url: String,
    model: Arc<AtomicU64>,
    silent: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let model = Arc::new(AtomicU64::new(1));
        let salt = Arc::clone(&model);
        let silent = Arc::new(AtomicBool::new(false));
        let is_silent = Arc::clone(&silent);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (salt, is_silent) = (Arc::clone(&salt), Arc::clone(&is_silent));
                std::thread::spawn(move || answer(stream, &salt, &is_silent));
            }
        });
        Self { url, model, silent }
    }

    /// From now on requests are taken and never answered.
    pub(crate) fn fall_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Puts another model in the place of the one there was, under the same name.
    pub(crate) fn exchange_model(&self) {
        self.model.fetch_add(1, Ordering::SeqCst);
    }
}

fn answer(stream: TcpStream, salt: &AtomicU64, is_silent: &AtomicBool) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let (mut length, mut line, mut first) = (0, String::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        // The next read waits for a client that waits for its answer, until that gives up.
        if is_silent.load(Ordering::SeqCst) {
            continue;
        }
        let found = first.starts_with("POST /v1/embeddings ");
        let reply = if found {
            let asked = serde_json::from_slice(&body).unwrap();
            embed(&asked, salt.load(Ordering::SeqCst)).to_string()
        } else {
            "{}".to_owned()
        };
        let status = if found { "200 OK" } else { "404 Not Found" };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        if stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(reply.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

fn embed(request: &Json, salt: u64) -> Json {
    let texts: Vec<&str> = match &request["input"] {
        Json::String(text) => vec![text],
        texts => texts
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap())
            .collect(),
    };
    let rows = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "index": index, "embedding": bag(text, salt) }));
    json!({ "data": rows.collect::<Vec<_>>() })
}

fn bag(text: &str, salt: u64) -> Vec<f64> {
    let mut vector = vec![0.01; 24];
    for word in text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let hash = word
            .bytes()
            .fold(salt, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        vector[(hash % 24) as usize] += 1.0;
    }
    vector
}
