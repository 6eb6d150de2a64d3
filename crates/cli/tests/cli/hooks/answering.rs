//! Events as each harness sends them: each is answered in its own way, and the conversation is mined.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::scene::Scene;

/// Calls the hook with a recorded event.
#[track_caller]
fn check(scene: &Scene, harness: &str, event: &str, expected: Json) {
    let recorded = scene.event(&format!("{harness}-{event}"));
    let ran = scene.hook(&[harness, event], recorded);
    assert_eq!(ran.answer(), expected, "{harness} {event}");
    assert_eq!(ran.out.lines().count(), 1);
}

/// The transcript a recorded event names.
fn named(scene: &Scene, event: &str) -> PathBuf {
    let event: Json = serde_json::from_str(&scene.event(event)).unwrap();
    PathBuf::from(event["transcript_path"].as_str().unwrap())
}

/// Calls the hook with each of these events in a new home, and sees the conversation mined into a wing.
#[track_caller]
fn mines(harness: &str, events: &[&str], fixture: &str) {
    for event in events {
        let scene = Scene::new();
        scene.put(fixture, &named(&scene, &format!("{harness}-{event}")));
        check(&scene, harness, event, json!({}));
        scene.drained();
        assert!(scene.count() > 1, "{harness} {event}: {}", scene.log());
        assert_eq!(scene.log(), "", "{harness} {event}");
        let wings = scene.json(&["wings"]);
        assert_eq!(wings["facets"][0]["wing"], "garden", "{harness} {event}: {wings}");
    }
}

/// Calls the hook with each of these events, and sees that nothing is kept of them.
#[track_caller]
fn only_answers(harness: &str, events: &[(&str, Json)]) {
    let scene = Scene::new();
    for (event, expected) in events {
        check(&scene, harness, event, expected.clone());
        assert!(!scene.path("data").exists(), "{harness} {event}");
        assert!(!scene.palace().exists(), "{harness} {event}");
    }
}

const CLAUDE: &str = "claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001.jsonl";
const CODEX: &str = "codex/rollout.jsonl";
const GEMINI: &str = "gemini-cli/metadata.jsonl";
const CURSOR: &str = "cursor-agent/agent-transcripts/day/day.jsonl";

#[test]
fn claude_code_is_answered_and_mined() {
    mines("claude-code", &["Stop", "PreCompact", "SessionEnd"], CLAUDE);
    only_answers(
        "claude-code",
        &[("SessionStart", json!({})), ("UserPromptSubmit", json!({}))],
    );
}

#[test]
fn codex_is_answered_and_mined() {
    mines("codex", &["Stop", "PreCompact", "SessionEnd"], CODEX);
    only_answers(
        "codex",
        &[("SessionStart", json!({})), ("UserPromptSubmit", json!({}))],
    );
}

#[test]
fn the_notification_of_codex_is_an_argument_and_its_transcript_is_found() {
    let scene = Scene::new();
    scene.put(CODEX, &named(&scene, "codex-Stop"));
    let event = scene.event("codex-notify");
    let ran = scene.hook(&["codex", "notify", &event], "this is not read");
    assert_eq!(ran.answer(), json!({}));
    scene.drained();
    assert!(scene.count() > 3, "{}", scene.log());
}

#[test]
fn gemini_is_answered_and_mined() {
    mines("gemini", &["AfterAgent", "PreCompress", "SessionEnd"], GEMINI);
    only_answers(
        "gemini",
        &[("SessionStart", json!({})), ("BeforeAgent", json!({}))],
    );
}

#[test]
fn cursor_is_answered_and_mined() {
    mines(
        "cursor",
        &["afterAgentResponse", "stop", "preCompact", "sessionEnd"],
        CURSOR,
    );
    only_answers(
        "cursor",
        &[
            ("sessionStart", json!({})),
            ("beforeSubmitPrompt", json!({"continue": true})),
        ],
    );
}

#[test]
fn cursors_command_line_names_no_transcript_and_it_is_found() {
    let scene = Scene::new();
    let project: String = scene.path("garden").to_str().unwrap()[1..]
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let id = "668320d2-2fd8-4888-b33c-2a466fec86e7";
    let place = format!(".cursor/projects/{project}/agent-transcripts/{id}.jsonl");
    scene.put(CURSOR, &scene.path(&place));
    let event = scene.event("cursor-stop-cli");
    assert_eq!(scene.hook(&["cursor", "stop"], event).answer(), json!({}));
    scene.drained();
    assert!(scene.count() > 3, "{}", scene.log());
}

#[test]
fn a_transcript_in_the_home_may_be_named_by_a_tilde_and_an_event_in_any_spelling() {
    let scene = Scene::new();
    scene.transcript("talk.jsonl", &["Plant the beans."]);
    let event = r#"{"session_id":"talk","transcript_path":"~/talk.jsonl"}"#;
    assert_eq!(
        scene.hook(&["Claude_Code", "session-end"], event).answer(),
        json!({})
    );
    scene.drained();
    assert_eq!(scene.count(), 2, "{}", scene.log());
}
