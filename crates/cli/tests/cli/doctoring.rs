//! `loci doctor` on folders that a real ChromaDB wrote: verdicts, steps, and what a full disk or a kill leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use loci_testkit::chroma_folder;
use serde_json::Value as Json;

use super::{TempHome, new_home, run_command};

/// A home with a copy of a folder called `chroma` in it.
fn with_chroma() -> TempHome {
    let home = new_home();
    copy_all(&chroma_folder().join("1.5.9/flushed/db"), &home.path("chroma"));
    home
}

/// Copies a folder with everything in it.
pub(super) fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn segment(home: &TempHome) -> PathBuf {
    let entries = fs::read_dir(home.path("chroma"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders = entries.filter(|path| path.is_dir());
    folders.next().unwrap()
}

/// Links that would fill the disk, though every vector is whole.
fn bloat(home: &TempHome) {
    let links = fs::File::options()
        .write(true)
        .open(segment(home).join("link_lists.bin"))
        .unwrap();
    links.set_len(1 << 40).unwrap();
}

fn names(home: &TempHome, within: &str) -> Vec<String> {
    let entries = fs::read_dir(home.path("chroma")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(within)).collect()
}

/// Every file of the folder with its length and, but for the bloated one, its bytes.
fn bytes(home: &TempHome) -> BTreeMap<String, (u64, Vec<u8>)> {
    let files = home
        .list_names()
        .into_iter()
        .filter(|name| home.path(name).is_file());
    files
        .map(|name| {
            let length = fs::metadata(home.path(&name)).unwrap().len();
            let bytes = if length < 1 << 30 {
                fs::read(home.path(&name)).unwrap()
            } else {
                Vec::new()
            };
            (name, (length, bytes))
        })
        .collect()
}

fn codes(diagnosis: &Json) -> Vec<&str> {
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["code"].as_str().unwrap())
        .collect()
}

#[test]
fn a_chroma_folder_is_named_by_path_backend_or_database_file() {
    let home = with_chroma();
    for name in [
        "chroma",
        "./chroma",
        "chroma:./chroma",
        "chroma/chroma.sqlite3",
        "chroma:chroma/chroma.sqlite3",
    ] {
        let diagnosis = home.json(0, &["doctor", name]);
        assert_eq!(diagnosis["kind"], "chroma", "{name}");
    }
}

#[test]
fn a_chroma_folder_without_collections_is_not_told_to_make_one() {
    let home = new_home();
    copy_all(&chroma_folder().join("1.5.9/nothing/db"), &home.path("chroma"));
    for command in [
        &["count"][..],
        &["search", "anything"],
        &["migrate", "--from", "chroma", "--to", "new"],
    ] {
        let mut args = command.to_vec();
        if command[0] != "migrate" {
            args.extend(["--palace", "chroma"]);
        }
        let said = home.run(&args).expect_code(2);
        assert!(!said.err.contains("init"), "{command:?}: {}", said.err);
        assert!(said.err.contains("hint: "), "{command:?}: {}", said.err);
    }
    assert_eq!(home.json(0, &["doctor", "chroma"])["healthy"], true);
}

#[test]
fn the_verdict_on_a_chroma_folder_has_its_figures_and_hints() {
    let home = with_chroma();
    let diagnosis = home.json(0, &["doctor", "chroma"]);
    assert_eq!(diagnosis["kind"], "chroma");
    let collection = &diagnosis["collections"][0];
    assert_eq!(
        (&collection["rows"], &collection["rows_without_vector"]),
        (&1060.into(), &0.into())
    );
    let told = home.run(&["doctor", "chroma"]).expect_code(0);
    let figures = told.out.lines().find(|line| line.ends_with("  flushed")).unwrap();
    let words: Vec<&str> = figures.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"1060"), "{figures}");
    assert!(words.contains(&"l2") && words.contains(&"8"), "{figures}");
    bloat(&home);
    let told = home.run(&["doctor", "chroma"]).expect_code(1);
    assert!(told.out.contains("--fix quarantine"), "{}", told.out);
}

#[test]
fn a_step_is_described_then_taken_then_taken_back() {
    let home = with_chroma();
    home.run(&["doctor", "chroma", "--fix", "quarantine"])
        .expect_code(0);
    bloat(&home);
    let before = bytes(&home);
    let planned = home.json(1, &["doctor", "chroma", "--fix", "quarantine"]);
    assert_eq!(planned["applied"], false, "{planned}");
    assert!(
        planned["changes"].to_string().contains("link_lists.bin"),
        "{planned}"
    );
    assert!(planned.get("diagnosis").is_none(), "{planned}");
    assert_eq!(bytes(&home), before, "a dry run writes nothing");
    let done = home.json(0, &["doctor", "chroma", "--fix", "quarantine", "--yes"]);
    assert_eq!(
        (&done["applied"], &done["diagnosis"]["healthy"]),
        (&true.into(), &true.into())
    );
    let aside = names(&home, ".drift-");
    assert_eq!(aside.len(), 1);
    let renamed = &done["renamed"][0]["to"];
    assert!(renamed.as_str().unwrap().ends_with(&aside[0]), "{done}");
    let again = home
        .run(&["doctor", "chroma", "--fix", "quarantine", "--yes"])
        .expect_code(0);
    assert!(again.out.contains("nothing to do"), "{}", again.out);
    home.run(&["doctor", "chroma", "--fix", "quarantine", "--undo"])
        .expect_code(0);
    home.json(1, &["doctor", "chroma"]);
    let error = home
        .run(&["--json", "doctor", "chroma", "--fix", "quarantine", "--undo"])
        .expect_error();
    assert_eq!(error.0, "conflict");
}

#[test]
fn the_steps_are_in_the_help_and_in_the_refusal_of_others() {
    let home = with_chroma();
    let help = home.run(&["doctor", "--help"]).expect_code(0);
    let refused = home
        .run(&["--json", "doctor", "chroma", "--fix", "magic"])
        .expect_error();
    assert_eq!(refused.0, "unsupported");
    for step in ["quarantine", "seq-ids", "max-seq-id", "full-text"] {
        assert!(help.out.contains(&format!("  {step}")), "{step}: {}", help.out);
        assert!(refused.1.contains(step), "{step}: {}", refused.1);
        let said = home.json(0, &["doctor", "chroma", "--fix", step]);
        assert_eq!(said["step"], step);
    }
    home.run(&["doctor", "chroma", "--fix", "seq-ids", "--yes", "--undo"])
        .expect_code(2);
    home.run(&["doctor", "chroma", "--undo"]).expect_code(2);
}

#[test]
fn age_is_compared_and_never_decides() {
    let home = with_chroma();
    let age = |seconds: &str| home.json(0, &["doctor", "chroma", "--stale-seconds", seconds]);
    let old = SystemTime::now() - Duration::from_secs(5000);
    let level0 = fs::File::options()
        .write(true)
        .open(segment(&home).join("data_level0.bin"))
        .unwrap();
    level0.set_modified(old).unwrap();
    let now = fs::File::options()
        .write(true)
        .open(home.path("chroma/chroma.sqlite3"))
        .unwrap();
    now.set_modified(SystemTime::now()).unwrap();
    assert!(codes(&age("3600")).contains(&"stale_mtime"));
    assert!(codes(&home.json(0, &["doctor", "chroma"])).contains(&"stale_mtime"));
    assert!(!codes(&age("9000")).contains(&"stale_mtime"));
    let sound = home.json(0, &["doctor", "chroma", "--fix", "quarantine"]);
    assert!(
        sound["judged_by_age"].to_string().contains("would be wrong"),
        "{sound}"
    );
    bloat(&home);
    let missed = home.json(
        1,
        &[
            "doctor",
            "chroma",
            "--fix",
            "quarantine",
            "--stale-seconds",
            "9000",
        ],
    );
    assert_eq!(missed["judged_by_age"][0]["code"], "missed_by_age", "{missed}");
}

#[test]
fn an_age_that_is_given_with_the_step_sets_old_graphs_aside() {
    let home = with_chroma();
    let level0 = fs::File::options()
        .write(true)
        .open(segment(&home).join("data_level0.bin"))
        .unwrap();
    let old = SystemTime::now() - Duration::from_secs(5000);
    level0.set_modified(old).unwrap();
    let step = ["doctor", "chroma", "--fix", "quarantine", "--yes"];
    let left = home.json(0, &step);
    assert_eq!(left["applied"], false, "{left}");
    let told = home
        .run(&[&step[..], &["--stale-seconds", "3600"]].concat())
        .expect_code(0);
    let aside = names(&home, ".drift-");
    assert_eq!(aside.len(), 1, "{}", told.out);
    assert!(told.out.contains(&aside[0]), "{}", told.out);
}

#[test]
fn a_disk_that_is_full_leaves_everything_as_it_was() {
    for room_for_the_copy in [false, true] {
        let home = with_chroma();
        bloat(&home);
        let (before, verdict) = (bytes(&home), home.json(1, &["doctor", "chroma"]));
        let length = fs::metadata(home.path("chroma/chroma.sqlite3")).unwrap().len();
        // Files may not grow beyond so many blocks of 512 bytes: the copy fits or not, the vectors never do.
        let blocks = if room_for_the_copy {
            length / 512 + 2
        } else {
            length / 1024
        };
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &script,
                "sh",
                env!("CARGO_BIN_EXE_loci"),
                "--json",
                "doctor",
                "chroma",
            ])
            .args(["--fix", "quarantine", "--yes"])
            .current_dir(home.folder())
            .env("HOME", home.folder());
        let error = run_command(command, b"").expect_error();
        assert_eq!(error.0, "io", "{error:?}");
        assert!(error.1.contains("nothing was changed"), "{error:?}");
        let (mut before, mut after) = (before, bytes(&home));
        if room_for_the_copy {
            // SQLite took the change back, but for what it wrote into pages that nobody uses.
            let database = "chroma/chroma.sqlite3";
            assert_eq!(
                before.remove(database).unwrap().0,
                after.remove(database).unwrap().0
            );
        }
        assert!(before == after, "{:?}", home.list_names());
        assert_eq!(home.json(1, &["doctor", "chroma"]), verdict);
    }
}

#[test]
fn a_kill_at_any_moment_loses_no_vector_and_can_be_taken_back() {
    for moment in [".before-", ".json", "-journal", ".drift-"] {
        let home = with_chroma();
        bloat(&home);
        let mut child = home
            .command(&["doctor", "chroma", "--fix", "quarantine", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while names(&home, moment).is_empty() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        let check = |what: &str| {
            let said = home.run(&["--json", "doctor", "chroma"]);
            let diagnosis = said.json();
            let collection = &diagnosis["collections"][0];
            assert_eq!(collection["rows"], 1060, "{moment} {what}: {diagnosis}");
            assert_eq!(
                collection["rows_without_vector"], 0,
                "{moment} {what}: {diagnosis}"
            );
            said.code
        };
        check("after the kill");
        let is_recorded = names(&home, "loci-fix-")
            .iter()
            .any(|name| name.ends_with(".json"));
        let undone = home.run(&["doctor", "chroma", "--fix", "quarantine", "--undo"]);
        assert_eq!(
            undone.code,
            if is_recorded { 0 } else { 2 },
            "{moment}: {undone:?}"
        );
        assert_eq!(check("taken back"), 1);
        assert!(
            segment(&home).exists() && names(&home, ".drift-").is_empty(),
            "{moment}"
        );
        home.run(&["doctor", "chroma", "--fix", "quarantine", "--yes"])
            .expect_code(0);
        assert_eq!(check("taken again"), 0);
    }
}
