//! Keeping a palace: init, verify, backup and restore, upkeep, the change feed.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;

fn filled() -> TempHome {
    let home = new_home();
    let line =
        |n: usize| format!("{{\"id\":\"d{n:02}\",\"document\":\"text {n}\",\"embedding\":[1,{n}.5]}}\n");
    home.file_lines(&(0..20).map(line).collect::<String>());
    home
}

#[test]
fn init_makes_a_private_palace_once() {
    let home = new_home();
    let first = home.json(0, &["init", "--dimension", "3", "--metric", "l2"]);
    assert_eq!(first["created"], true);
    assert_eq!(
        (&first["backend"], &first["embedder"]),
        (&json!("embedded"), &json!("none"))
    );
    assert_eq!(first["palace"], home.palace().to_str().unwrap());
    let mode = std::fs::metadata(home.palace()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let again = home.json(0, &["init"]);
    assert_eq!(
        (&again["created"], &again["metric"], &again["dimension"]),
        (&json!(false), &json!("l2"), &json!(3))
    );
    assert_eq!(home.json(0, &["init", "--collection", "notes"])["created"], true);
    assert_eq!(
        home.run(&["--json", "init", "--metric", "cosine"])
            .expect_error()
            .0,
        "invalid"
    );
    assert_eq!(
        home.run(&["--json", "init", "--dimension", "4"]).expect_error().0,
        "dimension_mismatch"
    );
    assert_eq!(home.json(0, &["status"])["embedder"]["state"], "none");
}

#[test]
fn init_refuses_what_it_does_not_know() {
    let home = new_home();
    for (args, kind, names) in [
        (
            &["--json", "init", "--backend", "chromatic"][..],
            "unsupported",
            "embedded",
        ),
        (&["--json", "init", "--embedder", "oracle"], "invalid", "oracle"),
        (&["--json", "init", "--metric", "taxi"], "invalid", "taxi"),
        (&["--json", "init", "--dimension", "0"], "invalid", "0"),
    ] {
        let (found, text) = home.run(args).expect_error();
        assert_eq!(found, kind, "{text}");
        assert!(text.contains(names), "{text}");
    }
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn a_sound_palace_verifies_and_a_changed_one_differs() {
    let home = filled();
    let report = home.json(0, &["verify"]);
    assert_eq!(
        (&report["ok"], &report["drawers"]),
        (&json!(true), &json!(20)),
        "{report}"
    );
    let hash = report["hash"].clone();
    assert_eq!(home.json(0, &["verify", "--sample", "3"])["hash"], hash);
    let copy = home.path("copy").to_str().unwrap().to_owned();
    let backup = home.path("b.db").to_str().unwrap().to_owned();
    home.json(0, &["backup", &backup]);
    home.json(0, &["restore", &backup, "--palace", &copy]);
    assert_eq!(home.json(0, &["verify", "--palace", &copy])["hash"], hash);
    home.json(0, &["delete", "d03", "--yes", "--palace", &copy]);
    home.json(
        0,
        &[
            "add", "other", "--id", "d04", "--upsert", "--vector", "[1,2]", "--palace", &copy,
        ],
    );
    let report = home.json(1, &["verify", "--against", &copy]);
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["only_here", "differs"], "{report}");
    assert_eq!(report["ok"], false);
    let words = home.run(&["verify", "--against", &copy]).expect_code(1);
    assert!(words.out.contains("not sound: 20 drawers"), "{words:?}");
}

#[test]
fn a_backup_restores_to_an_equal_palace_and_never_over_one() {
    let home = filled();
    let file = home.path("copy.db").to_str().unwrap().to_owned();
    let made = home.json(0, &["backup", &file]);
    assert_eq!(
        (&made["file"], &made["drawers"], &made["verified"]),
        (&json!(file), &json!(20), &json!(true))
    );
    assert_eq!(home.run(&["--json", "backup", &file]).expect_error().0, "invalid");
    let again = home.path("again").to_str().unwrap().to_owned();
    let restored = home.json(0, &["restore", &file, "--palace", &again]);
    assert_eq!(
        (&restored["hash"], &restored["drawers"]),
        (&made["hash"], &json!(20))
    );
    assert_eq!(home.json(0, &["verify", "--against", &again])["ok"], true);
    assert_eq!(
        home.json(0, &["verify"])["hash"],
        made["hash"],
        "one digest everywhere"
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "a copy of a memory is as private as the memory"
    );
    assert_eq!(
        home.run(&["--json", "restore", &file]).expect_error().0,
        "invalid",
        "never over a palace"
    );
    assert_eq!(home.json(0, &["count"])["count"], 20);
    assert_eq!(
        home.run(&["--json", "restore", "/no/file", "--palace", "x"])
            .expect_error()
            .0,
        "not_found"
    );
    let (kind, text) = home.run(&["--json", "backup", "no/such/copy.db"]).expect_error();
    assert_eq!(kind, "not_found");
    assert!(text.contains("no/such") && !text.contains("partial"), "{text}");
    let junk = home.write("junk.db", "this is no palace");
    let elsewhere = home.path("elsewhere").to_str().unwrap().to_owned();
    home.run(&["restore", &junk, "--palace", &elsewhere])
        .expect_code(2);
    assert!(!home.path("elsewhere").join("palace.db").exists());
}

#[test]
fn backups_in_a_folder_are_kept_up_to_a_number() {
    let home = filled();
    let folder = home.path("backups");
    let keep = |n: &str| home.json(0, &["backup", folder.to_str().unwrap(), "--keep", n]);
    let mut files: Vec<String> = (0..3)
        .map(|_| keep("2")["file"].as_str().unwrap().to_owned())
        .collect();
    home.write("backups/palace-mine.db", "mine");
    let last = keep("2");
    files.push(last["file"].as_str().unwrap().to_owned());
    let there: Vec<bool> = files.iter().map(|file| PathBuf::from(file).exists()).collect();
    assert_eq!(there, [false, false, true, true], "{files:?}");
    assert_eq!(last["pruned"].as_array().unwrap().len(), 1);
    assert!(home.path("backups/palace-mine.db").exists());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "no litter");
    let plain = home.json(0, &["backup", folder.to_str().unwrap()]);
    assert!(
        plain["file"]
            .as_str()
            .unwrap()
            .starts_with(folder.to_str().unwrap())
    );
}

#[test]
fn changes_are_listed_in_order_and_go_on_at_a_cursor() {
    let home = new_home();
    home.file_lines("{\"id\":\"a\",\"document\":\"1\"}\n{\"id\":\"b\",\"document\":\"2\"}\n{\"id\":\"c\",\"document\":\"3\"}");
    home.json(0, &["delete", "a", "--yes"]);
    let all = home.json(0, &["changes"]);
    let seen: Vec<(&str, &str)> = all["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["op"].as_str().unwrap(), change["id"].as_str().unwrap()))
        .collect();
    assert_eq!(seen, [("put", "b"), ("put", "c"), ("delete", "a")]);
    assert_eq!(all["changes"][0]["collection"], "drawers");
    let first = home.json(0, &["changes", "--limit", "1"]);
    assert_eq!(ids(&first["changes"]), ["b"]);
    let rest = home.json(0, &["changes", "--since", &first["next"].to_string()]);
    assert_eq!(ids(&rest["changes"]), ["c", "a"]);
    let none = home.json(0, &["changes", "--since", &rest["next"].to_string()]);
    assert_eq!((&none["changes"], &none["next"]), (&json!([]), &rest["next"]));
}

#[test]
fn every_advertised_upkeep_runs_and_others_are_refused() {
    let home = filled();
    let backends = home.json(0, &["backends"]);
    let embedded = &backends["backends"][0];
    assert_eq!(embedded["name"], "embedded");
    assert!(
        embedded["capabilities"]
            .as_array()
            .unwrap()
            .contains(&json!("atomic_batch")),
        "{backends}"
    );
    let kinds = embedded["maintenance"].as_array().unwrap();
    assert!(!kinds.is_empty());
    for kind in kinds {
        let report = home.json(0, &["maintain", kind.as_str().unwrap()]);
        assert_eq!(&report["kind"], kind);
        assert!(
            report["status"].is_string() && report["figures"].is_object(),
            "{report}"
        );
    }
    let (kind, text) = home.run(&["--json", "maintain", "polish"]).expect_error();
    assert_eq!(kind, "unsupported");
    assert!(text.contains("compact"), "{text}");
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn the_doctor_examines_palaces_it_knows() {
    let home = filled();
    let path = home.palace().to_str().unwrap().to_owned();
    let diagnosis = home.json(0, &["doctor", &path]);
    assert_eq!(diagnosis["healthy"], true, "{diagnosis}");
    for key in ["kind", "findings", "collections", "segments"] {
        assert!(diagnosis.get(key).is_some(), "{key}");
    }
    std::fs::create_dir(home.path("empty")).unwrap();
    assert_eq!(
        home.run(&["--json", "doctor", "empty"]).expect_error().0,
        "format"
    );
    home.json(0, &["backup", "copy.db"]);
    home.json(0, &["init", "--palace", "work"]);
    let file = format!("{path}/palace.db");
    let with_backend = format!("embedded:{path}");
    for args in [
        &["doctor"][..],
        &["doctor", "--palace", "work"],
        &["doctor", "work"],
        &["doctor", "embedded:work"],
        &["doctor", &file],
        &["doctor", &with_backend],
        &["doctor", "copy.db"],
    ] {
        let diagnosis = home.json(0, args);
        assert_eq!(diagnosis["kind"], "embedded", "{args:?}");
        let rows = diagnosis["collections"][0]["rows"].as_u64();
        let expected = if args.contains(&"work") || args.contains(&"embedded:work") {
            0
        } else {
            20
        };
        assert_eq!(rows, Some(expected), "{args:?}: {diagnosis}");
    }
    let words = home.run(&["doctor"]).expect_code(0).out;
    assert!(
        words.contains("0 segments") || words.contains("1 segment\n"),
        "{words}"
    );
    home.write("notes.txt", "not a palace");
    assert_eq!(
        home.run(&["--json", "doctor", "notes.txt"]).expect_error().0,
        "format"
    );
    let twice = home.run(&["--json", "doctor", "work", "--palace", "work"]);
    assert_eq!(twice.expect_error().0, "invalid");
    assert_eq!(
        home.run(&["--json", "doctor", "nowhere"]).expect_error().0,
        "not_found"
    );
    assert_eq!(
        home.run(&["--json", "doctor", &path, "--fix", "magic"])
            .expect_error()
            .0,
        "unsupported"
    );
}

#[test]
fn damage_is_named_and_never_hidden() {
    let home = new_home();
    let line = |n: usize| {
        let text = format!("text {n} ").repeat(800);
        format!("{{\"id\":\"d{n:02}\",\"document\":\"{text}\"}}\n")
    };
    home.file_lines(&(0..40).map(line).collect::<String>());
    let file = home.palace().join("palace.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let needle = b"text 17 text 17";
    let spots: Vec<usize> = (0..bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(needle))
        .collect();
    assert!(!spots.is_empty());
    for at in spots {
        bytes[at] = b'T';
    }
    std::fs::write(&file, bytes).unwrap();
    let verified = home.run(&["--json", "verify"]).expect_code(1);
    assert!(verified.out.contains("d17"), "{verified:?}");
    let exported = home.run(&["export"]).expect_code(1);
    assert!(exported.err.contains("warning: drawers: "), "{exported:?}");
    assert!(exported.json_lines().len() >= 30, "{}", exported.err);
    let shown = home.run(&["--json", "show", "d17"]);
    assert!(shown.code == 2 || shown.err.contains("d17"), "{}", shown.err);
    let other = home.json(0, &["show", "d35"]);
    assert_eq!(other["drawers"][0]["text"], "text 35 ".repeat(800));
}

#[test]
fn a_search_goes_around_damaged_vectors() {
    let home = new_home();
    let line = |n: usize| format!("{{\"id\":\"d{n:02}\",\"document\":\"the ferry number {n} leaves\"}}\n");
    home.file_lines(&(0..40).map(line).collect::<String>());
    let shown = home.json(0, &["show", "d17", "--embeddings"]);
    let vector = shown["drawers"][0]["embedding"].as_array().unwrap().iter();
    let needle: Vec<u8> = vector
        .take(8)
        .flat_map(|value| (value.as_f64().unwrap() as f32).to_le_bytes())
        .collect();
    let file = home.palace().join("palace.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let spots: Vec<usize> = (0..bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(&needle))
        .collect();
    assert!(!spots.is_empty());
    for at in spots {
        bytes[at] ^= 0xff;
    }
    std::fs::write(&file, bytes).unwrap();
    let found = home.json(1, &["search", "ferry number 17"]);
    assert_eq!(found["hits"][0]["id"], "d17");
    assert_ne!(found["warnings"], json!([]), "the damage is told");
}
