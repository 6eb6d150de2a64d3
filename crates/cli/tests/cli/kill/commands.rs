//! Every kind of command killed at a random moment: the palace is as it was or as the command leaves it, and sound.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use loci_core::{Backend, CollectionName, Doctor, DrawerFields, GetRequest, OpenOptions, PalaceRef};
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, TempHome};

/// The commands that are killed, by what they may do to the palace.
const COMMANDS: [(&str, PalaceEffect); 20] = [
    ("add", PalaceEffect::Adds),
    ("add-lines", PalaceEffect::Adds),
    ("import", PalaceEffect::Adds),
    ("mine", PalaceEffect::Revises),
    ("sync", PalaceEffect::Revises),
    ("delete", PalaceEffect::Removes),
    ("forget", PalaceEffect::Removes),
    ("move", PalaceEffect::Nothing),
    ("analyze", PalaceEffect::Nothing),
    ("compact", PalaceEffect::Nothing),
    ("reindex", PalaceEffect::Nothing),
    ("backup", PalaceEffect::Nothing),
    ("restore", PalaceEffect::Nothing),
    ("export", PalaceEffect::Nothing),
    ("migrate", PalaceEffect::Nothing),
    ("rescue", PalaceEffect::Nothing),
    ("verify", PalaceEffect::Nothing),
    ("search", PalaceEffect::Nothing),
    ("wake-up", PalaceEffect::Nothing),
    ("init", PalaceEffect::Nothing),
];

/// What a command may do to the drawers of its palace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PalaceEffect {
    /// Drawers stay with their words.
    Nothing,
    Adds,
    Removes,
    /// Drawers of mined files come and go.
    Revises,
}

/// The words of every drawer, and whether it was mined.
type PalaceContent = BTreeMap<String, (Option<String>, bool)>;

/// A palace whose commands are killed.
pub(crate) struct KilledCommands {
    home: TempHome,
    random: SeededRandom,
    known: PalaceContent,
    /// The time that each command took without being killed.
    durations: BTreeMap<&'static str, Duration>,
    round: u64,
    pub(crate) finished: u64,
}

impl KilledCommands {
    pub(crate) fn new(seed: u64) -> Self {
        let home = TempHome::of_program(env!("CARGO_BIN_EXE_loci"));
        let mut campaign = Self {
            home,
            random: SeededRandom::new(seed),
            known: BTreeMap::new(),
            durations: BTreeMap::new(),
            round: 0,
            finished: 0,
        };
        campaign.home.file_lines(&lines("base", 200)).expect_code(0);
        campaign.known = campaign.read();
        for (name, effect) in COMMANDS {
            campaign.run(name, effect, None);
        }
        campaign
    }

    /// Kills one command, and checks the palace.
    pub(crate) fn kill_one(&mut self) {
        let (name, effect) = self.random.pick(&COMMANDS);
        let whole = self.durations[name];
        let moment = whole.mul_f32(1.1 * self.random.next_unit().abs());
        self.run(name, effect, Some(moment));
    }

    fn run(&mut self, name: &'static str, effect: PalaceEffect, moment: Option<Duration>) {
        self.round += 1;
        let arguments = self.prepare(name);
        let began = Instant::now();
        let mut child = self
            .home
            .command(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if let Some(moment) = moment {
            std::thread::sleep(moment);
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        if moment.is_none() {
            // 1: nothing was found, or something needs attention.
            assert!(status.code() <= Some(1), "{name} fails by itself: {status}");
            self.durations.insert(name, began.elapsed());
        }
        self.finished += u64::from(status.success());
        self.check(name, effect, status.success());
    }

    /// Returns the arguments of the command, and makes what it reads.
    fn prepare(&mut self, name: &str) -> Vec<String> {
        let round = self.round;
        let fresh = |what: &str| self.home.path(&format!("{what}-{round}")).display().to_string();
        let palace = self.home.palace().display().to_string();
        let words = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        match name {
            "add" => words(&["add", &format!("A note of round {round}."), "--wing", "notes"]),
            "add-lines" => {
                let file = self.home.write("lines.jsonl", lines(&format!("r{round}"), 40));
                words(&["add", "--jsonl", &file])
            }
            "import" => {
                let file = self.home.write("import.jsonl", lines(&format!("i{round}"), 40));
                words(&["import", &file])
            }
            "mine" => {
                std::fs::create_dir_all(self.home.path("project")).unwrap();
                for file in 0..3 {
                    let text = format!("# File {file}\n\n{}", "Some words of it. ".repeat(40));
                    let text = if file as u64 == round % 3 {
                        format!("{text}\n\nChanged in round {round}.\n")
                    } else {
                        text
                    };
                    self.home.write(&format!("project/file{file}.md"), text);
                }
                words(&["mine", &self.home.path("project").display().to_string()])
            }
            "sync" => {
                let _ = std::fs::remove_file(self.home.path("project/file2.md"));
                words(&["sync", "--yes", "1"])
            }
            "delete" | "forget" | "move" => {
                let last = self.known.len().saturating_sub(2);
                let ids = self.known.keys().skip(self.random.below(last)).take(3);
                let mut all = words(&[name, "--yes"]);
                if name == "move" {
                    all.extend(words(&["--to-wing", &format!("wing{}", round % 5)]));
                }
                all.extend(ids.cloned());
                all
            }
            "analyze" | "compact" | "reindex" => words(&["maintain", name]),
            "backup" => words(&["backup", &fresh("copy.db")]),
            "restore" => {
                let copy = fresh("source.db");
                self.home.run(&["backup", &copy]).expect_code(0);
                words(&["restore", &copy, "--palace", &fresh("restored")])
            }
            "export" => words(&["export", "--output", &fresh("export.jsonl")]),
            "migrate" => words(&["migrate", "--from", &palace, "--to", &fresh("migrated")]),
            "rescue" => words(&["rescue", &palace, "--to", &fresh("rescued")]),
            "search" => words(&["search", "note"]),
            "init" => words(&["init", "--collection", &format!("other{round}")]),
            other => words(&[other]),
        }
    }

    /// Compares the palace with what was known of it; the rest of the drawers are known from then on.
    fn check(&mut self, name: &str, effect: PalaceEffect, done: bool) {
        let found = self.read();
        let context = format!("round {}: {name}, done: {done}", self.round);
        for (id, (text, mined)) in &self.known {
            match found.get(id) {
                Some((now, _)) => assert_eq!(now, text, "{context}: {id}"),
                None if effect == PalaceEffect::Removes => {}
                None => assert!(
                    effect == PalaceEffect::Revises && *mined,
                    "{context}: {id} is lost"
                ),
            }
        }
        let gone = self.known.keys().filter(|id| !found.contains_key(*id)).count();
        if effect == PalaceEffect::Removes {
            assert!(gone == 0 && !done || gone == 3, "{context}: {gone} of 3");
        }
        let new = found.keys().filter(|id| !self.known.contains_key(*id)).count();
        match name {
            "add" => assert!(new == 1 || new == 0 && !done, "{context}: {new} new drawers"),
            "add-lines" | "import" => {
                assert!(new == 40 || new == 0 && !done, "{context}: {new} of 40");
            }
            "mine" => {}
            _ => assert_eq!(new, 0, "{context}"),
        }
        let diagnosis = EmbeddedBackend::new().examine(&self.home.palace()).unwrap();
        assert!(diagnosis.healthy, "{context}: {:?}", diagnosis.findings);
        self.known = found;
        // The folders of killed copies are not needed any more.
        for made in self.home.list_names() {
            if made.ends_with(&format!("-{}", self.round)) {
                let path = self.home.path(&made);
                let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
            }
        }
    }

    fn read(&self) -> PalaceContent {
        let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
        let request = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        let collection = EmbeddedBackend::new()
            .open(
                &PalaceRef::local(self.home.palace()),
                &name,
                &OpenOptions::default(),
            )
            .unwrap();
        assert!(collection.info().unwrap().warnings.is_empty());
        let drawers = collection.get(&request).unwrap();
        drawers
            .into_iter()
            .map(|drawer| {
                let mined = drawer.place.source.is_some();
                (drawer.id.into(), (drawer.document, mined))
            })
            .collect()
    }
}

/// Lines for `add --jsonl`, with ids of their own.
fn lines(stem: &str, count: usize) -> String {
    (0..count)
        .map(|n| format!("{{\"id\":\"{stem}-{n}\",\"text\":\"Line {n} of {stem}, a note.\"}}\n"))
        .collect()
}
