//! A write to a page was lost: the page is an older version of itself, with the right checksum. No command gives less
//! than was stored without a word.
//!
//! `LOCI_STEP` tries every n-th page; 1 tries all.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use loci_testkit::{CommandOutcome, campaign_setting};
use serde_json::json;

use super::*;

const PAGE: usize = 8192;

/// A palace at two times, and its drawers at the second.
struct LostWrites {
    home: TempHome,
    before: Vec<u8>,
    now: Vec<u8>,
    lines: Vec<String>,
}

fn text_of(number: usize) -> String {
    // Words that many drawers share, and one that only this one has.
    let words = (0..30).map(|n| format!("word{}", (number * 7 + n * n) % 211));
    format!("unique{number:04} {}", words.collect::<Vec<_>>().join(" "))
}

fn id_of(number: usize) -> String {
    format!("d{number:04}")
}

impl LostWrites {
    fn build() -> Self {
        let home = new_home();
        let add = |numbers: std::ops::Range<usize>| {
            let lines = numbers.map(|n| {
                json!({ "id": id_of(n), "text": text_of(n), "wing": format!("w{}", n % 3), "source": format!("s{}", n % 7) })
                    .to_string()
            });
            home.file_lines(&lines.collect::<Vec<_>>().join("\n"));
        };
        add(0..200);
        let before = std::fs::read(home.palace().join("palace.db")).unwrap();
        add(200..260);
        for n in (5..50).step_by(9) {
            home.json(0, &["delete", &id_of(n), "--yes"]);
            home.json(0, &["move", &id_of(n + 1), "--to-wing", "moved"]);
        }
        let lines = export_lines(&home.run(&["export"]).expect_code(0));
        assert_eq!(lines.len(), 255);
        Self {
            before,
            now: std::fs::read(home.palace().join("palace.db")).unwrap(),
            home,
            lines,
        }
    }

    /// The pages that differ between the two times.
    fn changed_pages(&self) -> Vec<usize> {
        let pages = self.before.chunks(PAGE).zip(self.now.chunks(PAGE)).enumerate();
        pages
            .filter(|(_, (before, now))| before != now)
            .map(|(at, _)| at)
            .collect()
    }

    /// Puts the palace with an older version of one page into a folder.
    fn make_stale(&self, page: usize, folder: &Path) {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        let mut bytes = self.now.clone();
        let range = page * PAGE..(page + 1) * PAGE;
        bytes[range.clone()].copy_from_slice(&self.before[range]);
        std::fs::write(folder.join("palace.db"), bytes).unwrap();
    }

    /// Returns the commands that give a wrong answer and exit with 0.
    fn list_silent(&self, page: usize) -> Vec<String> {
        let folder = self.home.path(&format!("page-{page}"));
        let run = |args: &[&str]| {
            self.make_stale(page, &folder);
            let mut all = vec!["--json", "--palace", folder.to_str().unwrap()];
            all.extend(args);
            self.home.run(&all)
        };
        let mut silent = Vec::new();
        let mut check = |what: &str, ran: &CommandOutcome, right: bool| {
            if ran.code == 0 && !right {
                silent.push(format!("page {}: {what}", page + 1));
            }
            if ran.code == 1 && !told_of_damage(ran) {
                silent.push(format!(
                    "page {}: {what} exits with 1 and does not say why",
                    page + 1
                ));
            }
        };
        let ran = run(&["export"]);
        check("export", &ran, export_lines(&ran) == self.lines);
        let ran = run(&["list", "-n", "1000"]);
        check("list", &ran, self.is_whole_list(&ran));
        for number in [199, 259] {
            let (id, text) = (id_of(number), text_of(number));
            for args in [
                vec!["search", &text],
                vec!["search", &text, "--only", "meaning"],
                vec!["search", &text[..10], "--only", "words"],
            ] {
                let ran = run(&args);
                let first = ran.code == 0 && ran.json()["hits"][0]["id"] == id.as_str();
                check(&format!("{} for {id}", args.join(" ")), &ran, first);
            }
        }
        // These read every page and every index, so that nothing passes for sound.
        check("verify", &run(&["verify"]), false);
        let moved = folder.join("moved");
        let ran = run(&[
            "migrate",
            "--from",
            folder.to_str().unwrap(),
            "--to",
            moved.to_str().unwrap(),
        ]);
        let same =
            || export_lines(&self.home.run(&["export", "--palace", moved.to_str().unwrap()])) == self.lines;
        check("migrate", &ran, ran.code == 0 && same());
        let _ = std::fs::remove_dir_all(folder);
        silent
    }

    fn is_whole_list(&self, ran: &CommandOutcome) -> bool {
        let by_id = |drawers: Vec<Json>| -> BTreeMap<String, (Json, Json)> {
            let keyed = |drawer: Json| {
                let id = drawer["id"].as_str().unwrap().to_owned();
                (id, (drawer["text"].clone(), drawer["wing"].clone()))
            };
            drawers.into_iter().map(keyed).collect()
        };
        let stored = self.lines.iter().map(|line| serde_json::from_str(line).unwrap());
        let listed = || ran.json()["drawers"].as_array().unwrap().clone();
        ran.code == 0 && by_id(listed()) == by_id(stored.collect())
    }
}

/// Whether a run that ended with 1 named damage, in its findings or warnings.
fn told_of_damage(ran: &CommandOutcome) -> bool {
    ran.err.contains("warning:") || ran.out.contains("\"severity\":\"error\"")
}

/// The lines of an export behind its header.
fn export_lines(ran: &CommandOutcome) -> Vec<String> {
    ran.out.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_page_that_is_an_older_version_of_itself_is_never_answered_from_in_silence() {
    let lost = LostWrites::build();
    let step = usize::try_from(campaign_setting("LOCI_STEP", 1)).unwrap();
    let changed = lost.changed_pages();
    assert!(changed.len() > 20, "{changed:?}");
    let chosen: Vec<usize> = changed.into_iter().step_by(step).collect();
    let silent: Vec<String> = thread::scope(|scope| {
        let parts = chosen.chunks(chosen.len().div_ceil(4));
        let check = |part: &[usize]| {
            let part = part.to_vec();
            let lost = &lost;
            scope.spawn(move || {
                part.into_iter()
                    .flat_map(|page| lost.list_silent(page))
                    .collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = parts.map(check).collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        silent.is_empty(),
        "{} silent:\n{}",
        silent.len(),
        silent.join("\n")
    );
}
