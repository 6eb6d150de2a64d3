//! Plug-ins that hang, die, flood, answer twice, answer garbage or lie: each costs an error in time that names it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use loci_core::{
    ApplyRequest, Backend as _, Collection, CollectionName, Drawer, DrawerId, Error, ErrorKind, GetRequest,
    IdempotencyKey, NewDrawer, OpenOptions, PalaceRef, Receipt, Result, RevisionOutcome, SourceRevision,
    Write,
};
use loci_plugin::{PluginBackend, PluginOptions};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile.py");

/// Well above the times given below, so that a slow machine stays green and a hang does not.
const IN_TIME: Duration = Duration::from_secs(20);

fn limits() -> PluginOptions {
    PluginOptions {
        hello_time: Duration::from_secs(15),
        call_time: Duration::from_secs(10),
        grace: Duration::from_millis(300),
        answer_limit: 5_000_000,
        ..PluginOptions::default()
    }
}

/// Limits that a plug-in that hangs runs into soon.
fn impatient() -> PluginOptions {
    PluginOptions {
        call_time: Duration::from_millis(300),
        ..limits()
    }
}

fn start(way: &str, options: PluginOptions) -> Result<PluginBackend> {
    start_with(&[way], options)
}

fn start_with(arguments: &[&str], options: PluginOptions) -> Result<PluginBackend> {
    let arguments = [SCRIPT].into_iter().chain(arguments.iter().copied());
    PluginBackend::start("hostile", "python3", arguments.map(str::to_owned), options)
}

/// Options of a writer that waits for no other, so that its calls have no more than the time above.
fn without_waiting() -> OpenOptions {
    OpenOptions {
        wait: Duration::ZERO,
        ..OpenOptions::for_writing()
    }
}

fn open(backend: &PluginBackend) -> Arc<dyn Collection> {
    let name = CollectionName::new("drawers").unwrap();
    backend
        .open(&PalaceRef::from_id("p"), &name, &without_waiting())
        .unwrap()
}

/// Runs something that must fail in time, with a message that names the plug-in.
fn expect_named<T: std::fmt::Debug>(way: &str, act: impl FnOnce() -> Result<T>) -> Error {
    let began = Instant::now();
    let error = match act() {
        Ok(answer) => panic!("{way}: {answer:?}"),
        Err(error) => error,
    };
    assert!(began.elapsed() < IN_TIME, "{way} took {:?}", began.elapsed());
    assert!(error.message().contains("\"hostile\""), "{way}: {error}");
    error
}

fn read(collection: &dyn Collection) -> Result<Vec<Drawer>> {
    collection.get(&GetRequest::default())
}

fn write(collection: &dyn Collection, key: Option<&IdempotencyKey>) -> Result<Receipt> {
    let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "text");
    let writes = [Write::Add(drawer)];
    collection.apply(&ApplyRequest {
        key,
        ..ApplyRequest::from_writes(&writes)
    })
}

#[test]
fn a_hello_that_does_not_come_is_an_error_in_time() {
    let options = PluginOptions {
        hello_time: Duration::from_millis(300),
        ..limits()
    };
    assert_eq!(PluginOptions::default().hello_time, Duration::from_secs(5));
    let error = expect_named("silent", || start("silent", options));
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.message().contains("hello"), "{error}");
}

#[test]
fn a_hello_that_is_none_is_an_error() {
    for (way, words) in [
        ("dead", "exit status: 1"),
        ("banner", "Welc"),
        ("answer_first", "not a hello"),
    ] {
        let error = expect_named(way, || start(way, limits()));
        assert!(error.message().contains(words), "{way}: {error}");
    }
    let missing = PluginBackend::start("hostile", "./no-such-file", [], limits());
    assert!(
        expect_named("missing", || missing)
            .message()
            .contains("no-such-file")
    );
}

#[test]
fn another_major_version_is_refused_by_name() {
    let error = expect_named("major", || start("major", limits()));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("speaks protocol 9.0"), "{error}");
    let error = expect_named("contract", || start("contract", limits()));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("contract 9.0"), "{error}");
}

#[test]
fn a_call_that_is_not_answered_ends_the_plug_in_and_the_next_call_starts_it_again() {
    let backend = start("hang", impatient()).unwrap();
    let collection = open(&backend);
    let first = backend.process_id().unwrap();
    let error = expect_named("hang", || read(collection.as_ref()));
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.message().contains("did not answer get"), "{error}");
    assert_eq!(backend.process_id(), None, "it was ended");
    // Opened again in a new process, which hangs as well.
    expect_named("hang", || read(collection.as_ref()));
    open(&backend);
    assert_ne!(backend.process_id().unwrap(), first);
}

#[test]
fn of_a_write_that_is_not_answered_the_outcome_is_not_known() {
    let backend = start("hang", impatient()).unwrap();
    let error = expect_named("hang", || write(open(&backend).as_ref(), None));
    // Timed out would promise that nothing was written.
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.hint_text().unwrap().contains("not known"), "{error:?}");
}

#[test]
fn a_plug_in_that_reads_nothing_blocks_no_caller() {
    let backend = start("deaf", impatient()).unwrap();
    let name = CollectionName::new("drawers").unwrap();
    // More than a pipe holds.
    let palace = PalaceRef::from_id("p".repeat(1 << 20));
    expect_named("deaf", || backend.open(&palace, &name, &without_waiting()));
}

#[test]
fn an_answer_after_the_cancellation_still_counts() {
    let backend = start("late_answer", impatient()).unwrap();
    assert_eq!(read(open(&backend).as_ref()).unwrap().len(), 1);
}

#[test]
fn a_plug_in_that_dies_is_named_with_how_it_ended() {
    let backend = start("dies", limits()).unwrap();
    let collection = open(&backend);
    let error = expect_named("dies", || read(collection.as_ref()));
    assert!(error.message().contains("exit status: 7"), "{error}");
    let error = expect_named("dies", || write(collection.as_ref(), None));
    assert!(error.hint_text().unwrap().contains("not known"), "{error:?}");
}

#[test]
fn a_call_that_may_be_repeated_is_made_once_more_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mark = |name: &str| folder.path().join(name).display().to_string();
    let key = IdempotencyKey::new("k").unwrap();
    let reads = start_with(&["dies_once", &mark("read")], limits()).unwrap();
    assert_eq!(read(open(&reads).as_ref()).unwrap().len(), 1);
    let keyed = start_with(&["dies_once", &mark("keyed")], limits()).unwrap();
    assert_eq!(write(open(&keyed).as_ref(), Some(&key)).unwrap().seq, 1);
    let plain = start_with(&["dies_once", &mark("plain")], limits()).unwrap();
    let collection = open(&plain);
    expect_named("dies_once", || write(collection.as_ref(), None));
    // The next one is answered: the plug-in was started again.
    assert_eq!(write(collection.as_ref(), None).unwrap().seq, 1);
}

#[test]
fn a_plug_in_that_dies_in_each_process_is_called_twice_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("calls").display().to_string();
    let key = IdempotencyKey::new("k").unwrap();
    let dying = start_with(&["counts_and_dies", &mark], limits()).unwrap();
    let collection = open(&dying);
    let mut called = 0;
    let mut count_calls = || {
        let all = std::fs::read_to_string(&mark).unwrap().lines().count();
        std::mem::replace(&mut called, all).abs_diff(all)
    };
    expect_named("read", || read(collection.as_ref()));
    assert_eq!(count_calls(), 2);
    expect_named("keyed", || write(collection.as_ref(), Some(&key)));
    assert_eq!(count_calls(), 2);
    expect_named("plain", || write(collection.as_ref(), None));
    assert_eq!(count_calls(), 1, "it may have been applied");
}

#[test]
fn a_revision_is_sent_part_by_part_as_the_plug_in_asks() {
    // Takes frames of at most 1,000 bytes, which each part is and the whole is not.
    let backend = start("small", limits()).unwrap();
    let collection = open(&backend);
    let made = std::cell::Cell::new(0);
    let parts = (0..5).map(|n| {
        made.set(made.get() + 1);
        let id = DrawerId::new(format!("{n}")).unwrap();
        vec![Write::Add(NewDrawer::new(id, "x".repeat(600)))]
    });
    let revision = SourceRevision {
        source: "notes.md".into(),
        expects: None,
        stamp: None,
        parts: Box::new(parts),
    };
    let outcomes = collection.sources().unwrap().revise(vec![revision]).unwrap();
    assert!(
        matches!(outcomes[..], [RevisionOutcome::Done { .. }]),
        "{outcomes:?}"
    );
    assert_eq!(made.get(), 5);
}

#[test]
fn bytes_that_break_the_protocol_are_named_and_end_the_plug_in() {
    for (way, words) in [
        ("flood", "without credit"),
        ("endless", "exceeds 5000000 bytes"),
        ("garbage", "bytes"),
        ("not_json", "not valid"),
        ("wrong_shape", "not valid"),
        ("huge", "claims 4294967280 bytes"),
        ("cut", "before the length"),
        ("values", "claims 1000000 values"),
        ("leftover", "no row claims"),
        ("header", "longer than its frame"),
        ("kind", "unknown kind 77"),
        ("stranger", "never made"),
        ("calls", "only a host sends"),
        ("parts", "this call has none"),
    ] {
        let backend = start(way, limits()).unwrap();
        let collection = open(&backend);
        let error = expect_named(way, || read(collection.as_ref()));
        assert!(error.message().contains(words), "{way}: {error}");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{way}");
        assert_eq!(backend.process_id(), None, "{way} was ended");
    }
}

#[test]
fn a_frame_that_never_ends_is_an_error_in_time() {
    let backend = start("short", impatient()).unwrap();
    expect_named("short", || read(open(&backend).as_ref()));
}

#[test]
fn an_answer_given_twice_is_found_out() {
    let backend = start("twice", limits()).unwrap();
    let collection = open(&backend);
    // The first answer may be taken before the second arrives; then the next call is told.
    let first = read(collection.as_ref());
    let error = expect_named("twice", || match first {
        Err(error) => Err(error),
        Ok(_) => loop_until_error(collection.as_ref()),
    });
    assert!(error.message().contains("answered before"), "{error}");
}

/// Reads until a read fails: the second answer arrives within a call or between two.
fn loop_until_error(collection: &dyn Collection) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < IN_TIME {
        read(collection)?;
    }
    Ok(())
}

#[test]
fn signs_of_progress_without_end_do_not_keep_a_read_waiting() {
    let backend = start("drip", impatient()).unwrap();
    let error = expect_named("drip", || read(open(&backend).as_ref()));
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
}

#[test]
fn a_request_that_is_too_long_for_the_plug_in_is_refused_and_not_sent() {
    let backend = start("small", limits()).unwrap();
    let collection = open(&backend);
    let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "x".repeat(2000));
    let writes = [Write::Add(drawer)];
    let error = expect_named("small", || collection.apply(&ApplyRequest::from_writes(&writes)));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(read(collection.as_ref()).is_ok(), "the plug-in is still well");
}

#[test]
fn standard_error_is_passed_on_line_by_line_and_not_without_end() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&lines);
    let options = PluginOptions {
        listener: Some(Arc::new(move |line: &str| {
            heard.lock().unwrap().push(line.to_owned())
        })),
        ..limits()
    };
    let backend = start("talks", options).unwrap();
    // Answered although five thousand lines were written before: they never block the plug-in.
    assert_eq!(read(open(&backend).as_ref()).unwrap().len(), 1);
    backend.close();
    let began = Instant::now();
    while lines.lock().unwrap().len() < 1001 && began.elapsed() < IN_TIME {
        std::thread::yield_now();
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 1001);
    assert!(lines[0].starts_with("line 0 x"), "{:?}", lines[0]);
    assert_eq!(lines[1000], "(more lines are not shown)");
}

#[test]
fn after_a_close_every_call_is_closed_and_the_process_is_gone() {
    let backend = start("well", limits()).unwrap();
    let collection = open(&backend);
    let process = backend.process_id().unwrap();
    backend.close();
    assert_eq!(read(collection.as_ref()).unwrap_err().kind(), ErrorKind::Closed);
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
}
