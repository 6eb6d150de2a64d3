//! `loci web --export`: the file, who may read it, what it replaces, and what is left when it cannot be written.

mod browsing;
mod scene;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::*;
use scene::furnish_garden;

fn read_mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_file_is_its_owners_alone_and_nothing_else_is_left_beside_it() {
    let home = new_home();
    furnish_garden(&home);
    let before = home.list_names();
    let report = home.json(0, &["web", "--export", "page.html"]);
    let file = home.path("page.html");
    assert_eq!(
        report["file"],
        std::fs::canonicalize(&file).unwrap().to_str().unwrap()
    );
    assert_eq!(report["bytes"], std::fs::metadata(&file).unwrap().len());
    assert_eq!(report["drawers"], home.json(0, &["count"])["count"]);
    assert_eq!(read_mode(&file), 0o600);
    let mut after = home.list_names();
    after.retain(|name| name != "page.html");
    assert_eq!(after, before);
    let told = home.run(&["web", "--export", "other.html"]).expect_code(0);
    assert!(
        told.out.is_empty() && told.err.contains("other.html; open it in a browser"),
        "{told:?}"
    );
}

#[test]
fn an_existing_file_stays_unless_it_may_be_replaced() {
    let home = new_home();
    furnish_garden(&home);
    home.write("page.html", "mine");
    std::fs::set_permissions(home.path("page.html"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = home
        .run(&["--json", "web", "--export", "page.html"])
        .expect_error();
    assert_eq!(refused.0, "conflict");
    assert!(
        refused.1.contains("page.html already exists") && refused.1.contains("--force"),
        "{}",
        refused.1
    );
    assert_eq!(std::fs::read_to_string(home.path("page.html")).unwrap(), "mine");
    home.json(0, &["web", "--export", "page.html", "--force"]);
    assert!(
        std::fs::read_to_string(home.path("page.html"))
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    assert_eq!(read_mode(&home.path("page.html")), 0o600);
    // What --force would replace is never taken away before there is something in its place.
    home.run(&["web", "--export", "page.html", "--force", "--palace", "./nowhere"])
        .expect_code(2);
    assert!(home.path("page.html").exists());
}

#[test]
fn the_scope_chooses_the_drawers_and_belongs_to_the_file() {
    let home = new_home();
    furnish_garden(&home);
    let count = |scope: &[&str]| {
        let all = [&["web", "--export", "page.html", "--force"], scope].concat();
        home.json(0, &all)["drawers"].as_u64().unwrap()
    };
    assert_eq!(count(&["--wing", "garden", "--room", "beans"]), 2);
    assert_eq!(
        count(&["--wing", "garden", "--wing", "house"]),
        count(&["--wing", "garden"]) + 1
    );
    assert_eq!(count(&["--contains", "hazel", "--since", "2025-01-01"]), 1);
    let page = std::fs::read_to_string(home.path("page.html")).unwrap();
    assert!(
        page.contains(r#"["contains","hazel"]"#) && !page.contains("The roof"),
        "the scope in words"
    );
    for flags in [["--port", "0"].as_slice(), &["--no-open"], &["--read-only"]] {
        let all = [&["--json", "web", "--export", "x.html"], flags].concat();
        let error = home.run(&all).expect_error();
        assert!(
            error.1.contains("cannot be used with") && error.1.contains(flags[0]),
            "{error:?}"
        );
    }
    for flags in [["--room", "beans"], ["--since", "yesterday"], ["--where", "{}"]] {
        let error = home.run(&["--json", "web", flags[0], flags[1]]).expect_error();
        assert!(
            error.1.contains(flags[0]) && error.1.contains("--export"),
            "{error:?}"
        );
    }
    assert!(
        home.run(&["web", "--force"])
            .expect_code(2)
            .err
            .contains("--export")
    );
    assert!(!home.path("x.html").exists());
}

#[test]
fn names_that_no_drawer_has_are_told() {
    let home = new_home();
    furnish_garden(&home);
    let report = home.json(
        1,
        &[
            "web",
            "--export",
            "page.html",
            "--wing",
            "garden",
            "--wing",
            "hose",
        ],
    );
    let told = report["warnings"].to_string();
    assert!(told.contains("hose") && told.contains("house"), "{told}");
    let ran = home
        .run(&["web", "--export", "page.html", "--force", "--room", "beens"])
        .expect_code(1);
    assert!(ran.err.contains("beens") && ran.err.contains("beans"), "{ran:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_nothing_half_is_left() {
    let home = new_home();
    furnish_garden(&home);
    std::fs::create_dir(home.path("folder")).unwrap();
    let before = home.list_names();
    for (file, words) in [
        ("nowhere/page.html", "No such file"),
        ("folder", "Is a directory"),
        // A device that is always full.
        ("/dev/full", "No space left"),
    ] {
        let error = home.run(&["--json", "web", "--export", file]).expect_error().1;
        assert!(error.contains(file) && error.contains(words), "{file}: {error}");
    }
    assert_eq!(home.list_names(), before);
    // Without a palace there is no file either, and none is made.
    let other = new_home();
    other.run(&["web", "--export", "page.html"]).expect_code(2);
    assert_eq!(other.list_names(), Vec::<String>::new());
}

#[test]
fn a_page_is_printed_where_a_pipe_wants_it() {
    let home = new_home();
    furnish_garden(&home);
    let printed = home.run(&["web", "--export", "-"]).expect_code(0);
    assert!(printed.out.starts_with("<!DOCTYPE html>") && printed.out.ends_with("</html>\n"));
    assert!(!home.path("-").exists());
    let error = home.run(&["--json", "web", "--export", "-"]).expect_error();
    assert_eq!(error.0, "invalid");
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    let home = new_home();
    let line =
        |at: u32| json!({"id": format!("n{at}"), "document": format!("note {at} ").repeat(120)}).to_string();
    home.file_lines(&(0..1500).map(line).collect::<Vec<_>>().join("\n"));
    let before = home.list_names();
    let is_partial = |name: &String| name.ends_with(".partial");
    // It may be done before the signal arrives; then it is tried again.
    for _ in 0..50 {
        let mut command = home.command(&["web", "--export", "page.html", "--force"]);
        let mut run = command
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        while !home.list_names().iter().any(is_partial) && run.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let process = rustix::process::Pid::from_child(&run);
        let _ = rustix::process::kill_process(process, rustix::process::Signal::INT);
        let ended = run.wait_with_output().unwrap();
        if ended.status.success() {
            std::fs::remove_file(home.path("page.html")).unwrap();
            continue;
        }
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(
            told.contains("the export was interrupted") && told.contains("no file was written"),
            "{told}"
        );
        assert_eq!(home.list_names(), before);
        return;
    }
    panic!("no run was interrupted in time");
}
