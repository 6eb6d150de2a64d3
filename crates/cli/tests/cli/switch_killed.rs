//! Guards against loss in a change of model: switches are killed at random moments and at chosen points while
//! somebody files, and search must reach every drawer before, in between and after.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};
use serde_json::Value as Json;
use tempfile::TempDir;

/// Points within a switch at which the process ends itself.
const POINTS: [&str; 7] = [
    "switch-begun",
    "fill-stored",
    "before-commit",
    "after-commit",
    "after-seal",
    "finish-checked",
    "finish-turned",
];

/// Drawers at the beginning: enough for a sealed segment.
const DRAWERS: usize = 1_400;

struct Palace {
    folder: TempDir,
    ids: BTreeSet<String>,
}

impl Palace {
    /// A palace of vectors that its user brought.
    fn new() -> Self {
        let mut palace = Self {
            folder: tempfile::tempdir().unwrap(),
            ids: BTreeSet::new(),
        };
        let ids: Vec<String> = (0..DRAWERS).map(|n| format!("d{n:05}")).collect();
        palace.file(&ids, true);
        palace
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("palace")
    }

    /// Files drawers, with vectors of four values while these answer.
    fn file(&mut self, ids: &[String], vectors: bool) {
        let vector = if vectors { ",\"embedding\":[1,2,3,4]" } else { "" };
        let line =
            |id: &String| format!("{{\"id\":\"{id}\",\"document\":\"words of drawer {id}\"{vector}}}\n");
        let mut command = loci(&self.path(), &["add", "--jsonl", "-"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines: String = ids.iter().map(line).collect();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        if child.wait().unwrap().success() {
            self.ids.extend(ids.iter().cloned());
        } else {
            assert!(vectors, "drawers without vectors were refused");
            // The switch was over before: the model that answers now embeds them itself.
            self.file(ids, false);
        }
    }

    fn ask(&self, arguments: &[&str]) -> Json {
        let Output { stdout, status, .. } = loci(&self.path(), arguments).output().unwrap();
        let answer = String::from_utf8(stdout).unwrap();
        assert!(status.success(), "{arguments:?}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Whichever model answers reaches every drawer.
    fn check(&self, when: &str) -> String {
        let shown = self.ask(&["embedder", "show"]);
        let model = shown["model"].as_str().unwrap().to_owned();
        let many = (DRAWERS * 2).to_string();
        let hits = match model.as_str() {
            "given" => self.ask(&["search", "--vector", "[1,2,3,4]", "-n", &many]),
            _ => self.ask(&["search", "--only", "meaning", "words of a drawer", "-n", &many]),
        };
        let found: BTreeSet<String> = hits["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            found.len(),
            self.ids.len(),
            "{when}: {model} does not reach every drawer: {shown}"
        );
        assert_eq!(found, self.ids, "{when}");
        let building = shown["spaces"]
            .as_array()
            .unwrap()
            .iter()
            .any(|space| space["state"] == "building");
        let warned = shown["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["code"] == "switch_under_way");
        assert_eq!(building, warned, "{when}: {shown}");
        model
    }
}

fn loci(palace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
    command.arg("--json").args(arguments).arg("--palace").arg(palace);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts a switch and ends it in the middle, by kill −9 or at a chosen point.
fn interrupted(palace: &mut Palace, chance: &mut SeededRandom, name: &str) {
    let mut command = loci(&palace.path(), &["embedder", "switch", "builtin"]);
    let chosen = chance.toss_coin();
    if chosen {
        let point = chance.pick(&POINTS);
        command.env("LOCI_CRASH_AT", format!("{point}:{}", 1 + chance.below(4)));
    }
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let ids: Vec<String> = (0..1 + chance.below(5)).map(|n| format!("{name}n{n}")).collect();
    palace.file(&ids, true);
    if !chosen {
        std::thread::sleep(Duration::from_millis(chance.below(150) as u64));
        let _ = child.kill();
    }
    child.wait().unwrap();
}

#[test]
fn a_switch_that_is_killed_loses_nothing_and_search_reaches_everything_throughout() {
    let (rounds, seed) = (campaign_rounds(20), campaign_seed());
    println!("switch: {rounds} rounds, LOCI_SEED={seed}");
    let mut chance = SeededRandom::new(seed);
    let mut unfinished = 0;
    for round in 0..rounds {
        let mut palace = Palace::new();
        for kill in 0..2 {
            interrupted(&mut palace, &mut chance, &format!("r{round}k{kill}"));
            unfinished += u64::from(palace.check(&format!("round {round}, kill {kill}")) == "given");
        }
        let ended = palace.ask(&["embedder", "switch", "builtin"]);
        assert!(
            ended["outcome"] == "switched" || ended["outcome"] == "was_active",
            "{ended}"
        );
        assert_eq!(palace.check("after the switch"), "builtin");
        assert_eq!(palace.ask(&["verify"])["ok"], true, "round {round}");
        palace.ask(&["maintain", "compact", "--drop-retired"]);
        assert_eq!(palace.check("after the old vectors were dropped"), "builtin");
    }
    println!(
        "{} interruptions, {unfinished} before the turn, 0 drawers lost or out of reach",
        rounds * 2
    );
    assert!(
        unfinished > 0 || rounds < 10,
        "no switch was interrupted before its end"
    );
}
