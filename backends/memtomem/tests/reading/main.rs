//! Databases of several releases of memtomem are read whole, whatever state they are in, and stay as they are.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod damage;
mod made;

use loci_core::{DrawerContext, ErrorKind, MetadataScalar, MetadataValue as Kept, NewDrawer, SourceSpan};
use loci_memtomem::{IndexDrift, MemtomemDatabase, MemtomemSurvey};
use rusqlite::types::Value;

use made::{Made, Release, names, text};

const WHOLE: fn(i64) -> Value = Value::Integer;

/// Everything a closed database gives: the survey, and each drawer.
fn read(made: Made) -> (MemtomemSurvey, Vec<NewDrawer>) {
    let (_folder, path) = made.closed();
    let database = MemtomemDatabase::open(&path).unwrap();
    let survey = database.survey().unwrap();
    let drawers = survey
        .chunks
        .iter()
        .map(|chunk| database.read_drawer(chunk).unwrap());
    let drawers = drawers.collect();
    (survey, drawers)
}

fn ids(survey: &MemtomemSurvey) -> Vec<&str> {
    survey.chunks.iter().map(|chunk| chunk.id.as_str()).collect()
}

const DOCUMENT: &str = "抽屉里有三把钥匙。\r\n\u{0}\u{202e} 🗄️ ";

/// A chunk of which everything is known, as a drawer.
fn key_note() -> NewDrawer {
    let made = Made::new(Release::Third);
    let given = [
        ("content", text(DOCUMENT)),
        ("source_file", text("/notes/钥匙.md")),
        ("heading_hierarchy", text(r###"["# Keys","## Red"]"###)),
        ("chunk_type", text("markdown_section")),
        ("start_line", WHOLE(7)),
        ("end_line", WHOLE(9)),
        ("tags", text(r#"["alpha","beta"]"#)),
        ("namespace", text("work")),
        ("access_count", WHOLE(3)),
        ("use_count", WHOLE(4)),
        ("importance_score", Value::Real(1.0)),
        ("valid_from_unix", WHOLE(1_767_225_600)),
        ("scope", text("project_shared")),
        ("project_root", text("/home/ada/shop/")),
    ];
    made.chunk("4b54b8c0-46bd-4a9e-88c8-aa048076e739", &given);
    let (survey, mut drawers) = read(made);
    assert!(survey.damage.is_none() && drawers.len() == 1, "{survey:?}");
    drawers.remove(0)
}

#[test]
fn a_chunk_becomes_a_drawer_with_its_text_its_place_and_its_times() {
    let drawer = key_note();
    assert_eq!(drawer.id.as_str(), "4b54b8c0-46bd-4a9e-88c8-aa048076e739");
    assert_eq!(drawer.document, DOCUMENT);
    let place = &drawer.place;
    assert_eq!(
        (
            place.wing.as_deref(),
            place.room.as_deref(),
            place.source.as_deref()
        ),
        (Some("work"), Some("shop"), Some("/notes/钥匙.md"))
    );
    let span = SourceSpan {
        start: 7,
        end: 10,
        line_start: 7,
        line_end: 9,
    };
    assert_eq!(place.span, Some(span));
    assert_eq!(place.kind.as_deref(), Some("markdown_section"));
    assert_eq!(place.said_at.unwrap().to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(
        drawer.filed_at.unwrap().to_string(),
        "2026-05-01T09:30:00.000001Z"
    );
    assert_eq!(drawer.uses, 7);
    let before = "# Keys > ## Red".to_owned();
    assert_eq!(
        drawer.context,
        Some(DrawerContext {
            before,
            after: String::new()
        })
    );
    assert_eq!(drawer.embedding, None);
}

#[test]
fn everything_else_is_metadata_in_its_own_type() {
    let drawer = key_note();
    let known = |key: &str| drawer.metadata.get(key).cloned();
    let list = |texts: [&str; 2]| Kept::Many(texts.map(|text| MetadataScalar::Text(text.into())).to_vec());
    for (key, value) in [
        ("chunk_id", drawer.id.as_str().into()),
        (
            "content_hash",
            "hash of 4b54b8c0-46bd-4a9e-88c8-aa048076e739".into(),
        ),
        ("heading_hierarchy", list(["# Keys", "## Red"])),
        ("tags", list(["alpha", "beta"])),
        ("start_line", 7_i64.into()),
        ("end_line", 9_i64.into()),
        ("span_unit", "lines".into()),
        ("importance_score", 1.0_f64.into()),
        ("namespace", "work".into()),
        ("scope", "project_shared".into()),
        ("project_root", "/home/ada/shop/".into()),
        ("updated_at", "2026-05-02T09:30:00+00:00".into()),
        ("valid_from_unix", 1_767_225_600_i64.into()),
    ] {
        assert_eq!(known(key), Some(value), "{key}");
    }
    for key in ["valid_to_unix", "content", "source_file", "created_at", "format"] {
        assert_eq!(known(key), None, "{key}");
    }
}

#[test]
fn databases_of_every_release_are_read() {
    for release in [Release::First, Release::Second, Release::Third, Release::Lawless] {
        let made = Made::new(release);
        made.chunk("a", &[]);
        made.chunk("b", &[("namespace", text("work"))]);
        let (survey, drawers) = read(made);
        assert_eq!(ids(&survey), ["a", "b"], "{release:?}");
        assert_eq!(drawers[1].place.wing.as_deref(), Some("work"), "{release:?}");
        let known = |key: &str| drawers[0].metadata.get(key).is_some();
        let expect = match release {
            Release::First => (false, false),
            Release::Second => (true, false),
            Release::Third => (true, true),
            Release::Lawless => (false, false),
        };
        assert_eq!(
            (known("access_count"), known("redaction_count")),
            expect,
            "{release:?}"
        );
    }
}

#[test]
fn a_description_of_a_chunk_stands_before_its_headings() {
    let made = Made::new(Release::Third);
    let headings = ("heading_hierarchy", text(r###"["# Keys"]"###));
    made.chunk(
        "a",
        &[
            headings.clone(),
            ("retrieval_context", text("Which keys there are")),
        ],
    );
    made.chunk("b", &[headings]);
    made.chunk("c", &[]);
    let (_, drawers) = read(made);
    let before = |n: usize| drawers[n].context.as_ref().map(|context| context.before.as_str());
    assert_eq!(
        (before(0), before(1), before(2)),
        (Some("Which keys there are"), Some("# Keys"), None)
    );
}

/// A row of one group of duplicates.
fn twin(made: &Made, id: &str, uses: (i64, i64), created: &str) {
    let given = [
        ("content", text("the same")),
        ("content_hash", text("same")),
        ("access_count", WHOLE(uses.0)),
        ("use_count", WHOLE(uses.1)),
        ("created_at", text(created)),
    ];
    made.chunk(id, &given);
}

/// Which of some rows, each with its uses and its time, stays.
fn stays(rows: &[(&str, (i64, i64), &str)]) -> String {
    let made = Made::new(Release::Second);
    for (id, uses, created) in rows {
        twin(&made, id, *uses, created);
    }
    let (survey, drawers) = read(made);
    assert_eq!(
        (drawers.len(), survey.duplicates.len()),
        (1, rows.len() - 1),
        "{rows:?}"
    );
    assert!(
        survey
            .duplicates
            .iter()
            .all(|one| one.kept == survey.chunks[0].id),
        "{survey:?}"
    );
    survey.chunks[0].id.clone()
}

#[test]
fn of_duplicates_the_most_used_stays_then_the_oldest_then_the_smallest_id() {
    let (old, new) = ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00");
    assert_eq!(
        stays(&[("a", (9, 0), old), ("b", (5, 5), new), ("c", (0, 9), old)]),
        "b"
    );
    assert_eq!(
        stays(&[("a", (1, 0), new), ("b", (0, 1), old), ("c", (0, 0), old)]),
        "b"
    );
    assert_eq!(
        stays(&[("c", (1, 0), old), ("b", (1, 0), old), ("a", (1, 0), new)]),
        "b"
    );
    // The second is the older moment, although its text is the greater.
    assert_eq!(
        stays(&[
            ("a", (0, 0), "2026-01-01T01:00:00+00:00"),
            ("b", (0, 0), "2026-01-01T02:00:00+02:00")
        ]),
        "b"
    );
    assert_eq!(stays(&[("a", (0, 0), "no time"), ("b", (0, 0), new)]), "b");
}

#[test]
fn what_differs_in_place_or_text_is_no_duplicate() {
    let made = Made::new(Release::Second);
    let same = [("content", text("the same")), ("content_hash", text("same"))];
    let other = |id: &str, more: (&'static str, Value)| {
        let mut given = same.to_vec();
        given.retain(|(name, _)| *name != more.0);
        given.push(more);
        made.chunk(id, &given);
    };
    made.chunk("a", &same);
    other("namespace", ("namespace", text("work")));
    other("file", ("source_file", text("/notes/b.md")));
    other("line", ("start_line", WHOLE(2)));
    other("hash", ("content_hash", text("another")));
    other("text", ("content", text("a wrong hash must lose nothing")));
    let (survey, drawers) = read(made);
    assert_eq!((drawers.len(), survey.duplicates.len()), (6, 0), "{survey:?}");
}

#[test]
fn chunks_without_a_hash_are_never_one() {
    let made = Made::new(Release::Second);
    for id in ["a", "b"] {
        made.chunk(id, &[("content", text("the same")), ("content_hash", text(""))]);
    }
    assert_eq!(read(made).1.len(), 2);
}

#[test]
fn ghosts_are_found_in_full_text_and_vectors_both_ways() {
    let made = Made::new(Release::Second).with_vectors();
    for id in ["a", "b", "c", "d"] {
        made.chunk(id, &[]);
    }
    made.run(
        "INSERT INTO chunks_vec_rowids(rowid) VALUES (1), (2), (3), (77);
         DELETE FROM chunks WHERE id = 'b'; DELETE FROM chunks_fts WHERE rowid = 3;",
    );
    let (survey, _) = read(made);
    let sidecar = |entries, without_chunk: &[i64], chunks_without: &[&str]| {
        Some(IndexDrift {
            entries,
            without_chunk: without_chunk.to_vec(),
            chunks_without: chunks_without.iter().map(|id| (*id).to_owned()).collect(),
            damage: None,
        })
    };
    assert_eq!(survey.ghosts.full_text, sidecar(3, &[2], &["c"]));
    assert_eq!(survey.ghosts.vectors, sidecar(4, &[2, 77], &["d"]));
}

#[test]
fn a_database_without_its_indexes_is_read_all_the_same() {
    let made = Made::new(Release::First);
    made.chunk("a", &[]);
    made.run("DROP TABLE chunks_fts");
    let (survey, drawers) = read(made);
    assert_eq!(
        (survey.ghosts.full_text, survey.ghosts.vectors, drawers.len()),
        (None, None, 1)
    );
}

#[test]
fn nulls_and_wrong_types_cost_only_what_cannot_be_kept() {
    let made = Made::new(Release::Lawless);
    let nothing = [
        "namespace",
        "source_file",
        "start_line",
        "end_line",
        "created_at",
        "content_hash",
    ];
    made.chunk("nulls", &nothing.map(|name| (name, Value::Null)));
    let wrong = [
        ("start_line", text("seven")),
        ("end_line", Value::Blob(vec![0xff])),
        ("created_at", text("yesterday")),
        ("tags", text("not a list")),
        ("heading_hierarchy", WHOLE(7)),
        ("access_count", WHOLE(-4)),
        ("use_count", text("2")),
        ("importance_score", Value::Real(f64::INFINITY)),
        ("valid_from_unix", WHOLE(i64::MAX)),
        ("content", Value::Blob("bytes that are text".into())),
        ("extra", WHOLE(5)),
        ("kind", text("a column of a later release")),
    ];
    made.chunk("wrong", &wrong);
    let (_, drawers) = read(made);
    let [nulls, wrong] = drawers.as_slice() else {
        panic!("{drawers:?}")
    };
    assert_eq!(
        (&nulls.place.wing, &nulls.place.source, nulls.place.span),
        (&None, &None, None)
    );
    assert_eq!((nulls.filed_at, nulls.metadata.get("span_unit")), (None, None));
    let known = |key: &str| wrong.metadata.get(key).cloned();
    assert_eq!(
        (known("start_line"), known("end_line")),
        (Some("seven".into()), Some("x'ff'".into()))
    );
    assert_eq!(
        (wrong.place.span, wrong.filed_at, wrong.place.said_at),
        (None, None, None)
    );
    assert_eq!(known("created_at"), Some("yesterday".into()));
    assert_eq!(
        (known("tags"), known("heading_hierarchy")),
        (Some("not a list".into()), Some(7_i64.into()))
    );
    assert_eq!((wrong.uses, known("importance_score")), (2, Some("inf".into())));
    assert_eq!(wrong.document, "bytes that are text");
    assert_eq!((known("extra"), known("kind")), (Some(5_i64.into()), None));
    assert_eq!(known("memtomem_kind"), Some("a column of a later release".into()));
}

#[test]
fn lines_that_no_file_has_are_kept_as_numbers_only() {
    let made = Made::new(Release::Second);
    for (id, start, end) in [
        ("zero", 0, 0),
        ("negative", -3, -1),
        ("turned", 9, 2),
        ("far", 1, i64::MAX),
    ] {
        made.chunk(id, &[("start_line", WHOLE(start)), ("end_line", WHOLE(end))]);
    }
    for drawer in read(made).1 {
        assert_eq!(drawer.place.span, None, "{drawer:?}");
        assert!(drawer.metadata.get("start_line").is_some(), "{drawer:?}");
    }
}

#[test]
fn a_chunk_that_is_no_text_is_refused_and_the_others_are_read() {
    let made = Made::new(Release::Lawless);
    made.chunk("null", &[("content", Value::Null)]);
    made.chunk("bytes", &[("content", Value::Blob(b"ab\xff".to_vec()))]);
    made.chunk("", &[]);
    made.chunk("sound", &[]);
    let (_folder, path) = made.closed();
    let database = MemtomemDatabase::open(&path).unwrap();
    let survey = database.survey().unwrap();
    let said: Vec<String> = survey
        .chunks
        .iter()
        .map(|chunk| match database.read_drawer(chunk) {
            Ok(drawer) => drawer.document,
            Err(error) => error.message().to_owned(),
        })
        .collect();
    let expect = [
        "the chunk's content is NULL",
        "the chunk's content is not UTF-8 from byte 3",
        "a drawer id is empty",
        "text of sound",
    ];
    assert_eq!(said, expect);
}

#[test]
fn a_log_that_was_left_behind_is_read_and_nothing_beside_changes() {
    let made = Made::new(Release::Third);
    made.run("PRAGMA wal_autocheckpoint = 0");
    made.chunk("a", &[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd %41 #name?.db");
    let log = folder.path().join("odd %41 #name?.db-wal");
    let from = made.folder.path().join("memtomem.db");
    std::fs::copy(&from, &path).unwrap();
    std::fs::copy(from.with_extension("db-wal"), &log).unwrap();
    let before = (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap());
    assert!(!before.1.is_empty());
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        let database = MemtomemDatabase::open(name).unwrap();
        assert_eq!(
            ids(&database.survey().unwrap()),
            ["a"],
            "what stands only in the log is read"
        );
        assert!(database.is_unchanged());
    }
    assert_eq!(
        (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap()),
        before
    );
    assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
}

#[test]
fn a_database_without_a_log_gets_no_file_beside_it_and_a_writer_is_noticed() {
    let made = Made::new(Release::Third);
    made.chunk("a", &[]);
    let (folder, path) = made.closed();
    let before = std::fs::read(&path).unwrap();
    let database = MemtomemDatabase::open(&path).unwrap();
    assert_eq!(ids(&database.survey().unwrap()), ["a"]);
    assert_eq!(names(folder.path()), ["memtomem.db"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(database.is_unchanged());
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute("DELETE FROM chunks", []).unwrap();
    assert!(!database.is_unchanged());
}

#[test]
fn sources_that_memtomem_hides_are_told() {
    let made = Made::new(Release::Third);
    made.chunk("a", &[]);
    made.chunk("b", &[("source_file", text("/notes/b.md"))]);
    made.run(
        "CREATE TABLE held_sources (source_file TEXT PRIMARY KEY, first_seen_at TEXT, last_checked_at TEXT, reason TEXT);
         INSERT INTO held_sources VALUES ('/notes/b.md', '', '', 'redaction')",
    );
    let (survey, drawers) = read(made);
    assert_eq!(
        survey.held.get("/notes/b.md").map(String::as_str),
        Some("redaction")
    );
    assert_eq!(drawers[0].metadata.get("held"), None);
    assert_eq!(drawers[1].metadata.get("held"), Some(&"redaction".into()));
}

#[test]
fn what_is_no_database_of_memtomem_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let check = |name: &str, kind: ErrorKind, says: &str| {
        let error = MemtomemDatabase::open(&file(name)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error.message().contains(says) && error.message().contains(name),
            "{error}"
        );
        assert!(error.hint_text().unwrap().contains("memtomem"), "{error:?}");
    };
    check("missing", ErrorKind::NotFound, "cannot open");
    std::fs::write(file("empty"), "").unwrap();
    check("empty", ErrorKind::Format, "not an SQLite file");
    std::fs::write(file("text"), "SQLite format 4\0 and more").unwrap();
    check("text", ErrorKind::Format, "not an SQLite file");
    std::fs::create_dir(file("folder")).unwrap();
    check("folder", ErrorKind::Invalid, "not a file");
    let other = rusqlite::Connection::open(file("other.db")).unwrap();
    other.execute_batch("CREATE TABLE notes (a)").unwrap();
    check("other.db", ErrorKind::Format, "no table `chunks`");
    other.execute_batch("CREATE TABLE chunks (id, content)").unwrap();
    check("other.db", ErrorKind::Format, "no column `source_file`");
    std::fs::write(
        file("header"),
        [b"SQLite format 3\0".as_slice(), &[0; 100]].concat(),
    )
    .unwrap();
    check("header", ErrorKind::Format, "cannot read");
}
