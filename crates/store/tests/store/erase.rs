//! Erasure: after a purge no file of the palace holds a byte of what was removed, whatever it was filed as.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::scene::{spaces, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::SeededRandom;

const DIMENSION: usize = 8;

/// Set for a child process: where to erase.
const FOLDER: &str = "LOCI_TEST_FOLDER";

fn open(folder: &Path) -> Arc<dyn Collection> {
    open_waiting(folder, Duration::from_secs(30))
}

fn open_waiting(folder: &Path, wait: Duration) -> Arc<dyn Collection> {
    let options = OpenOptions {
        embedder: Some(spaces::model("test", DIMENSION)),
        wait,
        ..OpenOptions::default()
    };
    let (palace, name) = (PalaceRef::local(folder), CollectionName::new("drawers").unwrap());
    EmbeddedBackend::new()
        .create(&palace, &name, CreateMode::OpenExisting, &options)
        .unwrap()
}

fn assert_sound(folder: &Path, when: &str) {
    let findings = EmbeddedBackend::new().examine(folder).unwrap().findings;
    assert_eq!(findings, [], "{when}");
}

fn eraser(collection: &dyn Collection) -> &dyn Erasure {
    collection.eraser().expect("the embedded backend erases")
}

/// Canary number `n`: letters that occur nowhere else, in one of three spellings.
fn canary(n: usize) -> String {
    let plain = format!("zqx{n:05}canary");
    match n % 3 {
        0 => plain,
        1 => plain.to_uppercase(),
        _ => format!("Zqx{n:05}Canary"),
    }
}

/// A drawer that has its canary in one of the places a drawer has, with texts from a few bytes to many pages.
fn marked(n: usize, random: &mut SeededRandom) -> NewDrawer {
    let mark = canary(n);
    let length = match n % 7 {
        0 => 20_000 + random.below(30_000),
        1..=3 => random.below(3000),
        _ => random.below(200),
    };
    let filler = "word and filler ".repeat(length / 16);
    let mut drawer = truth::drawer(n, 0, DIMENSION);
    drawer.id = DrawerId::new(format!("marked-{n:05}")).unwrap();
    drawer.place.source = Some(format!("source-{n}.md"));
    match n % 6 {
        0 => drawer.metadata.insert("note", mark.as_str()),
        1 => {
            drawer.context = Some(DrawerContext {
                before: format!("{filler} {mark}"),
                after: String::new(),
            });
        }
        2 => drawer.place.source = Some(format!("/notes/{mark}.md")),
        3 => drawer.place.room = Some(mark),
        4 => drawer.metadata.insert(mark.clone(), "as a key"),
        _ => drawer.document = format!("{filler} {mark} {filler}"),
    }
    drawer
}

/// Every file of the palace that holds one of the texts.
fn files_holding(folder: &Path, texts: &[String]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let held = aho_corasick::AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(texts)
            .unwrap()
            .find_iter(&bytes)
            .count();
        if held > 0 {
            found.insert(path.file_name().unwrap().to_string_lossy().into_owned(), held);
        }
    }
    found
}

/// A palace with `others` drawers among which `canaries` marked ones are strewn, so that pages split around them.
fn strewn(folder: &Path, others: usize, canaries: usize) -> Arc<dyn Collection> {
    let collection = open(folder);
    let mut random = SeededRandom::new(7);
    let per_batch = others / 20;
    let mut next = 0;
    for batch in 0..20 {
        let mut writes: Vec<Write> = (0..per_batch)
            .map(|n| Write::Add(truth::drawer(batch * per_batch + n, 0, DIMENSION)))
            .collect();
        for _ in 0..canaries / 20 {
            let at = random.below(writes.len());
            writes.insert(at, Write::Add(marked(next, &mut random)));
            next += 1;
        }
        collection.apply_batch(&writes).unwrap();
    }
    collection
}

fn marked_ids(canaries: usize) -> Vec<DrawerId> {
    (0..canaries)
        .map(|n| DrawerId::new(format!("marked-{n:05}")).unwrap())
        .collect()
}

#[test]
fn of_a_thousand_canaries_filed_in_every_way_no_byte_and_no_word_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let collection = strewn(folder.path(), 4000, 1000);
    let texts: Vec<String> = (0..1000).map(canary).collect();
    assert!(!files_holding(folder.path(), &texts).is_empty());
    let traces = eraser(&*collection).find_traces(&texts, &mut |_, _| {}).unwrap();
    let seen: std::collections::BTreeSet<usize> = traces.iter().map(|trace| trace.text).collect();
    assert_eq!(seen.len(), 1000, "every canary is found before it is erased");
    let whole = truth::Truth::read(&*collection).unwrap();
    let report = eraser(&*collection)
        .erase_drawers(&*collection, &marked_ids(1000))
        .unwrap();
    assert_eq!((report.erased.len(), report.purge.not_reached.len()), (1000, 0));
    assert_eq!(files_holding(folder.path(), &texts), BTreeMap::new());
    assert_eq!(
        eraser(&*collection).find_traces(&texts, &mut |_, _| {}).unwrap(),
        []
    );
    let mut expected = whole;
    expected
        .drawers
        .retain(|id, _| !id.as_str().starts_with("marked-"));
    let left = truth::Truth::read(&*collection).unwrap();
    assert_eq!(left.drawers, expected.drawers, "every other drawer is as it was");
    assert_sound(folder.path(), "after the purge");
}

#[test]
fn words_of_removed_drawers_are_found_in_sealed_segments_where_no_byte_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let collection = strewn(folder.path(), 4000, 60);
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(marked_ids(60)))])
        .unwrap();
    collection
        .require_upkeep()
        .unwrap()
        .run(&MaintenanceKind::ANALYZE)
        .unwrap();
    // The canary is upper case in the text and folded in the index, where it shares its first letters with the one
    // before it, so that no file holds it as a whole.
    let texts = [canary(5), canary(11)];
    let traces = eraser(&*collection).find_traces(&texts, &mut |_, _| {}).unwrap();
    let by_words = |trace: &&StoredTrace| {
        trace
            .place
            .as_ref()
            .is_some_and(|place| place.starts_with("words_"))
    };
    assert!(
        traces
            .iter()
            .any(|trace| by_words(&trace) || trace.offset.is_some()),
        "{traces:?}"
    );
    eraser(&*collection).purge(&mut |_, _| {}).unwrap();
    assert_eq!(
        eraser(&*collection).find_traces(&texts, &mut |_, _| {}).unwrap(),
        []
    );
}

#[test]
fn a_batch_that_is_sent_again_does_not_bring_back_what_was_erased() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    let key = |name: &str| IdempotencyKey::new(name).unwrap();
    let (one, other) = (truth::drawer(1, 0, DIMENSION), truth::drawer(2, 0, DIMENSION));
    let send = |name: &str, drawer: &NewDrawer| {
        let writes = [Write::Add(drawer.clone())];
        let key = key(name);
        collection.apply(&ApplyRequest::from_writes(&writes).under_key(&key))
    };
    let receipt = send("one", &one).unwrap();
    send("other", &other).unwrap();
    eraser(&*collection)
        .erase_drawers(&*collection, &[truth::id(2)])
        .unwrap();
    assert_eq!(send("other", &other).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(
        send("one", &one).unwrap(),
        receipt,
        "others are remembered as before"
    );
    assert_eq!(collection.info().unwrap().drawers, 1);
    assert_sound(folder.path(), "with a batch that is not known any more");
}

#[test]
fn a_reader_that_stays_keeps_the_log_and_the_report_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open_waiting(folder.path(), Duration::from_millis(300));
    for n in 0..50 {
        collection.add_drawer(truth::drawer(n, 0, DIMENSION)).unwrap();
    }
    let mark = marked(5, &mut SeededRandom::new(1));
    collection.add_drawer(mark).unwrap();
    let reader = open(folder.path());
    let moment = reader.moment().unwrap().unwrap();
    assert_eq!(moment.info().unwrap().drawers, 51);
    let report = eraser(&*collection)
        .erase_drawers(&*collection, &marked_ids(6)[5..])
        .unwrap();
    let [left] = report.purge.not_reached.as_slice() else {
        panic!("{report:?}");
    };
    assert!(left.part.ends_with("palace.db-wal"), "{left:?}");
    assert!(left.reason.contains("still reads from it"), "{left:?}");
    assert!(eraser(&*collection).is_unfinished().unwrap());
    assert_eq!(moment.info().unwrap().drawers, 51, "it sees what it saw");
    drop(moment);
    let report = eraser(&*collection).purge(&mut |_, _| {}).unwrap();
    assert_eq!(report.not_reached, []);
    assert!(!eraser(&*collection).is_unfinished().unwrap());
    assert_eq!(files_holding(folder.path(), &[canary(5)]), BTreeMap::new());
}

#[test]
fn others_read_and_write_while_one_erases() {
    let folder = tempfile::tempdir().unwrap();
    let collection = strewn(folder.path(), 2000, 100);
    let done = AtomicBool::new(false);
    let filed = std::thread::scope(|threads| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (folder, done) = (folder.path(), &done);
                threads.spawn(move || {
                    let own = open(folder);
                    let mut filed = Vec::new();
                    for n in 0.. {
                        let number = 100_000 + writer * 10_000 + n;
                        own.add_drawer(truth::drawer(number, 0, DIMENSION)).unwrap();
                        filed.push(truth::id(number));
                        assert!(own.info().unwrap().drawers >= 2000);
                        if done.load(Ordering::SeqCst) {
                            return filed;
                        }
                    }
                    unreachable!()
                })
            })
            .collect();
        let report = eraser(&*collection).erase_drawers(&*collection, &marked_ids(100));
        done.store(true, Ordering::SeqCst);
        assert_eq!(report.unwrap().erased.len(), 100);
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect::<Vec<_>>()
    });
    // A writer may have kept the log from being emptied; once it is alone, everything is reached.
    assert_eq!(
        eraser(&*collection).purge(&mut |_, _| {}).unwrap().not_reached,
        []
    );
    let texts: Vec<String> = (0..100).map(canary).collect();
    assert_eq!(files_holding(folder.path(), &texts), BTreeMap::new());
    let found = collection.get(&GetRequest::by_ids(filed.clone())).unwrap();
    assert_eq!(found.len(), filed.len(), "nothing filed meanwhile is lost");
    assert_eq!(collection.info().unwrap().drawers as usize, 2000 + filed.len());
}

#[test]
fn an_erasure_that_is_cut_off_anywhere_is_unfinished_and_can_be_finished() {
    for point in [
        "erase-rewrites",
        "erase-rewritten",
        "erase-emptied",
        "compact-words",
        "before-commit:3",
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(strewn(folder.path(), 2100, 40));
        let killed = Command::new(std::env::current_exe().unwrap())
            .args(["erase::a_child_process_erases", "--exact"])
            .env(FOLDER, folder.path())
            .env("LOCI_CRASH_AT", point)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!killed.success(), "{point} was not reached");
        let collection = open(folder.path());
        assert_eq!(collection.info().unwrap().drawers, 2100, "{point}");
        assert!(eraser(&*collection).is_unfinished().unwrap(), "{point}");
        let findings = EmbeddedBackend::new().examine(folder.path()).unwrap().findings;
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, ["erasure_unfinished"], "{point}");
        assert_eq!(
            eraser(&*collection).purge(&mut |_, _| {}).unwrap().not_reached,
            []
        );
        let texts: Vec<String> = (0..40).map(canary).collect();
        assert_eq!(files_holding(folder.path(), &texts), BTreeMap::new(), "{point}");
        assert!(!eraser(&*collection).is_unfinished().unwrap(), "{point}");
        assert_sound(folder.path(), point);
    }
}

#[test]
fn a_child_process_erases() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let collection = open(Path::new(&folder));
    eraser(&*collection)
        .erase_drawers(&*collection, &marked_ids(40))
        .unwrap();
}
