//! The place of one waiting writer in the line, and the call that ends its waiting.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use loci_core::Result;
use rusqlite::Transaction;

use super::hold;
use crate::clock;
use crate::deadline::BudgetDeadline;
use crate::palace::WriteFailure;

/// A change that any thread can make: it owns everything it needs, and keeps its answer for the writer that waits.
pub(in crate::palace) trait GroupedChange: Send + Sync {
    /// Makes the change in an open transaction on this generation of the file. It is made again, by its own writer, if
    /// the transaction is not committed.
    fn make(&self, transaction: &Transaction<'_>, generation: u64) -> Result<()>;

    /// Returns the bytes that it writes, roughly.
    fn size(&self) -> usize;
}

/// The place of a writer in the line.
pub(in crate::palace) struct LinePlace {
    /// The change that others may make for it; none for a writer that only waits for its turn.
    change: Option<Arc<dyn GroupedChange>>,
    /// Whether its writer has to make the change alone: it was taken along once, and not committed.
    alone: AtomicBool,
    call: Mutex<Option<LineCall>>,
    called: Condvar,
}

/// The call that ends a writer's waiting.
#[derive(Debug)]
pub(super) enum LineCall {
    /// It is its turn.
    Turn,
    /// Another writer has made its change, or the change failed.
    Done(std::result::Result<(), WriteFailure>),
}

impl LinePlace {
    pub(super) fn new(change: Option<Arc<dyn GroupedChange>>) -> Arc<Self> {
        Arc::new(Self {
            change,
            alone: AtomicBool::new(false),
            call: Mutex::default(),
            called: Condvar::new(),
        })
    }

    /// Returns the change if it may be taken along.
    pub(in crate::palace) fn groupable_change(&self) -> Option<&dyn GroupedChange> {
        self.change.as_deref().filter(|_| !self.is_alone())
    }

    /// Returns whether its writer has to make the change alone.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::SeqCst)
    }

    /// Leaves the change to its own writer.
    pub(super) fn keep_alone(&self) {
        self.alone.store(true, Ordering::SeqCst);
    }

    /// Tells the writer that its change was made, or how it failed.
    pub(in crate::palace) fn report(&self, done: std::result::Result<(), WriteFailure>) {
        self.call(LineCall::Done(done));
    }

    pub(super) fn call(&self, call: LineCall) {
        *hold(&self.call) = Some(call);
        self.called.notify_one();
    }

    /// Waits for the call.
    pub(super) fn wait(&self) -> LineCall {
        let mut call = hold(&self.call);
        loop {
            if let Some(call) = call.take() {
                return call;
            }
            call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the call, but not past the deadline.
    pub(super) fn wait_until(&self, deadline: BudgetDeadline) -> Option<LineCall> {
        let Some(instant) = deadline.instant() else {
            return Some(self.wait());
        };
        let mut call = hold(&self.call);
        loop {
            if let Some(call) = call.take() {
                return Some(call);
            }
            let left = instant.saturating_duration_since(clock::instant());
            if left.is_zero() {
                return None;
            }
            let woken = self.called.wait_timeout(call, left);
            call = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl fmt::Debug for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinePlace")
            .field("grouped", &self.change.is_some())
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}
