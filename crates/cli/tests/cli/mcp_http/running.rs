//! The real binary, serving.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use super::client::Client;

/// A user with an empty home.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the token is unless another place is named.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.path("data").join("loci").join("mcp-token")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command
            .args(["--json", "mcp"])
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("LOCI_PALACE", self.path("palace"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a server on a free port.
    #[track_caller]
    pub(crate) fn serve(&self) -> Running {
        self.serve_with(&["--http", "0"])
    }

    #[track_caller]
    pub(crate) fn serve_with(&self, args: &[&str]) -> Running {
        let mut child = self.command(args).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let said: Json = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let token_file = said["token_file"].as_str().unwrap();
        Running {
            address: said["address"].as_str().unwrap().parse().unwrap(),
            token: fs::read_to_string(token_file).unwrap().trim().to_owned(),
            child,
            out,
            said,
        }
    }

    /// Starts a server that is expected to refuse, and returns the error it prints.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str]) -> Json {
        let mut child = self.command(args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Json = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        if said["error"].is_null() {
            let _ = child.kill();
            panic!("{args:?} was not refused: {said}");
        }
        assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
        said["error"].clone()
    }
}

/// A server; killed when it is no longer needed.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) said: Json,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    #[track_caller]
    pub(crate) fn client(&self) -> Client {
        Client::open(self.address, &self.token)
    }

    /// Asks the server to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let process = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the end: the exit status, and whatever else was printed.
    pub(crate) fn ended(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        self.out.read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
