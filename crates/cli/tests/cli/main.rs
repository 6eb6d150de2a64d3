//! The real binary, run as people and scripts run it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod conversations;
mod doctoring;
mod embedding;
mod everyday;
mod filing;
mod finding;
mod hostile;
mod keeping;
mod losing_nothing;
mod memtomem;
mod migrating;
mod mining;
mod moving;
mod places;
mod searching;
mod server;
mod together;
mod vanishing;
mod waking;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

/// How a run of the binary ended.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// What it printed, as one JSON document.
    #[track_caller]
    fn json(&self) -> Json {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What it printed, as lines of JSON.
    #[track_caller]
    fn lines(&self) -> Vec<Json> {
        let read =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        self.out.lines().map(read).collect()
    }

    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// The error it printed as JSON: its kind, and everything it says.
    #[track_caller]
    fn error(&self) -> (String, String) {
        assert_eq!(self.code, 2, "{self:?}");
        let json = self.json();
        let error = &json["error"];
        assert!(error["message"].is_string(), "{self:?}");
        (error["kind"].as_str().unwrap().to_owned(), error.to_string())
    }
}

/// A user with an empty home and one palace in it that does not exist yet.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn palace(&self) -> PathBuf {
        self.path("palace")
    }

    /// The binary with nothing of the surrounding environment, and `LOCI_PALACE` set to the palace.
    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("LOCI_PALACE", self.palace())
            .stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        self.run_with(args, b"")
    }

    /// Runs the binary with `input` on its standard input.
    #[track_caller]
    fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        ran(self.command(args), input)
    }

    /// Runs with `--json` and expects the exit status `code`.
    #[track_caller]
    fn json<S: AsRef<OsStr>>(&self, code: i32, args: &[S]) -> Json {
        let mut all: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        all.insert(0, OsStr::new("--json"));
        self.run(&all).ends(code).json()
    }

    /// Files lines of JSON.
    #[track_caller]
    fn file(&self, lines: &str) -> Ran {
        self.run_with(&["--json", "add", "--jsonl", "-"], lines.as_bytes())
            .ends(0)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Every name below the home, to see that nothing was made.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                names.push(
                    path.strip_prefix(self.folder.path())
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
        names.sort();
        names
    }
}

#[track_caller]
fn ran(mut command: Command, input: &[u8]) -> Ran {
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
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn ids(list: &Json) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().or_else(|| one["id"].as_str()).unwrap())
        .collect()
}
