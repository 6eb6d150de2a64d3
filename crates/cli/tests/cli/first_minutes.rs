//! The README's transcripts are what a newcomer sees: every command in them is run again and its output compared.
//!
//! `LOCI_UPDATE=1 cargo test -p loci-cli --test cli first_minutes::` writes the output as it is now into the README.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many hexadecimal digits an id has, and a shortened one.
const ID: [usize; 2] = [32, 8];

/// The day on which the README was written, as it tells it.
const DAY: &str = "2026-05-08";

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A newcomer's machine: an empty home, and any folder in it.
struct Newcomer {
    _scratch: tempfile::TempDir,
    home: PathBuf,
    folder: PathBuf,
    /// Ids as the README has them, and as they are here.
    ids: HashMap<String, String>,
}

impl Newcomer {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let home = root.join("home");
        let folder = home.join("anywhere");
        fs::create_dir_all(&folder).unwrap();
        Self {
            _scratch: scratch,
            home,
            folder,
            ids: HashMap::new(),
        }
    }

    /// Everything a terminal would show.
    fn run(&self, command: &str) -> String {
        let binary = Path::new(env!("CARGO_BIN_EXE_loci")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}; }} 2>&1")])
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.home)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.replace(&self.home.display().to_string(), "~");
        hide_clock(&seconds_hidden(&text.replace(&today(), DAY)))
    }

    /// A command of the README with its ids as they are here; a shortened id stands for the one it begins.
    fn here(&self, command: &str) -> String {
        let words = command.split(' ').map(|word| {
            let long = word.len() >= 6 && word.chars().all(|c| c.is_ascii_hexdigit());
            let known = self.ids.iter().find(|(there, _)| long && there.starts_with(word));
            known.map_or(word.to_owned(), |(_, here)| here[..word.len()].to_owned())
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Learns which ids here are which there, line by line, and gives the output with the README's.
    fn in_its_words(&mut self, said: &str, printed: &str) -> String {
        for (there, here) in ids(said).zip(ids(printed)) {
            self.ids.insert(there, here);
        }
        let mut told = printed.to_owned();
        for (there, here) in &self.ids {
            told = told.replace(here.as_str(), there);
        }
        told
    }
}

fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn ids(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_hexdigit());
    words.filter(|word| ID.contains(&word.len())).map(str::to_owned)
}

/// Sets the time of every drawer filed today to noon.
fn hide_clock(text: &str) -> String {
    let mut parts = text.split(DAY);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        let is_clock = part.len() >= 10 && part.is_char_boundary(10) && part[..10].ends_with(" UTC");
        let (clock, rest) = if is_clock {
            (" 12:00 UTC", &part[10..])
        } else {
            ("", part)
        };
        format!("{told}{DAY}{clock}{rest}")
    })
}

/// How long something took is another figure every time.
fn seconds_hidden(text: &str) -> String {
    let line = |line: &str| match line.rfind(", in ") {
        Some(at) if line.ends_with(" s") => format!("{}, in 0.0 s", &line[..at]),
        _ => line.trim_end().to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// One command of a transcript, and what stands below it.
struct Step {
    command: String,
    said: String,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                said: String::new(),
            }),
            (None, Some(step)) => {
                step.said.push_str(line);
                step.said.push('\n');
            }
            (None, None) => panic!("a transcript begins with a command, not with {line:?}"),
        }
    }
    steps
}

#[test]
fn the_readme_shows_what_a_newcomer_sees() {
    let file = tree().join("README.md");
    let readme = fs::read_to_string(&file).unwrap();
    let mut newcomer = Newcomer::new();
    let mut again = String::new();
    let mut commands = 0;
    let mut rest = readme.as_str();
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (block, after) = block.split_once("```").unwrap();
        again.push_str(before);
        again.push_str("```console\n");
        for step in steps(block) {
            let printed = newcomer.run(&newcomer.here(&step.command));
            let told = newcomer.in_its_words(&step.said, &printed);
            again.push_str(&format!("$ {}\n{}\n", step.command, told));
            if told.is_empty() {
                again.pop();
            }
            commands += 1;
        }
        again.push_str("```");
        rest = after;
    }
    again.push_str(rest);
    assert!(commands >= 8, "only {commands} commands were found");
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(&file, &again).unwrap();
    } else if again != readme {
        let differ = readme.lines().zip(again.lines()).find(|(a, b)| a != b);
        panic!("the README shows something else than happens: {differ:#?}\nsee LOCI_UPDATE above");
    }
}
