//! A change of model among many writers, fillers and readers, and where it is cut off: nothing is lost on the way.

mod traces;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::scene::raw;
use crate::scene::spaces::{self, model};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;

/// Set for a child process: what to do, and where.
const TASK: &str = "LOCI_TEST_TASK";

const DIMENSION: usize = 8;

fn old() -> EmbedderIdentity {
    model("test", DIMENSION)
}

fn new() -> EmbedderIdentity {
    model("newer", 12)
}

/// A drawer whose vector is the one the old model makes of it, so that every answer can be foretold.
fn drawer(n: usize, version: usize) -> NewDrawer {
    let plain = truth::drawer(n, version, DIMENSION);
    let text = DrawerContext::indexed_text(plain.context.as_ref(), &plain.document).into_owned();
    NewDrawer {
        embedding: Some(spaces::made(&old(), &text)),
        ..plain
    }
}

fn open(folder: &Path) -> Arc<dyn Collection> {
    truth::open_as(&EmbeddedBackend::new(), folder, None, true).unwrap()
}

fn writer(folder: &Path) -> Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap()
}

fn assert_sound(folder: &Path, what: &str) {
    let examined = EmbeddedBackend::new().examine(folder).unwrap();
    assert!(examined.healthy, "{what}: {:?}", examined.findings);
}

/// Runs this test program again for one task, which may end itself at a point.
fn child(task: &str, folder: &Path, crash_at: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "switch::a_child_process_does_its_task",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(TASK, format!("{task} {}", folder.display()))
        .stdout(Stdio::null());
    if let Some(point) = crash_at {
        command.env("LOCI_CRASH_AT", point);
    }
    command.spawn().unwrap()
}

/// Not a test of its own: the other tests start it as another process with a task.
#[test]
fn a_child_process_does_its_task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (verb, folder) = task.split_once(' ').unwrap();
    let folder = PathBuf::from(folder);
    let step = |step: SwitchStep| drop(open(&folder).require_spaces().unwrap().take_step(&step).unwrap());
    match verb {
        "write" => write_until_refused(&folder),
        "fill" => fill_until_turned(&folder),
        "begin" => step(SwitchStep::Begin(new())),
        "fill-once" => fill_all(&*open(&folder), &new(), 700),
        "fill-active" => fill_all(&*writer(&folder), &old(), 700),
        "finish" => step(SwitchStep::Finish),
        "rollback" => step(SwitchStep::Rollback),
        "drop" => step(SwitchStep::DropRetired),
        "reindex" => drop(
            open(&folder)
                .require_upkeep()
                .unwrap()
                .run(&MaintenanceKind::REINDEX)
                .unwrap(),
        ),
        "open" => drop(open(&folder)),
        other => panic!("no task {other:?}"),
    }
}

fn fill_all(collection: &dyn Collection, of: &EmbedderIdentity, at_once: usize) {
    spaces::fill(collection, of, usize::MAX, at_once);
}

const BEGUN_WITH: usize = 1500;
const WRITES: usize = 160;

/// Adds, rewords, replaces, re-embeds and removes drawers, and continues until a switch shuts it out.
fn write_until_refused(folder: &Path) {
    let collection = writer(folder);
    for n in 0..WRITES {
        let other = BEGUN_WITH + n;
        let update = |n: usize| {
            let NewDrawer { id, embedding, .. } = drawer(n, 0);
            Write::Update(DrawerPatch {
                embedding: embedding.map(|vector| vector.iter().map(|value| value * 2.0).collect()),
                ..DrawerPatch::new(id)
            })
        };
        let write = match n % 5 {
            0 | 1 => Write::Add(drawer(other, 0)),
            2 => Write::Upsert(drawer(n * 3, 1)),
            3 => update(n * 3),
            _ => Write::Delete(DeleteSelection::Ids(vec![truth::id(n * 3)])),
        };
        if is_refused(&*collection, write) {
            return;
        }
    }
    // Only vectors of the old model change from here on, so that the switch can be finished.
    for round in 1.. {
        let NewDrawer { id, embedding, .. } = drawer(1400, 0);
        let patch = DrawerPatch {
            embedding: embedding.map(|vector| vector.iter().map(|value| value * round as f32).collect()),
            ..DrawerPatch::new(id)
        };
        if is_refused(&*collection, Write::Update(patch)) {
            return;
        }
    }
}

/// Whether a writer of the old model is shut out; anything else that fails is a fault.
fn is_refused(collection: &dyn Collection, write: Write) -> bool {
    match collection.apply_batch(&[write]) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::IdentityMismatch, "{error:?}");
            true
        }
    }
}

/// Fills what is pending, again and again, until the new model answers.
fn fill_until_turned(folder: &Path) {
    let collection = open(folder);
    while collection.info().unwrap().identity != IdentityState::Known(new()) {
        spaces::fill(&*collection, &new(), usize::MAX, 60);
    }
}

#[test]
fn two_processes_fill_and_one_writes_while_readers_miss_nothing_before_or_after_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let adds: Vec<Write> = (0..BEGUN_WITH).map(|n| Write::Add(drawer(n, 0))).collect();
    writer(folder.path()).apply_batch(&adds).unwrap();
    let collection = open(folder.path());
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(new()))
        .unwrap();
    let children: Vec<Child> = ["write", "fill", "fill"]
        .map(|task| child(task, folder.path(), None))
        .into();
    let (mut before, mut refused) = (0, 0);
    loop {
        // One call sees one moment: the model that answers then answers for every drawer of that moment.
        let info = collection.info().unwrap();
        assert_eq!(info.coverage.nearest, info.drawers, "{info:?}");
        assert_eq!(info.identity, IdentityState::Known(old()));
        let steady = spaces::made_of(
            &old(),
            &drawer(1450, 0)
                .to_filed_drawer(Timestamp::from_micros(0).unwrap())
                .unwrap(),
        );
        let hit = collection
            .query(&QueryRequest::nearest_to(steady, 1))
            .unwrap()
            .remove(0)
            .remove(0);
        assert_eq!(hit.drawer.id, truth::id(1450));
        before += 1;
        match collection
            .require_spaces()
            .unwrap()
            .take_step(&SwitchStep::Finish)
        {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}"),
        }
        refused += 1;
    }
    let info = collection.info().unwrap();
    assert_eq!(info.identity, IdentityState::Known(new()));
    assert_eq!(info.coverage.nearest, info.drawers);
    for mut child in children {
        assert!(child.wait().unwrap().success(), "a process failed");
    }
    assert_eq!(spaces::unfound(&*collection, &new()), Vec::new());
    assert_sound(folder.path(), "after the turn");
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Rollback)
        .unwrap();
    let info = collection.info().unwrap();
    assert_eq!(
        info.coverage.nearest, info.drawers,
        "the old space was kept whole"
    );
    assert_eq!(spaces::unfound(&*collection, &old()), Vec::new());
    println!("{before} looks and {refused} early attempts to finish before the turn");
}

/// A palace of the old model with a segment, a tail, removed rows and two drawers without a vector below the segment's end.
fn house(folder: &Path) {
    let collection = writer(folder);
    let bare = |drawer: NewDrawer| NewDrawer {
        embedding: None,
        ..drawer
    };
    let add = |n: usize| {
        Write::Add(match n {
            40 | 700 => bare(drawer(n, 0)),
            _ => drawer(n, 0),
        })
    };
    collection
        .apply_batch(&(0..1100).map(add).collect::<Vec<_>>())
        .unwrap();
    collection.delete_drawer(truth::id(17)).unwrap();
}

/// A switch cut off at each point, by what is done and how far it was before.
#[test]
fn a_switch_cut_off_anywhere_is_as_before_or_done_and_goes_on() {
    let cuts = [
        ("begin", "switch-begun", 0),
        ("begin", "before-commit", 0),
        ("begin", "after-commit", 0),
        ("fill-once", "fill-stored", 1),
        ("fill-once", "before-seal", 1),
        ("fill-once", "after-seal", 1),
        ("fill-once", "before-commit:2", 1),
        ("fill-once", "after-commit:1", 1),
        ("fill-active", "fill-moved", 0),
        ("fill-active", "fill-moved:2", 2),
        ("fill-active", "after-commit", 2),
        ("finish", "finish-checked", 2),
        ("finish", "finish-turned", 2),
        ("finish", "before-commit", 2),
        ("finish", "after-commit", 2),
        ("rollback", "rolled-back", 1),
        ("rollback", "rolled-back", 3),
        ("rollback", "after-commit", 3),
        ("drop", "drop-half", 3),
        ("drop", "after-commit", 3),
    ];
    let stages: Vec<Vec<u8>> = stages();
    for (task, point, stage) in cuts {
        let what = format!("{task} at {point} in stage {stage}");
        let folder = raw::folder_with(&stages[stage]);
        let feed = changes(&*open(folder.path()));
        let before = spaces::outline(&*open(folder.path()));
        let ended = child(task, folder.path(), Some(point)).wait().unwrap();
        assert!(!ended.success(), "{what}: it was not cut off");
        let collection = open(folder.path());
        let after = spaces::outline(&*collection);
        match task {
            "fill-once" => assert!([0, 700].contains(&after[1].2), "{what}: {after:?}"),
            _ if point == "after-commit" => {}
            _ => assert_eq!(after, before, "{what}: half of it was done"),
        }
        assert_sound(folder.path(), &what);
        assert_eq!(changes(&*collection), feed, "{what}");
        let info = collection.info().unwrap();
        let answering = match &info.identity {
            IdentityState::Known(answering) => answering,
            other => panic!("{what}: {other:?}"),
        };
        let lacking = info.drawers - info.coverage.nearest;
        assert!(lacking <= 2, "{what}: {info:?}");
        assert_eq!(
            spaces::unfound(&*collection, answering).len() as u64,
            lacking,
            "{what}"
        );
        go_on(folder.path(), &what);
    }
}

/// Takes the switch to its end, however far it came.
fn go_on(folder: &Path, what: &str) {
    let collection = open(folder);
    if collection.info().unwrap().identity != IdentityState::Known(new()) {
        spaces::switch_to(&*collection, &new());
    }
    assert_eq!(spaces::unfound(&*collection, &new()), Vec::new(), "{what}");
    let info = collection.info().unwrap();
    assert_eq!((info.coverage.nearest, info.drawers), (1099, 1099), "{what}");
    assert_sound(folder, what);
}

/// The bytes of the palace before the switch, with it begun, filled, and finished.
fn stages() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let kept = |change: &dyn Fn(&dyn Collection)| {
        let backend = EmbeddedBackend::new();
        change(&*truth::open_as(&backend, folder.path(), None, false).unwrap());
        backend.close();
        std::fs::read(raw::file(folder.path())).unwrap()
    };
    house(folder.path());
    vec![
        kept(&|_| {}),
        kept(&|collection| {
            drop(
                collection
                    .require_spaces()
                    .unwrap()
                    .take_step(&SwitchStep::Begin(new()))
                    .unwrap(),
            )
        }),
        kept(&|collection| fill_all(collection, &new(), 500)),
        kept(&|collection| {
            drop(
                collection
                    .require_spaces()
                    .unwrap()
                    .take_step(&SwitchStep::Finish)
                    .unwrap(),
            )
        }),
    ]
}

fn changes(collection: &dyn Collection) -> Vec<(u64, String)> {
    let all = collection
        .require_feed()
        .unwrap()
        .changes_since(Cursor(0), usize::MAX)
        .unwrap()
        .changes;
    all.into_iter()
        .map(|change| (change.seq, change.id.to_string()))
        .collect()
}

#[test]
fn an_upgrade_and_a_mending_cut_off_leave_the_palace_as_it_was() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1/palace.db");
    let folder = raw::folder_with(&std::fs::read(fixture).unwrap());
    for point in ["upgraded", "upgraded"] {
        assert!(
            !child("open", folder.path(), Some(point))
                .wait()
                .unwrap()
                .success()
        );
        assert_eq!(raw::number(folder.path(), "PRAGMA user_version"), 1);
    }
    assert_eq!(open(folder.path()).count(&Filter::All.into()).unwrap(), 1040);
    let folder = raw::folder_with(&stages()[2]);
    raw::execute(folder.path(), "DELETE FROM vectors_2 WHERE row = 61");
    assert!(
        !child("reindex", folder.path(), Some("reindex-mend"))
            .wait()
            .unwrap()
            .success()
    );
    assert!(!EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
    assert!(child("reindex", folder.path(), None).wait().unwrap().success());
    go_on(folder.path(), "after a mending");
}
