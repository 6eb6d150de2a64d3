//! Rounds of writers and maintenance that are killed at random moments and at chosen points.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use loci_testkit::SeededRandom;
use tempfile::TempDir;

use super::ledger::Ledger;
use super::writer::{DIMENSION, Writer};

/// Points within a write at which a process ends itself: around the commit and around sealing a segment.
const WRITE_POINTS: [&str; 4] = ["before-commit", "after-commit", "before-seal", "after-seal"];

/// Points within maintenance.
const MAINTAIN_POINTS: [(&str, &str); 5] = [
    ("compact", "compact-segments"),
    ("reindex", "reindex-step"),
    ("reindex", "reindex-swap"),
    ("reindex", "reindex-segment"),
    ("reindex", "before-commit"),
];

/// A palace that outlives many killings.
pub(crate) struct Campaign {
    folder: TempDir,
    random: SeededRandom,
    ledger: Ledger,
    kills: u64,
    crashes: u64,
}

impl Campaign {
    pub(crate) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let campaign = Self {
            folder,
            random: SeededRandom::new(seed),
            ledger: Ledger::default(),
            kills: 0,
            crashes: 0,
        };
        let dimension = DIMENSION.to_string();
        let made = loci(&campaign.palace(), &["init", "--dimension", &dimension])
            .status()
            .unwrap();
        assert!(made.success());
        campaign
    }

    fn palace(&self) -> PathBuf {
        self.folder.path().join("palace")
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n as usize) as u64
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.random.pick(from)
    }

    /// Starts writers and perhaps maintenance, ends them in the middle, and checks every receipt.
    pub(crate) fn round(&mut self, round: u64, writers: u64) {
        let palace = self.palace();
        let mut running: Vec<Writer> = Vec::new();
        for writer in 0..writers {
            let (batches, size) = self.pick(&[(400, 1), (20, 40), (3, 1100)]);
            let crash = (self.below(3) == 0).then(|| {
                let nth = if size == 1 {
                    1 + self.below(60)
                } else {
                    1 + self.below(2)
                };
                format!("{}:{nth}", self.pick(&WRITE_POINTS))
            });
            running.push(Writer::start(
                &palace,
                &format!("r{round}w{writer}"),
                batches,
                size,
                crash.as_deref(),
            ));
        }
        let mut upkeep = (self.below(2) == 0).then(|| self.maintain());
        for writer in &mut running {
            std::thread::sleep(Duration::from_millis(5 + self.below(120)));
            writer.kill();
            self.kills += 1;
        }
        if let Some(child) = &mut upkeep {
            let _ = child.kill();
            let _ = child.wait();
        }
        let mut told = Vec::new();
        for writer in running {
            told.extend(self.ledger.record(writer.end()));
        }
        Ledger::check_found(&palace, &told);
        if round % 10 == 9 {
            self.ledger.check_all(&palace);
        }
    }

    /// Starts maintenance that may end itself at a chosen point.
    fn maintain(&mut self) -> Child {
        let (kind, point) = self.pick(&MAINTAIN_POINTS);
        let mut command = loci(&self.palace(), &["maintain", kind]);
        if self.below(2) == 0 {
            let nth = 1 + self.below(3);
            command.env("LOCI_CRASH_AT", format!("{point}:{nth}"));
            self.crashes += 1;
        }
        command.spawn().unwrap()
    }

    /// Lets writers of single drawers run to their end: each write is acknowledged and none fails.
    pub(crate) fn undisturbed(&mut self, writers: u64, each: usize) {
        let palace = self.palace();
        let start = |writer| Writer::start(&palace, &format!("w{writer}"), each, 1, None);
        let running: Vec<Writer> = (0..writers).map(start).collect();
        let mut told = Vec::new();
        for writer in running {
            let ended = writer.end();
            assert!(ended.succeeded, "a writer failed");
            told.extend(self.ledger.record(ended));
        }
        assert_eq!(
            told.len() as u64,
            writers * each as u64,
            "not every write was acknowledged"
        );
        Ledger::check_found(&palace, &told);
    }

    /// Checks everything once more and says what the campaign did.
    pub(crate) fn finish(self) -> String {
        let stored = self.ledger.check_all(&self.palace());
        format!(
            "{} kills, {} crash points in maintenance, {} drawers acknowledged, {stored} stored, 0 lost, 0 doubled",
            self.kills,
            self.crashes,
            self.ledger.acknowledged()
        )
    }
}

fn loci(palace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
    command
        .args(arguments)
        .arg("--palace")
        .arg(palace)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
