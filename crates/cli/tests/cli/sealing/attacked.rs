//! Seals under attack and in races: forged lines pull nothing out, edits keep secrets, keys survive each other.

use super::*;

fn label_of(home: &TempHome, id: &str) -> String {
    let shown = home.json(0, &["show", id]);
    let text = text_of(&shown["drawers"][0]).to_owned();
    text[text.find('⟦').unwrap()..text.find('⟧').unwrap() + "⟧".len()].to_owned()
}

#[test]
fn an_imported_line_shows_no_secret_that_it_does_not_bring() {
    let home = new_home();
    home.json(0, &["add", &format!("real {}", token(1)), "--id", "real"]);
    let label = label_of(&home, "real");
    let tag = label.trim_end_matches('⟧').rsplit(' ').next().unwrap().to_owned();
    let text = format!("forged {label}");
    let span = |length: u64, sealed: Option<&str>| json!({"start": 7, "end": text.len(), "kind": "github-token", "tag": tag, "length": length, "sealed": sealed});
    let forged = [
        json!({"id": "f1", "text": text, "seals": [span(40, None)]}),
        json!({"id": "f2", "text": text, "seals": [span(40, Some("1:deadbeef:00"))]}),
        json!({"id": "f3", "text": text, "seals": [span(40, None), span(41, None), span(u64::MAX, None)]}),
    ];
    let lines: String = forged.iter().map(|line| format!("{line}\n")).collect();
    let file = home.write("forged.jsonl", lines);
    home.json(0, &["import", &file]);
    let real = home.json(0, &["unseal", "real"]);
    assert!(text_of(&real["drawers"][0]).contains(&token(1)));
    for id in ["f1", "f2", "f3"] {
        let shown = home.json(0, &["unseal", id]);
        assert_eq!(text_of(&shown["drawers"][0]), text, "{id}");
        home.json(0, &["delete", id, "--yes"]);
    }
}

#[test]
fn a_secret_that_cannot_be_opened_gives_way_to_one_that_can() {
    let home = new_home();
    home.json(0, &["add", &format!("first {}", token(1)), "--id", "first"]);
    let label = label_of(&home, "first");
    let tag = label.trim_end_matches('⟧').rsplit(' ').next().unwrap().to_owned();
    let copy = home.path("copy").display().to_string();
    let text = format!("bad {label}");
    let line = json!({"id": "bad", "text": text, "seals": [
        {"start": 4, "end": text.len(), "kind": "github-token", "tag": tag, "length": 40, "sealed": "1:7822b113:00"}]});
    let file = home.write("bad.jsonl", format!("{line}\n"));
    home.json(0, &["import", &file, "--palace", &copy]);
    home.json(
        0,
        &[
            "add",
            &format!("real {}", token(1)),
            "--id",
            "real",
            "--palace",
            &copy,
        ],
    );
    let shown = home.json(0, &["unseal", "real", "--palace", &copy]);
    assert_eq!(text_of(&shown["drawers"][0]), format!("real {}", token(1)));
}

#[test]
fn rotations_at_once_lose_no_key() {
    let home = new_home();
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            // Only one of them rewrites the file; the others say so.
            threads.spawn(|| home.run(&["key", "rotate"]));
        }
    });
    let keys = home.json(0, &["key", "show"])["keys"].as_array().unwrap().len();
    assert_eq!(keys, 5, "the first and four more");
    let shown = home.json(0, &["unseal", "note"]);
    assert_eq!(text_of(&shown["drawers"][0]), format!("note {}", token(1)));
}

#[test]
fn an_edit_that_keeps_a_label_keeps_its_secret() {
    let home = new_home();
    home.json(0, &["add", &format!("teh token {}", token(1)), "--id", "note"]);
    let edited = format!("now the token {} is spelled", label_of(&home, "note"));
    let answers = doors::talk_to_server(&home, &[("update", json!({"id": "note", "text": edited}))]);
    assert!(answers[1]["result"]["isError"] != json!(true), "{answers:?}");
    let shown = home.json(0, &["unseal", "note"]);
    assert_eq!(
        text_of(&shown["drawers"][0]),
        format!("now the token {} is spelled", token(1))
    );
}

#[test]
fn every_collection_is_sealed_and_follows_the_policy() {
    let home = new_home();
    home.json(0, &["init"]);
    home.json(0, &["seal", "--policy", "keep"]);
    for collection in ["drawers", "two"] {
        home.json(
            0,
            &[
                "add",
                &format!("note {}", token(1)),
                "--id",
                "note",
                "--collection",
                collection,
            ],
        );
    }
    assert!(
        count_in_files(&home.palace(), &token(1)) > 1,
        "a new collection follows the policy"
    );
    let sealed = home.json(0, &["seal", "--yes"]);
    assert_eq!(sealed["sealed"], json!(2), "{sealed}");
    assert_eq!(count_in_files(&home.palace(), &token(1)), 0);
}

#[test]
fn a_secret_in_the_clear_is_found_by_its_own_words() {
    let home = new_home();
    home.json(0, &["init"]);
    home.json(0, &["seal", "--policy", "keep"]);
    home.json(0, &["add", &format!("deploy key {}", token(1)), "--id", "clear"]);
    let found = home.json(0, &["search", &token(1), "--only", "words"]);
    assert_eq!(found["hits"][0]["id"], json!("clear"), "{found}");
}

#[test]
fn a_secret_filed_before_a_label_keeps_that_of_the_label() {
    let home = new_home();
    let meta = json!({"cmd": format!("login {}", token(1))}).to_string();
    home.json(0, &["add", "a command", "--id", "note", "--meta", &meta]);
    let exported = home.run(&["export"]).expect_code(0).json_lines();
    let mut line = exported.into_iter().find(|line| line["id"] == "note").unwrap();
    // A second secret, in the clear, comes before the label in the same field.
    let before = format!("use {} or ", token(2));
    line["metadata"]["cmd"] = json!(format!("{before}{}", line["metadata"]["cmd"].as_str().unwrap()));
    for end in ["start", "end"] {
        line["seals"][0][end] = json!(line["seals"][0][end].as_u64().unwrap() + before.len() as u64);
    }
    let file = home.write("edited.jsonl", format!("{line}\n"));
    home.json(0, &["import", &file, "--on-conflict", "replace"]);
    let shown = home.json(0, &["unseal", "note"]);
    let expected = format!("{before}login {}", token(1));
    assert_eq!(shown["drawers"][0]["metadata"]["cmd"], json!(expected));
    assert_eq!(count_in_files(&home.palace(), &token(2)), 0);
}
