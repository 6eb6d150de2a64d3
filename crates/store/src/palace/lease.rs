//! A connection on loan from the pool of a palace.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use loci_core::Result;
use rusqlite::{Connection, MAIN_DB};

use super::PalaceFile;
use crate::deadline::BudgetDeadline;
use crate::failure::sqlite_error;
use crate::{clock, connection};

/// The number of steps after which SQLite checks the deadline of a call.
const STEPS: i32 = 1000;

/// A connection on loan; it ends its read transaction, if it is in one, and goes back to the pool when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionLease<'a> {
    pub(super) palace: &'a PalaceFile,
    /// The generation of the palace's file that this connection is open on.
    pub(super) generation: u64,
    /// Whether SQLite checks a deadline while it works.
    pub(super) watched: bool,
    pub(super) connection: Option<Connection>,
}

impl ConnectionLease<'_> {
    /// Returns the generation of the file that the connection is open on.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Makes SQLite give up once the deadline has passed; does nothing without one.
    pub(crate) fn watch_deadline(&mut self, deadline: BudgetDeadline) -> Result<()> {
        let Some(instant) = deadline.instant() else {
            return Ok(());
        };
        self.watched = true;
        self.progress_handler(STEPS, Some(move || clock::instant() >= instant))
            .map_err(sqlite_error)
    }

    /// Removes the deadline again.
    pub(crate) fn stop_watching(&mut self) {
        // After a failed commit the connection is already gone, and its handler with it.
        let Some(connection) = &mut self.connection else {
            return;
        };
        // A handler that stays would end the work of the next borrower, so such a connection is not reused.
        if std::mem::take(&mut self.watched) && connection.progress_handler(0, None::<fn() -> bool>).is_err()
        {
            self.discard();
        }
    }

    /// Closes the connection instead of putting it back.
    pub(crate) fn discard(&mut self) {
        self.connection = None;
    }
}

impl Deref for ConnectionLease<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
            .as_ref()
            .expect("a lease holds its connection until it is dropped or discarded")
    }
}

impl DerefMut for ConnectionLease<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
            .as_mut()
            .expect("a lease holds its connection until it is dropped or discarded")
    }
}

impl Drop for ConnectionLease<'_> {
    fn drop(&mut self) {
        self.stop_watching();
        let Some(connection) = self.connection.take() else {
            return;
        };
        // A connection whose transaction cannot be ended is closed instead of being lent again.
        let ended = connection::end_read(&connection).is_ok();
        // SQLite takes a file that may not be written for one that never changes, and would not look at it again.
        let lasting = !connection.is_readonly(MAIN_DB).unwrap_or(true);
        // Calls that come one after another use one connection. Others are for calls at the same time, and give the
        // memory of their pages back, or each would fill a cache of its own.
        let spare = !self.palace.lock_state().idle.is_empty();
        let ended = ended && (!spare || connection.execute_batch("PRAGMA shrink_memory").is_ok());
        // Compared under the lock, so that a file that was replaced meanwhile never gets a connection to its
        // predecessor into the pool.
        let mut state = self.palace.lock_state();
        let usable = ended && lasting && !self.palace.closed.load(Ordering::SeqCst);
        if usable && state.generation == self.generation {
            state.idle.push(connection);
        }
    }
}
