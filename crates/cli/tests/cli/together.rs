//! Several processes on one palace.

use std::thread;

use super::*;

#[test]
fn two_processes_that_add_at_once_both_succeed() {
    let home = new_home();
    let home = &home;
    let lines = |who: usize| -> String {
        (0..200)
            .map(|n| {
                format!(
                    "{{\"id\":\"w{who}-{n}\",\"document\":\"{who} {n}\",\"embedding\":[1,{n}.5,{who}]}}\n"
                )
            })
            .collect()
    };
    thread::scope(|scope| {
        for who in 0..4 {
            scope.spawn(move || {
                let args = ["--json", "add", "--jsonl", "-", "--batch", "7"];
                let answers = home
                    .run_with(&args, lines(who).as_bytes())
                    .expect_code(0)
                    .json_lines();
                let added: usize = answers.iter().map(|answer| ids(&answer["added"]).len()).sum();
                assert_eq!(added, 200);
            });
        }
    });
    assert_eq!(home.json(0, &["count"])["count"], 800);
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn the_same_text_added_at_once_is_stored_once() {
    let home = new_home();
    let home = &home;
    let outcomes: Vec<Json> = thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|_| scope.spawn(move || home.json(0, &["add", "the same words"])))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let added: usize = outcomes.iter().map(|outcome| ids(&outcome["added"]).len()).sum();
    let kept: usize = outcomes.iter().map(|outcome| ids(&outcome["kept"]).len()).sum();
    assert_eq!((added, kept), (1, 5));
    assert_eq!(home.json(0, &["count"])["count"], 1);
}

#[test]
fn a_backup_taken_while_others_write_is_one_moment() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"x\"}");
    let home = &home;
    let line = |n: usize| format!("{{\"id\":\"{n}\",\"document\":\"{n}\"}}\n");
    let lines: String = (0..300).map(line).collect();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            home.run_with(&["add", "--jsonl", "-", "--batch", "10"], lines.as_bytes())
                .expect_code(0);
        });
        for n in 0..3 {
            let file = home.path(&format!("copy-{n}.db")).to_str().unwrap().to_owned();
            let made = home.json(0, &["backup", &file]);
            assert_eq!(made["verified"], true);
            let drawers = made["drawers"].as_u64().unwrap();
            assert_eq!(drawers % 10, 1, "batches are whole: {made}");
        }
        writer.join().unwrap();
    });
    assert_eq!(home.json(0, &["count"])["count"], 301);
}
