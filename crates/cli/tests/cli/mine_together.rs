//! Guards against doubled and half-filed sources: several processes mine one tree at once, and some are killed.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use loci_testkit::{SeededRandom, TempHome, campaign_rounds, campaign_seed};
use serde_json::Value as Json;

/// How many files the tree has.
const FILES: usize = 60;

/// A home with a tree of files in it.
struct MinedTree {
    home: TempHome,
}

impl MinedTree {
    fn new() -> Self {
        let scene = Self {
            home: crate::new_home(),
        };
        std::fs::create_dir(scene.tree()).unwrap();
        (0..FILES).for_each(|n| scene.write(n, 0));
        scene
    }

    fn tree(&self) -> PathBuf {
        self.home.path("tree")
    }

    fn file(&self, n: usize) -> PathBuf {
        self.tree().join(format!("{n}.md"))
    }

    /// Writes one file; another `state` is another text with some of the same parts.
    fn write(&self, n: usize, state: usize) {
        let part = |k: usize| {
            let words = format!("File {n} part {k} says what it says. ").repeat(25);
            format!("# Part {k}\n\n{words}\n\n")
        };
        let text: String = (state..state + 2 + n % 9).map(part).collect();
        std::fs::write(self.file(n), text).unwrap();
    }

    fn command(&self, palace: &Path, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command
            .env("LOCI_PALACE", palace)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn mining(&self, palace: &Path) -> Child {
        let tree = self.tree();
        self.command(palace, &["--json", "mine", tree.to_str().unwrap()])
            .spawn()
            .unwrap()
    }

    fn answer(&self, palace: &Path, args: &[&str]) -> Json {
        let output = self.command(palace, args).output().unwrap();
        read(&output)
    }

    /// Everything filed, without what depends on the moment.
    fn drawers(&self, palace: &Path) -> Vec<String> {
        let list = self.answer(palace, &["--json", "list", "--limit", "100000"]);
        let drawers = list["drawers"].as_array().unwrap().iter();
        let plain =
            drawers.map(|one| format!("{} {} {} {}", one["id"], one["source"], one["span"], one["text"]));
        plain.collect()
    }

    /// One set of drawers, every file whole, and nothing left to do.
    fn check(&self, palace: &Path, expected: &[String]) {
        let last = read(&self.mining(palace).wait_with_output().unwrap());
        assert_eq!(last["sources_failed"], serde_json::json!([]));
        assert_eq!(self.drawers(palace), expected);
        let again = read(&self.mining(palace).wait_with_output().unwrap());
        assert_eq!(
            (
                &again["drawers_added"],
                &again["drawers_removed"],
                &again["sources_unchanged"]
            ),
            (&0.into(), &0.into(), &FILES.into())
        );
        for n in [0, 7, FILES - 1] {
            let file = self.file(n);
            let printed = self
                .command(palace, &["cat", file.to_str().unwrap()])
                .output()
                .unwrap();
            assert!(
                printed.stdout == std::fs::read(&file).unwrap(),
                "{}",
                file.display()
            );
        }
        assert_eq!(self.answer(palace, &["--json", "verify"])["ok"], true);
    }
}

#[track_caller]
fn read(output: &Output) -> Json {
    let words = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{words} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&words).unwrap()
}

/// What one undisturbed run leaves.
fn undisturbed(scene: &MinedTree) -> Vec<String> {
    let palace = scene.home.path("alone");
    let _ = std::fs::remove_dir_all(&palace);
    read(&scene.mining(&palace).wait_with_output().unwrap());
    scene.drawers(&palace)
}

#[test]
fn two_and_four_that_mine_one_tree_at_once_leave_one_set_and_no_error() {
    let scene = MinedTree::new();
    let expected = undisturbed(&scene);
    for together in [2, 4] {
        let palace = scene.home.path(&format!("palace-{together}"));
        let runs: Vec<Child> = (0..together).map(|_| scene.mining(&palace)).collect();
        let mut added = 0;
        for run in runs {
            let report = read(&run.wait_with_output().unwrap());
            assert_eq!(report["sources_failed"], serde_json::json!([]));
            assert_eq!(report["sources_seen"], FILES);
            let dealt = ["sources_mined", "sources_unchanged"].map(|key| report[key].as_u64().unwrap());
            assert_eq!(
                dealt.iter().sum::<u64>(),
                FILES as u64,
                "each was dealt with: {report}"
            );
            added += report["drawers_added"].as_u64().unwrap();
        }
        assert_eq!(
            added,
            expected.len() as u64,
            "each drawer was added by one of them"
        );
        scene.check(&palace, &expected);
    }
}

#[test]
fn one_that_is_killed_leaves_every_source_old_or_new_and_the_other_unharmed() {
    let (rounds, seed) = (campaign_rounds(5), campaign_seed());
    println!("mine together: {rounds} rounds, LOCI_SEED={seed}");
    let scene = MinedTree::new();
    let palace = scene.home.palace();
    let (mut killed, mut random) = (0, SeededRandom::new(seed));
    for round in 0..rounds {
        let expected = undisturbed(&scene);
        if round % 10 == 0 {
            let _ = std::fs::remove_dir_all(&palace);
        }
        let mut victim = scene.mining(&palace);
        let survivor = scene.mining(&palace);
        std::thread::sleep(Duration::from_micros(random.below(150_000) as u64));
        killed += u64::from(victim.try_wait().unwrap().is_none());
        victim.kill().unwrap();
        victim.wait().unwrap();
        let report = read(&survivor.wait_with_output().unwrap());
        assert_eq!(report["sources_failed"], serde_json::json!([]), "round {round}");
        scene.check(&palace, &expected);
        (0..FILES)
            .filter(|n| n % 3 != 0)
            .for_each(|n| scene.write(n, round as usize + 1));
    }
    println!("{killed} of {rounds} were killed at work");
}
