//! Guards against loss in a migration: real processes are killed at random moments and at chosen points, and what
//! appears in the end is whole and equal, and never before.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};
use serde_json::Value as Json;
use tempfile::TempDir;

/// Points within a batch at which the process ends itself.
const POINTS: [&str; 4] = ["source-part", "source-recorded", "before-commit", "after-commit"];

/// Drawers at the beginning: several batches.
const DRAWERS: usize = 7_000;

struct Home {
    folder: TempDir,
}

impl Home {
    /// A folder with a palace `old` of vectors that its user brought.
    fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let line = |n: usize| {
            let (x, y, z) = (n % 61, n % 67, n % 71 + 1);
            format!("{{\"id\":\"d{n:05}\",\"document\":\"words {n}\",\"embedding\":[{x},-{y},{z}]}}\n")
        };
        let mut child = home
            .loci(&["add", "--jsonl", "-", "--palace", "old"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines: String = (0..DRAWERS).map(line).collect();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn loci(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        let absolute = |argument: &&str| match *argument {
            "old" | "new" => self.path(argument).to_str().unwrap().to_owned(),
            other => other.to_owned(),
        };
        command.arg("--json").args(arguments.iter().map(absolute));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn migrate(&self) -> Command {
        self.loci(&["migrate", "--from", "old", "--to", "new"])
    }

    fn ask(&self, arguments: &[&str]) -> Json {
        let output = self.loci(arguments).output().unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{arguments:?}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

/// A point in the middle, where something is copied for certain.
fn amid() -> Option<String> {
    Some("source-recorded:3".to_owned())
}

/// A point by chance, or none.
fn anywhere(chance: &mut SeededRandom) -> Option<String> {
    let point = chance.pick(&POINTS);
    let at = format!("{point}:{}", 1 + chance.below(5));
    chance.toss_coin().then_some(at)
}

/// Starts a migration and ends it at a point, or by kill −9; whether it ended before its end.
fn interrupted(home: &Home, point: Option<String>, chance: &mut SeededRandom) -> bool {
    let mut command = home.migrate();
    if let Some(point) = &point {
        command.env("LOCI_CRASH_AT", point);
    }
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    if point.is_none() {
        std::thread::sleep(Duration::from_millis(chance.below(900) as u64));
        let _ = child.kill();
    }
    !child.wait().unwrap().success()
}

/// A target that is there is whole.
fn is_there(place: &Path) -> bool {
    place.join("palace.db").exists()
}

#[test]
fn a_migration_that_is_killed_goes_on_and_nothing_half_appears() {
    let (rounds, seed) = (campaign_rounds(4), campaign_seed());
    println!("migrate: {rounds} rounds, LOCI_SEED={seed}");
    let mut chance = SeededRandom::new(seed);
    let (mut killed, mut resumed) = (0, 0);
    for round in 0..rounds {
        let home = Home::new();
        for _ in 0..2 {
            if is_there(&home.path("new")) {
                break;
            }
            let point = if round == 0 { amid() } else { anywhere(&mut chance) };
            killed += u64::from(interrupted(&home, point, &mut chance));
        }
        if !is_there(&home.path("new")) {
            let report = home.ask(&["migrate", "--from", "old", "--to", "new"]);
            assert_eq!(report["lossless"], true, "round {round}: {report}");
            resumed += u64::from(report["resumed"] == true);
        }
        let verified = home.ask(&["verify", "--palace", "new", "--against", "old"]);
        assert_eq!(verified["ok"], true, "round {round}: {verified}");
        assert_eq!(verified["drawers"], DRAWERS, "round {round}");
        assert_eq!(verified["hash"], verified["against"]["hash"], "round {round}");
        let names: Vec<_> = std::fs::read_dir(home.folder.path()).unwrap().collect();
        assert_eq!(
            names.len(),
            2,
            "round {round}: nothing is left beside the two: {names:?}"
        );
    }
    println!("{killed} interruptions, {resumed} gone on with");
    assert!(
        resumed > 0,
        "the first was stopped amid its batches and did not go on"
    );
}
