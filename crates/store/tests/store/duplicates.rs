//! A file of before content-uniqueness holds duplicates: opening must keep the right one of each and every trace of no other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use crate::scene::raw;
use crate::scene::spaces::{self, model};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

const DIMENSION: usize = 4;

/// One drawer of a group of duplicates.
struct Copy {
    id: &'static str,
    group: usize,
    uses: u64,
    filed_at: i64,
    stays: bool,
}

const fn copy(id: &'static str, group: usize, uses: u64, filed_at: i64, stays: bool) -> Copy {
    Copy {
        id,
        group,
        uses,
        filed_at,
        stays,
    }
}

/// Most used; then oldest; then smallest id; a group of one; and drawers of equal text in other places.
const COPIES: [Copy; 11] = [
    copy("used-less", 0, 1, 10, false),
    copy("used-most", 0, 9, 30, true),
    copy("used-never", 0, 0, 5, false),
    copy("young", 1, 2, 50, false),
    copy("old", 1, 2, 20, true),
    copy("b-equal", 2, 3, 40, false),
    copy("a-equal", 2, 3, 40, true),
    copy("c-equal", 2, 3, 40, false),
    copy("alone", 3, 0, 60, true),
    copy("used-and-young", 4, 7, 90, true),
    copy("unused-and-old", 4, 6, 1, false),
];

fn text(group: usize) -> String {
    format!("zqgroup{group} the same words")
}

fn vector(at: usize) -> Vec<f32> {
    truth::vector(at, 9, DIMENSION)
}

/// Every copy is filed under a source of its own, with all that is indexed of it and a vector in two spaces; then the
/// index that would have kept them apart is dropped and the sources are made one.
fn make(folder: &Path) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    let write = |(at, copy): (usize, &Copy)| {
        Write::Add(NewDrawer {
            metadata: Metadata::new().with_entry("copy", copy.id),
            place: DrawerPlace {
                wing: Some("w".into()),
                source: Some(format!("file{}.md#{at}", copy.group)),
                span: Some(SourceSpan {
                    start: 8,
                    end: 30,
                    line_start: 1,
                    line_end: 1,
                }),
                ..DrawerPlace::default()
            },
            filed_at: Some(Timestamp::from_micros(copy.filed_at).unwrap()),
            uses: copy.uses,
            embedding: Some(vector(at)),
            ..NewDrawer::new(DrawerId::new(copy.id).unwrap(), text(copy.group))
        })
    };
    collection
        .apply_batch(&COPIES.iter().enumerate().map(write).collect::<Vec<_>>())
        .unwrap();
    let newer = model("newer", 5);
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(newer.clone()))
        .unwrap();
    assert_eq!(spaces::fill(&*collection, &newer, usize::MAX, 4), 11);
    backend.close();
    raw::execute(
        folder,
        "DROP INDEX drawers_source;
         UPDATE drawers SET source = substr(source, 1, instr(source, '#') - 1);
         UPDATE attributes_1 SET value = substr(value, 1, instr(value, '#') - 1)
            WHERE key = (SELECT key FROM keys WHERE name = 'source');",
    );
}

/// A copy of the fixture kept in the tree, which is of the first format and which no build makes again.
fn fixture() -> TempDir {
    let path = [
        env!("CARGO_MANIFEST_DIR"),
        "tests/fixtures/duplicates-1",
        EmbeddedBackend::FILE,
    ];
    raw::folder_with(&std::fs::read(path.iter().collect::<PathBuf>()).unwrap())
}

fn open(folder: &Path) -> Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder, DIMENSION, false).unwrap()
}

fn staying(stays: bool) -> BTreeSet<&'static str> {
    COPIES
        .iter()
        .filter(|copy| copy.stays == stays)
        .map(|copy| copy.id)
        .collect()
}

fn ids(drawers: &[Drawer]) -> BTreeSet<&str> {
    drawers.iter().map(|drawer| drawer.id.as_str()).collect()
}

/// Each group is one drawer, and nothing of the others is left anywhere.
fn assert_collapsed(folder: &Path) {
    let collection = open(folder);
    let kept = collection.get(&truth::everything()).unwrap();
    assert_eq!(ids(&kept), staying(true));
    assert_eq!(collection.count(&Filter::All.into()).unwrap(), 5);
    for (at, copy) in COPIES.iter().enumerate() {
        let hits = collection
            .lexical(&LexicalRequest::for_words(format!("zqgroup{}", copy.group), 9))
            .unwrap();
        let drawers: Vec<Drawer> = hits.into_iter().map(|hit| hit.drawer).collect();
        assert!(
            drawers.len() == 1 && staying(true).contains(drawers[0].id.as_str()),
            "{}: {drawers:?}",
            copy.id
        );
        let nearest = collection
            .query(&QueryRequest::nearest_to(vector(at), 20))
            .unwrap()
            .remove(0);
        let found: Vec<Drawer> = nearest.into_iter().map(|hit| hit.drawer).collect();
        assert_eq!(
            ids(&found),
            staying(true),
            "a vector of {} is still there",
            copy.id
        );
        let filter = Filter::parse_str(&format!(r#"{{"copy": "{}"}}"#, copy.id)).unwrap();
        assert_eq!(
            collection.count(&filter.clone().into()).unwrap(),
            u64::from(copy.stays),
            "{}",
            copy.id
        );
    }
    let by_source = Filter::parse_str(r#"{"source": "file0.md"}"#).unwrap();
    assert_eq!(collection.count(&by_source.clone().into()).unwrap(), 1);
    let changes = collection
        .require_feed()
        .unwrap()
        .changes_since(Cursor(0), 100)
        .unwrap()
        .changes;
    let gone = changes.iter().filter(|change| change.op == ChangeKind::Delete);
    assert_eq!(
        gone.map(|change| change.id.as_str()).collect::<BTreeSet<_>>(),
        staying(false)
    );
    let diagnosis = EmbeddedBackend::new().examine(folder).unwrap();
    assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
}

fn notes(folder: &Path) -> i64 {
    raw::number(
        folder,
        "SELECT count(*) FROM notes WHERE text = 'collapsed 6 duplicate drawers'",
    )
}

#[test]
fn each_group_of_duplicates_becomes_its_most_used_oldest_smallest_drawer() {
    let folder = fixture();
    assert_eq!(raw::number(folder.path(), "SELECT count(*) FROM drawers"), 11);
    assert_collapsed(folder.path());
    assert_eq!(notes(folder.path()), 1);
}

#[test]
fn an_examination_leaves_duplicates_as_they_are_and_says_so() {
    let folder = fixture();
    let diagnosis = EmbeddedBackend::new().examine(folder.path()).unwrap();
    let codes: Vec<&str> = diagnosis
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    assert_eq!(codes, ["unique_index_missing"]);
    assert_eq!(raw::number(folder.path(), "SELECT count(*) FROM drawers"), 11);
}

#[test]
fn opening_again_changes_nothing() {
    let folder = fixture();
    drop(open(folder.path()));
    let seq = raw::number(folder.path(), "SELECT value FROM palace WHERE key = 'seq'");
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    assert_collapsed(folder.path());
    assert_eq!(
        raw::number(folder.path(), "SELECT value FROM palace WHERE key = 'seq'"),
        seq
    );
    assert_eq!(notes(folder.path()), 1);
    assert!(std::fs::read(raw::file(folder.path())).unwrap() == before);
}

#[test]
fn many_that_open_at_once_collapse_once() {
    for _ in 0..10 {
        let folder = fixture();
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(open(folder.path()).count(&Filter::All.into()).unwrap(), 5);
                });
            }
        });
        assert_eq!(notes(folder.path()), 1);
        assert_collapsed(folder.path());
    }
}

#[test]
fn a_duplicate_is_a_twin_once_the_palace_was_opened() {
    let folder = fixture();
    let again = NewDrawer {
        place: DrawerPlace {
            source: Some("file1.md".into()),
            span: Some(SourceSpan {
                start: 8,
                end: 30,
                line_start: 1,
                line_end: 1,
            }),
            ..DrawerPlace::default()
        },
        ..NewDrawer::new(DrawerId::new("again").unwrap(), text(1))
    };
    let receipt = open(folder.path()).add_drawer(again).unwrap();
    assert_eq!(receipt.twins.len(), 1);
    assert_eq!(receipt.twins[0].existing.as_str(), "old");
}

#[test]
fn duplicates_leave_no_vector_in_any_space() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    assert_collapsed(folder.path());
    let collection = open(folder.path());
    let vectors: Vec<u64> = spaces::outline(&*collection)
        .into_iter()
        .map(|line| line.2)
        .collect();
    assert_eq!(vectors, [5, 5]);
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Finish)
        .unwrap();
    let newer = model("newer", 5);
    assert_eq!(spaces::unfound(&*collection, &newer), Vec::new());
    let examined = EmbeddedBackend::new().examine(folder.path()).unwrap();
    assert!(examined.healthy, "{:?}", examined.findings);
}
