//! Many hooks at once, a palace that somebody holds, and a drainer that is killed.

use std::path::PathBuf;
use std::thread;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::scene::{Scene, until};

/// Makes the palace and holds it as a writer does that takes its time.
fn hold(scene: &Scene) -> Connection {
    scene.json(&["init"]);
    let held = Connection::open(scene.palace().join("palace.db")).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    held
}

/// Everything those transcripts hold, mined by hand into another palace.
fn mined_by_hand(scene: &Scene, talks: &[PathBuf]) -> Vec<String> {
    let other = scene.path("by-hand");
    for talk in talks {
        let report = scene.json(&[
            "mine",
            talk.to_str().unwrap(),
            "--palace",
            other.to_str().unwrap(),
        ]);
        assert_eq!(report["sources_mined"], 1, "{report}");
    }
    scene.drawers(&other)
}

#[test]
fn a_locked_palace_keeps_no_hook_waiting_and_loses_nothing() {
    let scene = Scene::new();
    let held = hold(&scene);
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    assert_eq!(scene.stop(&talk), json!({}));
    assert_eq!(scene.spool().count_events().unwrap().waiting, 1);
    drop(held);
    scene.drained();
    assert_eq!(scene.count(), 2, "{}", scene.log());
}

#[test]
fn fifty_hooks_at_once_start_one_drainer_and_every_word_is_mined_once() {
    let scene = &Scene::new();
    let held = hold(scene);
    let talks: Vec<PathBuf> = (0..50)
        .map(|n| {
            let prompt = format!("Plant bed number {n} with beans.");
            scene.transcript(&format!("talk-{n}.jsonl"), &[&prompt])
        })
        .collect();
    thread::scope(|scope| {
        for talk in &talks {
            scope.spawn(move || assert_eq!(scene.stop(talk), json!({})));
        }
    });
    // The first of them cannot go on before the palace is let go of.
    until("a drainer runs", || !scene.drainers().is_empty());
    assert_eq!(scene.drainers().len(), 1);
    assert_eq!(
        scene.spool().count_events().unwrap().waiting,
        50,
        "{}",
        scene.log()
    );
    drop(held);
    scene.drained();
    until("the drainer is gone", || scene.drainers().is_empty());
    let mut drawers = scene.drawers(&scene.palace());
    let mut expected = mined_by_hand(scene, &talks);
    drawers.sort();
    expected.sort();
    assert_eq!(drawers.len(), 100);
    assert_eq!(drawers, expected);
}

#[test]
fn hooks_that_race_with_the_end_of_a_drainer_leave_nothing_behind() {
    let scene = &Scene::new();
    scene.json(&["init"]);
    thread::scope(|scope| {
        for who in 0..4 {
            scope.spawn(move || {
                for n in 0..8 {
                    let prompt = format!("Plant bed {n} of garden {who}.");
                    let talk = scene.transcript(&format!("talk-{who}-{n}.jsonl"), &[&prompt]);
                    assert_eq!(scene.stop(&talk), json!({}));
                }
            });
        }
    });
    scene.drained();
    assert_eq!(scene.count(), 64, "{}", scene.log());
}

#[test]
fn what_a_killed_drainer_left_is_mined_after_the_next_hook() {
    let scene = Scene::new();
    let held = hold(&scene);
    let first: Vec<PathBuf> = ["a", "b", "c"]
        .map(|name| scene.transcript(&format!("{name}.jsonl"), &["Plant the beans."]))
        .into();
    for talk in &first {
        scene.stop(talk);
    }
    until("a drainer runs", || !scene.drainers().is_empty());
    let begun = scene.spool().folder().join("begun.json");
    until("it has begun", || begun.exists());
    for pid in scene.drainers() {
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    }
    until("it is dead", || scene.spool().take_turn().unwrap().is_some());
    drop(held);
    assert_eq!(scene.spool().count_events().unwrap().waiting, 3);
    assert_eq!(scene.count(), 0);
    let last = scene.transcript("d.jsonl", &["Water them."]);
    scene.stop(&last);
    scene.drained();
    assert_eq!(scene.count(), 8, "{}", scene.log());
    assert_eq!(scene.json(&["verify"])["ok"], true);
}
