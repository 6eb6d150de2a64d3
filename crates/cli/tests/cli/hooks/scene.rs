//! A user with a home of their own, a harness that calls hooks in it, and the means to wait for what they set off.

use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use loci_engine::spool::EventSpool;
use serde_json::Value as Json;
use tempfile::TempDir;

/// How long to wait for something that must happen; far longer than it ever takes.
const DEADLINE: Duration = Duration::from_secs(120);

/// How a hook ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The one JSON object it printed, having failed in no way.
    #[track_caller]
    pub(crate) fn answer(&self) -> Json {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        let answer: Json =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(answer.is_object(), "{self:?}");
        assert_ne!(answer["continue"], false, "{self:?}");
        assert!(answer.get("decision").is_none(), "{self:?}");
        answer
    }
}

pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The home, without links.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    pub(crate) fn palace(&self) -> PathBuf {
        self.path("palace")
    }

    pub(crate) fn spool(&self) -> EventSpool {
        EventSpool::for_palace(&self.path("data/loci/spool"), &self.palace())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.spool().folder().join("hook.log")).unwrap_or_default()
    }

    /// The environment of every process here, with nothing of the surrounding one.
    pub(crate) fn dressed(&self, command: &mut Command) {
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .env("XDG_DATA_HOME", self.path("data"))
            .env("LOCI_PALACE", self.palace());
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        self.dressed(&mut command);
        command.args(args);
        command
    }

    /// Calls a command with `input` on its standard input.
    pub(crate) fn run(&self, command: Command, input: &[u8]) -> Ran {
        run(command, input)
    }

    /// Calls a hook.
    pub(crate) fn hook(&self, args: &[&str], event: impl AsRef<[u8]>) -> Ran {
        let args: Vec<&str> = std::iter::once("hook").chain(args.iter().copied()).collect();
        run(self.command(&args), event.as_ref())
    }

    /// What a command says with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Json {
        let args: Vec<&str> = std::iter::once("--json").chain(args.iter().copied()).collect();
        let ran = run(self.command(&args), b"");
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    pub(crate) fn count(&self) -> u64 {
        self.json(&["count"])["count"].as_u64().unwrap_or(0)
    }

    /// Everything filed, without what depends on the moment.
    pub(crate) fn drawers(&self, palace: &Path) -> Vec<String> {
        let palace = palace.to_str().unwrap();
        let list = self.json(&["list", "--limit", "100000", "--palace", palace]);
        let plain = list["drawers"].as_array().unwrap().iter();
        let plain = plain.map(|one| format!("{} {} {}", one["id"], one["source"], one["document"]));
        plain.collect()
    }

    /// Waits until nothing is in the spool.
    #[track_caller]
    pub(crate) fn drained(&self) {
        until("the spool is empty", || {
            self.spool()
                .count_events()
                .is_ok_and(|standing| standing.waiting == 0)
        });
        let standing = self.spool().count_events().unwrap();
        assert_eq!(standing.failed, 0, "{}", self.log());
    }

    /// The processes that drain this palace's spool.
    pub(crate) fn drainers(&self) -> Vec<u32> {
        let palace = self.palace();
        let palace = palace.to_str().unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            let mut words = words.split('\0').skip(1);
            if words.next() == Some("hook-drain") && words.any(|word| word == palace) {
                found.push(pid);
            }
        }
        found
    }

    /// A recorded event, with this home in the place of the one it was recorded in.
    pub(crate) fn event(&self, name: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/events/{name}.json"));
        let event = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The folder is spelled here, so that no file of the tree names a place of a machine.
        event
            .replace("{home}", self.home().to_str().unwrap())
            .replace("{tmp}", "tmp")
    }

    /// Puts a transcript of the formats' fixtures where a recorded event says that it is.
    pub(crate) fn put(&self, fixture: &str, path: &Path) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mine/tests/fixtures/formats");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(fixtures.join(fixture), path).unwrap();
    }

    /// A transcript of Claude Code's with these prompts, each answered.
    pub(crate) fn transcript(&self, name: &str, prompts: &[&str]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, "").unwrap();
        prompts.iter().for_each(|prompt| self.say(&path, prompt));
        path
    }

    /// Goes on with a transcript.
    pub(crate) fn say(&self, path: &Path, prompt: &str) {
        let session = path.file_stem().unwrap().to_str().unwrap();
        let nth = std::fs::read_to_string(path).unwrap().lines().count();
        let line = |nth: usize, role: &str, text: &str| {
            serde_json::json!({
                "type": role, "uuid": format!("{session}-{nth}"), "sessionId": session, "isSidechain": false,
                "parentUuid": (nth > 0).then(|| format!("{session}-{}", nth.saturating_sub(1))),
                "cwd": "/home/ada/garden", "timestamp": format!("2026-05-01T10:00:{:02}Z", nth % 60),
                "message": {"role": role, "content": text},
            })
        };
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "{}", line(nth, "user", prompt)).unwrap();
        writeln!(
            file,
            "{}",
            line(nth + 1, "assistant", &format!("So be it: {prompt}"))
        )
        .unwrap();
    }

    /// Calls the hook of Claude Code for a prompt, with as much time to recall as it takes.
    pub(crate) fn prompt(&self, event: &Json, more: &[&str]) -> Json {
        let recall = ["UserPromptSubmit", "--recall", "--recall-ms", "60000"];
        let args = [&["claude-code"][..], &recall, more].concat();
        self.hook(&args, event.to_string()).answer()
    }

    /// Calls the hook of Claude Code at the end of a turn.
    pub(crate) fn stop(&self, transcript: &Path) -> Json {
        self.hook(&["claude-code", "Stop"], stopped(transcript)).answer()
    }
}

/// The text that a hook adds to a prompt; empty if it adds none.
pub(crate) fn added_context(answer: &Json) -> &str {
    let added = answer["hookSpecificOutput"]["additionalContext"].as_str();
    added.unwrap_or_default()
}

/// The event at the end of a turn.
pub(crate) fn stopped(transcript: &Path) -> String {
    serde_json::json!({
        "session_id": transcript.file_stem().unwrap().to_str(), "transcript_path": transcript,
        "cwd": "/home/ada/garden", "hook_event_name": "Stop", "stop_hook_active": false,
    })
    .to_string()
}

/// Runs a command with `input` as a file on its standard input: a pipe that this busy process fills late would show
/// only how busy it is.
fn run(mut command: Command, input: &[u8]) -> Ran {
    let mut stdin = tempfile::tempfile().unwrap();
    stdin.write_all(input).unwrap();
    stdin.rewind().unwrap();
    let output = command.stdin(stdin).output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits for something that must happen.
#[track_caller]
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < DEADLINE, "it did not happen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
