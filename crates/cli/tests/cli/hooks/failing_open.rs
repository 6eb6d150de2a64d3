//! Whatever goes wrong, a hook answers with one JSON object and exits with 0.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::json;

use super::scene::{Scene, stopped};

#[test]
fn garbage_on_standard_input_is_answered_and_noted() {
    let scene = Scene::new();
    let deep = [b"{\"a\":".repeat(100_000), b"[".repeat(100_000)].concat();
    let events: [&[u8]; 12] = [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"7",
        b"\"text\"",
        b"{",
        b"{\"session_id\":",
        b"not json at all",
        b"\xff\xfe\x00\x01{}",
        b"{}{}",
        &deep,
    ];
    for event in events {
        for (harness, name) in [
            ("claude-code", "Stop"),
            ("gemini", "AfterAgent"),
            ("cursor", "stop"),
        ] {
            assert_eq!(scene.hook(&[harness, name], event).answer(), json!({}));
        }
        let prompt = scene.hook(&["cursor", "beforeSubmitPrompt"], event).answer();
        assert_eq!(prompt, json!({"continue": true}));
    }
    assert!(scene.log().contains("not JSON"), "{}", scene.log());
    assert_eq!(scene.spool().count_events().unwrap().waiting, 0);
    assert!(!scene.palace().exists());
}

#[test]
fn unknown_harnesses_events_and_arguments_are_answered_and_noted() {
    let scene = Scene::new();
    let lines: [&[&str]; 9] = [
        &[],
        &["claude-code"],
        &["emacs", "Stop"],
        &["claude-code", "PreToolUse"],
        &["claude-code", "Stop", "--nonsense"],
        &["claude-code", "Stop", "{}", "too", "many"],
        &["claude-code", "SessionStart", "--recall", "--recall-ms", "soon"],
        &["claude-code", "Stop", "--collection", ""],
        &["", ""],
    ];
    for line in lines {
        assert_eq!(scene.hook(line, "{}").answer(), json!({}), "{line:?}");
    }
    assert!(scene.log().contains("emacs Stop: unknown harness"));
    assert!(scene.log().contains("PreToolUse: unknown event"));
    let common = std::fs::read_to_string(scene.path("data/loci/spool/hook.log")).unwrap();
    assert!(common.contains("--nonsense"), "{common}");
    let help = scene.hook(&["--help"], "");
    assert!(help.code == Some(0) && help.out.contains("Usage: loci hook"));
}

#[test]
fn a_palace_that_cannot_be_meant_is_noted() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let mut command = scene.command(&["hook", "claude-code", "Stop"]);
    command.env("LOCI_PALACE", "nonsense:palace");
    assert_eq!(scene.run(command, stopped(&talk).as_bytes()).answer(), json!({}));
    let common = std::fs::read_to_string(scene.path("data/loci/spool/hook.log")).unwrap();
    assert!(common.contains("nonsense"), "{common}");
}

#[test]
fn a_writer_that_never_closes_its_pipe_is_not_waited_for_and_its_event_is_kept() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let turn = scene.spool().take_turn().unwrap();
    let mut child = scene
        .command(&["hook", "claude-code", "Stop"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stopped(&talk).as_bytes()).unwrap();
    // It ends though its standard input does not, since what stands there is whole.
    assert!(child.wait().unwrap().success());
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(out, "{}\n");
    assert_eq!(
        scene.spool().count_events().unwrap().waiting,
        1,
        "{}",
        scene.log()
    );
    drop((stdin, turn));
}

#[test]
fn an_event_of_many_megabytes_is_cut_and_kept() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    let long = stopped(&talk).replace("\"stop_hook_active\"", "\"last_assistant_message\"");
    let long = long.replace("false", &format!("\"{}\"", "beans ".repeat(1 << 20)));
    // Names come first in what harnesses send.
    let event = format!("{{\"transcript_path\":{talk:?},{}", &long[1..]);
    assert_eq!(scene.hook(&["claude-code", "Stop"], event).answer(), json!({}));
    scene.drained();
    assert_eq!(scene.count(), 2, "{}", scene.log());
}

#[test]
fn a_full_disk_is_answered() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    // No file may grow at all: to its writer that is a full disk.
    let mut shell = Command::new("/bin/sh");
    scene.dressed(&mut shell);
    shell
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 0; exec \"$0\" hook claude-code Stop")
        .arg(env!("CARGO_BIN_EXE_loci"));
    assert_eq!(scene.run(shell, stopped(&talk).as_bytes()).answer(), json!({}));
    assert_eq!(
        scene.spool().count_events().unwrap().waiting,
        0,
        "nothing half is kept"
    );
    // With room again the same event goes its way.
    assert_eq!(scene.stop(&talk), json!({}));
    scene.drained();
    assert_eq!(scene.count(), 2);
}

#[test]
fn a_home_that_cannot_be_written_is_answered() {
    let scene = Scene::new();
    let talk = scene.transcript("talk.jsonl", &["Plant the beans."]);
    std::fs::write(scene.path("file"), "").unwrap();
    for data in ["/proc/nowhere", scene.path("file").to_str().unwrap()] {
        let mut command = scene.command(&["hook", "claude-code", "Stop"]);
        command.env("XDG_DATA_HOME", data).env("HOME", data);
        assert_eq!(scene.run(command, stopped(&talk).as_bytes()).answer(), json!({}));
    }
    assert!(!scene.palace().exists());
}

#[test]
fn nobody_to_read_the_answer_is_no_error() {
    let scene = Scene::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for stdout in [Stdio::from(full), Stdio::null()] {
        let status = scene
            .command(&["hook", "claude-code", "SessionStart"])
            .stdin(Stdio::null())
            .stdout(stdout)
            .status()
            .unwrap();
        assert!(status.success());
    }
}
