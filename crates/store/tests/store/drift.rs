//! An index that no longer agrees with its rows, though every byte of it is sound, must change no answer or be named.

use std::path::Path;
use std::sync::OnceLock;

use crate::scene::look::{Known, Look};
use crate::scene::raw;
use crate::scene::spaces::{self, model};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::made_once;
use rusqlite::MAIN_DB;

const DIMENSION: usize = 16;

/// One sealed segment, a tail and rows marked in the segment.
fn batches(version: usize) -> [Vec<Write>; 2] {
    let adds: Vec<Write> = (0..1300)
        .map(|n| Write::Add(truth::drawer(n, version, DIMENSION)))
        .collect();
    let deletes = Write::Delete(DeleteSelection::Ids(
        (3..1200).step_by(97).map(truth::id).collect(),
    ));
    [adds, vec![deletes]]
}

/// Makes a palace of these batches.
fn build(folder: &Path, version: usize) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    for batch in batches(version) {
        collection.apply_batch(&batch).unwrap();
    }
    backend.close();
}

fn sound() -> &'static (Vec<u8>, Known) {
    static SOUND: OnceLock<(Vec<u8>, Known)> = OnceLock::new();
    SOUND.get_or_init(|| {
        let made = made_once("sound-to-drift", |folder| build(folder, 0));
        let bytes = std::fs::read(raw::file(&made)).unwrap();
        let mut told = Truth::default();
        batches(0).iter().for_each(|batch| told.apply(batch));
        let folder = raw::folder_with(&bytes);
        let known = Known::learn(folder.path(), told, DIMENSION, 30);
        (bytes, known)
    })
}

/// Changes a copy by SQL and looks at it.
fn changed(sql: &str) -> Look {
    let folder = raw::folder_with(&sound().0);
    raw::execute(folder.path(), sql);
    let look = sound().1.look(folder.path());
    assert!(look.found, "{sql}: nobody noticed");
    look
}

fn assert_right(look: &Look) {
    assert_eq!(look.silent, Vec::<String>::new());
    assert_eq!(look.said, Vec::<String>::new(), "every answer is right");
    assert_eq!(look.readable, sound().1.truth.drawers.len());
}

#[test]
fn a_dropped_segment_changes_no_answer() {
    let look = changed("DELETE FROM segments");
    assert_right_but_info(&look);
    assert!(
        look.codes.iter().any(|code| code == "segments_incomplete"),
        "{:?}",
        look.codes
    );
}

/// The segments are gone, so `info` tells of fewer packed rows; all else is as it was.
fn assert_right_but_info(look: &Look) {
    let other: Vec<&String> = look
        .silent
        .iter()
        .filter(|line| !line.starts_with("info:"))
        .collect();
    assert_eq!(other, Vec::<&String>::new());
    assert_eq!(look.said, Vec::<String>::new());
    assert_eq!(look.readable, sound().1.truth.drawers.len());
}

#[test]
fn a_segment_of_another_palace_is_not_used() {
    let (here, there) = (raw::folder_with(&sound().0), tempfile::tempdir().unwrap());
    build(there.path(), 7);
    let foreign: Vec<u8> = raw::connect(there.path())
        .query_row("SELECT data FROM segments", [], |row| row.get(0))
        .unwrap();
    let connection = raw::connect(here.path());
    let changed = connection
        .execute("UPDATE segments SET data = ?1", [foreign])
        .unwrap();
    connection.close().unwrap();
    assert_eq!(changed, 1);
    let look = sound().1.look(here.path());
    assert_right(&look);
    assert!(look.found);
    assert!(
        look.warnings
            .iter()
            .any(|finding| finding.code == "segment_damaged"),
        "{:?}",
        look.warnings
    );
}

#[test]
fn a_segment_whose_codes_changed_is_not_used() {
    let folder = raw::folder_with(&sound().0);
    let connection = raw::connect(folder.path());
    let segment: i64 = connection
        .query_row("SELECT segment FROM segments", [], |row| row.get(0))
        .unwrap();
    let length: i64 = connection
        .query_row("SELECT length(data) FROM segments", [], |row| row.get(0))
        .unwrap();
    let mut blob = connection
        .blob_open(MAIN_DB, "segments", "data", segment, false)
        .unwrap();
    blob.write_at(&[0x55; 64], length as usize - 4000).unwrap();
    blob.close().unwrap();
    connection.close().unwrap();
    let look = sound().1.look(folder.path());
    assert_right(&look);
    assert!(look.found && !look.warnings.is_empty());
}

#[test]
fn a_changed_vector_flags_its_drawer() {
    let look = changed("UPDATE vectors_1 SET data = zeroblob(length(data)) WHERE row % 100 = 31");
    assert_eq!(look.silent, Vec::<String>::new());
    assert_eq!(look.readable, sound().1.truth.drawers.len(), "no text is lost");
    assert!(
        look.flagged > 0 && look.codes.iter().any(|code| code == "vector_damaged"),
        "{:?}",
        look.codes
    );
}

#[test]
fn a_changed_text_flags_its_drawer() {
    let look = changed("UPDATE drawers SET document = document || '.' WHERE row % 100 = 31");
    assert_eq!(
        look.silent.iter().filter(|line| line.starts_with("get")).count(),
        0,
        "{:?}",
        look.silent
    );
    assert!(
        look.flagged > 0 && look.codes.iter().any(|code| code == "drawer_damaged"),
        "{:?}",
        look.codes
    );
}

/// Changes that no reader can see from what it reads; the examination does.
#[test]
fn words_attributes_marks_and_records_that_differ_from_the_rows_are_named() {
    let cases = [
        ("DELETE FROM words_1_tail WHERE row = 31", "full_text_differs"),
        (
            "INSERT INTO words_1_tail(row, words) VALUES (999999, x'0105737472617901')",
            "full_text_differs",
        ),
        ("DELETE FROM attributes_1 WHERE row = 61", "attributes_differ"),
        (
            "UPDATE attributes_1 SET value = 'elsewhere' WHERE value = 'wing1' AND row = 2",
            "attributes_differ",
        ),
        ("DELETE FROM dead", "segments_incomplete"),
        (
            "INSERT INTO dead(space, row) VALUES (1, 61)",
            "segments_incomplete",
        ),
        ("DELETE FROM vectors_1 WHERE row = 61", "vector_count_differs"),
        ("UPDATE collections SET drawers = drawers + 1", "count_differs"),
        ("UPDATE palace SET value = 5 WHERE key = 'seq'", "sequence_behind"),
        ("DROP INDEX drawers_source", "unique_index_missing"),
        ("UPDATE segments SET rows = rows - 1", "segment_damaged"),
        (
            "PRAGMA foreign_keys = OFF; INSERT INTO sources VALUES (99, 'a.md', 1, 1, '')",
            "source_record_stray",
        ),
        (
            "INSERT INTO sources VALUES (1, 'a.md', 999999, 1, '')",
            "source_record_stray",
        ),
    ];
    for (sql, code) in cases {
        let folder = raw::folder_with(&sound().0);
        raw::execute(folder.path(), sql);
        let diagnosis = EmbeddedBackend::new().examine(folder.path()).unwrap();
        let codes: Vec<&str> = diagnosis
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert!(!diagnosis.healthy && codes.contains(&code), "{sql}: {codes:?}");
    }
}

#[test]
fn places_that_differ_from_the_rows_are_named_and_change_no_count_where_a_reader_can_tell() {
    for (sql, seen) in [
        ("DELETE FROM places", true),
        ("UPDATE places SET drawers = drawers + 1", true),
        ("INSERT INTO places VALUES (1, 'nowhere', NULL, 4)", true),
        ("UPDATE places SET wing = 'elsewhere' WHERE wing = 'wing1'", false),
    ] {
        let folder = raw::folder_with(&sound().0);
        raw::execute(folder.path(), sql);
        let codes: Vec<String> = examined(folder.path())
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert_eq!(codes, ["places_differ"], "{sql}");
        let look = sound().1.look(folder.path());
        assert_eq!(look.silent.is_empty(), seen, "{sql}: {:?}", look.silent);
        let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
        collection
            .require_upkeep()
            .unwrap()
            .run(&MaintenanceKind::REINDEX)
            .unwrap();
        assert_eq!(examined(folder.path()), Vec::new(), "{sql}");
    }
}

#[test]
fn a_rebuild_from_rows_mends_every_index() {
    for sql in [
        "DELETE FROM segments",
        "DELETE FROM words_1_tail WHERE row < 500",
        "DELETE FROM attributes_1 WHERE row > 500",
        "DELETE FROM dead",
        "UPDATE segments SET data = zeroblob(length(data))",
    ] {
        let folder = raw::folder_with(&sound().0);
        raw::execute(folder.path(), sql);
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
        let status = collection
            .require_upkeep()
            .unwrap()
            .run(&MaintenanceKind::REINDEX)
            .unwrap()
            .status;
        assert_eq!(status, MaintenanceStatus::Ran);
        backend.close();
        let look = sound().1.look(folder.path());
        let silent: Vec<&String> = look
            .silent
            .iter()
            .filter(|line| !line.starts_with("info:"))
            .collect();
        assert!(
            silent.is_empty() && look.said.is_empty() && !look.found,
            "{sql}: {look:?}"
        );
    }
}

/// The models of a palace whose first is active and whose others are retired and being built.
fn three_models() -> [EmbedderIdentity; 3] {
    [
        model("test", DIMENSION),
        model("retired", 6),
        model("building", 12),
    ]
}

/// The bytes of a palace with a retired space (2) and one being built (3), each with a segment, a tail and marks.
fn three_spaces() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| std::fs::read(raw::file(&made_once("three-spaces", make_three_spaces))).unwrap())
}

fn make_three_spaces(folder: &Path) {
    std::fs::write(raw::file(folder), &sound().0).unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, false).unwrap();
    let [_, retired, building] = three_models();
    spaces::switch_to(&*collection, &retired);
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Rollback)
        .unwrap();
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(building.clone()))
        .unwrap();
    spaces::fill(&*collection, &building, 1200, 300);
    let gone = (5..1100).step_by(101).map(truth::id).collect();
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
        .unwrap();
    assert_eq!(collection.info().unwrap().coverage.nearest, 1276);
    backend.close();
}

fn examined(folder: &Path) -> Vec<PalaceFinding> {
    EmbeddedBackend::new().examine(folder).unwrap().findings
}

/// Damage to a space that does not answer: named by verify, mended by a rebuild, and made whole by filling.
#[test]
fn a_space_that_does_not_answer_is_examined_and_mended_too() {
    let cases = [
        ("DELETE FROM vectors_{} WHERE row = 61", "vector_count_differs"),
        (
            "INSERT INTO vectors_{}(row, data) VALUES (999999, x'00')",
            "vector_orphans",
        ),
        (
            "INSERT INTO vectors_{} SELECT 999998, data FROM vectors_{} LIMIT 1",
            "vector_orphans",
        ),
        (
            "UPDATE vectors_{} SET data = zeroblob(length(data)) WHERE row % 100 = 31",
            "vector_damaged",
        ),
        (
            "UPDATE spaces SET vectors = vectors + 7 WHERE space = {}",
            "vector_count_differs",
        ),
        ("DELETE FROM segments WHERE space = {}", "segments_incomplete"),
        (
            "UPDATE segments SET data = zeroblob(length(data)) WHERE space = {}",
            "segment_damaged",
        ),
        ("DELETE FROM dead WHERE space = {}", "segments_incomplete"),
        (
            "INSERT INTO dead(space, row) VALUES ({}, 61)",
            "segments_incomplete",
        ),
    ];
    let [active, retired, building] = three_models();
    assert_eq!(examined(raw::folder_with(three_spaces()).path()), Vec::new());
    // The cases take turns between the two spaces.
    for ((sql, code), (space, of)) in cases
        .into_iter()
        .zip([(2, &retired), (3, &building)].into_iter().cycle())
    {
        let sql = sql.replace("{}", &space.to_string());
        let folder = raw::folder_with(three_spaces());
        raw::execute(folder.path(), &sql);
        let found = examined(folder.path());
        let named = found.iter().find(|finding| finding.code == code);
        let named = named.unwrap_or_else(|| panic!("{sql}: {found:?}"));
        assert!(
            named.message.contains(&of.model) && named.hint.is_some(),
            "{sql}: {named:?}"
        );
        mend_and_finish(folder.path(), &active, of, &sql);
    }
}

/// Rebuilds, fills what is missing then, and turns to the space: every drawer is found there and nothing else is.
fn mend_and_finish(folder: &Path, active: &EmbedderIdentity, of: &EmbedderIdentity, sql: &str) {
    let collection = truth::open_as(&EmbeddedBackend::new(), folder, Some(active.clone()), false).unwrap();
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::REINDEX)
        .unwrap();
    assert_eq!(examined(folder), Vec::new(), "{sql}");
    assert_eq!(
        collection.info().unwrap().coverage.nearest,
        1276,
        "what answers is as it was"
    );
    if of.model == "retired" {
        collection
            .require_spaces()
            .unwrap()
            .take_step(&SwitchStep::Rollback)
            .unwrap();
    }
    spaces::switch_to(&*collection, of);
    assert_eq!(spaces::unfound(&*collection, of), Vec::new(), "{sql}");
}

#[test]
fn spaces_whose_states_contradict_each_other_are_named_and_answers_go_on() {
    for sql in [
        "UPDATE spaces SET state = NULL WHERE space = 2",
        "UPDATE spaces SET state = 'dreaming' WHERE space = 3",
        "UPDATE spaces SET state = 'paused' WHERE space = 2",
    ] {
        let folder = raw::folder_with(three_spaces());
        raw::execute(folder.path(), sql);
        let found = examined(folder.path());
        assert!(
            found.iter().any(|finding| finding.code == "space_states"),
            "{sql}: {found:?}"
        );
        let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
        let nearest = QueryRequest::nearest_to(truth::vector(1, 0, DIMENSION), 1);
        assert_eq!(collection.query(&nearest).unwrap()[0][0].drawer.id, truth::id(1));
    }
}

#[test]
fn a_switch_is_finished_neither_on_counters_alone_nor_against_them() {
    let [_, _, building] = three_models();
    for sql in [
        "DELETE FROM vectors_3 WHERE row = 61",
        "UPDATE spaces SET vectors = vectors + 1 WHERE space = 3",
    ] {
        let folder = raw::folder_with(three_spaces());
        let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
        spaces::fill(&*collection, &building, usize::MAX, 500);
        drop(collection);
        raw::execute(folder.path(), sql);
        let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
        let spaces = collection.require_spaces().unwrap();
        assert_eq!(
            spaces.list_spaces().unwrap()[1].missing_vectors(),
            0,
            "the counters say all are there"
        );
        let error = spaces.take_step(&SwitchStep::Finish).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{sql}: {error:?}");
        assert!(
            error.hint_text().is_some_and(|hint| hint.contains("reindex")),
            "{sql}: {error:?}"
        );
    }
}

#[test]
fn compacting_gives_back_what_every_space_holds_of_removed_drawers() {
    let folder = raw::folder_with(three_spaces());
    let dead = "SELECT count(DISTINCT space) FROM dead";
    assert_eq!(raw::number(folder.path(), dead), 3);
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let due = collection.require_upkeep().unwrap().state().unwrap().due;
    assert!(
        due.iter().any(|(kind, _)| *kind == MaintenanceKind::COMPACT),
        "{due:?}"
    );
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::COMPACT)
        .unwrap();
    assert_eq!(raw::number(folder.path(), dead), 0);
    assert_eq!(examined(folder.path()), Vec::new());
}
