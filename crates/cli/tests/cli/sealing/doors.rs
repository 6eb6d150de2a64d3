//! Every way in: no door files a secret in the clear.

use super::*;

/// Sends requests to `loci mcp` and returns its answers.
pub(super) fn talk_to_server(home: &TempHome, calls: &[(&str, Json)]) -> Vec<Json> {
    let opening = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let calls = calls.iter().enumerate().map(|(n, (tool, arguments))| {
        json!({"jsonrpc": "2.0", "id": n + 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}})
    });
    let input: String = opening
        .into_iter()
        .chain(calls)
        .map(|line| format!("{line}\n"))
        .collect();
    home.run_with(&["mcp"], input.as_bytes())
        .expect_code(0)
        .json_lines()
}

fn secret(n: usize) -> String {
    format!("the token is {} until May", token(n))
}

/// Files the secrets 0 to 10 through every door.
fn file_everywhere(home: &TempHome) {
    home.json(
        0,
        &[
            "add",
            &secret(0),
            "--meta",
            &json!({"cmd": format!("login {}", token(1)), "tags": ["a", token(2)]}).to_string(),
        ],
    );
    home.file_lines(&format!("{}\n", json!({"text": secret(3)})))
        .expect_code(0);
    let lines = home.write(
        "lines.jsonl",
        format!(
            "{}\n",
            json!({"id": "imported", "text": secret(4), "context": {"before": secret(5), "after": ""}})
        ),
    );
    home.json(0, &["import", &lines]);
    let file = home.write("p/a.txt", secret(6));
    home.json(0, &["mine", &file]);
    let transcript = home.write("t/s.jsonl", format!("{}\n{}\n",
        json!({"type": "summary", "summary": format!("About {}", token(7)), "leafUuid": "5d1c7a52-33c1-4d0e-9f00-000000000001"}),
        json!({"type": "user", "uuid": "5d1c7a52-33c1-4d0e-9f00-000000000001", "sessionId": "s", "cwd": "/srv/p",
            "timestamp": "2026-05-01T10:00:00Z", "message": {"role": "user", "content": secret(7)}})));
    home.json(0, &["mine", &transcript]);
    let answers = talk_to_server(
        home,
        &[
            ("add", json!({"text": secret(8)})),
            ("diary_write", json!({"agent": "ada", "entry": secret(9)})),
            (
                "update",
                json!({"id": "imported", "text": format!("{} and {}", secret(4), token(10))}),
            ),
        ],
    );
    for answer in &answers[1..] {
        assert!(
            !answer["result"]["isError"].as_bool().unwrap_or(false),
            "{answer}"
        );
    }
}

#[test]
fn no_door_files_a_secret_in_the_clear() {
    let home = new_home();
    file_everywhere(&home);
    for n in 0..11 {
        assert_eq!(count_in_files(&home.palace(), &token(n)), 0, "secret {n}");
    }
    let unsealed = serde_json::to_string(&unseal_all(&home)).unwrap();
    // A context repeats words of neighbours and is not given back.
    for n in (0..11).filter(|n| *n != 5) {
        assert!(unsealed.contains(&token(n)), "secret {n} is lost: {unsealed}");
    }
    let found = serde_json::to_string(&talk_to_server(
        &home,
        &[("search", json!({"query": "the token is until May"}))],
    ))
    .unwrap();
    assert!(
        found.contains("sealed github-token") && !(0..11).any(|n| found.contains(&token(n))),
        "{found}"
    );
}

#[test]
fn an_export_holds_secrets_sealed_and_an_import_opens_them_with_the_key() {
    let home = new_home();
    let file = home.write("p/a.md", format!("# T\n\n{} and {}\n", token(1), token(2)));
    home.json(0, &["mine", &file]);
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    let export = home.write("all.jsonl", "");
    std::fs::write(&export, home.run(&["export"]).expect_code(0).out).unwrap();
    let written = std::fs::read_to_string(&export).unwrap();
    assert!(
        !written.contains(&token(1)) && written.contains("\"seals\""),
        "{written}"
    );
    let copy = home.path("copy").display().to_string();
    home.json(0, &["import", &export, "--palace", &copy]);
    let unsealed = home.json(0, &["unseal", "note", "--palace", &copy]);
    assert_eq!(text_of(&unsealed["drawers"][0]), format!("note {}", token(1)));
    let printed = home
        .run(&["cat", &file, "--unseal", "--palace", &copy])
        .expect_code(0)
        .out;
    assert_eq!(printed, std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, format!("# T\n\n{} and {}\nmore\n", token(1), token(2))).unwrap();
    let mined = home.json(0, &["mine", &file, "--palace", &copy]);
    assert_eq!(mined["drawers_removed"], json!(1));
    assert_eq!(count_in_files(Path::new(&copy), &token(1)), 0);
}

#[test]
fn a_migration_carries_secrets_as_they_are_and_seals_them_on_request() {
    let home = new_home();
    home.json(0, &["init"]);
    home.json(0, &["seal", "--policy", "keep"]);
    home.json(0, &["add", &format!("clear {}", token(1)), "--id", "clear"]);
    home.json(0, &["seal", "--policy", "seal"]);
    home.json(0, &["add", &format!("sealed {}", token(2)), "--id", "sealed"]);
    let from = home.palace().display().to_string();
    let (plain, safe) = (
        home.path("plain").display().to_string(),
        home.path("safe").display().to_string(),
    );
    let moved = home.json(0, &["migrate", "--from", &from, "--to", &plain]);
    assert_eq!(moved["lossless"], json!(true));
    assert_eq!(
        moved["secrets"],
        json!({"drawers": 1, "sealed": 0, "kinds": {"github-token": 1}})
    );
    let sealed = home.json(0, &["migrate", "--from", &from, "--to", &safe, "--seal"]);
    assert_eq!(
        sealed["secrets"],
        json!({"drawers": 1, "sealed": 1, "kinds": {"github-token": 1}})
    );
    for (palace, clear) in [(&plain, true), (&safe, false)] {
        assert_eq!(
            count_in_files(Path::new(palace), &token(1)) > 0,
            clear,
            "{palace}"
        );
        let shown = home.json(0, &["unseal", "clear", "sealed", "--palace", palace]);
        let texts: Vec<&str> = shown["drawers"].as_array().unwrap().iter().map(text_of).collect();
        assert_eq!(
            texts,
            [format!("clear {}", token(1)), format!("sealed {}", token(2))]
        );
    }
}
