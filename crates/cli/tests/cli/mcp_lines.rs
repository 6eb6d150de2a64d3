//! A client of `loci mcp` that writes and reads raw lines of JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

/// A server and the lines to and from it. The server ends with it.
pub(crate) struct McpLines {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: u64,
    /// The answer to `initialize`.
    pub(crate) started: Json,
}

impl McpLines {
    /// Starts the server and introduces a client of this name.
    pub(crate) fn start(mut command: Command, client: &str) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            asked: 0,
            started: Json::Null,
        };
        let about = json!({"name": client, "version": "1"});
        lines.started = lines.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}),
        );
        lines.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        lines
    }

    fn send(&mut self, message: &Json) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The answer to a request, as it came.
    pub(crate) fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(
                self.from.read_line(&mut line).unwrap() > 0,
                "the server is gone: {method}"
            );
            let answer: Json = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.asked {
                return answer;
            }
        }
    }
}

impl Drop for McpLines {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}
