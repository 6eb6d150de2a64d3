//! Words that were filed stay filed, whatever becomes of the file they came from.

use serde_json::json;

use super::mining::cat;
use super::*;

fn chat(messages: &[&str]) -> String {
    let turn = |(n, text): (usize, &&str)| {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        json!({ "role": role, "content": text })
    };
    Json::from_iter(messages.iter().enumerate().map(turn)).to_string()
}

fn texts(home: &TempHome, source: &str) -> Vec<String> {
    let given = home.json(0, &["cat", source]);
    let all = given["messages"].as_array().unwrap().iter();
    all.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_without_ids_that_are_pruned_stay() {
    let home = new_home();
    let talk = [
        "When do we sail?",
        "On the third of May.",
        "Thanks.",
        "You are welcome.",
    ];
    let file = home.write("o.json", chat(&talk));
    home.json(0, &["mine", &file]);
    home.write("o.json", chat(&talk[2..]));
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 0, "{report}");
    assert_eq!(texts(&home, &file), talk);
    home.write(
        "o.json",
        chat(&["A summary.", "Thanks.", "You are welcome.", "And the tide?"]),
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 0, "{report}");
    let all = texts(&home, &file);
    for text in talk.iter().chain(&["A summary.", "And the tide?"]) {
        assert_eq!(all.iter().filter(|one| one == text).count(), 1, "{text}: {all:?}");
    }
}

#[test]
fn a_message_without_an_id_that_grew_is_replaced() {
    let home = new_home();
    let file = home.write("o.json", chat(&["When do we sail?", "On the third"]));
    home.json(0, &["mine", &file]);
    home.write("o.json", chat(&["When do we sail?", "On the third of May."]));
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 1, "{report}");
    assert_eq!(texts(&home, &file), ["When do we sail?", "On the third of May."]);
}

#[test]
fn a_conversation_caught_half_written_keeps_its_messages() {
    let home = new_home();
    let talk = ["When do we sail?", "On the third of May."];
    let file = home.write("o.json", chat(&talk));
    home.json(0, &["mine", &file]);
    for other in ["[{\"ro", "only a note now\n"] {
        home.write("o.json", other);
        let report = home.json(1, &["mine", &file]);
        let why = report["sources_failed"][0]["error"].as_str().unwrap();
        assert!(why.contains("are kept"), "{report}");
        assert_eq!(texts(&home, &file), talk);
    }
    home.json(0, &["mine", &file, "--as", "text"]);
    assert_eq!(cat(&home, &file), b"only a note now\n", "somebody insisted");
}

#[test]
fn what_is_said_to_be_a_bundle_and_is_none_fails_and_changes_nothing() {
    let home = new_home();
    let talk = ["When do we sail?", "On the third of May."];
    let file = home.write("o.json", chat(&talk));
    home.json(0, &["mine", &file]);
    let report = home.json(1, &["mine", &file, "--as", "slack"]);
    assert!(
        report["sources_failed"][0]["error"]
            .as_str()
            .unwrap()
            .contains("no slack")
    );
    assert_eq!(texts(&home, &file), talk);
}

#[test]
fn a_file_named_like_a_conversation_does_not_take_its_place() {
    let home = new_home();
    let export = json!([{ "uuid": "tides", "name": "", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
        { "uuid": "m", "sender": "human", "text": "The tide is high.", "created_at": "2026-01-01T00:00:00Z" } ] }]);
    let file = home.write("conversations.json", export.to_string());
    home.json(0, &["mine", &file]);
    let other = home.write("conversations.json#tides", "a note\n");
    let report = home.json(1, &["mine", &other]);
    assert!(
        report["sources_failed"][0]["error"]
            .as_str()
            .unwrap()
            .contains("rename it")
    );
    assert_eq!(texts(&home, &file), ["The tide is high."]);
    let home = new_home();
    let other = home.write("conversations.json#tides", "a note\n");
    home.json(0, &["mine", &other]);
    let file = home.write("conversations.json", export.to_string());
    home.json(0, &["mine", &file]);
    assert_eq!(cat(&home, &other), b"a note\n");
    assert_eq!(home.json(0, &["count"])["count"], 2);
}

#[test]
fn a_changed_message_keeps_its_place_before_those_that_left() {
    let home = new_home();
    let line = |n: usize, text: &str| {
        let line = json!({ "type": "user", "uuid": format!("u{n}"), "sessionId": "s",
            "message": { "role": "user", "content": text } });
        format!("{line}\n")
    };
    let all: String = (0..5).map(|n| line(n, &format!("number {n}"))).collect();
    let file = home.write("s.jsonl", all);
    home.json(0, &["mine", &file]);
    home.write(
        "s.jsonl",
        line(0, "number 0") + &line(1, "number 0") + &line(2, "changed"),
    );
    home.json(0, &["mine", &file]);
    assert_eq!(
        texts(&home, &file),
        ["number 0", "number 0", "changed", "number 3", "number 4"]
    );
}

#[test]
fn asking_for_a_room_leaves_the_wing() {
    let home = new_home();
    let file = home.write("note.md", "A note.\n");
    home.json(0, &["mine", &file]);
    home.json(
        0,
        &[
            "move",
            "--source",
            &file,
            "--to-wing",
            "sea",
            "--to-room",
            "piers",
            "--yes",
        ],
    );
    home.json(0, &["mine", &file, "--room", "harbours"]);
    let facets = home.json(0, &["wings", "--by", "wing,room"]);
    assert_eq!(
        facets["facets"],
        json!([{ "wing": "sea", "room": "harbours", "drawers": 1 }])
    );
    assert_eq!(home.run(&["mine", &file, "--wing", " "]).code, 2);
}

#[test]
fn a_transcript_with_zeros_behind_it_is_read() {
    let home = new_home();
    let line = json!({ "type": "user", "uuid": "u", "sessionId": "s", "message": { "role": "user", "content": "Hello." } });
    let file = home.write("s.jsonl", format!("{line}\n{}", "\0".repeat(4096)));
    home.json(0, &["mine", &file]);
    assert_eq!(texts(&home, &file), ["Hello."]);
}

#[test]
fn the_text_of_a_file_is_given_as_text_whatever_its_bytes() {
    let home = new_home();
    let text = "\u{feff}Grüße an alle\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let file = home.write("wide.txt", &bytes);
    home.json(0, &["mine", &file]);
    let given = home.json(0, &["cat", &file]);
    assert_eq!(
        (&given["text"], &given["encoding"]),
        (&json!(text), &json!("utf-16le"))
    );
    assert_eq!(cat(&home, &file), bytes);
}
