//! Moving palaces by the command.

use serde_json::json;

use loci_testkit::CommandOutcome;

use super::*;

const DRAWERS: &str = concat!(
    r#"{"id":"a","document":"the ship leaves at dawn","metadata":{"i":1,"f":1.0,"b":true},"uses":3}"#,
    "\n",
    r#"{"id":"b","document":"she counts her apples twice","source":"book","span":{"start":0,"end":9,"line_start":1,"line_end":1}}"#,
    "\n",
    r#"{"collection":"notes","id":"c","document":"in another collection"}"#,
    "\n",
);

/// A palace with two collections and a mined file.
fn furnished() -> TempHome {
    let home = new_home();
    let file = home.write("drawers.jsonl", DRAWERS);
    home.json(0, &["import", &file]);
    home.write("book.md", "# A book\n\nwith a sentence in it\n");
    home.json(0, &["mine", "book.md"]);
    home
}

#[test]
fn a_palace_moves_and_everything_goes_on_there() {
    let home = furnished();
    let report = home.json(0, &["migrate", "--from", "palace", "--to", "./new"]);
    assert_eq!(
        (&report["lossless"], &report["rows"]),
        (&json!(true), &json!(4)),
        "{report}"
    );
    assert_eq!(
        report["collections"],
        json!([
            {"name": "drawers", "rows": 3, "with_vector": 3, "without_vector": 0},
            {"name": "notes", "rows": 1, "with_vector": 1, "without_vector": 0},
        ])
    );
    assert_eq!(report["record"]["hash"]["from"], report["record"]["hash"]["to"]);
    let verified = home.json(0, &["verify", "--palace", "new", "--against", "palace"]);
    assert_eq!(verified["ok"], true, "{verified}");
    assert_eq!(verified["hash"], verified["against"]["hash"]);
    assert_eq!(verified["hash"], report["record"]["hash"]["to"]);

    let mined = home.json(0, &["mine", "book.md", "--palace", "new"]);
    assert_eq!(
        mined["sources_unchanged"], 1,
        "mining goes on where it was: {mined}"
    );
    let synced = home.json(0, &["sync", "--palace", "new"]);
    assert_eq!(synced["checked"], 1, "{synced}");
    let found = home.json(0, &["search", "ship at dawn", "--palace", "new"]);
    assert_eq!(found["hits"][0]["id"], "a", "{found}");
    let status = home.json(0, &["status", "--palace", "new"]);
    assert_eq!(status["migrations"][0]["from_backend"], "embedded", "{status}");
    assert!(home.json(0, &["status"])["migrations"].is_null());
    assert!(home.run(&["cat", "loci:migration", "--palace", "new"]).code != 0);
    let words = home.run(&["status", "--palace", "new"]).expect_code(0).out;
    assert!(words.contains("moved     from"), "{words}");
}

#[test]
fn people_are_told_what_became_of_it_and_what_to_type_next() {
    let home = furnished();
    let ran = home
        .run(&["migrate", "--from", "palace", "--to", "./new"])
        .expect_code(0);
    assert!(ran.out.contains("4 drawers, lossless"), "{ran:?}");
    assert!(ran.out.contains("loci search --palace"), "{ran:?}");
    assert!(
        ran.err.contains(".new.migrating") && ran.err.contains("resumes"),
        "{ran:?}"
    );
    let again = home
        .run(&["migrate", "--from", "palace", "--to", "./new"])
        .expect_code(2);
    assert!(again.err.contains("--overwrite"), "{again:?}");
    let over = home
        .run(&["migrate", "--from", "palace", "--to", "./new", "--overwrite"])
        .expect_code(0);
    assert!(over.out.contains("new.replaced-"), "{over:?}");
}

/// The last line of a report, which must be a command, run by a shell in the home.
#[track_caller]
fn run_next(home: &TempHome, out: &str) -> CommandOutcome {
    let last = out.lines().last().unwrap();
    let next = last
        .strip_prefix("next: loci ")
        .unwrap_or_else(|| panic!("{out}"));
    let mut shell = Command::new("/bin/sh");
    home.dress_command(&mut shell);
    let program = env!("CARGO_BIN_EXE_loci");
    shell.args(["-c", &format!("'{program}' {}", next.replace("WORDS", "ship"))]);
    run_command(shell, b"")
}

#[test]
fn the_report_ends_with_the_next_command_quoted_for_the_shell() {
    let home = furnished();
    let moved = home
        .run(&["migrate", "--from", "palace", "--to", "./it's new"])
        .expect_code(0);
    let found = run_next(&home, &moved.out).expect_code(0);
    assert!(found.out.contains("ship"), "{found:?}");
    let swapped = home.run(&[
        "migrate",
        "--from",
        "./it's new",
        "--to",
        "./another one",
        "--embedder",
        "none",
    ]);
    assert_eq!(swapped.code, 2, "{swapped:?}");
    home.file_lines("{\"id\":\"v\",\"document\":\"given\",\"embedding\":[1,2,3],\"collection\":\"given\"}\n");
    let swapped = home
        .run(&[
            "migrate",
            "--from",
            "palace",
            "--to",
            "./another one",
            "--embedder",
            "builtin",
            "--force-model-swap",
        ])
        .expect_code(0);
    assert!(swapped.out.contains("not lossless"), "{swapped:?}");
    let compared = run_next(&home, &swapped.out);
    assert!(compared.out.contains("against:"), "{compared:?}");
}

#[test]
fn another_model_must_be_forced_and_drawers_get_its_vectors() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"the ship leaves at dawn\",\"embedding\":[1,2,3]}\n{\"id\":\"b\",\"document\":\"bare\"}\n");
    let asked = [
        "migrate",
        "--from",
        "palace",
        "--to",
        "./new",
        "--embedder",
        "builtin",
    ];
    let mut refused: Vec<&str> = asked.to_vec();
    refused.insert(0, "--json");
    let (kind, said) = home.run(&refused).expect_error();
    assert_eq!(kind, "identity_mismatch");
    assert!(said.contains("--force-model-swap"), "{said}");
    let before = home.list_names();
    assert!(!before.iter().any(|name| name.contains("new")), "{before:?}");
    let mut forced = asked.to_vec();
    forced.push("--force-model-swap");
    let report = home.json(0, &forced);
    assert_eq!(report["record"]["kind"], "model_swap", "{report}");
    assert_eq!(report["collections"][0]["with_vector"], 2);
    let found = home.json(
        0,
        &["search", "--only", "meaning", "ship at dawn", "--palace", "new"],
    );
    assert_eq!(found["hits"][0]["id"], "a");
    let verified = home.json(0, &["verify", "--palace", "new", "--against", "palace"]);
    let codes: Vec<&str> = verified["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"other_model"), "{verified}");
}

#[test]
fn a_comparison_names_types_and_can_be_a_sample() {
    let home = furnished();
    home.json(0, &["migrate", "--from", "palace", "--to", "./new"]);
    let changed =
        r#"{"id":"a","document":"the ship leaves at dawn","metadata":{"i":1.0,"f":1.0,"b":true},"uses":3}"#;
    let file = home.write("changed.jsonl", changed);
    home.json(
        0,
        &["import", &file, "--palace", "new", "--on-conflict", "replace"],
    );
    let verified = home.json(1, &["verify", "--palace", "new", "--against", "palace"]);
    let message = verified["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("\"a\" differs in its metadata"), "{verified}");
    assert_ne!(verified["hash"], verified["against"]["hash"]);
    let sampled = home.json(
        1,
        &[
            "verify",
            "--palace",
            "new",
            "--against",
            "palace",
            "--sample",
            "4",
        ],
    );
    assert_eq!(
        sampled["against"],
        json!({"hash": null, "drawers": 4}),
        "{sampled}"
    );
    let codes: Vec<&str> = sampled["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"sampled"), "{sampled}");
}

#[test]
fn a_missing_source_and_a_source_within_the_target_are_refused() {
    let home = furnished();
    let before = home.list_names();
    for (from, to, said) in [
        ("./nothing", "./new", "no palace"),
        ("palace", "palace", "both the source and the target"),
        ("palace", "palace/within", "within"),
    ] {
        let (_, error) = home
            .run(&["--json", "migrate", "--from", from, "--to", to])
            .expect_error();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(home.list_names(), before, "nothing was made");
}
