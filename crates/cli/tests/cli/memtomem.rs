//! Importing a memtomem database: every chunk once, nothing beside it changed, what is wrong with it listed.

use rusqlite::{Connection, params};
use serde_json::json;

use super::*;

/// The tables of schema 1, as far as an import looks at them; `NOT NULL` is left out to file what breaks it.
pub(crate) const TABLES: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE _memtomem_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE chunks (id TEXT PRIMARY KEY, content TEXT, content_hash TEXT, source_file TEXT,
        heading_hierarchy TEXT DEFAULT '[]', chunk_type TEXT DEFAULT 'raw_text', start_line INTEGER DEFAULT 0,
        end_line INTEGER DEFAULT 0, language TEXT DEFAULT 'en', tags TEXT DEFAULT '[]', namespace TEXT DEFAULT 'default',
        created_at TEXT DEFAULT '2026-05-01T09:30:00+00:00', updated_at TEXT DEFAULT '2026-05-01T09:30:00+00:00',
        access_count INTEGER DEFAULT 0, use_count INTEGER DEFAULT 0, last_accessed_at TEXT, scope TEXT DEFAULT 'user',
        project_root TEXT);
    CREATE VIRTUAL TABLE chunks_fts USING fts5(content, source_file, tokenize='unicode61');";

struct Notes {
    home: TempHome,
    database: Connection,
}

impl Notes {
    fn new() -> Self {
        let home = new_home();
        let database = Connection::open(home.path("memtomem.db")).unwrap();
        database.execute_batch(TABLES).unwrap();
        Self { home, database }
    }

    fn chunk(&self, id: &str, content: &str, namespace: &str, line: i64) -> &Self {
        let hash = format!("hash of {content}");
        let sql =
            "INSERT INTO chunks(id, content, content_hash, source_file, namespace, start_line, end_line)
            VALUES (?1, ?2, ?3, '/notes/a.md', ?4, ?5, ?5 + 1)";
        let values = params![id, content, hash, namespace, line];
        self.database.execute(sql, values).unwrap();
        self.run("INSERT INTO chunks_fts(rowid, content) SELECT max(rowid), content FROM chunks");
        self
    }

    fn run(&self, sql: &str) {
        self.database.execute_batch(sql).unwrap();
    }

    #[track_caller]
    fn import(&self, code: i32, more: &[&str]) -> Json {
        self.home.json(code, &[&["import", "memtomem.db"], more].concat())
    }

    fn get(&self, id: &str) -> Json {
        self.home.json(0, &["show", id])["drawers"][0].clone()
    }
}

fn figures(report: &Json) -> [u64; 4] {
    ["added", "kept", "replaced", "removed"].map(|what| report[format!("drawers_{what}")].as_u64().unwrap())
}

#[test]
fn chunks_become_drawers_that_search_finds_and_a_second_import_adds_none() {
    let notes = Notes::new();
    notes.chunk("id-1", "Bruno rotates the signing key on Thursday", "work", 3);
    notes.chunk("id-2", "抽屉里有三把钥匙，一把是红的。", "home", 9);
    let huge = "A long story about a lighthouse. ".repeat(60_000);
    notes.chunk("id-3", &huge, "home", 20);
    notes.run("UPDATE chunks SET access_count = 2, use_count = 3, tags = '[\"keys\"]', project_root = '/p/shop' WHERE id = 'id-1'");
    let report = notes.import(0, &[]);
    assert_eq!(figures(&report), [3, 0, 0, 0], "{report}");
    let sources =
        ["sources_seen", "sources_mined", "sources_unchanged"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(sources, [1, 1, 0], "{report}");
    assert_eq!(
        (&report["sources_failed"], &report["skipped"]),
        (&json!([]), &json!([]))
    );
    assert!(report["seconds"].is_f64(), "{report}");
    let one = notes.get("id-1");
    assert_eq!(
        (&one["wing"], &one["room"], &one["source"]),
        (&json!("work"), &json!("shop"), &json!("/notes/a.md"))
    );
    assert_eq!(
        (&one["span"]["line_start"], &one["span"]["line_end"]),
        (&json!(3), &json!(4))
    );
    assert_eq!((&one["uses"], &one["kind"]), (&json!(5), &json!("raw_text")));
    assert_eq!(one["filed_at"], "2026-05-01T09:30:00Z");
    assert_eq!(
        (&one["metadata"]["tags"], &one["metadata"]["start_line"]),
        (&json!(["keys"]), &json!(3))
    );
    assert_eq!(notes.get("id-3")["text"], huge.as_str());
    let hits = notes.home.json(0, &["search", "who rotates the key?"]);
    assert_eq!(hits["hits"][0]["id"], "id-1", "{hits}");
    let hits = notes.home.json(0, &["search", "红的钥匙", "--wing", "home"]);
    assert_eq!(hits["hits"][0]["id"], "id-2", "{hits}");
    let again = notes.import(0, &[]);
    assert_eq!(figures(&again), [0, 3, 0, 0], "{again}");
    assert_eq!(
        (&again["sources_mined"], &again["sources_unchanged"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(notes.home.json(0, &["verify"])["ok"], true);
}

#[test]
fn a_chunk_that_changed_is_replaced_only_where_that_is_asked_for() {
    let notes = Notes::new();
    notes
        .chunk("a", "the old text", "work", 1)
        .chunk("b", "another", "work", 5);
    notes.import(0, &[]);
    notes.run("UPDATE chunks SET content = 'the new text' WHERE id = 'a'");
    assert_eq!(figures(&notes.import(0, &[])), [0, 2, 0, 0]);
    assert_eq!(notes.get("a")["text"], "the old text");
    let failed = notes.import(1, &["--on-conflict", "fail"]);
    assert_eq!(failed["chunks_failed"].as_array().unwrap().len(), 2, "{failed}");
    assert_eq!(failed["sources_failed"][0]["source"], "/notes/a.md");
    assert_eq!(notes.get("a")["text"], "the old text");
    assert_eq!(
        figures(&notes.import(0, &["--on-conflict", "replace"])),
        [0, 0, 2, 0]
    );
    assert_eq!(notes.get("a")["text"], "the new text");
}

#[test]
fn duplicates_are_filed_once_and_ghosts_are_told() {
    let notes = Notes::new();
    for id in ["a", "b", "c"] {
        notes.chunk(id, "the same", "work", 1);
    }
    notes.chunk("d", "the same", "work", 2);
    notes.run("UPDATE chunks SET use_count = 1 WHERE id = 'b'; INSERT INTO chunks_fts(rowid, content) VALUES (99, 'ghost')");
    let report = notes.import(0, &[]);
    assert_eq!(
        (figures(&report), &report["duplicates_collapsed"]),
        ([2, 0, 0, 0], &json!(2))
    );
    let duplicate = |dropped: &str| json!({"kept": "b", "dropped": dropped, "source": "/notes/a.md"});
    assert_eq!(report["duplicates"], json!([duplicate("a"), duplicate("c")]));
    assert_eq!(report["ghosts"]["full_text"]["without_chunk"], json!([99]));
    assert_eq!(report["ghosts"]["vectors"], Json::Null);
    let words = notes.home.run(&["import", "memtomem.db"]).expect_code(0);
    assert!(
        words.out.contains("2 duplicates collapsed") && words.out.contains("1 ghost without a chunk"),
        "{words:?}"
    );
}

#[test]
fn the_same_piece_in_two_namespaces_is_filed_in_both_wings() {
    let notes = Notes::new();
    notes.chunk("b", "the same", "work", 1);
    notes.import(0, &[]);
    notes.chunk("a", "the same", "home", 1);
    let report = notes.import(0, &[]);
    assert_eq!((figures(&report), &report["skipped"]), ([1, 1, 0, 0], &json!([])));
    for mode in ["keep", "replace"] {
        let again = notes.import(0, &["--on-conflict", mode]);
        assert_eq!(figures(&again)[0], 0, "{mode}: {again}");
    }
    let wings = ["a", "b"].map(|id| notes.get(id)["wing"].clone());
    assert_eq!(wings, [json!("home"), json!("work")]);
    assert_eq!(
        notes.get("a")["metadata"]["start_line"],
        1,
        "its lines are known all the same"
    );
}

#[test]
fn a_piece_that_the_palace_has_under_another_id_is_left_out_and_named() {
    let notes = Notes::new();
    notes.chunk("a", "the same", "work", 1);
    notes.import(0, &[]);
    notes.run("UPDATE chunks SET id = 'renamed'");
    let report = notes.import(0, &[]);
    assert_eq!(figures(&report), [0, 1, 0, 0], "{report}");
    let reason = report["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("renamed") && reason.contains("\"a\""), "{report}");
    assert_eq!(
        notes.import(1, &["--on-conflict", "fail"])["chunks_failed"][0]["id"],
        "renamed"
    );
}

#[test]
fn namespaces_that_differ_in_spelling_are_one_wing() {
    let notes = Notes::new();
    notes
        .home
        .file_lines("{\"id\":\"mine\",\"document\":\"x\",\"wing\":\"my-app\"}\n");
    notes
        .chunk("a", "one", "My_App", 1)
        .chunk("b", "two", "New", 2)
        .chunk("c", "three", "new", 3);
    notes.import(0, &[]);
    let wings = ["a", "b", "c"].map(|id| notes.get(id)["wing"].clone());
    assert_eq!(wings, [json!("my-app"), json!("New"), json!("New")]);
    assert_eq!(notes.get("a")["metadata"]["namespace"], "My_App");
}

#[test]
fn what_cannot_be_filed_is_listed_and_the_rest_goes_on() {
    let notes = Notes::new();
    notes
        .chunk("a", "one", "work", 1)
        .chunk("b", "two", "work", 2)
        .chunk("c", "three", "work", 3);
    notes.run("UPDATE chunks SET content = NULL WHERE id = 'b'; UPDATE chunks SET id = '', source_file = NULL WHERE id = 'c'");
    let report = notes.import(1, &[]);
    assert_eq!(figures(&report), [1, 0, 0, 0], "{report}");
    assert_eq!(report["chunks_failed"][0]["id"], "b", "{report}");
    assert!(
        report["chunks_failed"][0]["error"]
            .as_str()
            .unwrap()
            .contains("NULL"),
        "{report}"
    );
    let sources: Vec<&str> = report["sources_failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, ["/notes/a.md", "memtomem.db"]);
    let words = notes.home.run(&["import", "memtomem.db"]).expect_code(1);
    assert!(
        words.err.contains("chunk b: the chunk's content is NULL"),
        "{words:?}"
    );
}

#[test]
fn a_database_in_use_is_read_with_its_log_and_nothing_beside_it_changes() {
    let notes = Notes::new();
    notes.run("PRAGMA wal_autocheckpoint = 0");
    notes.chunk("a", "only in the log", "work", 1);
    let files = ["memtomem.db", "memtomem.db-wal"];
    let bytes = || files.map(|name| std::fs::read(notes.home.path(name)).unwrap());
    let (before, names) = (bytes(), notes.home.list_names());
    assert_eq!(figures(&notes.import(0, &[])), [1, 0, 0, 0]);
    assert_eq!(bytes(), before);
    let beside = |names: Vec<String>| {
        names
            .into_iter()
            .filter(|name| !name.starts_with("palace"))
            .collect::<Vec<_>>()
    };
    assert_eq!(beside(notes.home.list_names()), beside(names));
}

#[test]
fn a_database_of_another_program_is_refused_and_no_palace_is_made() {
    let home = new_home();
    Connection::open(home.path("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE notes (a)")
        .unwrap();
    let before = home.list_names();
    for (file, kind, says) in [
        ("other.db", "format", "no table `chunks`"),
        ("missing.db", "not_found", "missing.db"),
        (".", "invalid", "loci mine ."),
    ] {
        let (found, said) = home.run(&["--json", "import", file]).expect_error();
        assert_eq!(found, kind, "{said}");
        assert!(said.contains(says), "{said}");
    }
    let (_, said) = home.run(&["--json", "import", "other.db"]).expect_error();
    assert!(
        said.contains("nothing was imported") && said.contains("memtomem"),
        "{said}"
    );
    assert_eq!(home.list_names(), before);
}

#[test]
fn a_palace_is_refused_with_the_command_that_takes_it() {
    let home = new_home();
    home.json(0, &["add", "x", "--palace", "./a palace"]);
    home.json(0, &["backup", "copy.db", "--palace", "./a palace"]);
    let chroma = home.path("chroma");
    std::fs::create_dir(&chroma).unwrap();
    Connection::open(chroma.join("chroma.sqlite3"))
        .unwrap()
        .execute_batch("CREATE TABLE collections (id)")
        .unwrap();
    let before = home.list_names();
    for (file, command) in [
        ("./a palace", "loci migrate --from './a palace' --to NAME"),
        (
            "a palace/palace.db",
            "loci restore 'a palace/palace.db' --palace NAME",
        ),
        ("copy.db", "loci restore copy.db --palace NAME"),
        ("chroma", "loci migrate --from chroma --to NAME"),
        ("chroma/chroma.sqlite3", "loci migrate --from chroma --to NAME"),
    ] {
        let (kind, said) = home.run(&["--json", "import", file]).expect_error();
        assert_eq!(kind, "invalid", "{said}");
        assert!(
            said.contains(command) && said.contains("nothing was imported"),
            "{said}"
        );
    }
    assert_eq!(home.list_names(), before);
}

#[test]
fn the_content_of_a_file_decides_its_format_and_not_its_name() {
    let notes = Notes::new();
    notes.chunk("a", "from memtomem", "work", 1);
    drop(notes.database);
    let home = notes.home;
    std::fs::rename(home.path("memtomem.db"), home.path("lines.jsonl")).unwrap();
    assert_eq!(home.json(0, &["import", "lines.jsonl"])["chunks_seen"], 1);
    home.write("memtomem.db", "{\"id\":\"b\",\"document\":\"a line\"}\n");
    assert_eq!(home.json(0, &["import", "memtomem.db"])["added"], 1);
    let (kind, _) = home
        .run(&["--json", "import", "memtomem", "lines.jsonl"])
        .expect_error();
    assert_eq!(kind, "invalid", "the program is no longer named");
}
