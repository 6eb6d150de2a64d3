//! Traces of a change of model: rows that move, the palace's own log, backups and pages given back.

use crate::scene::raw;
use crate::scene::spaces::{self, model};
use loci_core::*;
use loci_store::EmbeddedBackend;

use super::*;

/// Rows that were given another number since they were filed or changed.
const MOVED: &str = "SELECT count(*) FROM drawers WHERE row > seq";

#[test]
fn a_vector_filled_below_a_sealed_row_moves_its_drawer_and_nobody_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    house(folder.path());
    let collection = writer(folder.path());
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(new()))
        .unwrap();
    spaces::fill(&*collection, &new(), usize::MAX, 300);
    let (feed, info) = (changes(&*collection), collection.info().unwrap());
    let late = spaces::pending(&*collection, &old(), 0, 10);
    assert_eq!(spaces::fill(&*collection, &old(), usize::MAX, 10), 2);
    assert_eq!(raw::number(folder.path(), MOVED), 2);
    assert_eq!(
        (changes(&*collection), collection.info().unwrap().seq),
        (feed, info.seq)
    );
    let again: Vec<VectorFill> = late
        .iter()
        .map(|drawer| spaces::filling(&old(), drawer))
        .collect();
    assert_eq!(
        collection
            .require_spaces()
            .unwrap()
            .fill_vectors(&old(), &again)
            .unwrap(),
        VectorFillReport { stored: 0, stale: 2 }
    );
    assert_eq!(spaces::unfound(&*collection, &old()), Vec::new());
    for word in ["zq40x0", "zq700x0"] {
        assert_eq!(
            collection
                .lexical(&LexicalRequest::for_words(word, 5))
                .unwrap()
                .len(),
            1,
            "{word}"
        );
    }
    let filter = Filter::parse_str(r#"{"n": {"$in": [40, 700]}}"#).unwrap();
    assert_eq!(collection.count(&filter.clone().into()).unwrap(), 2);
    assert_sound(folder.path(), "after filling late");
    assert_eq!(
        spaces::pending(&*collection, &new(), 0, 10),
        Vec::new(),
        "the other space followed"
    );
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Finish)
        .unwrap();
    assert_eq!(spaces::unfound(&*collection, &new()), Vec::new());
}

#[test]
fn those_who_fill_out_of_order_move_no_drawer() {
    let folder = tempfile::tempdir().unwrap();
    let collection = writer(folder.path());
    let adds: Vec<Write> = (0..3300).map(|n| Write::Add(drawer(n, 0))).collect();
    collection.apply_batch(&adds).unwrap();
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(new()))
        .unwrap();
    let pending = spaces::pending(&*collection, &new(), 0, usize::MAX);
    let given: Vec<VectorFill> = pending
        .iter()
        .map(|drawer| spaces::filling(&new(), drawer))
        .collect();
    for part in [&given[1700..], &given[100..1700], &given[..100]] {
        assert_eq!(
            collection
                .require_spaces()
                .unwrap()
                .fill_vectors(&new(), part)
                .unwrap()
                .stored,
            part.len() as u64
        );
    }
    assert_eq!(raw::number(folder.path(), MOVED), 0);
    assert_eq!(
        raw::number(folder.path(), "SELECT count(*) FROM segments WHERE space = 2"),
        3
    );
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Finish)
        .unwrap();
    assert_eq!(collection.info().unwrap().coverage.packed, 3072);
    assert_eq!(spaces::unfound(&*collection, &new()), Vec::new());
    assert_sound(folder.path(), "filled out of order");
}

#[test]
fn every_step_stands_in_the_palaces_own_log() {
    let folder = tempfile::tempdir().unwrap();
    let collection = writer(folder.path());
    collection.apply_batch(&[Write::Add(drawer(1, 0))]).unwrap();
    spaces::switch_to(&*collection, &new());
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Rollback)
        .unwrap();
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::DropRetired)
        .unwrap();
    collection
        .set_identity(&model("forced", DIMENSION), IdentityChange::Force)
        .unwrap();
    let connection = raw::connect(folder.path());
    let mut statement = connection
        .prepare("SELECT text FROM notes ORDER BY note")
        .unwrap();
    let notes: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(|note| note.unwrap())
        .collect();
    let expected = [
        "a switch to newer",
        "newer answers in space 2, test is retired",
        "turned back: test answers in space 1",
        "dropped the retired space 2 of newer",
        "Force: the embedder",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for (note, part) in notes.iter().zip(expected) {
        assert!(note.contains(part), "{note:?} does not say {part:?}");
    }
}

#[test]
fn a_backup_taken_during_a_switch_goes_on_with_it() {
    let folder = tempfile::tempdir().unwrap();
    house(folder.path());
    let collection = open(folder.path());
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(new()))
        .unwrap();
    spaces::fill(&*collection, &new(), 1050, 350);
    let (copy, back) = (folder.path().join("copy.db"), tempfile::tempdir().unwrap());
    let backend = EmbeddedBackend::new();
    backend
        .backup(&PalaceRef::local(folder.path()), &copy, &mut |_| {})
        .unwrap();
    spaces::fill(&*collection, &new(), usize::MAX, 350);
    let palace = PalaceRef::local(back.path().join("palace"));
    backend.restore(&copy, &palace, &mut |_| {}).unwrap();
    let restored = back.path().join("palace");
    assert_eq!(
        spaces::outline(&*open(&restored))[1],
        ("newer".into(), SpaceState::Building, 1050)
    );
    go_on(&restored, "from a backup");
}

#[test]
fn dropping_a_space_gives_its_pages_back() {
    let folder = raw::folder_with(&stages()[3]);
    let collection = open(folder.path());
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::DropRetired)
        .unwrap();
    let left = "SELECT count(*) FROM sqlite_schema WHERE name = 'vectors_1'";
    assert_eq!(raw::number(folder.path(), left), 0);
    for table in ["segments", "dead", "spaces"] {
        let rest = format!("SELECT count(*) FROM {table} WHERE space = 1");
        assert_eq!(raw::number(folder.path(), &rest), 0, "{table}");
    }
    let report = collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::COMPACT)
        .unwrap();
    assert!(report.figures["pages_released"] > 0, "{report:?}");
    go_on(folder.path(), "after dropping");
}
