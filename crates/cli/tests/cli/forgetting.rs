//! Forgetting: deleted words stay deleted, forgotten ones are in no byte of the palace and its backups.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::*;

/// A message of a transcript as Claude Code writes it.
fn message(n: usize, role: &str, text: &str) -> String {
    let line = json!({
        "type": role, "uuid": format!("0b6f7a52-33c1-4d0e-9f00-{n:012}"), "sessionId": "s1", "cwd": "/home/a/proj",
        "timestamp": format!("2026-05-01T10:{:02}:{:02}Z", n / 60 % 60, n % 60),
        "message": {"role": role, "content": text},
    });
    format!("{line}\n")
}

fn transcript(texts: &[&str]) -> String {
    let lines = texts.iter().enumerate();
    lines
        .map(|(n, text)| message(n, if n % 2 == 0 { "user" } else { "assistant" }, text))
        .collect()
}

const TALK: [&str; 5] = [
    "let us set up the database",
    "what is the password?",
    "the password is HunterCanary22, keep it",
    "noted, I connect now",
    "great work",
];

fn texts(home: &TempHome) -> Vec<String> {
    let listed = home.json(0, &["list", "--limit", "10000"]);
    let drawers = listed["drawers"].as_array().unwrap();
    drawers
        .iter()
        .map(|drawer| drawer["text"].as_str().unwrap().to_owned())
        .collect()
}

fn holds(home: &TempHome, text: &str) -> bool {
    texts(home).iter().any(|stored| stored.contains(text))
}

/// Deletes the drawers that contain a text.
fn delete(home: &TempHome, text: &str) {
    let deleted = home.json(0, &["delete", "--contains", text, "--yes"]);
    assert!(deleted["deleted"].as_u64().unwrap() > 0, "{deleted}");
    assert_eq!(deleted.get("warnings"), None, "{deleted}");
}

#[test]
fn a_deleted_message_stays_deleted_when_its_transcript_grows_or_moves() {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file]);
    delete(&home, "HunterCanary22");
    let grown = transcript(&TALK) + &message(9, "user", "one more thing");
    home.write("t/s1.jsonl", &grown);
    let report = home.json(0, &["mine", &file]);
    assert_eq!(
        (&report["withheld"], &report["drawers_added"]),
        (&json!(1), &json!(1))
    );
    assert!(!holds(&home, "HunterCanary22") && holds(&home, "one more thing"));
    // The same conversation under another name, as a resumed or copied session is.
    let copy = home.write("copied/other.jsonl", &grown);
    let report = home.json(0, &["mine", &copy]);
    assert_eq!(
        (&report["withheld"], &report["drawers_added"]),
        (&json!(1), &json!(5))
    );
    assert!(!holds(&home, "HunterCanary22"));
    let found = home.json(1, &["search", "huntercanary22"]);
    assert_eq!(
        found["hits"][0]["why"].get("lexical"),
        None,
        "not even around a neighbour: {found}"
    );
}

#[test]
fn deleted_words_are_not_left_around_their_neighbours() {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file]);
    delete(&home, "HunterCanary22");
    let exported = home.run(&["export"]).out;
    assert!(!exported.contains("HunterCanary22"), "{exported}");
    assert!(exported.contains("noted, I connect now"));
}

#[test]
fn a_deleted_piece_of_a_file_stays_deleted_when_the_file_changes_around_it() {
    let home = new_home();
    let file = home.write("notes/a.md", "# Access\n\nThe key is CanaryKey77.\n");
    home.json(0, &["mine", &file]);
    delete(&home, "CanaryKey77");
    home.write(
        "notes/a.md",
        "# Access\n\nThe key is CanaryKey77.\n\nAsk Ada for the rest.\n",
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(report["withheld"], 1, "{report}");
    assert_eq!(texts(&home), ["\nAsk Ada for the rest.\n"]);
    let again = home.json(0, &["mine", &file, "--max-size", "63MB"]);
    assert_eq!(
        (&again["drawers_added"], &again["drawers_removed"]),
        (&json!(0), &json!(0))
    );
    home.write("notes/a.md", "The key is CanaryKey78 now.\n");
    home.json(0, &["mine", &file]);
    assert!(holds(&home, "CanaryKey78"), "other words are not held back");
}

#[test]
fn equal_words_elsewhere_in_the_source_stay() {
    let home = new_home();
    let file = home.write(
        "t/s1.jsonl",
        transcript(&["ok", "first answer", "ok", "second answer"]),
    );
    home.json(0, &["mine", &file]);
    let listed = home.json(0, &["list", "--contains", "ok"]);
    let one = listed["drawers"][0]["id"].as_str().unwrap().to_owned();
    home.json(0, &["delete", &one, "--yes"]);
    home.write(
        "t/s1.jsonl",
        transcript(&["ok", "first answer", "ok", "second answer", "ok"]),
    );
    home.json(0, &["mine", &file]);
    let left = texts(&home).iter().filter(|text| *text == "ok").count();
    assert_eq!(left, 2, "the one that was not deleted, and the new message");
}

#[test]
fn deleted_words_come_back_when_asked_for() {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file]);
    delete(&home, "HunterCanary22");
    let report = home.json(0, &["mine", &file, "--restore-deleted"]);
    assert_eq!(
        (&report["withheld"], &report["drawers_added"]),
        (&json!(0), &json!(1))
    );
    home.write(
        "t/s1.jsonl",
        transcript(&TALK) + &message(9, "user", "one more thing"),
    );
    let report = home.json(0, &["mine", &file]);
    assert_eq!(
        (&report["withheld"], &report["drawers_removed"]),
        (&json!(0), &json!(0))
    );
    assert!(holds(&home, "HunterCanary22"));
}

/// A palace from which a message was deleted, and its transcript.
fn with_deletion() -> (TempHome, String) {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file]);
    delete(&home, "HunterCanary22");
    home.write(
        "t/s1.jsonl",
        transcript(&TALK) + &message(9, "user", "one more thing"),
    );
    (home, file)
}

fn assert_withheld(home: &TempHome, file: &str, palace: &str) {
    let report = home.json(0, &["--palace", palace, "mine", file]);
    assert_eq!(report["withheld"], 1, "{palace}: {report}");
    let listed = home.run(&["--palace", palace, "export"]).out;
    assert!(!listed.contains("HunterCanary22"), "{palace}");
}

#[test]
fn the_list_of_deletions_travels_with_backups_migrations_and_exports() {
    let (home, file) = with_deletion();
    let copy = home.path("copy.db").display().to_string();
    home.json(0, &["backup", &copy]);
    home.json(0, &["--palace", "restored", "restore", &copy]);
    assert_withheld(&home, &file, "restored");
    let own = home.palace().display().to_string();
    home.json(0, &["migrate", "--from", &own, "--to", "moved"]);
    assert_withheld(&home, &file, "moved");
    let lines = home.path("all.jsonl").display().to_string();
    home.json(0, &["export", "-o", &lines]);
    let text = std::fs::read_to_string(&lines).unwrap();
    assert!(!text.contains("HunterCanary22"));
    home.json(0, &["--palace", "imported", "import", &lines]);
    assert_withheld(&home, &file, "imported");
    let keys = home.json(0, &["--palace", "moved", "key", "show"]);
    assert_eq!(
        keys["keys"].as_array().unwrap().len(),
        1,
        "the key came along: {keys}"
    );
}

#[test]
fn without_the_key_nothing_is_mined_until_it_is_brought_or_everything_is_asked_for() {
    let (home, file) = with_deletion();
    let key = home.path("palace.key").display().to_string();
    home.json(0, &["key", "export", &key]);
    let shown = home.json(0, &["key", "show"]);
    std::fs::remove_file(shown["key_file"].as_str().unwrap()).unwrap();
    let refused = home.run(&["--json", "mine", &file]);
    let (code, message) = refused.expect_error();
    assert_eq!(code, "unavailable");
    assert!(
        message.contains("key") && !holds(&home, "one more thing"),
        "{message}"
    );
    home.json(0, &["key", "import", &key]);
    assert_eq!(home.json(0, &["mine", &file])["withheld"], 1);
    std::fs::remove_file(shown["key_file"].as_str().unwrap()).unwrap();
    assert_eq!(
        home.json(0, &["mine", &file, "--restore-deleted"])["drawers_added"],
        1
    );
}

#[test]
fn forgotten_words_are_in_no_byte_of_the_palace_and_its_backups() {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file]);
    home.json(0, &["add", "the note says HunterCanary22", "--id", "note"]);
    let kept = home.path("backups").display().to_string();
    let moved = home.path("moved.db").display().to_string();
    home.json(0, &["backup", &kept, "--keep", "3"]);
    home.json(0, &["backup", &moved]);
    let elsewhere = home.path("elsewhere.db");
    std::fs::rename(&moved, &elsewhere).unwrap();
    // A copy may hold what the palace no longer has.
    home.json(0, &["delete", "note", "--yes"]);
    let lines = home.write("check.txt", "HunterCanary22\nnowhere else\n");
    let checked = home.json(1, &["forget", "--check", &lines]);
    assert!(
        checked["found"]
            .as_array()
            .unwrap()
            .iter()
            .all(|found| found["line"] == 1),
        "{checked}"
    );
    let planned = home.json(1, &["forget", "--contains", "huntercanary22"]);
    assert_eq!(
        (&planned["matched"], &planned["forgotten"]),
        (&json!(0), &json!(0)),
        "case counts"
    );
    let scope = ["forget", "--contains", "HunterCanary22"];
    assert_eq!(home.json(1, &scope)["matched"], 1, "1 for the copy that is gone");
    assert!(count_in_files(home.folder(), "HunterCanary22") > 0);
    let elsewhere = elsewhere.display().to_string();
    let done = home.json(1, &[&scope[..], &["--yes", "--backups", &elsewhere]].concat());
    assert_eq!(
        (&done["matched"], &done["forgotten"], &done["forgotten_in_copies"]),
        (&json!(1), &json!(1), &json!(4))
    );
    let missed: Vec<&Json> = done["not_reached"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["part"])
        .collect();
    assert_eq!(missed, [&json!(moved)], "what is not there any more is said");
    let reached = done["reached"].as_array().unwrap();
    assert!(reached.contains(&json!(elsewhere)), "{done}");
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(&lines).unwrap();
    assert_eq!(count_in_files(home.folder(), "HunterCanary22"), 0);
    assert_eq!(
        home.json(0, &["--palace", &home.palace().display().to_string(), "verify"])["ok"],
        true
    );
    home.json(0, &["--palace", "again", "restore", &elsewhere]);
    assert_eq!(home.json(0, &["--palace", "again", "count"])["count"], 4);
}

#[test]
fn a_backup_loses_the_drawer_that_was_named_and_none_whose_id_begins_like_it() {
    let home = new_home();
    home.json(0, &["add", "stays in the backup", "--id", "note-10"]);
    let backup = home.path("copy.db").display().to_string();
    home.json(0, &["backup", &backup]);
    home.json(0, &["add", "to be forgotten", "--id", "note-1"]);
    let done = home.json(0, &["forget", "note-1", "--yes"]);
    assert_eq!(
        (&done["forgotten"], done.get("forgotten_in_copies")),
        (&json!(1), None)
    );
    home.json(0, &["--palace", "again", "restore", &backup]);
    assert_eq!(
        home.json(0, &["--palace", "again", "show", "note-10"])["drawers"][0]["text"],
        "stays in the backup"
    );
}

#[test]
fn a_dry_run_leaves_a_backup_of_an_earlier_format_as_it_is() {
    let home = new_home();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/version-1/palace.db");
    let backup = home.write("backups/old.db", std::fs::read(&old).unwrap());
    home.json(0, &["--palace", "old", "restore", &backup]);
    let scope = [
        "--palace",
        "old",
        "forget",
        "--contains",
        "e",
        "--backups",
        &backup,
    ];
    assert!(home.json(0, &scope)["matched"].as_u64().unwrap() > 0);
    assert!(std::fs::read(&backup).unwrap() == std::fs::read(&old).unwrap());
}

/// Canary number `n`, in upper or lower case.
fn canary(n: usize) -> String {
    let word = format!("qzcanary{n:04}x");
    if n.is_multiple_of(2) {
        word.to_uppercase()
    } else {
        word
    }
}

/// Files a thousand canaries in the wing "go": as lines, short and long, as metadata, in a conversation, in files and as
/// notes. More drawers stay than a sealed segment holds, so that words are stored as postings.
fn file_canaries(home: &TempHome) -> String {
    let file = |lines: Vec<Json>| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        home.file_lines(&lines).expect_code(0);
    };
    let filler =
        |n: usize| json!({"id": format!("f{n}"), "text": format!("filler {n} of many"), "wing": "stay"});
    file((0..2300).map(filler).collect());
    let long = |n: usize| {
        let padding = "padding ".repeat(if n.is_multiple_of(10) { 3000 } else { n % 50 });
        json!({"text": format!("{padding} {} {padding}", canary(n)), "wing": "go"})
    };
    file((0..400).map(long).collect());
    let tagged =
        |n: usize| json!({"text": format!("tagged {n}"), "wing": "go", "metadata": {"note": canary(n)}});
    file((400..500).map(tagged).collect());
    let said: Vec<String> = (500..800)
        .map(|n| format!("please remember {} for later", canary(n)))
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let talk = home.write("t/s1.jsonl", transcript(&said));
    home.json(0, &["mine", &talk, "--wing", "go"]);
    for n in 800..990 {
        let text = format!("# About {}\n\ntext\n\n## More\n\nmore\n", canary(n));
        home.write(&format!("files/{n}.md"), text);
    }
    let files = home.path("files").display().to_string();
    home.json(0, &["mine", &files, "--wing", "go"]);
    for n in 990..1000 {
        let note = format!("a note with {}", canary(n));
        home.json(0, &["add", &note, "--wing", "go"]);
    }
    talk
}

#[test]
fn of_a_thousand_canaries_filed_in_every_way_none_is_found_after_they_are_forgotten() {
    let home = new_home();
    let talk = file_canaries(&home);
    let backup = home.path("copy.db").display().to_string();
    home.json(0, &["backup", &backup]);
    let lines: String = (0..1000).map(|n| canary(n) + "\n").collect();
    let check = home.write("check.txt", lines);
    let before = home.json(1, &["forget", "--check", &check]);
    let found = before["found"].as_array().unwrap().iter();
    let seen: std::collections::BTreeSet<u64> = found.map(|found| found["line"].as_u64().unwrap()).collect();
    assert_eq!(seen.len(), 1000);
    let done = home.json(0, &["forget", "--wing", "go", "--yes"]);
    assert_eq!(done["not_reached"], json!([]));
    let after = home.json(0, &["forget", "--check", &check]);
    assert_eq!((&after["checked"], &after["found"]), (&json!(1000), &json!([])));
    assert_eq!(home.json(0, &["count"])["count"], 2300);
    assert_eq!(home.json(0, &["search", "filler 1234"])["hits"][0]["id"], "f1234");
    let mined = home.json(0, &["mine", &talk, "--wing", "go"]);
    assert_eq!(
        (&mined["withheld"], &mined["drawers_added"]),
        (&json!(300), &json!(0))
    );
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn what_an_agent_deletes_that_sees_one_wing_stays_deleted_too() {
    let home = new_home();
    let file = home.write("t/s1.jsonl", transcript(&TALK));
    home.json(0, &["mine", &file, "--wing", "shop"]);
    let listed = home.json(0, &["list", "--contains", "HunterCanary22"]);
    let id = listed["drawers"][0]["id"].as_str().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "delete", "arguments": {"ids": [id], "count": 1}}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines = format!("{hello}\n{ready}\n{call}\n");
    let answered = home.run_with(&["mcp", "--wing", "shop"], lines.as_bytes());
    assert!(!holds(&home, "HunterCanary22"), "{}", answered.out);
    home.write(
        "t/s1.jsonl",
        transcript(&TALK) + &message(9, "user", "one more thing"),
    );
    assert_eq!(home.json(0, &["mine", &file, "--wing", "shop"])["withheld"], 1);
}

#[test]
fn an_unfinished_erasure_is_finished_on_request() {
    let home = new_home();
    home.json(0, &["add", "a note with EarlierCanary", "--id", "a"]);
    home.json(0, &["add", "another note", "--id", "b"]);
    home.json(0, &["delete", "a", "--yes"]);
    let done = home.json(0, &["forget", "--finish"]);
    assert_eq!((&done["matched"], &done["not_reached"]), (&json!(0), &json!([])));
    assert_eq!(count_in_files(&home.palace(), "EarlierCanary"), 0);
    assert_eq!(home.json(0, &["count"])["count"], 1);
    home.run(&["--json", "forget", "--yes"]).expect_error();
    home.run(&["--json", "forget", "--check", "no-such-file"])
        .expect_error();
}
