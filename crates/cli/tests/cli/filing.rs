//! Filing, showing, listing and removing drawers.

use serde_json::json;

use super::*;

#[test]
fn a_text_is_filed_once_and_found_by_its_id() {
    let home = new_home();
    let first = home
        .run(&["--json", "add", "Ship it.", "--wing", "work", "--room", "plans"])
        .expect_code(0);
    assert!(first.err.contains("created a palace"), "{first:?}");
    let added = first.json();
    assert_eq!(ids(&added["added"]), ["533da3687d741789776f6929b2c70fce"]);
    assert_eq!(
        added["without_vector"],
        json!([]),
        "the built-in embedder made one"
    );
    let again = home.json(0, &["add", "Ship it.", "--wing", "work", "--room", "plans"]);
    assert_eq!(again["kept"], added["added"]);
    assert_eq!(again["added"], json!([]));
    assert_eq!(again["seq"], added["seq"]);
    let shown = home.json(0, &["show", "533da3687d741789776f6929b2c70fce"]);
    let drawer = &shown["drawers"][0];
    assert_eq!(drawer["text"], "Ship it.");
    assert_eq!(
        (&drawer["wing"], &drawer["room"]),
        (&json!("work"), &json!("plans"))
    );
    assert_eq!(drawer["metadata"], json!({}));
    assert!(drawer["source"].is_null() && drawer["filed_at"].is_string());
    assert!(drawer.get("embedding").is_none());
}

#[test]
fn every_field_of_add_comes_back() {
    let home = new_home();
    let args = [
        "add",
        "text",
        "--id",
        "a",
        "--wing",
        "w",
        "--room",
        "r",
        "--source",
        "s",
        "--speaker",
        "me",
        "--kind",
        "note",
        "--meta",
        r#"{"n":3,"f":3.0,"tags":["x",1]}"#,
        "--said-at",
        "2026-05-01T11:30:00+02:00",
        "--vector",
        "[0.1,-2]",
    ];
    let added = home.json(0, &args);
    assert_eq!(added["without_vector"], json!([]));
    let shown = home.json(0, &["show", "a", "--embeddings"]);
    let drawer = &shown["drawers"][0];
    assert_eq!(drawer["metadata"], json!({"n": 3, "f": 3.0, "tags": ["x", 1]}));
    assert_eq!(drawer["metadata"]["f"].to_string(), "3.0");
    assert_eq!(drawer["said_at"], "2026-05-01T09:30:00Z");
    assert_eq!(drawer["embedding"].to_string(), "[0.1,-2.0]");
    for (key, value) in [("source", "s"), ("speaker", "me"), ("kind", "note")] {
        assert_eq!(drawer[key], value);
    }
}

#[test]
fn standard_input_is_filed_verbatim() {
    let home = new_home();
    for (args, text) in [
        (&["--json", "add", "-"][..], "one\r\n\ttwo\n"),
        (&["--json", "add"][..], "three\n"),
    ] {
        let added = home.run_with(args, text.as_bytes()).expect_code(0).json();
        let shown = home.json(0, &["show", ids(&added["added"])[0]]);
        assert_eq!(shown["drawers"][0]["text"], text);
    }
}

#[test]
fn lines_are_answered_batch_by_batch() {
    let home = new_home();
    let lines = "{\"id\":\"a\",\"document\":\"1\"}\n{\"id\":\"b\",\"document\":\"2\"}\n\n{\"id\":\"c\",\"document\":\"3\"}\n";
    let args = ["--json", "add", "--jsonl", "-", "--batch", "2"];
    let answers = home.run_with(&args, lines.as_bytes()).expect_code(0).json_lines();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(
        (&answers[0]["batch"], ids(&answers[0]["added"])),
        (&json!(1), vec!["a", "b"])
    );
    assert_eq!(
        (&answers[1]["batch"], ids(&answers[1]["added"])),
        (&json!(2), vec!["c"])
    );
    assert!(answers[0]["seq"].as_u64() < answers[1]["seq"].as_u64());
    let again = home.run_with(&args, lines.as_bytes()).expect_code(0).json_lines();
    assert_eq!(ids(&again[0]["kept"]), ["a", "b"]);
    let replaced = home
        .run_with(&[&args[..], &["--upsert"]].concat(), lines.as_bytes())
        .expect_code(0)
        .json_lines();
    assert_eq!(ids(&replaced[0]["replaced"]), ["a", "b"]);
    assert_eq!(home.json(0, &["count"])["count"], 3);
}

#[test]
fn a_bad_line_stops_and_says_what_is_durable() {
    let home = new_home();
    let lines = "{\"id\":\"a\",\"document\":\"1\"}\n{\"id\":\"b\",\"document\":\"2\"}\n{\"id\":\"c\",\"document\":\"3\"}\n{\"id\":\"d\"}\n";
    let file = home.write("lines.jsonl", lines);
    let stopped = home
        .run(&["--json", "add", "--jsonl", &file, "--batch", "2"])
        .expect_code(2);
    let answers = stopped.json_lines();
    assert_eq!(ids(&answers[0]["added"]), ["a", "b"]);
    let error = &answers[1]["error"];
    assert_eq!(error["kind"], "invalid");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("lines.jsonl:4") && message.contains("`text`"),
        "{message}"
    );
    assert!(error["hint"].as_str().unwrap().contains("1 batch"), "{error}");
    assert_eq!(home.json(0, &["count"])["count"], 2);
}

#[test]
fn get_lists_what_is_missing_and_ends_with_1_only_if_all_are() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"1\"}");
    let some = home.json(0, &["show", "x", "a", "y", "x"]);
    assert_eq!(ids(&some["drawers"]), ["a"]);
    assert_eq!(ids(&some["missing"]), ["x", "y"]);
    let none = home.json(1, &["show", "x"]);
    assert_eq!(
        (none["drawers"].as_array().unwrap().len(), ids(&none["missing"])),
        (0, vec!["x"])
    );
}

#[test]
fn a_list_that_is_cut_says_how_to_go_on() {
    let home = new_home();
    let lines: String = (0..25)
        .map(|n| format!("{{\"id\":\"d{n:02}\",\"document\":\"{n}\"}}\n"))
        .collect();
    home.file_lines(&lines);
    let mut seen: Vec<String> = Vec::new();
    let mut args = vec!["list".to_owned(), "--limit".into(), "10".into()];
    loop {
        let page = home.json(0, &args);
        seen.extend(ids(&page["drawers"]).into_iter().map(str::to_owned));
        let Some(next) = page.get("next").and_then(Json::as_str) else {
            break;
        };
        args.splice(3.., ["--cursor".to_owned(), next.to_owned()]);
    }
    assert_eq!(seen, (0..25).map(|n| format!("d{n:02}")).collect::<Vec<_>>());
    let words = home.run(&["list", "--limit", "10"]).expect_code(0);
    assert!(words.err.contains("--cursor id.d09"), "{words:?}");
    let exact = home.json(0, &["list", "--limit", "25"]);
    assert!(exact.get("next").is_none(), "a list that is whole has no cursor");
}

#[test]
fn lists_narrow_by_wing_room_filter_and_text() {
    let home = new_home();
    home.file_lines(concat!(
        "{\"id\":\"a\",\"document\":\"red fox\",\"wing\":\"w\",\"room\":\"x\",\"metadata\":{\"n\":1}}\n",
        "{\"id\":\"b\",\"document\":\"red hen\",\"wing\":\"w\",\"room\":\"y\",\"metadata\":{\"n\":2}}\n",
        "{\"id\":\"c\",\"document\":\"grey owl\",\"wing\":\"v\",\"metadata\":{\"n\":3}}\n",
    ));
    for (args, expect) in [
        (&["list", "--wing", "w"][..], &["a", "b"][..]),
        (&["list", "--wing", "w", "--room", "y"], &["b"]),
        (&["list", "--where", r#"{"n":{"$gte":2}}"#], &["b", "c"]),
        (&["list", "--where", r#"{"n":{"$gte":2}}"#, "--wing", "v"], &["c"]),
        (&["list", "--contains", "red"], &["a", "b"]),
    ] {
        assert_eq!(ids(&home.json(0, args)["drawers"]), expect, "{args:?}");
    }
    assert_eq!(
        ids(&home.json(1, &["list", "--wing", "none"])["drawers"]).len(),
        0
    );
    assert_eq!(home.json(0, &["count", "--contains", "red"])["count"], 2);
}

#[test]
fn nothing_is_removed_without_a_yes() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"1\",\"wing\":\"w\"}\n{\"id\":\"b\",\"document\":\"2\",\"wing\":\"w\"}\n{\"id\":\"c\",\"document\":\"3\"}");
    let by_filter = ["delete", "--where", r#"{"wing":"w"}"#];
    assert_eq!(
        home.json(0, &by_filter),
        json!({"matched": 2, "deleted": 0, "sample": ["a", "b"]})
    );
    assert_eq!(home.json(0, &["count"])["count"], 3);
    let words = home.run(&by_filter).expect_code(0);
    assert!(
        words.out.contains("2 drawers would be removed") && words.err.contains("--yes"),
        "{words:?}"
    );
    assert_eq!(
        home.json(0, &[&by_filter[..], &["--yes"]].concat()),
        json!({"matched": 2, "deleted": 2})
    );
    assert_eq!(
        home.json(0, &["delete", "c", "c", "gone", "--yes"]),
        json!({"matched": 1, "deleted": 1, "missing": ["gone"]})
    );
    assert_eq!(
        home.json(1, &["delete", "c", "--yes"]),
        json!({"matched": 0, "deleted": 0, "missing": ["c"]})
    );
    assert_eq!(home.json(0, &["count"])["count"], 0);
}

#[test]
fn a_delete_without_a_filter_is_refused() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"1\"}");
    for args in [
        &["--json", "delete", "--yes"][..],
        &["--json", "delete", "--where", "{}", "--yes"],
        &["--json", "delete", "--where", r#"{"$and":[{}]}"#],
    ] {
        assert_eq!(home.run(args).expect_error().0, "invalid");
    }
    assert_eq!(
        home.run(&["--json", "delete", "a", "--where", "{}"])
            .expect_error()
            .0,
        "invalid"
    );
    assert_eq!(home.json(0, &["count"])["count"], 1);
}
