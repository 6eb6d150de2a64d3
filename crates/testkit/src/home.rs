//! A temporary home, and runs of the binary in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::{CommandOutcome, PostgresServer, run_command};

/// An empty home with the path of a palace that does not exist yet; the folder is removed with the value.
#[derive(Debug)]
pub struct TempHome {
    program: PathBuf,
    folder: TempDir,
}

impl TempHome {
    /// Makes a home for runs of `program`: in the tests of the binary, `env!("CARGO_BIN_EXE_loci")`.
    pub fn of_program(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns the home folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file or folder in the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Returns the palace that every run uses.
    pub fn palace(&self) -> PathBuf {
        self.path("palace")
    }

    /// Returns the reference of the palace that every run uses: its path, or with `LOCI_TEST_PALACES=postgres` the URL of
    /// one on the shared server, so that the tests of behaviour run on both.
    pub fn palace_reference(&self) -> String {
        if !self.is_on_server() {
            return self.palace().to_str().unwrap().to_owned();
        }
        let name = self.folder().file_name().unwrap().to_str().unwrap();
        let server = PostgresServer::shared().url("postgres");
        format!("{server}&palace=home-{name}")
    }

    /// Returns whether the palace that every run uses is on a server.
    pub fn is_on_server(&self) -> bool {
        std::env::var_os("LOCI_TEST_PALACES").is_some_and(|kind| kind == "postgres")
    }

    /// Gives a command the home and the palace, and clears the rest of the environment.
    pub fn dress_command(&self, command: &mut Command) {
        command
            .current_dir(self.folder())
            // Tests must not depend on the settings of the developer who runs them, nor write into a real
            // palace.
            .env_clear()
            .env("HOME", self.folder())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("LOCI_PALACE", self.palace_reference())
            .stdin(Stdio::null());
    }

    /// Returns a command for the binary in this home.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        self.dress_command(&mut command);
        command.args(args);
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> CommandOutcome {
        self.run_with(args, b"")
    }

    /// Runs the binary with `input` on its standard input.
    #[track_caller]
    pub fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> CommandOutcome {
        run_command(self.command(args), input)
    }

    /// Runs with `--json` and expects the exit status `code`.
    #[track_caller]
    pub fn json<S: AsRef<OsStr>>(&self, code: i32, args: &[S]) -> Json {
        let mut all: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        all.insert(0, OsStr::new("--json"));
        self.run(&all).expect_code(code).json()
    }

    /// Files drawers from lines of JSON.
    #[track_caller]
    pub fn file_lines(&self, lines: &str) -> CommandOutcome {
        self.run_with(&["--json", "add", "--jsonl", "-"], lines.as_bytes())
            .expect_code(0)
    }

    /// Writes a file, and the folders it is in, and returns its path as text.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns every path below the home, sorted, so that a test can check that nothing was created.
    pub fn list_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.folder().to_owned()];
        // Hidden entries are included: lock files and journals count as left behind.
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.folder()).unwrap();
                names.push(name.to_string_lossy().into_owned());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        names.sort();
        names
    }
}
