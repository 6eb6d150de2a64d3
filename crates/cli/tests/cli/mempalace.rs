//! Palaces of MemPalace where its releases keep them: moved with everything that belongs to them.

use std::fs;

use loci_testkit::{chroma_folder, minilm_folder, run_command};
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
    let report = run_command(named, b"").expect_code(0).json();
    assert!(!left_behind(&report).contains("identity.txt"), "{report}");
}

/// A `sqlite_exact` palace with these drawers, each an id, a text, metadata and a vector.
pub(super) fn write_exact(home: &TempHome, folder: &str, drawers: &[(String, String, Json, Vec<f32>)]) {
    fs::create_dir_all(home.path(folder)).unwrap();
    let connection = Connection::open(home.path(folder).join("sqlite_exact.sqlite3")).unwrap();
    let tables = "PRAGMA journal_mode = WAL;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE collections (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, dimension INTEGER,
            created_at TEXT NOT NULL);
        CREATE TABLE documents (collection_id INTEGER NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL,
            metadata_json TEXT NOT NULL, embedding BLOB NOT NULL, dim INTEGER NOT NULL, created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL, PRIMARY KEY (collection_id, id));
        INSERT INTO collections VALUES (1, 'mempalace_drawers', NULL, '');";
    connection.execute_batch(tables).unwrap();
    for (id, text, metadata, vector) in drawers {
        let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
        let sql = "INSERT INTO documents VALUES (1, ?1, ?2, ?3, ?4, ?5, '2026-05-01', '2026-05-01')";
        let values = rusqlite::params![id, text, metadata.to_string(), bytes, vector.len() as i64];
        connection.execute(sql, values).unwrap();
    }
    connection.close().unwrap();
}

/// The metadata that MemPalace's miner gives a chunk of a file.
fn chunk_of(file: &str, number: usize) -> Json {
    serde_json::json!({
        "wing": "kansas", "room": "farm", "source_file": file, "chunk_index": number, "chunk_total": 3,
        "added_by": "mempalace", "source_mtime": 1.5, "filed_at": "2026-05-01T10:00:00"
    })
}

#[test]
fn a_sqlite_exact_palace_is_examined_searched_counted_exported_and_moved() {
    let home = new_home();
    let drawers: Vec<_> = (0..20)
        .map(|at| {
            let text = format!("drawer {at} tells of the cyclone");
            let vector = vec![1.0, at as f32 / 3.0, 0.1];
            (
                format!("drawer_kansas_{at:02}"),
                text,
                chunk_of("/oz.txt", at),
                vector,
            )
        })
        .collect();
    write_exact(&home, "exact", &drawers);
    for name in [
        "exact",
        "./exact",
        "sqlite_exact:./exact",
        "exact/sqlite_exact.sqlite3",
    ] {
        let diagnosis = home.json(0, &["doctor", name]);
        assert_eq!(diagnosis["kind"], "sqlite_exact", "{name}");
        assert_eq!(diagnosis["collections"][0]["rows"], 20, "{name}");
    }
    let found = home.json(
        0,
        &["search", "--only", "words", "drawer 17", "--palace", "./exact"],
    );
    assert_eq!(found["hits"][0]["id"], "drawer_kansas_17", "{found}");
    let counted = home.run(&["count", "--palace", "./exact"]).expect_code(0);
    assert!(counted.out.contains("20"), "{}", counted.out);
    let lines = home.run(&["export", "--palace", "./exact"]).expect_code(0).out;
    assert_eq!(lines.matches("drawer_kansas_").count(), 20);
    let refused = home
        .run(&["--json", "add", "more", "--palace", "./exact"])
        .expect_error();
    assert_eq!(refused.0, "unsupported");
    let report = home.json(0, &["migrate", "--from", "./exact", "--to", "./new"]);
    assert_eq!((&report["lossless"], &report["rows"]), (&true.into(), &20.into()));
    home.run(&["verify", "--palace", "./new", "--against", "./exact"])
        .expect_code(0);
}

/// A home with a file that MemPalace has mined in three chunks, the last of which the file no longer holds.
fn mined_before() -> TempHome {
    let home = new_home();
    let (first, second) = (
        "The cyclone\nlifted the house.\n",
        "It came down\nin a strange land.\n",
    );
    let file = home.write("work/oz.md", format!("{first}\n{second}"));
    let chunk = |number: usize, text: &str| {
        let vector = vec![1.0, number as f32, 0.5];
        (
            format!("drawer_kansas_{number}"),
            text.trim().to_owned(),
            chunk_of(&file, number),
            vector,
        )
    };
    let mut by_hand = chunk(9, "lifted the house.");
    by_hand.2 = serde_json::json!({"wing": "kansas", "room": "farm", "source_file": file, "added_by": "mcp"});
    let drawers = [
        chunk(0, first),
        chunk(1, second),
        chunk(2, "Words that were cut from the file."),
        by_hand,
    ];
    write_exact(&home, "exact", &drawers);
    let palace = home.palace();
    let to = palace.to_str().unwrap();
    home.json(0, &["migrate", "--from", "./exact", "--to", to]);
    home
}

fn listed(home: &TempHome) -> Vec<String> {
    let lines = home.run(&["export"]).expect_code(0).out;
    let drawers = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let texts = drawers.filter_map(|drawer| drawer["text"].as_str().map(str::to_owned));
    texts.collect()
}

#[test]
fn mining_what_mempalace_mined_replaces_its_drawers_and_keeps_words_that_are_nowhere_else() {
    let home = mined_before();
    let planned = home.json(0, &["mine", "work", "--dry-run"]);
    assert_eq!(planned["recognised"]["replaced"], 2, "{planned}");
    let report = home.json(0, &["mine", "work"]);
    let recognised = &report["recognised"];
    assert_eq!(
        (&recognised["replaced"], &recognised["kept"]),
        (&2.into(), &1.into()),
        "{report}"
    );
    assert_eq!(report["drawers_removed"], 0, "{report}");
    let texts = listed(&home);
    let count = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
    assert_eq!(count("in a strange land."), 1, "{texts:?}");
    assert_eq!(
        count("lifted the house."),
        2,
        "the drawer filed by hand stays: {texts:?}"
    );
    assert_eq!(count("Words that were cut"), 1, "{texts:?}");
    let wings = home.run(&["wings", "--by", "wing,room"]).expect_code(0).out;
    assert_eq!(wings.lines().count(), 1, "{wings}");
    let again = home.json(0, &["mine", "work"]);
    assert_eq!(again["sources_unchanged"], 1, "{again}");
    assert_eq!(listed(&home).len(), texts.len());
}

#[test]
fn a_drawer_of_mempalace_that_was_deleted_does_not_come_back_with_its_source() {
    let home = mined_before();
    home.run(&["delete", "drawer_kansas_1", "--yes"]).expect_code(0);
    let report = home.json(0, &["mine", "work"]);
    assert_eq!(report["withheld"], 1, "{report}");
    let texts = listed(&home);
    assert!(
        !texts.iter().any(|text| text.contains("strange land")),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text.contains("The cyclone")), "{texts:?}");
}

/// Runs with the full model installed, and expects success.
fn run_with_model(home: &TempHome, args: &[&str]) -> loci_testkit::CommandOutcome {
    let mut command = home.command(args);
    command.env("LOCI_MODELS", minilm_folder().parent().unwrap());
    run_command(command, b"").expect_code(0)
}

#[test]
fn vectors_of_an_unrecorded_model_are_recognised_where_it_is_installed() {
    let home = new_home();
    run_with_model(&home, &["init", "--embedder", "minilm"]);
    for text in ["Ana must not eat shellfish.", "We ship on Thursdays."] {
        run_with_model(&home, &["add", text]);
    }
    let lines = run_with_model(&home, &["export", "--embeddings"]).out;
    let drawers = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    let drawers: Vec<_> = drawers
        .filter(|drawer| drawer["embedding"].is_array())
        .map(|drawer| {
            let values = drawer["embedding"].as_array().unwrap().iter();
            let vector = values.map(|value| value.as_f64().unwrap() as f32).collect();
            let text = |key: &str| drawer[key].as_str().unwrap().to_owned();
            (text("id"), text("text"), Json::Object(Default::default()), vector)
        })
        .collect();
    assert_eq!(drawers.len(), 2);
    write_exact(&home, "exact", &drawers);
    let named = home
        .run(&["migrate", "--from", "./exact", "--to", "./words"])
        .expect_code(0);
    let next = "next: loci model install minilm && loci embedder set minilm --palace ";
    assert!(named.out.contains(next), "{}", named.out);
    let searched = home.run(&["search", "seafood", "--palace", "./words"]);
    assert!(
        searched.err.contains("loci embedder set minilm"),
        "{}",
        searched.err
    );
    let moved = run_with_model(&home, &["migrate", "--from", "./exact", "--to", "./new"]);
    assert!(moved.out.contains("model_recognised"), "{}", moved.out);
    assert!(!moved.out.contains("loci embedder"), "{}", moved.out);
    let found = run_with_model(
        &home,
        &["--json", "search", "seafood allergy", "--palace", "./new"],
    );
    assert!(
        found.json()["hits"][0]["text"]
            .as_str()
            .unwrap()
            .contains("shellfish")
    );
    run_with_model(&home, &["verify", "--palace", "./new", "--against", "./exact"]);
}
