//! Nasty input: refused clearly or kept exactly, and never shown raw.

use serde_json::json;

use super::*;

#[test]
fn empty_text_is_refused_and_nothing_is_made() {
    let home = new_home();
    assert_eq!(home.run(&["--json", "add", ""]).expect_error().0, "invalid");
    assert_eq!(
        home.run_with(&["--json", "add", "-"], b"").expect_error().0,
        "invalid"
    );
    assert_eq!(home.list_names(), Vec::<String>::new());
    home.file_lines("{\"id\":\"a\",\"document\":\"\"}");
    assert_eq!(home.json(0, &["show", "a"])["drawers"][0]["text"], "");
}

#[test]
fn input_that_is_not_text_is_refused_and_nothing_is_made() {
    let home = new_home();
    let ran = home.run_with(&["add", "-"], b"ok so far \xff\xfe").expect_code(2);
    assert!(
        ran.err.contains("not UTF-8 from byte 11") && ran.err.contains("nothing was stored"),
        "{ran:?}"
    );
    let ran = home.run_with(&["--json", "add", "--jsonl", "-"], b"{\"document\":\"\xff\"}");
    assert!(ran.expect_error().1.contains("UTF-8"), "{ran:?}");
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn five_megabytes_of_text_come_back_whole() {
    let home = new_home();
    let text = "The drawer is 大きい and says \"hello\".\n".repeat(120_000);
    assert!(text.len() > 5_000_000);
    home.run_with(&["add", "-", "--id", "big"], text.as_bytes())
        .expect_code(0);
    assert_eq!(
        home.json(0, &["show", "big"])["drawers"][0]["text"],
        text.as_str()
    );
    assert_eq!(home.json(0, &["verify"])["ok"], true);
    let listed = home.run(&["list"]).expect_code(0);
    assert!(
        listed.out.len() < 1000 && listed.out.contains("more characters"),
        "{}",
        listed.out.len()
    );
}

#[test]
fn text_and_ids_of_every_script_are_kept() {
    let home = new_home();
    for (id, text) in [
        ("抽屉", "漢字と仮名"),
        ("🗄️👩‍👩‍👧", "emoji 🧠"),
        ("مرحبا", "שלום עולם"),
        ("it's \"quoted\"", "'; DROP TABLE drawers; --"),
        ("line\nbreak\ttab", "a\r\nb"),
        ("%_*?[]", "100% _sure_"),
        ("../../etc/passwd", "path"),
    ] {
        let added = home.json(0, &["add", text, "--id", id, "--wing", id]);
        assert_eq!(ids(&added["added"]), [id]);
        let shown = home.json(0, &["show", id]);
        assert_eq!(shown["drawers"][0]["text"], text);
        let filter = json!({ "wing": id }).to_string();
        assert_eq!(ids(&home.json(0, &["list", "--where", &filter])["drawers"]), [id]);
        assert_eq!(home.json(0, &["delete", id, "--yes"])["deleted"], 1);
    }
    assert_eq!(home.run(&["--json", "show", ""]).expect_error().0, "invalid");
    assert_eq!(
        home.run(&["--json", "add", "x", "--id", &"x".repeat(1025)])
            .expect_error()
            .0,
        "invalid"
    );
}

#[test]
fn a_list_goes_on_after_an_id_no_command_line_can_carry() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\\u0000b\",\"document\":\"\"}\n{\"id\":\"c\",\"document\":\"\"}");
    let first = home.json(0, &["list", "--limit", "1"]);
    assert_eq!(ids(&first["drawers"]), ["a\0b"]);
    let rest = home.json(0, &["list", "--cursor", first["next"].as_str().unwrap()]);
    assert_eq!(ids(&rest["drawers"]), ["c"]);
}

#[test]
fn a_wrong_dimension_in_lines_says_what_is_durable() {
    let home = new_home();
    let lines = "{\"id\":\"a\",\"document\":\"\",\"embedding\":[1,2]}\n{\"id\":\"b\",\"document\":\"\",\"embedding\":[1,2,3]}";
    let ran = home
        .run_with(&["add", "--jsonl", "-", "--batch", "1"], lines.as_bytes())
        .expect_code(2);
    assert!(
        ran.err.contains("standard input:2: the vector has 3 values"),
        "{ran:?}"
    );
    assert!(ran.err.contains("1 batch(es) before it are durable"), "{ran:?}");
    assert!(!ran.err.contains("nothing was written"), "{ran:?}");
}

#[test]
fn nothing_stored_reaches_a_terminal_raw() {
    let home = new_home();
    let evil = "\u{1b}[2J\u{202e}\u{9b}\u{7}\u{2066}";
    home.file_lines(&json!({"id": format!("id{evil}\n"), "document": format!("doc{evil}\nnext"), "wing": evil, "room": evil,
        "source": evil, "speaker": evil, "kind": evil, "metadata": {evil: evil}, "embedding": [1, 2]}).to_string());
    let id = format!("id{evil}\n");
    for args in [
        &["show", &id][..],
        &["list"],
        &["search", "--vector", "[1,2]"],
        &["search", "--only", "words", "doc"],
        &["wings", "--by", "wing,room"],
        &["status"],
        &["changes"],
        &["show", "missing\u{1b}[2J"],
        &["list", "--where", "{\"$\u{1b}\u{202e}\":1}"],
        &["count", "--palace", "./no\u{1b}[2J/such"],
        &["delete", &id],
        &["add", "x", "--id", &id],
        &["maintain", "\u{1b}\u{202e}"],
        &["frobnicate\u{1b}[2J\u{202e}"],
        &["list", "--limit", "\u{1b}[2J\u{202e}"],
    ] {
        let ran = home.run(args);
        let raw = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{2069}').contains(&c);
        assert!(
            !ran.out.contains(raw) && !ran.err.contains(raw),
            "{args:?}: {ran:?}"
        );
        assert!(!(ran.out.is_empty() && ran.err.is_empty()), "{args:?}");
    }
}

#[test]
fn filters_that_are_wrong_are_named_by_their_path() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"x\"}");
    for (filter, kind, names) in [
        (r#"{"n":"#, "invalid", "not JSON"),
        (
            r#"{"$and":[{"a":1},{"b":{"$near":1}}]}"#,
            "unsupported_filter",
            "where.$and[1].b.$near",
        ),
        (r#"{"n":{"$in":[1,"a"]}}"#, "invalid", "where.n.$in"),
        (r#"{"n":null}"#, "invalid", "where.n"),
        ("[]", "invalid", "where"),
    ] {
        for command in [
            &["list"][..],
            &["count"],
            &["wings", "--by", "wing,room"],
            &["delete", "--yes"],
            &["search", "--only", "words", "x"],
            &["search", "--vector", "[1]"],
        ] {
            let args = [&["--json"], command, &["--where", filter]].concat();
            let (found, text) = home.run(&args).expect_error();
            assert_eq!(found, kind, "{args:?}: {text}");
            assert!(text.contains(names), "{args:?}: {text}");
        }
    }
    assert_eq!(home.json(0, &["count"])["count"], 1);
}

#[test]
fn vectors_that_are_wrong_are_refused_and_nothing_is_written() {
    let home = new_home();
    home.json(0, &["add", "x", "--id", "a", "--vector", "[1,2,3]"]);
    for (vector, kind) in [
        ("[1,2]", "dimension_mismatch"),
        ("[NaN,1,2]", "invalid"),
        ("[0,0,0]", "invalid"),
        ("[1e39,1,2]", "invalid"),
        ("[]", "invalid"),
        ("[\"1\"]", "invalid"),
        ("{}", "invalid"),
        ("words", "invalid"),
        ("@/no/such/file", "not_found"),
    ] {
        assert_eq!(
            home.run(&["--json", "add", "y", "--vector", vector])
                .expect_error()
                .0,
            kind,
            "{vector}"
        );
        assert_eq!(
            home.run(&["--json", "search", "--vector", vector])
                .expect_error()
                .0,
            kind,
            "{vector}"
        );
    }
    assert_eq!(home.json(0, &["count"])["count"], 1);
}

#[test]
fn a_vector_of_zeros_is_refused_by_cosine_alone() {
    for (metric, code) in [("cosine", 2), ("l2", 0), ("ip", 0)] {
        let home = new_home();
        home.run(&[
            "init",
            "--embedder",
            "none",
            "--dimension",
            "3",
            "--metric",
            metric,
        ])
        .expect_code(0);
        home.json(0, &["add", "x", "--id", "a", "--vector", "[1,2,3]"]);
        let added = home.run(&["--json", "add", "y", "--id", "b", "--vector", "[0,0,0]"]);
        assert_eq!(added.code, code, "{metric}: {added:?}");
        home.write(
            "lines.jsonl",
            r#"{"id": "c", "text": "z", "embedding": [0, 0, 0]}"#,
        );
        let imported = home.run(&["--json", "import", "lines.jsonl"]);
        assert_eq!(imported.code == 0, code == 0, "{metric}: {imported:?}");
        let found = home.run(&["--json", "search", "--vector", "[0,0,0]"]);
        assert_eq!(found.code, code, "{metric}: {found:?}");
        let stored = home.json(0, &["count"])["count"].clone();
        assert_eq!(stored, if code == 0 { 3 } else { 1 }, "{metric}");
        if code == 0 {
            let report = home.json(0, &["verify"]);
            assert_eq!(report["ok"], true, "{metric}: {report}");
        }
    }
}

#[test]
fn a_vector_of_zeros_makes_no_palace() {
    let home = new_home();
    let refused = home.run(&["--json", "add", "x", "--vector", "[0,0,0]"]);
    let (kind, message) = refused.expect_error();
    assert!(kind == "invalid" && message.contains("all zero"), "{message}");
    assert!(!home.palace().exists());
}

#[test]
fn arguments_that_are_wrong_end_with_2_and_json_where_asked() {
    let home = new_home();
    for args in [
        &["--json", "list", "--limit", "0"][..],
        &["--json", "list", "--limit", "many"],
        &["--json", "frobnicate"],
        &["--json", "show"],
        &["list", "--json", "--no-such-flag"],
        &["--json", "add", "x", "--said-at", "yesterday"],
        &["--json", "add", "x", "--meta", "{\"a\":1,\"a\":2}"],
        &["--json", "add", "x", "--meta", "{\"a\":{}}"],
        &["--json", "add", "x", "--wing", "a", "--meta", "{\"wing\":\"b\"}"],
        &["--json", "count", "--collection", "a/b"],
        &["--json", "list", "--contains", ""],
        &["--json", "add", "x", "--jsonl", "-"],
        &["--json", "add", "--jsonl", "-", "--wing", "w"],
    ] {
        assert_eq!(home.run(args).expect_error().0, "invalid", "{args:?}");
    }
    let words = home.run(&["frobnicate"]).expect_code(2);
    assert!(
        words.out.is_empty() && words.err.starts_with("error:"),
        "{words:?}"
    );
    assert_eq!(home.list_names(), Vec::<String>::new());
    home.run(&["--help"]).expect_code(0);
    home.run(&["--version"]).expect_code(0);
}

#[test]
fn lines_that_would_lose_something_are_refused() {
    let home = new_home();
    for line in [
        r#"{"document":"x","colour":"red"}"#,
        r#"{"document":"x","metadata":{"a":1,"a":2}}"#,
        r#"{"document":"x","embedding":[1,NaN]}"#,
        r#"{"document":"x","context":{"befor":"y"}}"#,
        r#"{"id":"x"}"#,
    ] {
        let ran = home.run_with(&["--json", "add", "--jsonl", "-"], line.as_bytes());
        let (kind, text) = ran.expect_error();
        assert_eq!(kind, "invalid");
        assert!(text.contains("standard input:1"), "{text}");
    }
    assert_eq!(home.list_names(), Vec::<String>::new());
}
