//! A process run to its end, and what it said.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

/// How a run of a command ended.
#[derive(Debug)]
pub struct CommandOutcome {
    /// The exit status; -1 for a process that a signal ended.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl CommandOutcome {
    /// The output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The output as lines of JSON.
    #[track_caller]
    pub fn lines(&self) -> Vec<Json> {
        let read =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        self.out.lines().map(read).collect()
    }

    /// Expects this exit status.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// The error it printed as JSON: its kind, and everything it says.
    #[track_caller]
    pub fn error(&self) -> (String, String) {
        assert_eq!(self.code, 2, "{self:?}");
        let json = self.json();
        let error = &json["error"];
        assert!(error["message"].is_string(), "{self:?}");
        (error["kind"].as_str().unwrap().to_owned(), error.to_string())
    }
}

/// Runs a command with `input` on its standard input.
#[track_caller]
pub fn run_command(mut command: Command, input: &[u8]) -> CommandOutcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A run that refuses its arguments does not read, so that the pipe may be closed already.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    CommandOutcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
