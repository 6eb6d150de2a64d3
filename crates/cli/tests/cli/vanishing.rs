//! Sources that vanish: flagged, kept, and removed only by somebody who knows how many there are.

use super::*;

fn mined(home: &TempHome, files: usize) -> PathBuf {
    let folder = home.path("notes");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    for n in 0..files {
        std::fs::write(folder.join(format!("{n}.md")), format!("Note number {n}.\n")).unwrap();
    }
    std::fs::write(folder.join("deep/one.md"), "A note in a folder.\n").unwrap();
    home.json(0, &["mine", "notes"]);
    folder
}

fn count(home: &TempHome) -> u64 {
    home.json(0, &["count"])["count"].as_u64().unwrap()
}

#[test]
fn a_vanished_source_is_flagged_and_kept_until_its_count_is_given() {
    let home = new_home();
    let folder = mined(&home, 5);
    assert_eq!(home.json(0, &["sync"])["vanished"], serde_json::json!([]));
    std::fs::remove_file(folder.join("3.md")).unwrap();
    let report = home.json(0, &["mine", "notes"]);
    assert_eq!(report["vanished"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["drawers_removed"], 0);
    let seen = home.json(1, &["sync"]);
    assert!(
        seen["vanished"][0]["source"]
            .as_str()
            .unwrap()
            .ends_with("/notes/3.md"),
        "{seen}"
    );
    assert_eq!(seen["checked"], 6);
    let overlapping = home.json(1, &["sync", "notes", "notes/3.md", "notes"]);
    assert_eq!(
        overlapping["vanished"].as_array().unwrap().len(),
        1,
        "{overlapping}"
    );
    assert_eq!(overlapping["checked"], 6, "each source once");
    assert_eq!(count(&home), 6);
    let dry = home.run(&["sync"]).expect_code(1);
    assert!(dry.err.contains("remove them with --yes 1"), "{}", dry.err);
    for wrong in ["0", "2"] {
        let (kind, words) = home.run(&["--json", "sync", "--yes", wrong]).expect_error();
        assert!(
            kind == "conflict" && words.contains("nothing was removed"),
            "{words}"
        );
    }
    assert_eq!(count(&home), 6);
    let done = home.json(0, &["sync", "--yes", "1"]);
    assert_eq!(done["removed"], serde_json::json!({ "sources": 1, "drawers": 1 }));
    assert_eq!(count(&home), 5);
    assert_eq!(home.json(0, &["sync"])["checked"], 5);
}

#[test]
fn a_source_that_came_back_is_mined_again() {
    let home = new_home();
    let folder = mined(&home, 2);
    let text = std::fs::read(folder.join("1.md")).unwrap();
    std::fs::remove_file(folder.join("1.md")).unwrap();
    home.run(&["sync", "--yes", "1"]).expect_code(0);
    std::fs::write(folder.join("1.md"), text).unwrap();
    assert_eq!(home.json(0, &["mine", "notes"])["drawers_added"], 1);
    assert_eq!(home.json(0, &["sync"])["vanished"], serde_json::json!([]));
}

#[test]
fn a_missing_folder_is_not_a_reason_to_remove_what_was_in_it() {
    let home = new_home();
    let folder = mined(&home, 3);
    std::fs::rename(&folder, home.path("elsewhere")).unwrap();
    let seen = home.json(0, &["sync"]);
    assert_eq!(seen["vanished"], serde_json::json!([]), "{seen}");
    assert_eq!(seen["unresolved"].as_array().unwrap().len(), 4);
    assert!(
        seen["unresolved"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("folder")
    );
    let (_, words) = home.run(&["--json", "sync", "--yes", "4"]).expect_error();
    assert!(words.contains("nothing was removed"), "{words}");
    assert_eq!(count(&home), 4);
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(folder.join("1.md")).unwrap();
    let seen = home.json(1, &["sync", folder.join("1.md").to_str().unwrap()]);
    assert_eq!(
        seen["vanished"].as_array().unwrap().len(),
        1,
        "a folder is no file: {seen}"
    );
}

#[test]
fn most_sources_gone_at_once_are_not_removed() {
    let home = new_home();
    let folder = mined(&home, 40);
    for n in 0..30 {
        std::fs::remove_file(folder.join(format!("{n}.md"))).unwrap();
    }
    let seen = home.json(1, &["sync"]);
    assert!(seen["refused"].is_string(), "{seen}");
    let (_, words) = home.run(&["--json", "sync", "--yes", "30"]).expect_error();
    assert!(words.contains("nothing was removed"), "{words}");
    assert_eq!(count(&home), 41);
    let one = folder.join("7.md");
    let one = one.to_str().unwrap();
    home.json(0, &["sync", one, "--yes", "1"]);
    assert_eq!(count(&home), 40, "one that is named may go");
}

#[test]
fn drawers_that_people_filed_under_a_source_are_not_mining_s_to_remove() {
    let home = new_home();
    let folder = mined(&home, 1);
    let source = folder.join("0.md");
    let source = source.to_str().unwrap();
    home.json(0, &["add", "a remark of my own", "--source", source]);
    std::fs::write(source, "All new.\n").unwrap();
    home.json(0, &["mine", "notes"]);
    assert_eq!(
        home.json(0, &["search", "--only", "words", "remark"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    std::fs::remove_file(source).unwrap();
    home.json(0, &["sync", "--yes", "1"]);
    assert_eq!(
        home.json(0, &["search", "--only", "words", "remark"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
