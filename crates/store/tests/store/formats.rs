//! Files of another version, another program or no program must be refused untouched; those of the past must open.

mod refused;
mod version_5;

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use crate::scene::raw;
use crate::scene::spaces::{self, model};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use rusqlite::Connection;
use tempfile::TempDir;

const DIMENSION: usize = 4;

/// Makes a palace by some batches and closes it.
fn build(folder: &Path, batches: &[Vec<Write>]) -> Truth {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    let mut told = Truth::default();
    for batch in batches {
        collection.apply_batch(batch).unwrap();
        told.apply(batch);
    }
    backend.close();
    told
}

fn small() -> Vec<Vec<Write>> {
    vec![
        (0..5)
            .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
            .collect(),
    ]
}

/// The path of a fixture in the source tree.
fn kept(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "tests/fixtures",
        name,
        EmbeddedBackend::FILE,
    ]
    .iter()
    .collect()
}

/// A copy of a fixture to work on. No build makes one of an earlier version again.
fn fixture(name: &str) -> TempDir {
    raw::folder_with(&std::fs::read(kept(name)).unwrap())
}

/// The content of the fixture of version 1; must never change once the fixture is kept.
fn version_1() -> Vec<Vec<Write>> {
    let brief = |n: usize| NewDrawer {
        document: format!("zq{n}x0 note"),
        metadata: Metadata::new().with_entry("n", n as i64),
        context: None,
        ..truth::drawer(n, 0, DIMENSION)
    };
    let place = DrawerPlace {
        source: Some("notes.md".into()),
        span: Some(SourceSpan {
            start: 3,
            end: 40,
            line_start: 1,
            line_end: 2,
        }),
        speaker: Some("ada".into()),
        kind: Some("note".into()),
        said_at: Some(Timestamp::from_micros(1_600_000_000_000_000).unwrap()),
        ..DrawerPlace::default()
    };
    let odd = NewDrawer {
        metadata: Metadata::new().with_entry(
            "tags",
            MetadataValue::Many(vec![MetadataScalar::Text("a".into()), MetadataScalar::Int(1)]),
        ),
        place,
        ..truth::drawer(2000, 0, DIMENSION)
    };
    let bare = NewDrawer {
        filed_at: Some(Timestamp::from_micros(1).unwrap()),
        ..NewDrawer::new(
            DrawerId::new("\u{65e5}\u{672c} \u{1f3db} \"quoted\"\n").unwrap(),
            "zqbare \u{6771}\u{4eac}",
        )
    };
    vec![
        (0..1040).map(|n| Write::Add(brief(n))).collect(),
        vec![
            Write::Add(odd),
            Write::Add(bare),
            Write::Upsert(truth::drawer(5, 1, DIMENSION)),
        ],
        vec![Write::Delete(DeleteSelection::Ids(vec![
            truth::id(7),
            truth::id(1030),
        ]))],
    ]
}

#[test]
fn a_palace_of_version_1_opens_with_all_it_holds() {
    let folder = fixture("version-1");
    let mut told = Truth::default();
    version_1().iter().for_each(|batch| told.apply(batch));
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 1);
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
    assert!(
        std::fs::read(raw::file(folder.path())).unwrap() == before,
        "an examination changes nothing"
    );
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    assert_eq!(
        collection.info().unwrap().coverage.packed,
        1022,
        "a segment and its two marked rows"
    );
    assert_eq!(
        Truth::unfound(&*collection, told.drawers.values().step_by(40)),
        Vec::<String>::new()
    );
    let deleted = collection
        .require_feed()
        .unwrap()
        .changes_since(Cursor(0), usize::MAX)
        .unwrap()
        .changes;
    assert_eq!(
        deleted
            .iter()
            .filter(|change| change.op == ChangeKind::Delete)
            .count(),
        2
    );
    collection
        .upsert_drawer(truth::drawer(3000, 0, DIMENSION))
        .unwrap();
    assert!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().healthy,
        "and it can be written to"
    );
}

#[test]
fn a_palace_of_version_1_becomes_current_once_and_its_model_can_be_switched() {
    let folder = fixture("version-1");
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                let collection =
                    truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
                assert_eq!(collection.count(&Filter::All.into()).unwrap(), 1040);
            });
        }
    });
    assert_brought_up_to_date(folder.path(), 1);
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let newer = model("newer", 6);
    spaces::switch_to(&*collection, &newer);
    assert_eq!(spaces::unfound(&*collection, &newer), Vec::new());
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}

/// A file of an earlier format has become one of this, by one opener, as if it had been made so.
fn assert_brought_up_to_date(folder: &Path, from: i64) {
    assert_eq!(raw::number(folder, "PRAGMA user_version"), 6);
    let notes = format!("SELECT count(*) FROM notes WHERE text = 'brought from format {from} to 6'");
    assert_eq!(raw::number(folder, &notes), 1, "one opener brought it there");
    let made = tempfile::tempdir().unwrap();
    build(made.path(), &small());
    assert_eq!(schema(folder), schema(made.path()), "as if it had been made so");
}

/// The definitions in a file of the tables that later formats added or changed, with columns in the order of their names: a
/// column that was added to an old file stands behind those it had.
fn schema(folder: &Path) -> Vec<String> {
    let connection = raw::connect(folder);
    let sql = "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('spaces', 'sources', 'places', 'drawers', 'receipts') AND sql IS NOT NULL ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    let found = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let words = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let by_name = |sql: String| match sql.strip_prefix("CREATE TABLE drawers (") {
        Some(columns) => {
            let columns = columns.trim_end_matches(" STRICT").trim_end_matches(')');
            let mut columns: Vec<&str> = columns.split(',').map(str::trim).collect();
            columns.sort_unstable();
            columns.join(", ")
        }
        None => sql,
    };
    found
        .map(|sql| {
            let plain = words(sql.unwrap()).replace(" )", ")").replace(" ,", ",");
            by_name(plain.replace("( ", "("))
        })
        .collect()
}

/// The models of the fixture of version 2, in the order they came.
fn models() -> [EmbedderIdentity; 4] {
    [
        model("test", DIMENSION),
        model("second", 3),
        model("third", 5),
        model("fourth", 2),
    ]
}

/// The writes to the fixture of version 2 after its first switch; must never change once the fixture is kept.
fn written_since() -> Vec<Write> {
    let second = &models()[1];
    let embedded = |drawer: NewDrawer| NewDrawer {
        embedding: Some(spaces::made(second, &drawer.document)),
        context: None,
        ..drawer
    };
    let new_vector = DrawerPatch {
        embedding: Some(vec![0.25, -1.0, 0.5]),
        ..DrawerPatch::new(truth::id(9))
    };
    vec![
        Write::Add(embedded(truth::drawer(4000, 0, DIMENSION))),
        Write::Upsert(embedded(truth::drawer(11, 1, DIMENSION))),
        Write::Update(new_vector),
        Write::Delete(DeleteSelection::Ids(vec![truth::id(12)])),
    ]
}

#[test]
fn a_palace_of_version_2_opens_with_all_its_spaces() {
    use SpaceState::{Abandoned, Active, Building, Retired};
    let folder = fixture("version-2");
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 2);
    let examined = EmbeddedBackend::new().examine(folder.path()).unwrap();
    assert!(examined.healthy, "{:?}", examined.findings);
    assert!(
        std::fs::read(raw::file(folder.path())).unwrap() == before,
        "an examination changes nothing"
    );
    let [first, second, third, fourth] = models();
    let mut told = Truth::default();
    version_1().iter().for_each(|batch| told.apply(batch));
    for drawer in told.drawers.values_mut() {
        drawer.embedding = Some(spaces::made_of(&second, drawer));
    }
    told.apply(&written_since());
    told.apply(&[Write::Delete(DeleteSelection::Ids(vec![truth::id(20)]))]);
    let collection = truth::open_as(&EmbeddedBackend::new(), folder.path(), None, false).unwrap();
    assert_brought_up_to_date(folder.path(), 2);
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    let line = |of: &EmbedderIdentity, state, vectors| (of.model.clone(), state, vectors);
    let expected = [
        line(&second, Active, 1039),
        line(&fourth, Building, 10),
        line(&third, Abandoned, 1029),
        line(&first, Retired, 1036),
    ];
    assert_eq!(spaces::outline(&*collection), expected);
    assert!(
        raw::number(folder.path(), "SELECT count(DISTINCT space) FROM segments") >= 3,
        "three spaces have segments"
    );
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Rollback)
        .unwrap();
    spaces::switch_to(&*collection, &third);
    assert_eq!(spaces::unfound(&*collection, &third), Vec::new());
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}

#[test]
fn a_palace_of_version_3_opens_with_the_records_of_its_sources() {
    let folder = fixture("version-3");
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 3);
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    assert_brought_up_to_date(folder.path(), 3);
    let all = SourceRecordQuery::Under {
        prefix: String::new(),
        after: None,
        limit: usize::MAX,
    };
    let found = collection.require_sources().unwrap().find_records(&all).unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|record| (record.source.as_str(), record.stamp.as_str(), record.revision))
        .collect();
    let expected = [
        ("notes/a.md", "4 400", 13),
        ("notes/b.md", "2 200", 7),
        ("notes/\u{65e5}\u{672c}.md", "", 8),
    ];
    assert_eq!(told, expected);
    let some_day = "2026-01-01T00:00:00Z".parse().unwrap();
    assert!(found.iter().all(|record| record.revised_at > some_day));
    let records = expected.map(|(source, stamp, _)| (source.to_owned(), stamp.to_owned()));
    let mut told = Truth {
        records: records.into(),
        ..Truth::default()
    };
    told.apply(
        &(0..8)
            .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
            .collect::<Vec<_>>(),
    );
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    version_3_goes_on(&*collection, found[0].revision);
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}

/// A record that was kept decides who may revise its source, as on the day it was written.
fn version_3_goes_on(collection: &dyn Collection, revision: u64) {
    let next = |expects| SourceRevision {
        source: "notes/a.md".to_owned(),
        expects,
        stamp: Some("5 500".to_owned()),
        parts: Box::new(std::iter::empty()),
    };
    let revised = collection
        .require_sources()
        .unwrap()
        .revise(vec![next(None), next(Some(revision))])
        .unwrap();
    assert_eq!(revised[0], RevisionOutcome::Overtaken);
    assert!(matches!(revised[1], RevisionOutcome::Done { revision: Some(new), .. } if new > revision));
}

/// The writes to the fixture of version 4, in order; must never change once the fixture is kept.
fn version_4() -> Vec<Vec<Write>> {
    let brief = |n: usize, version: usize| NewDrawer {
        document: format!("zq{n}x{version} note of harbour {}", n % 7),
        metadata: Metadata::new().with_entry("n", n as i64),
        place: DrawerPlace {
            wing: (!n.is_multiple_of(5)).then(|| format!("wing{}", n % 5)),
            room: (!n.is_multiple_of(3)).then(|| format!("room{}", n % 3)),
            ..DrawerPlace::default()
        },
        filed_at: Some(Timestamp::from_micros(1_700_000_000_000_000 + n as i64).unwrap()),
        ..NewDrawer::new(truth::id(n), String::new())
    };
    vec![
        (0..2060).map(|n| Write::Add(brief(n, 0))).collect(),
        vec![Write::Upsert(brief(5, 1)), Write::Add(brief(3000, 0))],
        vec![Write::Delete(DeleteSelection::Ids(vec![
            truth::id(7),
            truth::id(2055),
        ]))],
    ]
}

#[test]
fn a_palace_of_version_4_opens_with_its_words_and_places() {
    let folder = fixture("version-4");
    assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 4);
    for (table, rows) in [("segments", 1), ("tail", 13), ("gone", 2)] {
        let sql = format!("SELECT count(*) FROM words_1_{table}");
        assert_eq!(raw::number(folder.path(), &sql), rows, "{table}");
    }
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap();
    let mut told = Truth::default();
    version_4().iter().for_each(|batch| told.apply(batch));
    assert_eq!(told.difference(&Truth::read(&*collection).unwrap()), None);
    let found = |words: &str| {
        let hits = collection.lexical(&LexicalRequest::for_words(words, 3)).unwrap();
        hits.into_iter().map(|hit| hit.drawer.id).collect::<Vec<_>>()
    };
    for (words, expected) in [
        ("zq6x0", vec![6]),
        ("zq5x0", vec![]),
        ("zq5x1", vec![5]),
        ("zq7x0", vec![]),
        ("zq3000x0", vec![3000]),
    ] {
        assert_eq!(
            found(words),
            expected.into_iter().map(truth::id).collect::<Vec<_>>(),
            "{words}"
        );
    }
    assert_eq!(found("harbour 3")[0], truth::id(3), "the first of equal ones");
    let places = collection.facets(&FacetRequest::by_room()).unwrap();
    assert_eq!((places.len(), places[0].values.clone()), (15, vec![None, None]));
    assert_eq!(
        collection
            .count(&Filter::text_equals("wing", "wing2").into())
            .unwrap(),
        411
    );
}
