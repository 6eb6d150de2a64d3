//! The queue of the writers of one process: a lock, or a line in which a writer may take the changes of others along.

mod place;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use loci_core::Result;

use super::WriteFailure;
use crate::clock;
use crate::deadline::{BudgetDeadline, timed_out};

use place::LineCall;
pub(super) use place::{GroupedChange, LinePlace};

/// The queue of the writers of one process.
#[derive(Debug)]
pub(super) enum WriterQueue {
    /// Each writer commits by itself.
    Single(Mutex<()>),
    /// Writers that wait at the same time commit together.
    Grouping(WriterLine),
}

impl Default for WriterQueue {
    fn default() -> Self {
        Self::Single(Mutex::default())
    }
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(super) enum WriterTurn<'q> {
    Single { _guard: MutexGuard<'q, ()> },
    Grouping { _turn: LineTurn<'q> },
}

impl WriterQueue {
    /// Waits for the other writers of this process, but not past the deadline.
    pub(super) fn take_turn(&self, deadline: BudgetDeadline) -> Result<WriterTurn<'_>> {
        match self {
            Self::Single(writing) => {
                lock_within(writing, deadline).map(|guard| WriterTurn::Single { _guard: guard })
            }
            Self::Grouping(line) => line
                .take_turn(deadline)
                .map(|turn| WriterTurn::Grouping { _turn: turn }),
        }
    }

    /// Returns the line, if writes are grouped.
    pub(super) fn line(&self) -> Option<&WriterLine> {
        match self {
            Self::Single(_) => None,
            Self::Grouping(line) => Some(line),
        }
    }
}

fn lock_within(writing: &Mutex<()>, deadline: BudgetDeadline) -> Result<MutexGuard<'_, ()>> {
    if deadline.instant().is_none() {
        return Ok(hold(writing));
    }
    // A standard mutex has no timed wait, so a caller with a budget polls.
    loop {
        match writing.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => deadline.check()?,
        }
        clock::sleep(Duration::from_millis(1));
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The limits of a group: other processes wait for the file until it is committed.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupLimits {
    /// The most changes that one writer takes along.
    pub(super) changes: usize,
    /// The most bytes that they write together.
    pub(super) bytes: usize,
    /// The time in the transaction after which no further change is taken along.
    pub(super) time: Duration,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            changes: 63,
            bytes: 4 << 20,
            time: Duration::from_millis(20),
        }
    }
}

/// The writers of one process in the order in which they came.
///
/// The writer whose turn it is may take changes out of the line and commit them with its own; the turn itself always
/// goes to the writer that has waited longest, so none starves.
#[derive(Debug, Default)]
pub(crate) struct WriterLine {
    pub(super) limits: GroupLimits,
    state: Mutex<LineState>,
}

#[derive(Debug, Default)]
struct LineState {
    /// Whether a writer has the turn.
    busy: bool,
    waiting: VecDeque<Arc<LinePlace>>,
}

/// The turn of one writer; passed on when it is dropped.
#[derive(Debug)]
pub(crate) struct LineTurn<'l> {
    pub(super) line: &'l WriterLine,
    /// Whether the writer takes no other changes along.
    pub(super) alone: bool,
}

/// The end of waiting with a change.
#[derive(Debug)]
pub(super) enum LineOutcome<'l> {
    /// It is the writer's turn to make the change.
    Turn(LineTurn<'l>),
    /// Another writer has made it, or it failed.
    Done(std::result::Result<(), WriteFailure>),
}

impl WriterLine {
    /// Takes the turn, if no writer has it.
    pub(crate) fn try_turn(&self) -> Option<LineTurn<'_>> {
        let mut state = hold(&self.state);
        if state.busy {
            return None;
        }
        state.busy = true;
        Some(LineTurn {
            line: self,
            alone: false,
        })
    }

    /// Waits for the turn, but not past the deadline.
    fn take_turn(&self, deadline: BudgetDeadline) -> Result<LineTurn<'_>> {
        let place = LinePlace::new(None);
        // A turn that comes together with the deadline is taken all the same: it must not be lost.
        if self.join(&place) || place.wait_until(deadline).is_some() || !self.leave(&place) {
            return Ok(LineTurn {
                line: self,
                alone: true,
            });
        }
        Err(timed_out())
    }

    /// Waits until another writer has made the change, or until it is the caller's turn to make it.
    pub(super) fn wait_with(&self, change: Arc<dyn GroupedChange>) -> LineOutcome<'_> {
        let place = LinePlace::new(Some(change));
        if !self.join(&place)
            && let LineCall::Done(done) = place.wait()
        {
            return LineOutcome::Done(done);
        }
        LineOutcome::Turn(LineTurn {
            line: self,
            alone: place.is_alone(),
        })
    }

    /// Takes a place at the end of the line; returns true if it is the turn of this writer at once.
    fn join(&self, place: &Arc<LinePlace>) -> bool {
        let mut state = hold(&self.state);
        if !state.busy {
            state.busy = true;
            return true;
        }
        state.waiting.push_back(Arc::clone(place));
        false
    }

    /// Gives up a place in the line; returns false if it was called already.
    fn leave(&self, place: &Arc<LinePlace>) -> bool {
        let mut state = hold(&self.state);
        let found = state.waiting.iter().position(|other| Arc::ptr_eq(other, place));
        found.and_then(|at| state.waiting.remove(at)).is_some()
    }

    /// Takes the first change out of the line that may be taken along, if it is not larger than `room`.
    pub(super) fn take_next(&self, room: usize) -> Option<Arc<LinePlace>> {
        let mut state = hold(&self.state);
        let mut places = state.waiting.iter();
        let at = places.position(|place| place.groupable_change().is_some())?;
        let change = state.waiting.get(at)?.groupable_change()?;
        // A larger one is not passed over: it leads the next group.
        if change.size() > room {
            return None;
        }
        state.waiting.remove(at)
    }

    /// Puts changes that were not committed back to the front of the line, each for its own writer alone.
    pub(super) fn give_back(&self, places: impl DoubleEndedIterator<Item = Arc<LinePlace>>) {
        let mut state = hold(&self.state);
        for place in places.rev() {
            place.keep_alone();
            state.waiting.push_front(place);
        }
    }

    /// Returns the number of writers in line, the one whose turn it is included.
    #[cfg(feature = "crash-points")]
    pub(crate) fn count_writers(&self) -> usize {
        let state = hold(&self.state);
        usize::from(state.busy) + state.waiting.len()
    }
}

impl Drop for LineTurn<'_> {
    fn drop(&mut self) {
        let mut state = hold(&self.line.state);
        match state.waiting.pop_front() {
            // Called while the line is held, so that a writer that finds itself gone from it has its call.
            Some(next) => next.call(LineCall::Turn),
            None => state.busy = false,
        }
    }
}
