//! Where palaces are, and what reading never does.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Every command that reads.
const READS: [&[&str]; 14] = [
    &["get", "a"],
    &["list"],
    &["delete", "a", "--yes"],
    &["query", "--vector", "[1]"],
    &["match", "x"],
    &["count"],
    &["facets"],
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
        let (kind, text) = home.run(&[&["--json"], args].concat()).error();
        assert_eq!(kind, "not_found", "{args:?}: {text}");
        assert!(text.contains("loci init"), "{args:?}: {text}");
        assert!(text.contains(home.palace().to_str().unwrap()), "{args:?}: {text}");
    }
    assert_eq!(home.names(), Vec::<String>::new());
}

#[test]
fn reading_a_missing_collection_is_an_error_that_lists_what_there_is() {
    let home = new_home();
    home.json(0, &["init"]);
    let (kind, text) = home.run(&["--json", "count", "--collection", "notes"]).error();
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
    let default = run_command(bare, b"").ends(0).json();
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
    let (kind, text) = home.run(&["--json", "count", "--palace", "nowhere:x"]).error();
    assert_eq!(kind, "unsupported");
    assert!(text.contains("embedded"), "{text}");
    let mut command = home.command(&["--json", "init"]);
    command.env("LOCI_BACKEND", "nowhere");
    assert_eq!(run_command(command, b"").error().0, "unsupported");
    std::fs::create_dir(home.palace()).unwrap();
    home.write("palace/config.json", r#"{"backend":"nowhere"}"#);
    assert_eq!(home.run(&["--json", "init"]).error().0, "unsupported");
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
        let (kind, text) = home.run(args).error();
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
        let ran = home.run(args).ends(2);
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
        home.run(&["add", "x", "--palace", &palace]).ends(2);
        return;
    }
    let (kind, text) = home.run(&["--json", "add", "x", "--palace", &palace]).error();
    assert_eq!(kind, "io", "{text}");
    assert!(text.contains("locked"), "{text}");
}
