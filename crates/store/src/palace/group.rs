//! Group commit: the changes of several writers of this process in one transaction, each in a savepoint of its own.

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Transaction;

use super::line::{GroupedChange, LineOutcome, LinePlace, LineTurn};
use super::{PalaceFile, WriteFailure, WriterLine};
use crate::clock;
use crate::deadline::CallLimits;
use crate::failure::sqlite_error;

/// A change that waits in line, and its answer once it was made.
struct QueuedChange<T, F> {
    change: F,
    size: usize,
    answer: Mutex<Option<T>>,
}

impl<T, F> GroupedChange for QueuedChange<T, F>
where
    T: Send,
    F: Fn(&Transaction<'_>, u64) -> Result<T> + Send + Sync,
{
    fn make(&self, transaction: &Transaction<'_>, generation: u64) -> Result<()> {
        let answer = (self.change)(transaction, generation)?;
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        Ok(())
    }

    fn size(&self) -> usize {
        self.size
    }
}

impl PalaceFile {
    /// Returns the line of this process's writers, if their writes are grouped.
    pub(crate) fn writer_line(&self) -> Option<&WriterLine> {
        self.writers.line()
    }

    /// Writes as [`PalaceFile::write`] does, with a change that owns what it needs and writes about `size` bytes. Another
    /// writer may make it in its own transaction, once or, if that is not committed, in vain.
    pub(crate) fn write_in_line<T, F>(
        &self,
        line: &WriterLine,
        wait: Duration,
        size: usize,
        change: F,
    ) -> std::result::Result<T, WriteFailure>
    where
        T: Send + 'static,
        F: Fn(&Transaction<'_>, u64) -> Result<T> + Send + Sync + 'static,
    {
        let queued = Arc::new(QueuedChange {
            change,
            size,
            answer: Mutex::new(None),
        });
        match line.wait_with(Arc::clone(&queued) as Arc<dyn GroupedChange>) {
            LineOutcome::Turn(turn) => self.lead_group(&turn, wait, &queued.change),
            LineOutcome::Done(done) => {
                done?;
                let mut answer = queued.answer.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(answer.take().expect("a change that was made has its answer"))
            }
        }
    }

    /// Makes a change, takes along those that wait in line, and commits all of them at once.
    ///
    /// A change that fails is rolled back by itself. If the whole transaction is lost before its commit, nothing is
    /// reported as done: every change is made again by its own writer, alone. If the commit fails, so do all.
    pub(crate) fn lead_group<T>(
        &self,
        turn: &LineTurn<'_>,
        wait: Duration,
        change: impl Fn(&Transaction<'_>, u64) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        let limits = CallLimits::new(wait, None);
        let mut group = WriteGroup::new(turn.line);
        let done = self.write_in_turn(limits, |transaction, generation| {
            let begun = clock::instant();
            let answer = change(transaction, generation)?;
            if !turn.alone && self.check_open().is_ok() {
                group.take_along(transaction, generation, begun)?;
            }
            Ok(answer)
        });
        match done {
            Ok(answer) => {
                group.acknowledge();
                Ok(answer)
            }
            Err(failure) if failure.at_commit => {
                group.fail(&failure);
                Err(failure)
            }
            Err(failure) => {
                let innocent = group.lost;
                group.give_back();
                if innocent {
                    return self.write_in_turn(limits, change);
                }
                Err(failure)
            }
        }
    }
}

/// The changes that a writer has taken along in its transaction.
struct WriteGroup<'l> {
    line: &'l WriterLine,
    members: Vec<GroupMember>,
    /// Whether one of them has cost the whole transaction.
    lost: bool,
}

/// A change that was taken along, and its error if it was rolled back.
struct GroupMember {
    place: Arc<LinePlace>,
    error: Option<Error>,
}

impl<'l> WriteGroup<'l> {
    fn new(line: &'l WriterLine) -> Self {
        Self {
            line,
            members: Vec::new(),
            lost: false,
        }
    }

    /// Takes along what waits in line, within the limits of a group. Fails if the transaction is lost.
    fn take_along(&mut self, transaction: &Transaction<'_>, generation: u64, begun: Instant) -> Result<()> {
        let limits = self.line.limits;
        let mut room = limits.bytes;
        while self.members.len() < limits.changes
            && clock::instant().saturating_duration_since(begun) < limits.time
            && let Some(place) = self.line.take_next(room)
        {
            room -= place.groupable_change().map_or(0, GroupedChange::size);
            self.members.push(GroupMember { place, error: None });
            self.make_last(transaction, generation)
                .inspect_err(|_| self.lost = true)?;
        }
        Ok(())
    }

    /// Makes the change that was taken along last, in a savepoint. Fails if the transaction is lost.
    fn make_last(&mut self, transaction: &Transaction<'_>, generation: u64) -> Result<()> {
        let Some(member) = self.members.last_mut() else {
            return Ok(());
        };
        let Some(change) = member.place.groupable_change() else {
            return Ok(());
        };
        let run = |sql: &str| {
            transaction
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute([]))
                .map_err(sqlite_error)
        };
        check_lasting(transaction)?;
        run("SAVEPOINT member")?;
        crate::crash::point("group-member");
        // A panic belongs to the thread of its own writer, which makes the change again.
        let made = catch_unwind(AssertUnwindSafe(|| change.make(transaction, generation)))
            .map_err(|_| Error::new(ErrorKind::Internal, "a change panicked"))?;
        check_lasting(transaction)?;
        if let Err(error) = made {
            run("ROLLBACK TO member")?;
            member.error = Some(error);
        }
        run("RELEASE member")?;
        Ok(())
    }

    /// Tells every writer that its change is stored, or why it failed.
    fn acknowledge(&mut self) {
        for GroupMember { place, error } in self.members.drain(..) {
            place.report(error.map_or(Ok(()), |error| Err(error.into())));
        }
    }

    /// Tells every writer whose change was made that the commit failed. A change that had failed may have met what was
    /// not committed, so its writer makes it again.
    fn fail(&mut self, failure: &WriteFailure) {
        let (failed, made): (Vec<_>, Vec<_>) =
            self.members.drain(..).partition(|member| member.error.is_some());
        self.line.give_back(failed.into_iter().map(|member| member.place));
        for member in made {
            member.place.report(Err(WriteFailure {
                error: repeat_error(&failure.error),
                at_commit: failure.at_commit,
            }));
        }
    }

    /// Leaves every change to its own writer, alone.
    fn give_back(&mut self) {
        self.line
            .give_back(self.members.drain(..).map(|member| member.place));
    }
}

impl Drop for WriteGroup<'_> {
    fn drop(&mut self) {
        if self.members.is_empty() {
            return;
        }
        // There are members left only if this thread panics, perhaps while it commits: no writer may wait in vain, and
        // none may be told that its change is stored.
        let error = Error::new(
            ErrorKind::Internal,
            "the thread that was to commit this write together with its own panicked",
        )
        .with_context("outcome", "unknown")
        .with_hint("whether this write was stored is unknown; look for it before repeating it");
        self.fail(&WriteFailure {
            error,
            at_commit: true,
        });
    }
}

impl fmt::Debug for WriteGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGroup")
            .field("members", &self.members.len())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

/// Fails if SQLite has rolled the transaction back: every further statement would commit by itself.
fn check_lasting(transaction: &Transaction<'_>) -> Result<()> {
    if transaction.is_autocommit() {
        return Err(Error::new(ErrorKind::Internal, "the transaction was rolled back"));
    }
    Ok(())
}

/// Returns the same error for another writer of the group. Causes cannot be shared, so theirs is the text.
fn repeat_error(error: &Error) -> Error {
    let mut again = Error::new(error.kind(), error.message());
    for (key, value) in error.context() {
        again = again.with_context(key, value);
    }
    if let Some(hint) = error.hint_text() {
        again = again.with_hint(hint);
    }
    match std::error::Error::source(error) {
        Some(cause) => again.caused_by(cause.to_string()),
        None => again,
    }
}
