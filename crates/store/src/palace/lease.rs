//! A connection on loan from the pool of a palace.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Instant;

use loci_core::Result;
use rusqlite::Connection;

use super::{KEPT_MAPPED, Mapped, Palace};
use crate::connection;
use crate::deadline::Deadline;
use crate::failure::sqlite;

/// After how many steps SQLite looks whether the time of a call is used up.
const STEPS: i32 = 1000;

/// A connection on loan; it ends its read transaction, if it is in one, and goes back to the pool when dropped.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    pub(super) palace: &'a Palace,
    /// Which of the files that stood at the palace's path this is a connection to.
    pub(super) generation: u64,
    /// How long the file was when the connection mapped it.
    pub(super) mapped: u64,
    /// Whether SQLite looks at the clock while it works.
    pub(super) watched: bool,
    pub(super) connection: Option<Connection>,
}

impl Lease<'_> {
    /// Which of the files that stood at the palace's path it belongs to.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Has SQLite give up once the deadline has passed; does nothing where there is none.
    pub(crate) fn watch(&mut self, deadline: Deadline) -> Result<()> {
        let Some(instant) = deadline.instant() else {
            return Ok(());
        };
        self.watched = true;
        self.progress_handler(STEPS, Some(move || Instant::now() >= instant))
            .map_err(sqlite)
    }

    /// Lets SQLite take as long as it needs again.
    pub(crate) fn unwatch(&mut self) {
        if std::mem::take(&mut self.watched) && self.progress_handler(0, None::<fn() -> bool>).is_err() {
            self.discard();
        }
    }

    /// Closes the connection instead of putting it back.
    pub(crate) fn discard(&mut self) {
        self.connection = None;
    }

    /// Reads a large file without mapping it from here on, until the connection is lent again: what is strewn over it
    /// would else seem to be held in memory with all its neighbours.
    pub(super) fn let_go_of_pages(&mut self) {
        if self.mapped > KEPT_MAPPED && connection::unmap(self).is_ok() {
            self.mapped = 0;
        }
    }
}

impl Deref for Lease<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
            .as_ref()
            .expect("a lease holds its connection until it is dropped or discarded")
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
            .as_mut()
            .expect("a lease holds its connection until it is dropped or discarded")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.unwatch();
        let Some(connection) = self.connection.take() else {
            return;
        };
        // A connection whose transaction cannot be ended is closed instead of being lent again.
        let ended = connection::end_read(&connection).is_ok();
        let mut state = self.palace.state();
        let usable = ended && !self.palace.closed.load(Ordering::SeqCst);
        if usable && state.generation == self.generation {
            state.idle.push(Mapped {
                connection,
                bytes: self.mapped,
            });
        }
    }
}
