//! Sealed secrets: what is filed shows labels, and the owner of the key gets every byte back.

mod attacked;
mod doors;
mod keys;
mod killed;
mod stored;

use std::path::Path;

use serde_json::json;

use super::*;

/// A GitHub token that no one issued; put together here so that no scanner of this tree finds it.
fn token(n: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut state = n as u64 * 2 + 1;
    let letters = (0..36).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[(state >> 33) as usize % LETTERS.len()])
    });
    format!("gh{}_{}", "p", letters.collect::<String>())
}

/// A private key of `lines` lines that opens nothing.
fn private_key(lines: usize) -> String {
    let name = ["RSA ", "PRIVATE KEY"].concat();
    let body: String = (0..lines)
        .map(|n| format!("{}\n", token(n + 1000).replace('_', "/").repeat(2).split_off(16)))
        .collect();
    format!("-----BEGIN {name}-----\n{body}-----END {name}-----")
}

fn text_of(drawer: &Json) -> &str {
    drawer["text"].as_str().unwrap()
}

/// All drawers, with labels or with secrets.
fn list(home: &TempHome) -> Vec<Json> {
    let listed = home.json(0, &["list", "--limit", "10000"]);
    listed["drawers"].as_array().unwrap().clone()
}

fn unseal_all(home: &TempHome) -> Vec<Json> {
    let ids: Vec<String> = list(home)
        .iter()
        .map(|drawer| drawer["id"].as_str().unwrap().to_owned())
        .collect();
    let mut args = vec!["unseal"];
    args.extend(ids.iter().map(String::as_str));
    home.json(0, &args)["drawers"].as_array().unwrap().clone()
}

fn count_records(home: &TempHome, like: &str) -> i64 {
    let database = rusqlite::Connection::open(home.palace().join("palace.db")).unwrap();
    database
        .query_row(
            "SELECT count(*) FROM sources WHERE source LIKE ?1",
            [like],
            |row| row.get(0),
        )
        .unwrap()
}

#[test]
fn a_file_comes_back_byte_for_byte_and_shows_labels_otherwise() {
    let home = new_home();
    let (one, key) = (token(1), private_key(60));
    let words = "some words that fill the line ".repeat(40);
    let text = format!("# Setup\n\ntoken {one}\n\n{key}\n\n{words}\n{words}\nagain {one}, end\n");
    let file = home.write("p/setup.md", &text);
    let report = home.json(0, &["mine", &file]);
    assert_eq!(
        report["secrets"],
        json!({"disposal": "sealed", "kinds": {"github-token": 2, "private-key": 1}})
    );
    assert_eq!(home.run(&["cat", &file, "--unseal"]).expect_code(0).out, text);
    let plain = home.run(&["cat", &file]).expect_code(0);
    let shown = plain.out.clone();
    assert!(
        !shown.contains(&one) && !shown.contains("PRIVATE KEY-----"),
        "{shown}"
    );
    assert_eq!(shown.matches("⟦sealed github-token ").count(), 2);
    assert!(plain.err.contains("3 secrets shown as labels"), "{}", plain.err);
    let last = list(&home)
        .into_iter()
        .max_by_key(|drawer| drawer["span"]["end"].as_u64())
        .unwrap();
    assert_eq!(
        last["span"]["end"],
        json!(text.len()),
        "spans count the bytes of the file"
    );
    assert_eq!(last["span"]["line_end"], json!(text.lines().count()));
    assert_eq!(
        count_records(&home, "loci:secret:%"),
        2,
        "a secret is stored once"
    );
    let again = home.json(0, &["mine", &file]);
    assert_eq!(again["sources_unchanged"], json!(1));
    std::fs::write(&file, format!("{text}more\n")).unwrap();
    let grown = home.json(0, &["mine", &file]);
    assert_eq!(
        grown["drawers_removed"],
        json!(1),
        "only the last piece changes: {grown}"
    );
}

#[test]
fn each_message_of_a_conversation_comes_back_exactly() {
    let home = new_home();
    let said = [
        format!("use {} for the deploy", token(1)),
        "fine".to_owned(),
        format!("and this key:\n{}\nthanks", private_key(80)),
    ];
    let lines: String = said
        .iter()
        .enumerate()
        .map(|(n, text)| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let line = json!({
                "type": role, "uuid": format!("5d1c7a52-33c1-4d0e-9f00-{n:012}"), "sessionId": "s1",
                "cwd": "/srv/proj", "timestamp": format!("2026-05-01T10:00:{n:02}Z"),
                "message": {"role": role, "content": text},
            });
            format!("{line}\n")
        })
        .collect();
    let file = home.write("t/s1.jsonl", &lines);
    home.json(0, &["mine", &file]);
    let texts = |args: &[&str]| -> Vec<String> {
        let messages = home.json(0, args)["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|message| text_of(message).to_owned())
            .collect()
    };
    assert_eq!(texts(&["cat", &file, "--unseal"]), said);
    assert!(
        texts(&["cat", &file])
            .iter()
            .all(|text| !text.contains(&token(1)))
    );
    assert_eq!(count_in_files(&home.palace(), &token(1)), 0);
    let searched = home.run(&["search", "deploy token", "--json"]).expect_code(0);
    assert!(!searched.out.contains(&token(1)));
    let by_secret = home.json(0, &["search", &token(1), "--only", "words"]);
    assert!(
        text_of(&by_secret["hits"][0]).contains("for the deploy"),
        "{by_secret}"
    );
}

#[test]
fn words_that_look_like_a_label_pull_nothing_out() {
    let home = new_home();
    home.json(0, &["add", &format!("the token is {}", token(1)), "--id", "real"]);
    let label = {
        let shown = home.json(0, &["show", "real"]);
        let text = text_of(&shown["drawers"][0]).to_owned();
        text[text.find('⟦').unwrap()..].to_owned()
    };
    let forged = format!("the token is {label}");
    home.json(0, &["add", &forged, "--id", "copy"]);
    let file = home.write(
        "p/readme.md",
        format!("{forged}\nand ⟦sealed jwt 0123456789abcdef0123⟧\n"),
    );
    home.json(0, &["mine", &file]);
    for drawer in unseal_all(&home) {
        let has_secret = text_of(&drawer).contains(&token(1));
        assert_eq!(has_secret, drawer["id"] == "real", "{drawer}");
    }
    let printed = home.run(&["cat", &file, "--unseal"]).expect_code(0).out;
    assert_eq!(printed, std::fs::read_to_string(&file).unwrap());
}

#[test]
fn the_policy_of_a_palace_decides() {
    let home = new_home();
    home.json(0, &["init"]);
    let secret = format!("token {}", token(1));
    let file = home.write("p/notes.md", format!("{}\n", token(2)));
    for (policy, found) in [
        ("keep", json!(null)),
        ("warn", json!("in_the_clear")),
        ("seal", json!("sealed")),
    ] {
        home.json(0, &["seal", "--policy", policy]);
        assert_eq!(home.json(0, &["status"])["secrets"], json!(policy));
        let added = home.json(0, &["add", &secret, "--id", policy]);
        assert_eq!(added["secrets"]["disposal"], found, "{policy}: {added}");
        let text = text_of(&home.json(0, &["show", policy])["drawers"][0]).to_owned();
        assert_eq!(text.contains(&token(1)), policy != "seal", "{policy}: {text}");
    }
    home.json(0, &["seal", "--policy", "refuse"]);
    let refused = home.run(&["add", &secret, "--id", "refused"]).expect_code(2);
    assert!(refused.err.contains("github-token") && refused.err.contains("nothing was filed"));
    assert!(!refused.err.contains(&token(1)));
    home.run(&["show", "refused"]).expect_code(1);
    let mined = home.json(0, &["mine", &file]);
    let reason = mined["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("refuses secrets"), "{mined}");
}

#[test]
fn a_dry_run_makes_neither_palace_nor_key() {
    let home = new_home();
    let file = home.write("p/notes.md", format!("{}\n", token(1)));
    let planned = home.json(0, &["mine", &file, "--dry-run"]);
    assert_eq!(
        planned["secrets"]["kinds"],
        json!({"github-token": 1}),
        "{planned}"
    );
    assert_eq!(home.list_names(), ["p", "p/notes.md"], "nothing else was made");
}
