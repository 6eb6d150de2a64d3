//! The acts of all visits that can be undone, until something is forgotten.
//!
//! An act holds the words that it replaced. When drawers are forgotten, every visit loses its acts at once, and none that
//! was under way meanwhile is remembered or undone. `engine` refuses those that another process has outdated.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use loci_core::{Error, ErrorKind, Result};
use loci_engine::Palace;
use loci_engine::undo::{PalaceAct, UndoReport};

/// The most acts of a visit that can be undone.
pub(crate) const MOST_ACTS: usize = 20;
/// The most memory that the acts of a visit take, in bytes, beside the last of them.
const MOST_BYTES: usize = 128 << 20;

/// The acts of one visit, the newest last.
#[derive(Default)]
pub(crate) struct ActHistory(Mutex<Vec<PalaceAct>>);

impl fmt::Debug for ActHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the acts, whose words must not reach a log.
        f.debug_struct("ActHistory").finish_non_exhaustive()
    }
}

impl ActHistory {
    /// Describes the last act.
    pub(crate) fn describe_last(&self) -> Option<String> {
        lock(&self.0).last().map(PalaceAct::describe)
    }

    fn push(&self, act: PalaceAct) {
        let mut acts = lock(&self.0);
        acts.push(act);
        let mut bytes: usize = acts.iter().map(PalaceAct::estimate_size).sum();
        while acts.len() > MOST_ACTS || (acts.len() > 1 && bytes > MOST_BYTES) {
            bytes -= acts.remove(0).estimate_size();
        }
    }

    fn pop(&self) -> Option<PalaceAct> {
        lock(&self.0).pop()
    }

    fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// When an act began, counted in the times that something was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActBeginning(u64);

/// An act that was undone.
#[derive(Debug)]
pub(crate) struct UndoneAct {
    pub(crate) act: PalaceAct,
    pub(crate) report: UndoReport,
}

/// Knows the histories of all visits. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActBoard {
    known: Arc<Mutex<KnownHistories>>,
    /// Held while an act is undone, so that no forgetting begins in the middle of it.
    undoing: Arc<Mutex<()>>,
}

#[derive(Debug, Default)]
struct KnownHistories {
    /// The number of times that forgetting began or ended.
    epoch: u64,
    is_forgetting: bool,
    histories: Vec<Weak<ActHistory>>,
}

impl KnownHistories {
    fn check_quiet(&self) -> Result<()> {
        if !self.is_forgetting {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Conflict, "drawers are being forgotten at this moment");
        Err(error.with_hint("nothing was changed; try again when that has ended"))
    }

    fn forget_acts(&mut self) {
        self.epoch += 1;
        self.histories
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|history| history.clear());
        self.histories.clear();
    }
}

/// Lasts while drawers are being forgotten: no act is remembered or undone meanwhile.
#[derive(Debug)]
pub(crate) struct ForgettingTurn {
    board: ActBoard,
    has_begun: bool,
}

impl ForgettingTurn {
    /// Drops every act of every visit, now and again at the end of the turn.
    pub(crate) fn forget_acts(&mut self) {
        self.has_begun = true;
        lock(&self.board.known).forget_acts();
    }
}

impl Drop for ForgettingTurn {
    fn drop(&mut self) {
        let mut known = lock(&self.board.known);
        known.is_forgetting = false;
        // A turn that ends before it began has forgotten nothing.
        if self.has_begun {
            known.forget_acts();
        }
    }
}

impl ActBoard {
    /// Notes that an act begins.
    pub(crate) fn note_beginning(&self) -> ActBeginning {
        ActBeginning(lock(&self.known).epoch)
    }

    /// Remembers an act of a visit; returns whether it can be undone.
    pub(crate) fn remember(&self, began: ActBeginning, history: &Arc<ActHistory>, act: PalaceAct) -> bool {
        let mut known = lock(&self.known);
        if known.is_forgetting || known.epoch != began.0 {
            return false;
        }
        let is_known = |one: &Weak<ActHistory>| one.as_ptr() == Arc::as_ptr(history);
        if !known.histories.iter().any(is_known) {
            known.histories.retain(|one| one.strong_count() > 0);
            known.histories.push(Arc::downgrade(history));
        }
        history.push(act);
        true
    }

    /// Undoes the last act of a visit, if it has one. An act that may be undone later stays the last.
    pub(crate) fn undo_last(&self, history: &Arc<ActHistory>, palace: &Palace) -> Result<Option<UndoneAct>> {
        let _undoing = lock(&self.undoing);
        self.check_quiet()?;
        let began = self.note_beginning();
        let Some(act) = history.pop() else {
            return Ok(None);
        };
        match palace.undo(&act) {
            Ok(report) => Ok(Some(UndoneAct { act, report })),
            Err(error) => {
                if act.is_outdated(palace).unwrap_or(false) {
                    history.clear();
                } else if may_pass(error.kind()) {
                    self.remember(began, history, act);
                }
                Err(error)
            }
        }
    }

    /// Lets drawers be forgotten, by one visitor at a time. Waits for an act that is being undone.
    pub(crate) fn begin_forgetting(&self) -> Result<ForgettingTurn> {
        let _undoing = lock(&self.undoing);
        let mut known = lock(&self.known);
        known.check_quiet()?;
        known.is_forgetting = true;
        Ok(ForgettingTurn {
            board: self.clone(),
            has_begun: false,
        })
    }

    /// Refuses to go on while drawers are being forgotten.
    pub(crate) fn check_quiet(&self) -> Result<()> {
        lock(&self.known).check_quiet()
    }
}

/// Returns whether an error may be gone the next time. With any other, the act would be in the way of those before it.
fn may_pass(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Locked
            | ErrorKind::Unavailable
            | ErrorKind::TimedOut
            | ErrorKind::Closed
            | ErrorKind::Conflict
            | ErrorKind::Io
    )
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
