//! What hooks leave is mined in the background: once, whole, and without asking anybody to wait.

use std::io::Write as _;

use serde_json::json;

use super::scene::{Scene, stopped, until};

#[test]
fn a_palace_that_is_missing_is_made() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    assert_eq!(scene.stop(&talk), json!({}));
    scene.drained();
    assert_eq!(scene.count(), 2, "{}", scene.log());
    assert_eq!(scene.json(&["verify"])["ok"], true);
}

#[test]
fn only_new_messages_are_mined() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans.", "Water them."]);
    scene.stop(&talk);
    scene.drained();
    let before = scene.drawers(&scene.palace());
    assert_eq!(before.len(), 4);
    scene.say(&talk, "Pick them.");
    scene.stop(&talk);
    scene.drained();
    let after = scene.drawers(&scene.palace());
    assert_eq!(after.len(), 6);
    assert!(
        before.iter().all(|old| after.contains(old)),
        "what was there stayed"
    );
    scene.stop(&talk);
    scene.drained();
    assert_eq!(scene.drawers(&scene.palace()), after);
}

#[test]
fn a_collection_that_the_hook_names_is_the_one_that_is_filled() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let args = ["--collection", "talks", "claude-code", "Stop"];
    assert_eq!(scene.hook(&args, stopped(&talk)).answer(), json!({}));
    scene.drained();
    assert_eq!(scene.json(&["count", "--collection", "talks"])["count"], 2);
}

#[test]
fn a_transcript_of_two_hundred_megabytes_is_answered_and_kept_in_the_spool() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let block = std::fs::read(&talk).unwrap().repeat(1000);
    let mut file = std::fs::OpenOptions::new().append(true).open(&talk).unwrap();
    let mut written = 0;
    while written < 200 << 20 {
        file.write_all(&block).unwrap();
        written += block.len();
    }
    drop(file);
    let turn = scene.spool().take_turn().unwrap().expect("nobody drains yet");
    assert_eq!(scene.stop(&talk), json!({}));
    assert!(
        scene.drainers().is_empty(),
        "whoever has the turn is left in peace"
    );
    assert_eq!(scene.spool().count_events().unwrap().waiting, 1);
    drop(turn);
}

#[test]
fn a_transcript_larger_than_mining_takes_by_itself_is_taken() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let mut file = std::fs::OpenOptions::new().append(true).open(&talk).unwrap();
    let state = "x".repeat(70 << 20);
    writeln!(
        file,
        r#"{{"type":"file-history-snapshot","messageId":"m","snapshot":"{state}"}}"#
    )
    .unwrap();
    drop(file);
    scene.say(&talk, "Water them.");
    scene.stop(&talk);
    scene.drained();
    assert_eq!(scene.count(), 4, "{}", scene.log());
}

#[test]
fn what_is_no_regular_file_is_never_opened_and_what_is_gone_waits_no_turn() {
    let scene = Scene::new();
    let folder = scene.path("folder.jsonl");
    std::fs::create_dir(&folder).unwrap();
    scene.transcript("folder.jsonl/talk.jsonl", &["Plant the beans."]);
    let talk = scene.transcript("talk.jsonl", &["Water them."]);
    let gone = scene.path("gone.jsonl");
    for path in [&folder, &gone, &talk] {
        assert_eq!(scene.stop(path), json!({}));
    }
    until("the others are tried, the last is mined", || {
        scene.count() == 2 && scene.log().lines().count() >= 2
    });
    until("the drainer is gone", || scene.drainers().is_empty());
    assert!(scene.log().contains("folder.jsonl: not a regular file"));
    assert!(scene.log().contains("gone.jsonl: no such file"));
    assert_eq!(
        scene.spool().count_events().unwrap().waiting,
        2,
        "they are tried again later"
    );
}

#[test]
fn status_says_what_waits_and_what_failed_and_nothing_where_nothing_does() {
    let scene = Scene::new();
    scene.json(&["init"]);
    assert!(scene.json(&["status"]).get("spool").is_none());
    let turn = scene.spool().take_turn().unwrap();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    scene.stop(&talk);
    scene.stop(&talk);
    let line = "{\"no\":\"event\"}\n";
    std::fs::write(scene.spool().folder().join("failed.jsonl"), line).unwrap();
    assert_eq!(
        scene.json(&["status"])["spool"],
        json!({"waiting": 1, "failed": 1})
    );
    let said = scene.run(scene.command(&["status"]), b"");
    let expected = "from hooks: 1 conversation waiting to be mined; 1 could not be mined";
    assert!(said.err.contains(expected), "{said:?}");
    drop(turn);
}
