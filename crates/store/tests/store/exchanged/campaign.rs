//! Random removals, exchanges, restores, truncations, links and moves under four live processes, with a ledger.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::{DIMENSION, another_palace};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

/// Set for a child process: the folder of the palace, and the number of its first drawer.
const SERVE: &str = "LOCI_TEST_EXCHANGED";
const PROCESSES: usize = 4;
/// The numbers of one process's drawers lie within so many.
const SHARE: usize = 5_000;

/// A process that files drawers until its input ends, then once more, and says what came of each.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    killed: bool,
    acknowledged: BTreeSet<usize>,
    /// What it said last, other than an acknowledgement.
    message: Option<String>,
}

impl Server {
    fn start(folder: &Path, first: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "exchanged::campaign::serves_until_its_input_ends",
                "--nocapture",
            ])
            .env(SERVE, format!("{first}:{}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            killed: false,
            acknowledged: BTreeSet::new(),
            message: None,
        }
    }

    fn take_line(&mut self, line: &str) {
        if let Some(n) = line.strip_prefix("ack ") {
            self.acknowledged.insert(n.parse().unwrap());
        } else if let Some(message) = line.strip_prefix("said ") {
            self.message = Some(message.to_owned());
        }
    }

    fn wait_for_first(&mut self) {
        while self.acknowledged.is_empty() {
            let line = self.lines.recv().expect("the process files something");
            self.take_line(&line);
        }
    }

    /// Ends the process and returns whether it died of anything but our own kill.
    fn finish(&mut self) -> Option<i32> {
        drop(self.input.take());
        while let Ok(line) = self.lines.recv() {
            self.take_line(&line);
        }
        let status = self.child.wait().unwrap();
        if self.killed || status.success() {
            None
        } else {
            Some(status.signal().unwrap_or(-1))
        }
    }
}

/// The body of a child process; an ordinary test run has nothing to do here.
#[test]
fn serves_until_its_input_ends() {
    let Ok(task) = std::env::var(SERVE) else { return };
    let (first, folder) = task.split_once(':').unwrap();
    let (first, folder): (usize, &Path) = (first.parse().unwrap(), Path::new(folder));
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = std::sync::Arc::clone(&ended);
    std::thread::spawn(move || {
        let _ = std::io::stdin().lines().last();
        flag.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let backend = EmbeddedBackend::new();
    let out = std::io::stdout();
    let say = |line: String| {
        let mut out = out.lock();
        // A line of its own: the test harness has begun one.
        let _ = writeln!(out, "\n{line}");
        let _ = out.flush();
    };
    for n in first..first + SHARE {
        let last = ended.load(std::sync::atomic::Ordering::SeqCst);
        let added = truth::open(&backend, folder, DIMENSION, true).and_then(|collection| {
            collection.add_drawer(truth::drawer(n, 0, DIMENSION))?;
            Ok(collection)
        });
        match added {
            Ok(collection) => {
                say(format!("ack {n}"));
                match collection.info() {
                    Ok(info) => info
                        .warnings
                        .iter()
                        .for_each(|warning| say(format!("said {}", warning.code))),
                    Err(error) => say(format!("said {error}")),
                }
            }
            Err(error) => say(format!("said {error}")),
        }
        if last {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    backend.close();
}

/// One palace with its processes, and what is done to its files.
struct Round {
    root: tempfile::TempDir,
    random: SeededRandom,
    servers: Vec<Server>,
    /// Where the palace is now.
    home: PathBuf,
    backup: PathBuf,
    /// Filed by commands of this process, with a receipt.
    acknowledged: BTreeSet<usize>,
    next: usize,
    done: Vec<String>,
}

/// The kinds of disturbance, by number.
const DISTURBANCES: usize = 18;

impl Round {
    fn new(seed: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("palace");
        let maker = EmbeddedBackend::new();
        let collection = truth::open(&maker, &home, DIMENSION, true).unwrap();
        for n in 0..3 {
            collection.add_drawer(truth::drawer(n, 0, DIMENSION)).unwrap();
        }
        let backup = root.path().join("backup.db");
        maker
            .backup(&PalaceRef::local(&home), &backup, &mut |_| {})
            .unwrap();
        drop(collection);
        maker.close();
        let mut servers: Vec<Server> = (1..=PROCESSES)
            .map(|process| Server::start(&home, process * SHARE))
            .collect();
        servers.iter_mut().for_each(Server::wait_for_first);
        Self {
            root,
            random: SeededRandom::new(seed),
            servers,
            home,
            backup,
            acknowledged: (0..3).collect(),
            next: 3,
            done: Vec::new(),
        }
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.home.join(format!("palace.db{suffix}"))
    }

    fn cut(&mut self, suffix: &str) {
        let path = self.file(suffix);
        if let Ok(file) = fs::File::options().write(true).open(&path) {
            let length = file.metadata().map_or(0, |found| found.len());
            let _ = file.set_len(self.random.below(length.max(1) as usize) as u64);
        }
    }

    /// Files one drawer as a command does, in the folder given.
    fn command(&mut self, folder: &Path) {
        let n = self.next;
        self.next += 1;
        let backend = EmbeddedBackend::new();
        let added = truth::open(&backend, folder, DIMENSION, false)
            .and_then(|collection| collection.add_drawer(truth::drawer(n, 0, DIMENSION)));
        self.done
            .push(format!("command {n}: {:?}", added.as_ref().map(|_| ())));
        if added.is_ok() {
            self.acknowledged.insert(n);
        }
    }

    fn restore(&mut self) {
        let restored =
            EmbeddedBackend::new().restore(&self.backup, &PalaceRef::local(&self.home), &mut |_| {});
        self.done
            .push(format!("restored: {:?}", restored.map(|report| report.drawers)));
    }

    fn link(&mut self, name: &str, suffixes: &[&str]) {
        let folder = self.root.path().join(format!("{name}{}", self.done.len()));
        let _ = fs::create_dir(&folder);
        for suffix in suffixes {
            let _ = fs::hard_link(self.file(suffix), folder.join(format!("palace.db{suffix}")));
        }
        self.command(&folder);
    }

    fn kill_one(&mut self) {
        let victim = self.random.below(PROCESSES);
        if let Some(server) = self.servers.get_mut(victim) {
            server.killed = true;
            let _ = server.child.kill();
        }
    }

    fn disturb(&mut self) {
        let kind = self.random.below(DISTURBANCES);
        self.done.push(format!("disturbance {kind}"));
        match kind {
            0 => drop(fs::remove_file(self.file("-shm"))),
            1 => drop(fs::remove_file(self.file("-wal"))),
            2 => {
                let _ = fs::remove_file(self.file("-wal"));
                let _ = fs::remove_file(self.file("-shm"));
            }
            3 => {
                let another = another_palace(&self.root.path().join(format!("o{}", self.done.len())));
                let _ = fs::rename(another, self.file(""));
            }
            4 => {
                let copy = self.root.path().join("again.db");
                let _ = fs::copy(&self.backup, &copy);
                let _ = fs::rename(copy, self.file(""));
            }
            5 => drop(fs::copy(&self.backup, self.file(""))),
            6 => {
                let another = another_palace(&self.root.path().join(format!("o{}", self.done.len())));
                let _ = fs::copy(another, self.file(""));
            }
            7 => self.cut("-shm"),
            8 => self.cut("-wal"),
            9 => self.cut(""),
            10 => self.link("second", &[""]),
            11 => self.link("linked", &["", "-wal", "-shm"]),
            12 => {
                let moved = self.root.path().join("moved");
                let _ = fs::rename(&self.home, &moved);
                std::thread::sleep(Duration::from_millis(self.random.below(8) as u64));
                let _ = fs::rename(&moved, &self.home);
            }
            13 => {
                let moved = self.root.path().join(format!("gone{}", self.done.len()));
                let _ = fs::rename(&self.home, &moved);
                self.home = moved;
            }
            14 => {
                let _ = fs::remove_file(self.file(""));
                self.restore();
            }
            15 => {
                for suffix in ["", "-wal", "-shm"] {
                    let _ = fs::remove_file(self.file(suffix));
                }
                self.restore();
            }
            16 => self.kill_one(),
            _ => {
                let home = self.home.clone();
                self.command(&home);
            }
        }
    }

    /// Runs the round and lists everything that is not as promised.
    fn run(mut self) -> Vec<String> {
        for _ in 0..=self.random.below(3) {
            self.disturb();
            std::thread::sleep(Duration::from_millis(self.random.below(25) as u64));
        }
        let mut wrong = Vec::new();
        for (number, server) in self.servers.iter_mut().enumerate() {
            if let Some(signal) = server.finish() {
                wrong.push(format!("process {number} died of signal {signal}"));
            }
        }
        wrong.extend(self.judge());
        if !wrong.is_empty() {
            wrong.insert(0, format!("{:?}", self.done));
        }
        wrong
    }

    /// Compares the ledger with what the next command finds.
    fn judge(&self) -> Vec<String> {
        let backend = EmbeddedBackend::new();
        let Ok(collection) = truth::open(&backend, &self.home, DIMENSION, false) else {
            return Vec::new();
        };
        let (Ok(page), Ok(info)) = (collection.get(&GetRequest::default()), collection.info()) else {
            return Vec::new();
        };
        drop(collection);
        backend.close();
        let examined = EmbeddedBackend::new().examine(&self.home);
        let sound = examined.is_ok_and(|found| found.healthy);
        if !info.warnings.is_empty() || !sound {
            return Vec::new();
        }
        let found: BTreeSet<String> = page.iter().map(|drawer| drawer.id.to_string()).collect();
        let lost = |all: &BTreeSet<usize>| {
            all.iter()
                .filter(|n| !found.contains(truth::id(**n).as_str()))
                .count()
        };
        let mut wrong = Vec::new();
        // Exchanged on purpose with no log left to tell: then the process that filed it is the one that must say so.
        let exchanged = self.done.iter().any(|step| {
            [
                "disturbance 3",
                "disturbance 4",
                "disturbance 5",
                "disturbance 6",
                "disturbance 14",
                "disturbance 15",
            ]
            .contains(&step.as_str())
        });
        if lost(&self.acknowledged) > 0 && !exchanged {
            wrong.push(format!(
                "{} of the commands' drawers are lost, and it is sound",
                lost(&self.acknowledged)
            ));
        }
        for (number, server) in self.servers.iter().enumerate() {
            let missing = lost(&server.acknowledged);
            if missing > 0 && server.message.is_none() && !(server.killed && exchanged) {
                wrong.push(format!(
                    "{missing} drawers of process {number} are lost without a word"
                ));
            }
        }
        for drawer in &page {
            if let Some(n) = drawer.id.as_str().strip_prefix('d').and_then(|n| n.parse().ok())
                && drawer.document.as_deref() != Some(truth::text(n, 0).as_str())
            {
                wrong.push(format!("{} has another text", drawer.id));
            }
        }
        wrong
    }
}

#[test]
fn nothing_acknowledged_is_lost_without_a_word_whatever_happens_to_the_files() {
    let (rounds, seed) = (campaign_rounds(15), campaign_seed());
    println!("exchanged: {rounds} rounds, {PROCESSES} processes, LOCI_SEED={seed}");
    let mut failed = Vec::new();
    for round in 0..rounds {
        let seed = seed.wrapping_add(round);
        let wrong = Round::new(seed).run();
        if !wrong.is_empty() {
            failed.push(format!("LOCI_SEED={seed}: {}", wrong.join("; ")));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {rounds}:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
