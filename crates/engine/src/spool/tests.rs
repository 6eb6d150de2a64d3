//! The promises of a spool, with a clock that is set by hand.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use loci_core::Timestamp;
use tempfile::TempDir;

use super::*;

const MINUTE: i64 = 60 * 1_000_000;

struct Scene {
    _folder: TempDir,
    spool: EventSpool,
    now: Cell<i64>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            spool: EventSpool::at(folder.path().join("data/spool")),
            _folder: folder,
            now: Cell::new(1_000_000),
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.now.get()).unwrap()
    }

    fn event(&self, transcript: &str) -> SpoolEvent {
        self.now.set(self.now.get() + 1);
        SpoolEvent {
            v: EVENT_VERSION,
            at: self.at(),
            harness: "somebody".into(),
            event: "stopped".into(),
            session: Some("s".into()),
            transcript: Some(transcript.into()),
            cwd: None,
            palace: "/palace".into(),
            collection: None,
            tries: 0,
            after: None,
            why: None,
        }
    }

    fn append(&self, transcript: &str) {
        self.spool.append_event(&self.event(transcript)).unwrap();
    }

    /// Drains with `work` and says what it was asked for, in order.
    fn drain(&self, mut work: impl FnMut(&SpoolEvent) -> EventOutcome) -> Vec<String> {
        let mut asked = Vec::new();
        let turn = self.spool.take_turn().unwrap().expect("nobody has the turn");
        drain_spool(&self.spool, turn, &|| self.at(), &mut |event| {
            asked.push(event.transcript.clone().unwrap());
            work(event)
        })
        .unwrap();
        asked
    }

    fn waiting(&self) -> (u64, u64) {
        let standing = self.spool.count_events().unwrap();
        (standing.waiting, standing.failed)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.spool.file_path(name)).unwrap_or_default()
    }
}

fn done(_: &SpoolEvent) -> EventOutcome {
    EventOutcome::Done(None)
}

#[test]
fn what_is_appended_waits_until_it_is_worked_off() {
    let scene = Scene::new();
    assert_eq!(scene.waiting(), (0, 0));
    scene.append("/a");
    scene.append("/b");
    assert_eq!(scene.waiting(), (2, 0));
    assert_eq!(scene.drain(done), ["/a", "/b"]);
    assert_eq!(scene.waiting(), (0, 0));
    assert!(scene.drain(done).is_empty());
}

#[test]
fn many_events_of_one_conversation_are_one_piece_of_work() {
    let scene = Scene::new();
    for _ in 0..20 {
        scene.append("/a");
    }
    assert_eq!(scene.waiting(), (1, 0));
    assert_eq!(scene.drain(done), ["/a"]);
}

#[test]
fn an_event_that_comes_during_the_work_is_worked_off_too() {
    let scene = Scene::new();
    scene.append("/a");
    let mut first = true;
    let asked = scene.drain(|_| {
        if std::mem::take(&mut first) {
            scene.append("/a");
        }
        EventOutcome::Done(None)
    });
    assert_eq!(asked, ["/a", "/a"]);
    assert_eq!(scene.waiting(), (0, 0));
}

#[test]
fn what_fails_waits_longer_each_time_keeps_nobody_waiting_and_is_set_aside_at_last() {
    let scene = Scene::new();
    scene.append("/bad");
    let work = |event: &SpoolEvent| match event.transcript.as_deref() {
        Some("/bad") => EventOutcome::Failed("broken".into()),
        _ => EventOutcome::Done(None),
    };
    for (minutes, nth) in [(0, 1), (1, 2), (4, 3), (16, 4), (64, 5)] {
        scene.now.set(scene.now.get() + minutes * MINUTE);
        scene.append("/good");
        assert_eq!(scene.drain(work).len(), 2, "try {nth}");
        if nth < 5 {
            assert_eq!(scene.waiting(), (1, 0));
            scene.append("/bad");
            assert!(scene.drain(work).is_empty(), "a new event does not end the pause");
            assert_eq!(scene.text(EVENTS).lines().count(), 1, "nor does it pile up");
        }
    }
    assert_eq!(scene.waiting(), (0, 1));
    assert!(scene.text(FAILED).contains(r#""why":"broken""#));
    assert!(scene.text("hook.log").contains("/bad: broken; given up"));
    scene.append("/bad");
    scene.drain(done);
    assert_eq!(scene.waiting(), (0, 0), "once it is mined it has not failed");
}

#[test]
fn a_busy_palace_is_no_failure_of_the_conversation() {
    let scene = Scene::new();
    scene.append("/a");
    for _ in 0..12 {
        assert_eq!(scene.drain(|_| EventOutcome::Later("held".into())), ["/a"]);
        scene.now.set(scene.now.get() + MINUTE);
    }
    assert_eq!(scene.waiting(), (1, 0));
    assert_eq!(scene.drain(done), ["/a"]);
}

#[test]
fn a_pause_that_a_wrong_clock_set_does_not_last_for_years() {
    let scene = Scene::new();
    let right = scene.now.get();
    scene.now.set(right + 1_000_000 * MINUTE);
    scene.append("/a");
    scene.drain(|_| EventOutcome::Failed("broken".into()));
    scene.now.set(right);
    assert_eq!(scene.drain(done), ["/a"]);
}

#[test]
fn a_conversation_that_is_not_there_is_given_up_and_is_no_failure() {
    let scene = Scene::new();
    scene.append("/a");
    for _ in 0..5 {
        assert_eq!(scene.waiting(), (1, 0));
        assert_eq!(scene.drain(|_| EventOutcome::Missing("gone".into())), ["/a"]);
        scene.now.set(scene.now.get() + 64 * MINUTE);
    }
    assert_eq!(scene.waiting(), (0, 0));
}

#[test]
fn work_that_ends_its_process_is_set_aside_and_comes_last() {
    let scene = Scene::new();
    scene.append("/deadly");
    for nth in 0..5 {
        if nth == 1 {
            scene.append("/good");
        }
        let mut asked = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            scene.drain(|event| {
                asked.push(event.transcript.clone().unwrap());
                match asked.last().unwrap().as_str() {
                    "/deadly" => std::panic::resume_unwind(Box::new("killed")),
                    _ => EventOutcome::Done(None),
                }
            })
        }));
        assert!(ended.is_err());
        let expected: &[&str] = if nth == 1 {
            &["/good", "/deadly"]
        } else {
            &["/deadly"]
        };
        assert_eq!(asked, expected);
        assert_eq!(scene.waiting(), (1, 0));
    }
    assert!(scene.drain(done).is_empty(), "it is not tried again");
    assert_eq!(scene.waiting(), (0, 1));
}

#[test]
fn a_torn_line_is_set_aside_and_costs_no_other_line() {
    let scene = Scene::new();
    scene.append("/a");
    let half = scene.text(EVENTS).trim_end().get(..30).unwrap().to_owned();
    let all = scene.text(EVENTS) + &half;
    fs::write(scene.spool.file_path(EVENTS), all).unwrap();
    scene.append("/b");
    assert_eq!(scene.drain(done), ["/a", "/b"]);
    assert_eq!(scene.waiting(), (0, 1));
    assert_eq!(scene.text(FAILED).trim_end(), half);
}

#[test]
fn an_event_goes_beside_the_spool_where_the_lock_is_not_to_be_had_and_is_found_there() {
    let scene = Scene::new();
    scene.append("/a");
    let held = scene.spool.lock_events().unwrap();
    scene.append("/b");
    assert_eq!(scene.spool.list_aside_files().unwrap().len(), 1);
    assert_eq!(scene.waiting(), (2, 0));
    drop(held);
    assert_eq!(scene.drain(done), ["/a", "/b"]);
    assert!(scene.spool.list_aside_files().unwrap().is_empty());
}

#[test]
fn an_event_beside_the_spool_is_seen_even_between_the_last_look_and_the_end_of_the_turn() {
    let scene = Scene::new();
    scene.append("/a");
    let (mut asked, looks) = (Vec::new(), Cell::new(0));
    let turn = scene.spool.take_turn().unwrap().unwrap();
    // The clock is read after the lines and before the turn is given back, with the lock held.
    let clock = || {
        looks.set(looks.get() + 1);
        if looks.get() == 2 {
            scene.append("/late");
            assert!(scene.spool.take_turn().unwrap().is_none());
        }
        scene.at()
    };
    let drained = drain_spool(&scene.spool, turn, &clock, &mut |event| {
        asked.push(event.transcript.clone().unwrap());
        EventOutcome::Done(None)
    });
    assert_eq!(drained.unwrap().done, 2);
    assert_eq!(asked, ["/a", "/late"]);
}

#[test]
fn the_turn_is_one_and_can_be_handed_over_without_a_gap() {
    let scene = Scene::new();
    let turn = scene.spool.take_turn().unwrap().unwrap();
    assert!(scene.spool.take_turn().unwrap().is_none());
    let handed = turn.into_file();
    let inherited = handed.try_clone().unwrap();
    drop(handed);
    assert!(scene.spool.take_turn().unwrap().is_none());
    let accepted = scene.spool.accept_turn(inherited.try_clone().unwrap()).unwrap();
    drain_spool(&scene.spool, accepted, &|| scene.at(), &mut done).unwrap();
    assert!(
        scene.spool.take_turn().unwrap().is_some(),
        "given back though it is still open"
    );
    let other = scene.spool.open_lock().unwrap();
    assert!(scene.spool.accept_turn(other).is_none());
}

#[test]
fn the_folder_and_its_files_are_for_nobody_but_their_owner() {
    let scene = Scene::new();
    scene.append("/a");
    scene.drain(|_| EventOutcome::Failed("broken".into()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scene.spool.folder()), 0o700);
    for entry in fs::read_dir(scene.spool.folder()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn the_log_keeps_within_its_bound_and_each_message_on_its_line() {
    let scene = Scene::new();
    for _ in 0..2000 {
        scene.spool.log_message(scene.at(), &"long\nmessage ".repeat(100));
    }
    let size = |name: &str| scene.text(name).len();
    assert!(size("hook.log") + size("hook.log.old") < 300 << 10);
    assert!(
        scene
            .text("hook.log")
            .lines()
            .all(|line| line.starts_with("1970"))
    );
}

#[test]
fn two_palaces_have_two_spools() {
    let of = |palace: &str| EventSpool::for_palace(Path::new("/spools"), Path::new(palace)).folder;
    assert_eq!(of("/a"), of("/a"));
    assert_ne!(of("/a"), of("/b"));
    assert_eq!(of("/a").parent(), Some(Path::new("/spools")));
}
