//! Mining conversations: each message as it was said, transcripts that grow, and where they go.

use super::*;

/// A line of a transcript as Claude Code writes it.
fn line(n: usize, role: &str, text: &str) -> String {
    let time = format!("2026-03-0{}T10:{:02}:00.000Z", 1 + n / 60, n % 60);
    let content = match role {
        "user" => serde_json::json!(text),
        _ => serde_json::json!([{ "type": "text", "text": text }]),
    };
    let parent = n.checked_sub(1).map(|parent| format!("u{parent}"));
    let line = serde_json::json!({
        "type": role, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": "s-1",
        "cwd": "/home/ada/harbour", "timestamp": time, "version": "2.0.0", "isSidechain": false,
        "userType": "external", "message": { "role": role, "content": content },
    });
    format!("{line}\n")
}

fn exchange(n: usize) -> String {
    line(
        2 * n,
        "user",
        &format!("Question {n}: which pier does boat {n} take?"),
    ) + &line(
        2 * n + 1,
        "assistant",
        &format!("Boat {n} takes pier {}, because of the tide.", n % 7),
    )
}

fn transcript(exchanges: usize) -> String {
    (0..exchanges).map(exchange).collect()
}

fn messages(home: &TempHome, source: &str) -> Vec<Json> {
    home.json(0, &["cat", source])["messages"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn every_message_keeps_its_speaker_kind_time_id_and_exact_text() {
    let home = new_home();
    let text = "  Leading spaces, a tab\tand\n\n```\ncode\n```\ntrailing newline\n";
    let tool = serde_json::json!({
        "type": "assistant", "uuid": "t1", "sessionId": "s-1", "timestamp": "2026-03-01T11:00:00Z",
        "message": { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "Let me look." },
            { "type": "tool_use", "id": "c1", "name": "Bash", "input": { "command": "ls" } } ] } });
    let long = "many lines of output\n".repeat(500);
    let result = serde_json::json!({
        "type": "user", "uuid": "t2", "sessionId": "s-1", "timestamp": "2026-03-01T11:00:01Z",
        "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "c1", "content": long } ] } });
    let file = home.write(
        "s.jsonl",
        line(0, "user", text) + &line(1, "assistant", "Yes.") + &format!("{tool}\n{result}\n"),
    );
    let report = home.json(0, &["mine", "s.jsonl", "--trusted"]);
    assert_eq!(report["formats"]["claude-code"], 1, "{report}");
    let said = messages(&home, &file);
    let kinds: Vec<_> = said.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["human", "assistant", "thinking", "tool_call", "tool_result"]
    );
    assert_eq!(said[0]["text"], text);
    assert_eq!(said[0]["id"], "u0");
    assert_eq!(said[0]["time"], "2026-03-01T10:00:00Z");
    assert_eq!(said[0]["speaker"], "user");
    assert_eq!(said[3]["text"], r#"{"command":"ls"}"#);
    assert_eq!(said[4]["text"], long.as_str(), "tool output is kept whole");
    let list = home.json(0, &["list", "--where", r#"{"kind":"tool_result"}"#]);
    assert!(list["drawers"].as_array().unwrap().len() > 5);
    let drawer = &home.json(0, &["list", "--where", r#"{"message_id":"u0"}"#])["drawers"][0];
    assert_eq!(drawer["metadata"]["thread_id"], "s-1");
    assert_eq!(drawer["wing"], "harbour");
    assert_eq!(drawer["said_at"], "2026-03-01T10:00:00Z");
    let words = home.run(&["cat", "s.jsonl"]).expect_code(0).out;
    assert!(
        words.contains("user · human · trust user · 2026-03-01T10:00:00Z"),
        "{words}"
    );
}

#[test]
fn a_transcript_that_grew_by_a_message_costs_one_message() {
    let home = new_home();
    let file = home.write("s.jsonl", transcript(50));
    assert_eq!(home.json(0, &["mine", &file])["drawers_added"], 100);
    let before = home.json(0, &["list", "--limit", "500", "--embeddings"]);
    let cursor = home.json(0, &["changes", "--limit", "1000"])["next"].clone();
    let grown = transcript(50) + &line(100, "user", "And what of the ferry?");
    home.write("s.jsonl", &grown);
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_added"], 1, "{report}");
    assert_eq!(report["drawers_kept"], 100);
    assert_eq!(report["drawers_removed"], 0);
    let since = cursor.as_str().map_or(cursor.to_string(), str::to_owned);
    let changes = home.json(0, &["changes", "--since", &since]);
    let changed = changes["changes"].as_array().unwrap().len();
    assert!(changed <= 2, "the new one, and what stands before it: {changes}");
    let after = home.json(0, &["list", "--limit", "500", "--embeddings"]);
    let vector = |list: &Json, id: &str| {
        let all = list["drawers"].as_array().unwrap();
        all.iter()
            .find(|one| one["id"] == id)
            .map(|one| one["embedding"].clone())
    };
    for id in ids(&before["drawers"]) {
        assert_eq!(
            vector(&before, id),
            vector(&after, id),
            "no vector was made again"
        );
    }
    assert_eq!(messages(&home, &file).len(), 101);
    assert_eq!(home.json(0, &["mine", &file])["sources_unchanged"], 1);
}

#[test]
fn broken_lines_are_listed_with_their_numbers_and_the_rest_is_kept() {
    let home = new_home();
    let file = home.write(
        "s.jsonl",
        transcript(2)
            + "{\"type\":\"user\",\"mess\n"
            + "not json at all\n"
            + &exchange(2)
            + "{\"type\":\"assi",
    );
    let report = home.json(0, &["mine", &file]);
    let lines: Vec<_> = report["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [5, 6, 9], "{report}");
    assert_eq!(messages(&home, &file).len(), 6);
    assert_eq!(report["sources_failed"], serde_json::json!([]));
}

#[test]
fn messages_that_leave_their_transcript_stay_in_the_palace_in_their_place() {
    let home = new_home();
    let file = home.write("s.jsonl", transcript(5));
    home.json(0, &["mine", &file]);
    let rest: String = [0, 3, 4, 5].into_iter().map(exchange).collect();
    home.write("s.jsonl", rest);
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 0, "{report}");
    assert_eq!(report["drawers_added"], 2);
    assert!(
        report["notes"][0]["note"].as_str().unwrap().contains("no longer"),
        "{report}"
    );
    let said = messages(&home, &file);
    let ids: Vec<_> = said
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (0..12).map(|n| format!("u{n}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn a_message_whose_text_changed_is_replaced() {
    let home = new_home();
    let file = home.write(
        "s.jsonl",
        line(0, "user", "Hello") + &line(1, "assistant", "Half an ans"),
    );
    home.json(0, &["mine", &file]);
    home.write(
        "s.jsonl",
        line(0, "user", "Hello") + &line(1, "assistant", "Half an answer, now whole."),
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 1, "{report}");
    let said = messages(&home, &file);
    assert_eq!(said.len(), 2);
    assert_eq!(said[1]["text"], "Half an answer, now whole.");
}

#[test]
fn what_was_moved_stays_where_it_is_and_what_follows_goes_there() {
    let home = new_home();
    let file = home.write("s.jsonl", transcript(3));
    home.json(0, &["mine", &file]);
    let before = home.json(0, &["list"]);
    let moved = home.json(
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
    assert_eq!(moved["moved"], 6, "{moved}");
    let after = home.json(0, &["list"]);
    assert_eq!(ids(&before["drawers"]), ids(&after["drawers"]), "ids stay");
    home.write("s.jsonl", transcript(4));
    home.json(0, &["mine", &file]);
    let facets = home.json(0, &["wings", "--by", "wing,room"]);
    assert_eq!(
        facets["facets"],
        serde_json::json!([{ "wing": "sea", "room": "piers", "drawers": 8 }])
    );
    assert_eq!(
        home.run(&["move", "--to-wing", "x", "--yes"]).code,
        2,
        "nothing says which"
    );
    assert_eq!(home.run(&["move", "nobody", "--to-wing", "x", "--yes"]).code, 1);
}

#[test]
fn an_export_of_several_conversations_is_several_sources() {
    let home = new_home();
    let talk = |id: &str, words: &str| {
        serde_json::json!({ "uuid": id, "name": format!("About {id}"),
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "chat_messages": [
            { "uuid": format!("{id}-1"), "sender": "human", "text": words,
              "created_at": "2026-01-01T00:00:00Z", "content": [{ "type": "text", "text": words }],
              "attachments": [], "files": [] },
            { "uuid": format!("{id}-2"), "sender": "assistant", "text": "Indeed.",
              "created_at": "2026-01-01T00:00:05Z", "content": [{ "type": "text", "text": "Indeed." }],
              "attachments": [], "files": [] } ] })
    };
    let both = serde_json::json!([
        talk("tides", "The tide is high."),
        talk("winds", "The wind is west.")
    ]);
    let file = home.write("conversations.json", both.to_string());
    let report = home.json(0, &["mine", &file, "--dry-run"]);
    assert_eq!(report["plan"].as_array().unwrap().len(), 2, "{report}");
    assert!(!home.palace().exists());
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["formats"]["claude-ai"], 1, "{report}");
    assert_eq!(report["drawers_added"], 4);
    assert_eq!(messages(&home, &file).len(), 4);
    assert_eq!(messages(&home, &format!("{file}#winds")).len(), 2);
    let rooms = home.json(0, &["wings", "--by", "room"]);
    assert_eq!(rooms["facets"][0]["room"], "About tides");
    assert_eq!(home.json(0, &["mine", &file])["sources_unchanged"], 1);
    let changed = serde_json::json!([
        talk("tides", "The tide is high."),
        talk("winds", "The wind is east.")
    ]);
    home.write("conversations.json", changed.to_string());
    let before = home.json(0, &["changes"]);
    let planned = home.json(0, &["mine", &file, "--dry-run"]);
    assert_eq!(planned["plan"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(home.json(0, &["changes"]), before);
    let report = home.json(0, &["mine", &file]);
    assert_eq!(
        (&report["drawers_added"], &report["drawers_removed"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        messages(&home, &format!("{file}#winds"))[0]["text"],
        "The wind is east."
    );
    let one = serde_json::json!([talk("winds", "The wind is east.")]);
    home.write("conversations.json", one.to_string());
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["drawers_removed"], 0, "{report}");
    assert_eq!(report["vanished"], serde_json::json!([format!("{file}#tides")]));
    assert_eq!(home.json(0, &["count"])["count"], 4, "what vanished is kept");
}

#[test]
fn two_conversations_with_one_id_are_both_kept() {
    let home = new_home();
    let talk = |words: &str| {
        serde_json::json!({ "uuid": "same", "name": "", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
            { "uuid": "m", "sender": "human", "text": words, "created_at": "2026-01-01T00:00:00Z" } ] })
    };
    let file = home.write(
        "conversations.json",
        serde_json::json!([talk("First."), talk("Second.")]).to_string(),
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["sources_failed"], serde_json::json!([]), "{report}");
    let said: Vec<Json> = messages(&home, &file)
        .iter()
        .map(|one| one["text"].clone())
        .collect();
    assert_eq!(said, ["First.", "Second."]);
    assert_eq!(home.json(0, &["mine", &file])["sources_unchanged"], 1);
}

#[test]
fn only_what_was_said_since_is_filed_and_the_rest_comes_when_it_is_asked_for() {
    let home = new_home();
    let file = home.write("s.jsonl", transcript(40));
    let report = home.json(0, &["mine", &file, "--since", "2026-03-02"]);
    assert_eq!(report["drawers_added"], 20, "{report}");
    assert_eq!(
        home.json(0, &["mine", &file, "--since", "2026-03-02"])["sources_unchanged"],
        1
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(
        (report["drawers_added"].clone(), report["drawers_kept"].clone()),
        (60.into(), 20.into())
    );
    assert_eq!(messages(&home, &file).len(), 80);
}

#[test]
fn what_a_file_is_taken_for_can_be_said() {
    let home = new_home();
    let file = home.write("s.jsonl", transcript(2));
    let report = home.json(0, &["mine", &file, "--as", "text"]);
    assert_eq!(report["formats"]["config"], 1, "{report}");
    assert_eq!(super::mining::cat(&home, &file), transcript(2).as_bytes());
    let report = home.json(0, &["mine", &file, "--as", "claude-code"]);
    assert_eq!(report["formats"]["claude-code"], 1, "{report}");
    assert_eq!(
        messages(&home, &file).len(),
        4,
        "what it was taken for before is gone"
    );
    let prose = home.write("prose.txt", "Nothing but prose.\n");
    let report = home.json(1, &["mine", &prose, "--as", "chatgpt"]);
    assert_eq!(report["sources_failed"][0]["source"], prose.as_str(), "{report}");
    assert!(!report["sources_failed"][0]["error"].as_str().unwrap().is_empty());
    assert_eq!(home.json(0, &["mine", &prose])["sources_mined"], 1);
}
