//! Where palaces are, and what reading never does.

use std::os::unix::fs::PermissionsExt;

use loci_testkit::CommandOutcome;

use super::*;

/// Every command that reads.
const READS: [&[&str]; 14] = [
    &["show", "a"],
    &["list"],
    &["delete", "a", "--yes"],
    &["search", "--vector", "[1]"],
    &["search", "--only", "words", "x"],
    &["count"],
    &["wings", "--by", "wing,room"],
    &["export"],
    &["export", "--all"],
    &["changes"],
    &["verify"],
    &["status"],
    &["maintain", "compact"],
    &["backup", "copy.db"],
];

#[test]
fn reading_a_missing_palace_is_an_error_and_makes_nothing() {
    let home = new_home();
    for args in READS {
        let (kind, text) = home.run(&[&["--json"], args].concat()).expect_error();
        assert_eq!(kind, "not_found", "{args:?}: {text}");
        assert!(text.contains("loci init"), "{args:?}: {text}");
        assert!(text.contains(home.palace().to_str().unwrap()), "{args:?}: {text}");
    }
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn reading_a_missing_collection_is_an_error_that_lists_what_there_is() {
    let home = new_home();
    home.json(0, &["init"]);
    let (kind, text) = home
        .run(&["--json", "count", "--collection", "notes"])
        .expect_error();
    assert_eq!(kind, "not_found");
    assert!(text.contains("drawers"), "{text}");
    assert_eq!(
        home.json(0, &["status"])["collections"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_palace_is_found_by_name_path_and_backend() {
    let home = new_home();
    let named = home.json(0, &["init", "--palace", "work"]);
    let expect = home.path("data/loci/palaces/work");
    assert_eq!(named["palace"], expect.to_str().unwrap());
    assert!(expect.join("palace.db").is_file());
    home.json(0, &["add", "x", "--palace", "embedded:work"]);
    assert_eq!(ids_in(&home, "work"), 1);
    assert_eq!(ids_in(&home, expect.to_str().unwrap()), 1);
    let relative = home.json(0, &["init", "--palace", "./here"]);
    assert_eq!(relative["palace"], home.path("here").to_str().unwrap());
    let mut bare = home.command(&["--json", "init"]);
    bare.env_remove("LOCI_PALACE");
    let default = run_command(bare, b"").expect_code(0).json();
    assert_eq!(
        default["palace"],
        home.path("data/loci/palaces/default").to_str().unwrap()
    );
}

fn ids_in(home: &TempHome, palace: &str) -> u64 {
    home.json(0, &["count", "--palace", palace])["count"]
        .as_u64()
        .unwrap()
}

#[test]
fn an_unknown_backend_is_refused_wherever_it_is_named() {
    let home = new_home();
    let (kind, text) = home
        .run(&["--json", "count", "--palace", "nowhere:x"])
        .expect_error();
    assert_eq!(kind, "unsupported");
    assert!(text.contains("embedded"), "{text}");
    let mut command = home.command(&["--json", "init"]);
    command.env("LOCI_BACKEND", "nowhere");
    assert_eq!(run_command(command, b"").expect_error().0, "unsupported");
    std::fs::create_dir(home.palace()).unwrap();
    home.write("palace/config.json", r#"{"backend":"nowhere"}"#);
    assert_eq!(home.run(&["--json", "init"]).expect_error().0, "unsupported");
    home.write("palace/config.json", r#"{"backend":"embedded"}"#);
    home.json(0, &["init"]);
}

#[test]
fn a_file_in_the_place_of_a_palace_is_refused() {
    let home = new_home();
    home.write("palace", "a file");
    for args in [
        &["--json", "add", "x"][..],
        &["--json", "count"],
        &["--json", "init"],
        &["--json", "verify"],
    ] {
        let (kind, text) = home.run(args).expect_error();
        assert_eq!(kind, "invalid", "{text}");
        assert!(text.contains("is a file"), "{text}");
    }
    assert_eq!(std::fs::read(home.palace()).unwrap(), b"a file");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let home = new_home();
    std::fs::create_dir(home.palace()).unwrap();
    let junk = "this is no database, but it is long enough to look at. ".repeat(100);
    home.write("palace/palace.db", &junk);
    for args in [&["add", "x"][..], &["count"], &["status"]] {
        let ran = home.run(args).expect_code(2);
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    assert_ne!(home.run(&["verify"]).code, 0);
    assert_eq!(
        std::fs::read_to_string(home.palace().join("palace.db")).unwrap(),
        junk
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let home = new_home();
    let locked = home.path("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o500)).unwrap();
    let palace = locked.join("palace").to_str().unwrap().to_owned();
    let can_write_anyway = std::fs::write(locked.join("probe"), "").is_ok();
    if can_write_anyway {
        // Nobody can keep root out by permissions; a file in the way keeps everybody out.
        let palace = home.write("blocker", "") + "/palace";
        home.run(&["add", "x", "--palace", &palace]).expect_code(2);
        return;
    }
    let (kind, text) = home
        .run(&["--json", "add", "x", "--palace", &palace])
        .expect_error();
    assert_eq!(kind, "io", "{text}");
    assert!(text.contains("locked"), "{text}");
}

/// The binary without a palace in its environment, so that the default one is meant.
fn without_palace(home: &TempHome, args: &[&str]) -> CommandOutcome {
    let mut command = home.command(args);
    command.env_remove("LOCI_PALACE");
    run_command(command, b"")
}

/// Every file below the home with its bytes.
fn contents(home: &TempHome) -> Vec<(String, Vec<u8>)> {
    let files = home
        .list_names()
        .into_iter()
        .filter(|name| home.path(name).is_file());
    files
        .map(|name| {
            let bytes = std::fs::read(home.path(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

#[test]
fn palaces_are_listed_with_their_drawers_and_the_default_is_marked() {
    let home = new_home();
    home.json(0, &["add", "one", "--palace", "work"]);
    home.json(0, &["init", "--palace", "default"]);
    home.json(0, &["init", "--palace", "./elsewhere"]);
    std::fs::create_dir_all(home.path("data/loci/palaces/not a palace")).unwrap();
    let before = contents(&home);
    let listed = without_palace(&home, &["--json", "palaces"])
        .expect_code(0)
        .json();
    let folder = home.path("data/loci/palaces");
    let row = |name: &str, drawers: u64, default: bool| {
        serde_json::json!({
            "name": name, "path": folder.join(name).to_str().unwrap(), "backend": "embedded",
            "drawers": drawers, "default": default,
        })
    };
    let expected = serde_json::json!([row("default", 0, true), row("work", 1, false)]);
    assert_eq!(listed["palaces"], expected);
    let words = without_palace(&home, &["palaces"]).expect_code(0);
    assert!(
        words.out.contains("* default  0 drawers") && words.out.contains("  work  1 drawer  embedded"),
        "{words:?}"
    );
    let elsewhere = home.run(&["palaces"]).expect_code(0);
    assert!(!elsewhere.out.contains('*'), "{elsewhere:?}");
    assert!(
        elsewhere.err.contains(home.palace().to_str().unwrap()),
        "{elsewhere:?}"
    );
    assert_eq!(contents(&home), before, "nothing was made or changed");
}

#[test]
fn a_palace_that_cannot_be_opened_is_listed_with_its_error() {
    let home = new_home();
    home.json(0, &["init", "--palace", "sound"]);
    let folder = home.path("data/loci/palaces");
    for (name, file, text) in [
        ("broken", "palace.db", "this is no database"),
        ("foreign", "config.json", r#"{"backend":"nowhere"}"#),
        ("odd", "config.json", "{"),
    ] {
        std::fs::create_dir(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join(file), text).unwrap();
    }
    let before = contents(&home);
    let listed = home.json(0, &["palaces"]);
    let named = |name: &str| {
        let rows = listed["palaces"].as_array().unwrap().iter();
        rows.clone().find(|row| row["name"] == name).unwrap().clone()
    };
    for name in ["broken", "foreign", "odd"] {
        assert!(named(name)["error"].is_string(), "{listed}");
        assert!(named(name)["drawers"].is_null(), "{listed}");
    }
    assert!(named("sound")["error"].is_null(), "{listed}");
    assert!(home.run(&["palaces"]).expect_code(0).out.contains("nowhere"));
    assert_eq!(contents(&home), before);
}

#[test]
fn a_palace_of_an_earlier_format_is_listed_and_stays_as_it_is() {
    let home = new_home();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../store/tests/fixtures/version-1/palace.db"
    );
    let folder = home.path("data/loci/palaces/old");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(fixture, folder.join("palace.db")).unwrap();
    let before = contents(&home);
    let listed = home.json(0, &["palaces"]);
    assert!(listed["palaces"][0]["drawers"].as_u64().unwrap() > 0, "{listed}");
    assert_eq!(contents(&home), before);
}

#[test]
fn without_a_palace_the_list_says_how_to_make_one() {
    let home = new_home();
    let words = home.run(&["palaces"]).expect_code(1);
    assert!(
        words.out.is_empty() && words.err.contains("loci init"),
        "{words:?}"
    );
    assert_eq!(home.json(1, &["palaces"])["palaces"], serde_json::json!([]));
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn a_missing_palace_is_refused_with_the_names_of_those_that_exist() {
    let home = new_home();
    home.json(0, &["init", "--palace", "work"]);
    home.json(0, &["init", "--palace", "home"]);
    for args in READS.iter().copied().chain([
        &["doctor", "wrok"][..],
        &["migrate", "--from", "wrok", "--to", "new"],
        &["verify", "--palace", "work", "--against", "wrok"],
    ]) {
        let ran = home.run(&[&["--json"], args].concat());
        let (kind, text) = ran.expect_error();
        assert_eq!(kind, "not_found", "{args:?}: {text}");
        assert!(text.contains("existing palaces: home, work"), "{args:?}: {text}");
        assert!(text.contains("loci init"), "{args:?}: {text}");
    }
    let (_, text) = home
        .run(&["--json", "count", "--palace", "work", "--collection", "no"])
        .expect_error();
    assert!(!text.contains("existing palaces"), "{text}");
}
