//! Single histories whose outcome is known.

use super::*;
use QueueOperation::{Add, Delete, Update, Upsert};

const ALL: QueueProgress = QueueProgress {
    by_rows: 100,
    by_graph: 0,
    rows_lost: false,
};

/// The rules since 1.0, and those before it with a batch of this size.
fn rules(batch_size: Option<u64>) -> ReplayRules {
    ReplayRules::with_batches(batch_size)
}

type History<'a> = &'a [(i64, QueueOperation, bool)];

fn queued((sequence, operation, has_vector): (i64, QueueOperation, bool)) -> QueuedWrite {
    QueuedWrite {
        sequence,
        operation,
        has_vector,
    }
}

fn replayed(writes: History<'_>, row: Option<RecordRow>, consumed: QueueProgress) -> RecordTrack {
    let mut track = RecordTrack {
        exists: row.is_some(),
        ..RecordTrack::default()
    };
    for write in writes {
        track.apply_to_row(queued(*write), row, consumed);
    }
    track
}

/// What the index holds after a history on top of a graph up to `reach` that has the record or not.
fn indexed(writes: History<'_>, in_graph: bool, reach: i64, rules: ReplayRules) -> Option<HeldVector> {
    let base = if in_graph {
        IndexTrack::in_graph()
    } else {
        IndexTrack::default()
    };
    let mut index = IndexReplay::new(rules, in_graph);
    let mut track = VectorTrack::before_queue(Some(base), 1);
    for write in writes {
        track.apply(queued(*write), &mut index, reach);
    }
    track.held_vector()
}

/// Expects the same of the rules since 1.0 and of those before it.
#[track_caller]
fn check(writes: History<'_>, in_graph: bool, reach: i64, expected: Option<HeldVector>) {
    for rules in [rules(None), rules(Some(100)), rules(Some(1))] {
        assert_eq!(
            indexed(writes, in_graph, reach, rules),
            expected,
            "{rules:?} {writes:?}"
        );
    }
}

fn row(sequence: i64) -> Option<RecordRow> {
    Some(RecordRow {
        number: 1,
        sequence: Some(sequence),
    })
}

#[test]
fn the_newest_vector_wins() {
    let writes = [(1, Add, true), (5, Update, false), (7, Upsert, true)];
    check(&writes, false, 0, Some(HeldVector::Write(7)));
    assert!(replayed(&writes, row(7), ALL).pending.is_empty());
}

#[test]
fn an_ignored_vector_stays_ignored() {
    let update_first = [(1, Update, true), (2, Add, true), (3, Update, false)];
    check(&update_first, false, 0, Some(HeldVector::Write(2)));
    let add_again = [(9, Add, true), (10, Update, false)];
    check(&add_again, true, 8, Some(HeldVector::Graph));
}

#[test]
fn up_to_its_position_the_graph_decides() {
    let writes = [(1, Add, true), (2, Update, true)];
    check(&writes, true, 2, Some(HeldVector::Graph));
    check(&writes, false, 2, None);
    check(&writes, true, 1, Some(HeldVector::Write(2)));
}

#[test]
fn a_record_that_is_deleted_and_added_again_has_its_new_vector() {
    let writes = [(2, Delete, false), (3, Add, true)];
    check(&writes, true, 1, Some(HeldVector::Write(3)));
    check(&[(1, Add, true), (2, Delete, false)], false, 0, None);
}

#[test]
fn a_batch_that_takes_an_add_back_keeps_the_vector_of_the_graph() {
    let writes = [
        (2, Delete, false),
        (3, Add, true),
        (4, Delete, false),
        (5, Add, true),
    ];
    // A mistake of releases before 1.0: the second delete only cancels the add.
    assert_eq!(
        indexed(&writes, true, 1, rules(Some(100))),
        Some(HeldVector::Graph)
    );
    assert_eq!(
        indexed(&writes, true, 1, rules(Some(1))),
        Some(HeldVector::Write(5))
    );
    assert_eq!(indexed(&writes, true, 1, rules(None)), Some(HeldVector::Write(5)));
}

#[test]
fn without_a_graph_the_row_tells_whether_a_record_is_old() {
    let guessed = |writes: History<'_>, row: Option<RecordRow>, age: &str| {
        let mut track = VectorTrack::before_queue(None, writes[0].0);
        let mut index = IndexReplay::new(rules(None), false);
        for write in writes {
            track.apply(queued(*write), &mut index, 0);
        }
        let connection = Connection::open_in_memory().unwrap();
        let tables = format!(
            "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, created_at TEXT); \
             CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TEXT); \
             INSERT INTO embeddings VALUES (1, '{age}'); \
             INSERT INTO embeddings_queue VALUES (9, '2026-01-02 00:00:00');"
        );
        connection.execute_batch(&tables).unwrap();
        track.guess_write(row, &connection).unwrap()
    };
    let added = [(9, Add, true), (10, Update, false)];
    assert_eq!(
        guessed(&added, row(10), "2026-01-02 00:00:00"),
        Some(9),
        "made by the add"
    );
    assert_eq!(
        guessed(&added, row(10), "2026-01-01 00:00:00"),
        None,
        "older than the add"
    );
    assert_eq!(
        guessed(&added, row(4), "2026-01-02 00:00:00"),
        None,
        "not changed since"
    );
    let updated = [(9, Update, true)];
    assert_eq!(guessed(&updated, row(9), "2026-01-01 00:00:00"), Some(9));
    assert_eq!(guessed(&updated, None, "2026-01-01 00:00:00"), None);
}

#[test]
fn an_update_of_a_missing_record_makes_nothing() {
    let consumed = QueueProgress { by_rows: 2, ..ALL };
    assert!(!replayed(&[(3, Update, true)], None, consumed).is_live(None));
    let added = replayed(&[(3, Update, true), (4, Add, true)], None, consumed);
    assert!(added.is_live(None));
    assert_eq!(added.pending, [4]);
}

#[test]
fn writes_that_the_rows_never_saw_are_still_to_be_applied() {
    let consumed = QueueProgress { by_rows: 2, ..ALL };
    let added = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
    assert!(added.is_live(None));
    assert_eq!(added.pending, [3, 4]);
    let removed = replayed(&[(3, Delete, false)], row(1), consumed);
    assert!(!removed.is_live(row(1)));
    let again = replayed(&[(3, Delete, false), (4, Add, true)], row(1), consumed);
    assert!(again.is_live(row(1)) && again.starts_anew);
    assert_eq!(again.pending, [4]);
}

#[test]
fn rows_lost_to_damage_come_back_from_the_queue() {
    let consumed = QueueProgress {
        rows_lost: true,
        ..ALL
    };
    let lost = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
    assert!(lost.is_live(None));
    assert_eq!(lost.pending, [3, 4]);
    assert!(
        !replayed(&[(3, Add, true)], None, ALL).is_live(None),
        "rows decide where none was lost"
    );
}
