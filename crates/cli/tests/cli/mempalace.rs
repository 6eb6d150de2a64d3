//! Palaces of MemPalace where its releases keep them: moved with everything that belongs to them.

use std::fs;

use loci_testkit::chroma_folder;
use rusqlite::Connection;
use serde_json::Value as Json;

use super::doctoring::copy_all;
use super::{TempHome, new_home};

/// A home in which MemPalace 3.11 keeps its palace under `.config` and the graph under `.mempalace`.
fn fresh_installation() -> TempHome {
    let home = new_home();
    fs::create_dir_all(home.path(".config/mempalace")).unwrap();
    copy_all(
        &chroma_folder().join("1.5.9/mempalace/db"),
        &home.path(".config/mempalace/palace"),
    );
    // The prepared palace has files of its own, which would stand for those that are elsewhere.
    for file in ["knowledge_graph.sqlite3", "tunnels.json"] {
        fs::remove_file(home.path(".config/mempalace/palace").join(file)).unwrap();
    }
    home.write(".config/mempalace/config.json", "{}");
    home.write(".config/mempalace/hallways.json", "[1]");
    home.write(".mempalace/identity.txt", "I am Ada.");
    home.write(".mempalace/hook_state/last", "");
    let graph = Connection::open(home.path(".mempalace/knowledge_graph.sqlite3")).unwrap();
    let sql = "CREATE TABLE triples(id TEXT, subject TEXT, predicate TEXT, object TEXT);
               INSERT INTO triples VALUES('t', 'ada', 'owns', 'ferry');";
    graph.execute_batch(sql).unwrap();
    home
}

fn left_behind(report: &Json) -> String {
    let findings = report["findings"].as_array().unwrap().iter();
    let left = findings.filter(|finding| finding["code"] == "left_behind");
    left.map(|finding| finding["message"].as_str().unwrap().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_palace_moves_with_the_graph_and_identity_that_lie_elsewhere_and_the_rest_is_named() {
    let home = fresh_installation();
    let from = ".config/mempalace/palace";
    let report = home.json(0, &["migrate", "--from", from, "--to", "./new"]);
    let left = left_behind(&report);
    assert!(left.contains("config.json (settings"), "{left}");
    assert!(left.contains("hook_state (the state"), "{left}");
    let told = home
        .run(&["migrate", "--from", from, "--to", "./again"])
        .expect_code(0);
    assert!(told.out.contains("hook_state (the state"), "{}", told.out);
    home.run(&["verify", "--palace", "./new", "--against", from])
        .expect_code(0);
    let sidecars = ["--palace", "./new", "--collection", "mempalace_sidecars"];
    let shown = |id: &str| {
        let mut args = vec!["show", id];
        args.extend(sidecars);
        home.run(&args).expect_code(0).out
    };
    assert!(shown("knowledge_graph.sqlite3/triples/000000001").contains("ferry"));
    assert!(shown("identity.txt").contains("I am Ada."));
    assert!(shown("hallways.json").contains("[1]"));
}

#[test]
fn a_copy_of_a_palace_leaves_the_files_of_the_installation_and_says_so() {
    let home = fresh_installation();
    copy_all(&home.path(".config/mempalace/palace"), &home.path("copy"));
    let report = home.json(0, &["migrate", "--from", "./copy", "--to", "./new"]);
    let left = left_behind(&report);
    assert!(left.contains("identity.txt, knowledge_graph.sqlite3"), "{left}");
    assert!(left.contains("MEMPALACE_PALACE_PATH"), "{left}");
    let mut named = home.command(&["--json", "migrate", "--from", "./copy", "--to", "./whole"]);
    named.env("MEMPALACE_PALACE_PATH", home.path("copy"));
    let report = loci_testkit::run_command(named, b"").expect_code(0).json();
    assert!(!left_behind(&report).contains("identity.txt"), "{report}");
}
