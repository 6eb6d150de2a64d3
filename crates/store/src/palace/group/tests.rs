//! Groups of writers: what each is told when others fail, panic or close the palace.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle, ThreadId};

use super::*;
use crate::palace::line::WriterQueue;
use crate::palace::{AbsentPalace, PalaceFile};

const WAIT: Duration = Duration::from_secs(30);

/// A palace whose writes are grouped; slow machines take as many along as fast ones.
struct GroupedPalace {
    _folder: tempfile::TempDir,
    palace: Arc<PalaceFile>,
}

type Outcome = std::result::Result<ThreadId, WriteFailure>;

impl GroupedPalace {
    fn new() -> Self {
        Self::limited(|limits| limits.time = WAIT)
    }

    fn limited(limit: impl FnOnce(&mut crate::palace::line::GroupLimits)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut line = WriterLine::default();
        limit(&mut line.limits);
        let mut palace = PalaceFile::new(folder.path().join("palace.db"), None);
        palace.writers = WriterQueue::Grouping(line);
        drop(palace.lease_reading(AbsentPalace::Create, WAIT).unwrap());
        Self {
            _folder: folder,
            palace: Arc::new(palace),
        }
    }

    fn line(&self) -> &WriterLine {
        self.palace.writer_line().unwrap()
    }

    /// The texts of all notes, in order.
    fn notes(&self) -> Vec<String> {
        let lease = self.palace.lease(WAIT).unwrap();
        let mut statement = lease.prepare("SELECT text FROM notes ORDER BY rowid").unwrap();
        let notes = statement.query_map([], |row| row.get(0)).unwrap();
        notes.map(rusqlite::Result::unwrap).collect()
    }

    /// Starts a writer and waits until it stands in line. Its answer is the thread that made the change.
    fn queue<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        change: impl Fn(&Transaction<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> ScopedJoinHandle<'s, Outcome> {
        let before = self.line().count_writers();
        let writer = scope.spawn(move || {
            self.palace
                .write_in_line(self.line(), WAIT, 6, move |transaction, _| {
                    change(transaction).map(|()| std::thread::current().id())
                })
        });
        self.await_writers(before + 1);
        writer
    }

    fn await_writers(&self, count: usize) {
        while self.line().count_writers() != count {
            std::thread::yield_now();
        }
    }
}

fn note(text: &'static str) -> impl Fn(&Transaction<'_>) -> Result<()> + Send + Sync {
    move |transaction| {
        transaction
            .execute("INSERT INTO notes(at, text) VALUES (0, ?1)", [text])
            .map(drop)
            .map_err(sqlite_error)
    }
}

/// Makes a note and fails with it.
fn refused(text: &'static str) -> impl Fn(&Transaction<'_>) -> Result<()> + Send + Sync {
    move |transaction| {
        note(text)(transaction)?;
        Err(Error::new(ErrorKind::Conflict, text))
    }
}

/// Ends a writer and returns its own thread and the one that made the change.
fn threads(writer: ScopedJoinHandle<'_, Outcome>) -> (ThreadId, ThreadId) {
    let own = writer.thread().id();
    (own, writer.join().unwrap().unwrap())
}

fn failure(writer: ScopedJoinHandle<'_, Outcome>) -> WriteFailure {
    writer.join().unwrap().unwrap_err()
}

#[test]
fn writers_that_wait_are_committed_by_the_first_of_them() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let writers = ["a", "b", "c", "d"].map(|text| grouped.queue(scope, note(text)));
        drop(turn);
        let made = writers.map(threads);
        assert!(made.iter().all(|(_, by)| *by == made[0].0), "{made:?}");
    });
    assert_eq!(grouped.notes(), ["a", "b", "c", "d"]);
    assert!(grouped.line().try_turn().is_some(), "the line is free again");
}

#[test]
fn a_change_that_fails_is_rolled_back_by_itself() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let first = grouped.queue(scope, note("a"));
        let bad = grouped.queue(scope, refused("b"));
        let last = grouped.queue(scope, note("c"));
        drop(turn);
        let failed = failure(bad);
        assert!(!failed.at_commit);
        assert_eq!(failed.error.kind(), ErrorKind::Conflict);
        assert_eq!(threads(first).1, threads(last).1, "both in one transaction");
    });
    assert_eq!(grouped.notes(), ["a", "c"]);
}

#[test]
fn the_first_of_a_group_may_fail_and_the_next_takes_the_others_along() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let bad = grouped.queue(scope, refused("a"));
        let [next, last] = ["b", "c"].map(|text| grouped.queue(scope, note(text)));
        drop(turn);
        assert_eq!(failure(bad).error.kind(), ErrorKind::Conflict);
        let (own, by) = threads(next);
        assert_eq!([by, threads(last).1], [own, own]);
    });
    assert_eq!(grouped.notes(), ["b", "c"]);
}

#[test]
fn a_panic_stays_with_its_writer() {
    let grouped = GroupedPalace::new();
    let panicking = |_: &Transaction<'_>| -> Result<()> { panic!("a defect in one change") };
    for panicking_first in [true, false] {
        std::thread::scope(|scope| {
            let turn = grouped.line().try_turn().unwrap();
            let first = (!panicking_first).then(|| grouped.queue(scope, note("first")));
            let bad = grouped.queue(scope, panicking);
            let last = grouped.queue(scope, note("last"));
            drop(turn);
            assert!(bad.join().is_err(), "its own thread panics");
            first.map(threads);
            threads(last);
        });
    }
    assert_eq!(grouped.notes(), ["last", "first", "last"], "each once");
    assert!(grouped.line().try_turn().is_some());
}

#[test]
fn changes_of_a_transaction_that_was_lost_are_made_again_each_alone() {
    let grouped = GroupedPalace::new();
    let losing = |transaction: &Transaction<'_>| -> Result<()> {
        transaction.execute_batch("ROLLBACK").unwrap();
        Err(Error::new(ErrorKind::Io, "the disk failed"))
    };
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let [first, second] = ["a", "b"].map(|text| grouped.queue(scope, note(text)));
        let bad = grouped.queue(scope, losing);
        let last = grouped.queue(scope, note("c"));
        drop(turn);
        assert_eq!(failure(bad).error.kind(), ErrorKind::Io);
        for (own, by) in [first, second].map(threads) {
            assert_eq!(own, by, "alone");
        }
        threads(last);
    });
    assert_eq!(grouped.notes(), ["a", "b", "c"]);
}

#[test]
fn a_commit_that_fails_fails_for_every_change_in_it() {
    let grouped = GroupedPalace::new();
    // A reference to nothing, which SQLite finds when it commits.
    let broken = |transaction: &Transaction<'_>| {
        transaction
            .execute_batch(
                "PRAGMA defer_foreign_keys = ON; INSERT INTO places(collection, wing, room, drawers) VALUES (99, 'w', 'r', 1)",
            )
            .map_err(sqlite_error)
    };
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let first = grouped.queue(scope, note("a"));
        let bad = grouped.queue(scope, broken);
        let refused = grouped.queue(scope, refused("b"));
        let last = grouped.queue(scope, note("c"));
        drop(turn);
        let failures = [first, bad, last].map(failure);
        assert!(failures.iter().all(|failure| failure.at_commit), "{failures:?}");
        let words = failures.map(|failure| failure.error.to_string());
        assert!(words.iter().all(|text| *text == words[0]), "{words:?}");
        // It may have met what was not committed, so its writer has tried once more.
        let refused = failure(refused);
        assert!(!refused.at_commit && refused.error.kind() == ErrorKind::Conflict);
    });
    assert_eq!(grouped.notes(), Vec::<String>::new());
}

#[test]
fn no_writer_waits_for_a_thread_that_panicked_with_its_change() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let taken = grouped.queue(scope, note("a"));
        let left = grouped.queue(scope, note("b"));
        let mut group = WriteGroup::new(grouped.line());
        let place = grouped.line().take_next(usize::MAX).unwrap();
        group.members.push(GroupMember { place, error: None });
        // As unwinding drops them.
        drop(group);
        drop(turn);
        let failed = failure(taken);
        assert!(failed.at_commit, "it must not be taken for rolled back");
        assert_eq!(failed.error.context(), [("outcome", "unknown".to_owned())]);
        threads(left);
    });
    assert_eq!(grouped.notes(), ["b"]);
}

#[test]
fn a_group_has_limits() {
    type Limit = fn(&mut crate::palace::line::GroupLimits);
    let limits: [(Limit, usize); 4] = [
        (|limits| limits.changes = 5, 1),
        (|limits| limits.changes = 2, 2),
        // Each change has six bytes.
        (|limits| limits.bytes = 11, 3),
        (|limits| limits.time = Duration::ZERO, 6),
    ];
    for (limit, expected) in limits {
        let grouped = GroupedPalace::limited(|limits| {
            limits.time = WAIT;
            limit(limits);
        });
        std::thread::scope(|scope| {
            let turn = grouped.line().try_turn().unwrap();
            let writers = ["a", "b", "c", "d", "e", "f"].map(|text| grouped.queue(scope, note(text)));
            drop(turn);
            let by: std::collections::HashSet<ThreadId> =
                writers.map(|writer| threads(writer).1).into_iter().collect();
            assert_eq!(by.len(), expected);
        });
        assert_eq!(grouped.notes(), ["a", "b", "c", "d", "e", "f"]);
    }
}

#[test]
fn a_palace_that_closes_refuses_those_that_wait() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let writers = ["a", "b"].map(|text| grouped.queue(scope, note(text)));
        grouped.palace.close();
        drop(turn);
        for writer in writers {
            assert_eq!(failure(writer).error.kind(), ErrorKind::Closed);
        }
    });
    assert!(grouped.line().try_turn().is_some());
}

#[test]
fn other_writers_keep_their_place_in_the_line() {
    let grouped = GroupedPalace::new();
    std::thread::scope(|scope| {
        let turn = grouped.line().try_turn().unwrap();
        let first = grouped.queue(scope, note("a"));
        let between = scope.spawn(|| grouped.palace.write(WAIT, note("between")));
        grouped.await_writers(3);
        let [second, third] = ["b", "c"].map(|text| grouped.queue(scope, note(text)));
        let ended = scope.spawn(|| {
            let limits = CallLimits::new(WAIT, Some(Duration::from_millis(1)));
            grouped
                .palace
                .write_within(limits, |transaction, _| note("late")(transaction))
        });
        assert_eq!(
            ended.join().unwrap().unwrap_err().error.kind(),
            ErrorKind::TimedOut,
            "it leaves the line"
        );
        drop(turn);
        between.join().unwrap().unwrap();
        let (own, by) = threads(first);
        assert_eq!([by, threads(second).1, threads(third).1], [own; 3]);
    });
    assert_eq!(grouped.notes(), ["a", "b", "c", "between"]);
}
