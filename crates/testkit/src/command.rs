//! Runs a process to its end and captures its output.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

/// The exit status and output of a finished command.
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
    /// Parses the output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Parses each line of the output as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Json> {
        let read =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        self.out.lines().map(read).collect()
    }

    /// Expects this exit status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Returns the error it printed as JSON: its kind, and the whole object as text.
    #[track_caller]
    pub fn expect_error(&self) -> (String, String) {
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
    // On a thread, because a child that fills its output pipe stops reading. Write errors are ignored: a run that
    // refuses its arguments exits without reading, so the pipe may be closed already.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    CommandOutcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
