//! The pipe to a browser: commands out, replies and events in, each a JSON document that ends with a zero byte.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::BROWSER_PATIENCE;
use super::record::PageRecord;

/// The pipe to a browser, shared by its pages and the thread that reads it.
#[derive(Debug)]
pub(super) struct BrowserWire {
    input: Mutex<ChildStdin>,
    state: Mutex<WireState>,
    changed: Condvar,
    last_number: AtomicU64,
}

/// What has arrived.
#[derive(Debug, Default)]
pub(super) struct WireState {
    replies: HashMap<u64, Result<Json, String>>,
    pages: HashMap<String, PageRecord>,
    pub(super) opened_pages: usize,
    download_names: HashMap<String, PathBuf>,
    pub(super) downloads: Vec<PathBuf>,
    has_ended: bool,
}

impl WireState {
    /// Returns what happened on a page so far.
    pub(super) fn page(&mut self, session: &str) -> &mut PageRecord {
        self.pages.entry(session.to_owned()).or_default()
    }

    fn record(&mut self, event: &Json) {
        let (method, params) = (event["method"].as_str().unwrap_or_default(), &event["params"]);
        if let Some(session) = event["sessionId"].as_str() {
            self.page(session).record(method, params);
            return;
        }
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match method {
            "Target.targetCreated" if params["targetInfo"]["type"] == "page" => self.opened_pages += 1,
            "Browser.downloadWillBegin" => {
                let path = PathBuf::from(text("suggestedFilename"));
                self.download_names.insert(text("guid"), path);
            }
            "Browser.downloadProgress" if params["state"] == "completed" => {
                let named = self.download_names.remove(&text("guid"));
                let path = params["filePath"].as_str().map(PathBuf::from);
                self.downloads.extend(path.or(named));
            }
            _ => {}
        }
    }
}

impl BrowserWire {
    /// Begins to read.
    pub(super) fn open(input: ChildStdin, output: ChildStdout) -> Arc<Self> {
        let wire = Arc::new(Self {
            input: Mutex::new(input),
            state: Mutex::default(),
            changed: Condvar::new(),
            last_number: AtomicU64::new(0),
        });
        let reader = wire.clone();
        thread::spawn(move || reader.read_to_end(output));
        wire
    }

    fn read_to_end(&self, output: ChildStdout) {
        let mut output = BufReader::new(output);
        let mut message = Vec::new();
        while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
            if message.last() == Some(&0) {
                message.pop();
            }
            if let Ok(json) = serde_json::from_slice(&message) {
                self.take(json);
            }
            message.clear();
        }
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    fn take(&self, mut message: Json) {
        // A page waits for the answer to its dialog, and no test could press its button.
        if message["method"] == "Page.javascriptDialogOpening" {
            let session = message["sessionId"].as_str();
            let _ = self.send(session, "Page.handleJavaScriptDialog", &json!({"accept": true}));
        }
        let mut state = self.lock();
        match message["id"].as_u64() {
            Some(number) => {
                let reply = match message.get("error") {
                    Some(error) => Err(error["message"].as_str().unwrap_or("an error").to_owned()),
                    None => Ok(message["result"].take()),
                };
                state.replies.insert(number, reply);
            }
            None => state.record(&message),
        }
        drop(state);
        self.changed.notify_all();
    }

    fn send(&self, session: Option<&str>, method: &str, params: &Json) -> Result<u64, String> {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({"id": number, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let mut input = self.input.lock().unwrap();
        let written = input.write_all(&bytes).and_then(|()| input.flush());
        written.map_err(|error| format!("the browser takes no commands: {error}"))?;
        Ok(number)
    }

    /// Runs a command of the browser, or of a page, and waits for its reply.
    pub(super) fn try_ask(&self, session: Option<&str>, method: &str, params: &Json) -> Result<Json, String> {
        let number = self.send(session, method, params)?;
        let deadline = Instant::now() + BROWSER_PATIENCE;
        let mut state = self.lock();
        loop {
            if let Some(reply) = state.replies.remove(&number) {
                return reply;
            }
            if state.has_ended {
                return Err("the browser has ended".to_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("the browser does not answer".to_owned());
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(super) fn ask(&self, session: Option<&str>, method: &str, params: &Json) -> Json {
        match self.try_ask(session, method, params) {
            Ok(reply) => reply,
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// Reads what has arrived.
    pub(super) fn read_state<T>(&self, read: impl FnOnce(&mut WireState) -> T) -> T {
        read(&mut self.lock())
    }

    /// Waits until something arrives, or for this time.
    pub(super) fn wait_for_news(&self, longest: Duration) {
        drop(self.changed.wait_timeout(self.lock(), longest).unwrap());
    }

    fn lock(&self) -> MutexGuard<'_, WireState> {
        self.state.lock().unwrap()
    }
}
