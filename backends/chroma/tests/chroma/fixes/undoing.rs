//! Copies, records and taking back: what every step has in common.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use loci_core::{ErrorKind, FixMode};
use serde_json::Value as Json;

use super::quarantine::drift;
use super::{STEPS, apply, codes, fix, named};
use crate::scene::folder::Folder;

/// A folder that every step has something to do in.
fn damaged(step: &str) -> Folder {
    let upgraded = Folder::find("1.5.9", "upgraded").filter(|_| step == "seq-ids");
    let bytes = "UPDATE embeddings SET seq_id = unhex(printf('%016x', seq_id)) WHERE id > 50";
    let folder = upgraded.unwrap_or_else(|| {
        let folder = Folder::copy("1.5.9", "flushed");
        if step == "seq-ids" {
            folder.sql(bytes);
        }
        folder
    });
    match step {
        "quarantine" => drop(drift(&folder)),
        "max-seq-id" => folder.sql("UPDATE max_seq_id SET seq_id = 1200000000000000000"),
        "full-text" => folder.sql("DROP TABLE embedding_fulltext_search"),
        _ => {}
    }
    folder
}

/// Every file and its bytes, but for what fixes leave behind.
fn bytes(folder: &Folder) -> BTreeMap<PathBuf, Vec<u8>> {
    let left = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        ["loci-fix-", ".before-", ".undone-"]
            .iter()
            .any(|mark| name.contains(mark))
    };
    let files = folder
        .look()
        .into_keys()
        .filter(|path| path.is_file() && !left(path));
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn record(folder: &Folder, step: &str) -> (PathBuf, Json) {
    let names = named(folder, &format!("loci-fix-{step}-"), ".json");
    assert_eq!(names.len(), 1, "{names:?}");
    let path = folder.path().join(&names[0]);
    let json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    (path, json)
}

#[test]
fn a_dry_run_changes_no_byte() {
    for step in STEPS {
        let folder = damaged(step);
        let before = folder.look();
        let report = fix(folder.path(), step, FixMode::DryRun).unwrap();
        assert!(!report.applied && report.undo.is_some(), "{report:?}");
        assert_eq!(before, folder.look(), "{step}");
    }
}

#[test]
fn a_step_that_is_taken_back_leaves_every_byte_as_it_was() {
    for step in STEPS {
        let folder = damaged(step);
        let before = bytes(&folder);
        let database = fs::read(folder.database()).unwrap();
        apply(&folder, step);
        let (_, record) = record(&folder, step);
        assert_ne!(bytes(&folder), before, "{step}");
        let copy = fs::read(folder.path().join(record["copy"].as_str().unwrap())).unwrap();
        assert!(copy == database, "{step}: the copy is the database as it was");
        let report = fix(folder.path(), step, FixMode::Undo).unwrap();
        assert!(report.applied && !report.changes.is_empty(), "{report:?}");
        assert!(bytes(&folder) == before, "{step}");
        assert_eq!(named(&folder, "chroma.sqlite3.undone-", step).len(), 1);
        let again = fix(folder.path(), step, FixMode::Undo).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
        apply(&folder, step);
    }
}

#[test]
fn taking_back_is_refused_once_something_was_written() {
    for step in STEPS {
        let folder = damaged(step);
        apply(&folder, step);
        folder.sql(
            "INSERT INTO embeddings_queue (operation, topic, id) \
             SELECT 3, 'persistent://default/default/' || id, 'nobody' FROM collections",
        );
        let before = folder.look();
        let error = fix(folder.path(), step, FixMode::Undo).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{step}: {error}");
        assert!(
            error.to_string().contains("its queue has 1 write more"),
            "{error}"
        );
        assert!(error.hint_text().unwrap().contains(".before-"), "{error:?}");
        assert_eq!(before, folder.look(), "{step}");
    }
}

#[test]
fn a_change_that_keeps_the_size_is_not_told_by_the_size() {
    let folder = damaged("quarantine");
    apply(&folder, "quarantine");
    let (_, record) = record(&folder, "quarantine");
    let copy = folder.path().join(record["copy"].as_str().unwrap());
    let size = |path: &std::path::Path| fs::metadata(path).unwrap().len();
    // Neither what the step left nor what it found, and as large as the latter.
    fs::copy(&copy, folder.database()).unwrap();
    folder.sql("UPDATE collections SET name = upper(name)");
    assert_eq!(size(&folder.database()), size(&copy));
    let error = fix(folder.path(), "quarantine", FixMode::Undo).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("bytes are not those that the step left"), "{said}");
    assert!(!said.contains("and had"), "{said}");
}

#[test]
fn steps_are_taken_back_in_the_opposite_order() {
    let folder = damaged("quarantine");
    folder.sql("DROP TABLE embedding_fulltext_search");
    let before = bytes(&folder);
    apply(&folder, "quarantine");
    // The order of records is that of their seconds; these two must not share one.
    let (path, _) = record(&folder, "quarantine");
    fs::rename(
        &path,
        folder.path().join("loci-fix-quarantine-20200101-000000.json"),
    )
    .unwrap();
    apply(&folder, "full-text");
    let error = fix(folder.path(), "quarantine", FixMode::Undo).unwrap_err();
    assert!(
        error.hint_text().unwrap().contains("--fix full-text --undo"),
        "{error:?}"
    );
    fix(folder.path(), "full-text", FixMode::Undo).unwrap();
    fix(folder.path(), "quarantine", FixMode::Undo).unwrap();
    assert!(bytes(&folder) == before);
}

#[test]
fn a_record_that_was_not_completed_is_enough_to_take_back() {
    for step in STEPS {
        for killed_before_the_change in [false, true] {
            let folder = damaged(step);
            let before = bytes(&folder);
            apply(&folder, step);
            let (path, mut json) = record(&folder, step);
            json["after"] = Json::Null;
            fs::write(&path, json.to_string()).unwrap();
            if killed_before_the_change {
                let copy = folder.path().join(json["copy"].as_str().unwrap());
                fs::copy(copy, folder.database()).unwrap();
                // The bytes that a rolled-back transaction leaves in unused pages; page 1 names one of them.
                folder.change(&folder.database(), |bytes| {
                    let free = u32::from_be_bytes(bytes[32..36].try_into().unwrap()) as usize;
                    let end = free * 4096;
                    bytes[end - 1] ^= u8::from(free > 0);
                });
            }
            fix(folder.path(), step, FixMode::Undo).unwrap();
            assert!(bytes(&folder) == before, "{step} {killed_before_the_change}");
        }
    }
}

#[test]
fn a_graph_that_was_made_anew_is_set_aside_and_not_removed() {
    let folder = damaged("quarantine");
    let segment = folder.segment();
    apply(&folder, "quarantine");
    fs::create_dir(&segment).unwrap();
    fs::write(segment.join("header.bin"), b"new").unwrap();
    fix(folder.path(), "quarantine", FixMode::Undo).unwrap();
    let name = segment.file_name().unwrap().to_str().unwrap();
    let rebuilt = named(&folder, name, ".rebuilt-");
    assert_eq!(rebuilt.len(), 1);
    assert_eq!(
        fs::read(folder.path().join(&rebuilt[0]).join("header.bin")).unwrap(),
        b"new"
    );
    assert_eq!(codes(&folder)["orphan_labels"], 1);
}

#[test]
fn a_record_may_not_lead_out_of_its_folder() {
    let folder = damaged("quarantine");
    apply(&folder, "quarantine");
    let (path, mut json) = record(&folder, "quarantine");
    json["copy"] = Json::from("../elsewhere");
    fs::write(&path, json.to_string()).unwrap();
    let error = fix(folder.path(), "quarantine", FixMode::Undo).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn nothing_is_taken_back_without_a_record() {
    let folder = damaged("full-text");
    for step in STEPS {
        let error = fix(folder.path(), step, FixMode::Undo).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{step}: {error}");
    }
}

#[test]
fn a_folder_that_somebody_has_open_is_not_written() {
    for step in STEPS {
        let folder = damaged(step);
        let script = format!("exec 7<'{}'; echo ready; read line", folder.database().display());
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(shell.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let before = folder.look();
        let error = fix(folder.path(), step, FixMode::Apply).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        assert!(error.to_string().contains(&shell.id().to_string()), "{error}");
        assert_eq!(before, folder.look(), "{step}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        apply(&folder, step);
    }
}

#[test]
fn a_damaged_database_is_never_written() {
    for step in STEPS {
        let folder = damaged(step);
        folder.change(&folder.database(), |bytes| {
            let middle = bytes.len() / 2;
            bytes.truncate(middle);
        });
        let before = folder.look();
        for how in [FixMode::DryRun, FixMode::Apply] {
            let error = fix(folder.path(), step, how).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{step}: {error}");
            assert!(error.hint_text().unwrap().contains("loci migrate"), "{error:?}");
        }
        assert_eq!(before, folder.look(), "{step}");
    }
}

#[test]
fn writes_that_lie_in_a_log_are_part_of_what_is_mended() {
    let folder = damaged("full-text");
    let held = rusqlite::Connection::open(folder.database()).unwrap();
    held.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
        .unwrap();
    held.execute(
        "UPDATE embedding_metadata SET string_value = 'in the log' WHERE id = 3 AND key = 'chroma:document'",
        [],
    )
    .unwrap();
    // A killed writer leaves its log; a copy of the files is what it leaves.
    let left = Folder::copy("1.5.9", "flushed");
    for ending in ["", "-wal"] {
        let name = format!("chroma.sqlite3{ending}");
        fs::copy(folder.path().join(&name), left.path().join(&name)).unwrap();
    }
    drop(held);
    assert!(
        fs::metadata(left.path().join("chroma.sqlite3-wal"))
            .unwrap()
            .len()
            > 0
    );
    apply(&left, "full-text");
    let sql = "SELECT count(*) FROM embedding_fulltext_search WHERE string_value = 'in the log'";
    assert_eq!(left.number(sql), 1);
    fix(left.path(), "full-text", FixMode::Undo).unwrap();
    assert_eq!(codes(&left)["full_text_missing"], 1);
    let kept = "SELECT count(*) FROM embedding_metadata WHERE string_value = 'in the log'";
    assert_eq!(left.number(kept), 1);
}
