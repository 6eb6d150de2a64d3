//! Exporting and importing: nothing is lost, nothing is stored twice.

use serde_json::json;

use super::*;

const NASTY: &str = concat!(
    r#"{"id":"plain","document":"text","embedding":[0.1,-0.0,1e-45]}"#,
    "\n",
    r#"{"id":"quote\"s and\nbreaks 🗄️","document":"\u0000\u001b[2J\u202e 抽屉 \\","metadata":{"f":3.0,"i":3,"b":true,"t":["x",1,0.1],"min":-9223372036854775808,"tiny":5e-324}}"#,
    "\n",
    r#"{"id":"placed","document":"","wing":"w","room":"r","source":"s","span":{"start":0,"end":9,"line_start":1,"line_end":2},"speaker":"me","kind":"note","said_at":"2026-05-01T09:30:00.000001Z","filed_at":"1999-12-31T23:59:59.999999Z","context":{"before":"b","after":"a"},"uses":7,"metadata":{"wing":"w","said_at":"2026-05-01T09:30:00.000001Z"},"embedding":[3.4028235e38,1.1754944e-38,16777216]}"#,
    "\n",
    r#"{"collection":"notes","id":"elsewhere","document":"in another collection"}"#,
    "\n",
);

fn export(home: &TempHome, palace: &str) -> String {
    let args = [
        "export",
        "--all",
        "--embeddings",
        "--format",
        "jsonl",
        "--palace",
        palace,
    ];
    home.run(&args).expect_code(0).out
}

#[test]
fn an_export_imports_into_an_equal_palace() {
    let home = new_home();
    home.file_lines(NASTY);
    let palace = home.palace().to_str().unwrap().to_owned();
    let first = export(&home, &palace);
    assert_eq!(
        first.lines().count(),
        6,
        "two collections with a header each: {first}"
    );
    assert!(
        first.contains("1e-45") && first.contains("-0.0") && first.contains("3.4028235e+38"),
        "{first}"
    );
    let file = home.write("palace.jsonl", &first);
    let copy = home.path("copy").to_str().unwrap().to_owned();
    let report = home.json(0, &["import", &file, "--trusted", "--palace", &copy]);
    assert_eq!(
        (
            &report["added"],
            &report["kept"],
            &report["replaced"],
            &report["failed"]
        ),
        (&json!(4), &json!(0), &json!(0), &json!([]))
    );
    assert_eq!(export(&home, &copy), first, "byte for byte");
    let against = home.json(0, &["verify", "--against", &copy]);
    assert_eq!(against["ok"], true, "{against}");
    assert_eq!(
        home.json(0, &["verify", "--palace", &copy])["hash"],
        against["hash"]
    );
}

#[test]
fn importing_twice_stores_nothing_new_in_any_mode() {
    let home = new_home();
    home.file_lines(NASTY);
    let palace = home.palace().to_str().unwrap().to_owned();
    let first = export(&home, &palace);
    let file = home.write("palace.jsonl", &first);
    for (mode, code, kept, replaced, failed) in [
        ("keep", 0, 4, 0, 0),
        ("replace", 0, 0, 4, 0),
        ("fail", 1, 0, 0, 4),
    ] {
        let report = home.json(code, &["import", &file, "--trusted", "--on-conflict", mode]);
        assert_eq!(
            (&report["added"], &report["kept"], &report["replaced"]),
            (&json!(0), &json!(kept), &json!(replaced)),
            "{mode}: {report}"
        );
        assert_eq!(
            report["failed"].as_array().unwrap().len(),
            failed,
            "{mode}: {report}"
        );
        assert_eq!(export(&home, &palace), first, "{mode}");
    }
}

#[test]
fn bad_lines_are_listed_with_their_numbers_and_the_rest_goes_on() {
    let home = new_home();
    let lines = b"{\"id\":\"a\",\"document\":\"x\",\"embedding\":[1,2]}\nnope\n{\"document\":\"\xff\"}\n{\"document\":\"x\",\"colour\":1}\n{\"id\":\"b\",\"document\":\"x\",\"embedding\":[1,2,3]}\n{\"id\":\"c\",\"document\":\"x\"}\n";
    let ran = home.run_with(&["--json", "import", "-"], lines).expect_code(1);
    let report = ran.json();
    assert_eq!(report["added"], 2, "{report}");
    let failed: Vec<u64> = report["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert_eq!(failed, [2, 3, 4, 5], "{report}");
    assert!(
        report["failed"][2]["error"].as_str().unwrap().contains("colour"),
        "{report}"
    );
    let words = home.run_with(&["import", "-"], b"nope\n").expect_code(1);
    assert!(words.err.contains("standard input:1"), "{words:?}");
}

#[test]
fn a_collection_that_is_given_takes_every_line() {
    let home = new_home();
    let file = home.write("lines.jsonl", NASTY);
    home.json(0, &["import", &file, "--collection", "one"]);
    assert_eq!(home.json(0, &["count", "--collection", "one"])["count"], 4);
    assert_eq!(
        home.run(&["--json", "count", "--collection", "notes"])
            .expect_error()
            .0,
        "not_found"
    );
    assert_eq!(
        home.run(&["--json", "export", "--all", "--collection", "one"])
            .expect_error()
            .0,
        "invalid"
    );
}

#[test]
fn an_export_without_embeddings_has_none() {
    let home = new_home();
    home.file_lines(NASTY);
    let mut lines = home.run(&["export"]).expect_code(0).json_lines();
    assert_eq!(lines.remove(0)["format"], "loci-export-1");
    assert_eq!(
        ids(&Json::from(lines.clone())),
        ["placed", "plain", "quote\"s and\nbreaks 🗄️"]
    );
    assert!(
        lines
            .iter()
            .all(|line| line.get("embedding").is_none() && line["collection"] == "drawers")
    );
}

#[test]
fn an_export_into_a_file_appears_when_it_is_whole() {
    let home = new_home();
    home.file_lines(NASTY);
    let file = home.write("out.jsonl", "old");
    let before = home.list_names().len();
    let report = home.json(0, &["export", "-o", &file]);
    assert_eq!((&report["drawers"], &report["damaged"]), (&json!(3), &json!([])));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 4);
    assert_eq!(home.list_names().len(), before, "nothing is left beside it");
    home.run(&["export", "-o", "/dev/null"]).expect_code(0);
    assert_eq!(
        home.run(&["--json", "export", "-o", "/no/such/folder/file"])
            .expect_error()
            .0,
        "not_found"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let home = new_home();
    let line = |n: usize| format!("{{\"id\":\"{n:05}\",\"document\":\"{}\"}}\n", "x".repeat(1000));
    home.file_lines(&(0..2000).map(line).collect::<String>());
    let script = "set -o pipefail; \"$LOCI\" export | head -n 1 | cut -c 1-20";
    let mut command = home.command::<&str>(&[]);
    let mut shell = Command::new("bash");
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    shell
        .args(["-c", script])
        .env("LOCI", env!("CARGO_BIN_EXE_loci"))
        .env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null());
    let ran = run_command(shell, b"").expect_code(0);
    assert_eq!((ran.out.lines().count(), ran.err.as_str()), (1, ""), "{ran:?}");
}

#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    let home = new_home();
    home.file_lines(NASTY);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = home.command(&["list"]);
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("standard output"),
        "{output:?}"
    );
}

#[test]
fn an_export_whose_vectors_were_exchanged_is_refused_and_a_good_one_says_how_many_were_checked() {
    let home = new_home();
    for n in 0..50 {
        home.run(&[
            "add",
            &format!("note {n} about the harbour"),
            "--id",
            &format!("n{n:02}"),
        ])
        .expect_code(0);
    }
    let palace = home.palace().to_str().unwrap().to_owned();
    let good = export(&home, &palace);
    let copy = home.path("copy").to_str().unwrap().to_owned();
    let words = home
        .run_with(&["import", "-", "--palace", &copy], good.as_bytes())
        .expect_code(0);
    assert!(words.out.contains("of 50 vectors checked"), "{words:?}");
    let report = home.run_with(&["--json", "import", "-", "--palace", &copy], good.as_bytes());
    let report = report.expect_code(0).json();
    assert_eq!(
        (&report["kept"], &report["vectors_brought"]),
        (&json!(50), &json!(50))
    );
    assert!(report["vectors_checked"].as_u64().unwrap() >= 4, "{report}");
    assert_eq!(
        home.json(0, &["embedder", "show", "--palace", &copy])["model"],
        "builtin"
    );
    // The first vector stays good; each of the others is turned around.
    let turn = |line: &str| {
        let mut line: Json = serde_json::from_str(line).unwrap();
        line["embedding"].as_array_mut().unwrap().reverse();
        line.to_string()
    };
    let lines = good.lines().enumerate();
    let lines: Vec<String> = lines
        .map(|(at, line)| if at < 2 { line.to_owned() } else { turn(line) })
        .collect();
    let bad = lines.join("\n");
    let other = home.path("other").to_str().unwrap().to_owned();
    let (kind, said) = home
        .run_with(&["--json", "import", "-", "--palace", &other], bad.as_bytes())
        .expect_error();
    assert_eq!(kind, "identity_mismatch", "{said}");
    assert!(
        said.contains("line ") && said.contains("nothing was imported"),
        "{said}"
    );
}
