//! A palace whose files were removed, replaced or overwritten under this process.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use loci_core::{Error, ErrorKind, FindingSeverity, PalaceFinding, Result};
use rusqlite::{Connection, OptionalExtension};

use super::{AbsentPalace, PalaceFile, WriteFailure};
use crate::failure::sqlite_error;
use crate::schema;
use crate::vfs::{self, FamilyBreach, InodeId};

/// A drawer as this process has filed it.
#[derive(Debug, Clone)]
pub(super) struct LastWrite {
    collection: i64,
    id: String,
    seq: i64,
}

impl PalaceFile {
    /// Returns an idle connection if its files are still the palace's own; parts with the whole pool if they are not.
    pub(super) fn confirm_idle(&self, idle: Connection) -> Result<Option<Connection>> {
        let Some(breach) = self.heed_unread(vfs::find_breach(&idle))? else {
            return Ok(Some(idle));
        };
        // Looked at first: a checkpoint changes what the content is compared with.
        if self.heed_unread(vfs::is_overwritten(&idle))? {
            let message = "palace.db or its log was overwritten in place while this process was using it: earlier writes may be gone";
            self.note_exchange("overwritten_file", message);
        } else if breach == FamilyBreach::CompanionsRenamed {
            // Log and memory lost their names, but the open ones are whole: what only the log holds is copied into
            // the file before they are let go. If that fails, the file itself knows that its log is missing.
            let _ = idle.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()));
        }
        drop(idle);
        self.part_with_connections();
        Ok(None)
    }

    /// Forgets everything known of the files: connections on loan are closed when they end.
    pub(crate) fn part_with_connections(&self) {
        self.parted.store(true, Ordering::SeqCst);
        let mut state = self.lock_state();
        let generation = state.generation + 1;
        *state = super::PoolState {
            generation,
            ..super::PoolState::default()
        };
    }

    /// Lets go of every connection if a check of the files ended without an answer, since they could not be read: the
    /// next connection begins with the files as it finds them, so it has to look for the last write in them.
    fn heed_unread<T>(&self, checked: Result<T>) -> Result<T> {
        checked.map_err(|error| {
            self.part_with_connections();
            error.with_hint(
                "whether the palace's files are still its own could not be read; look at the disk, then try again",
            )
        })
    }

    /// Refuses a file that holds another palace than this process has worked with so far.
    pub(super) fn confirm_palace(&self, connection: &Connection) -> Result<()> {
        // The id of a damaged palace may be unreadable; then nothing speaks against it.
        let Ok(id) = schema::palace_id(connection) else {
            return Ok(());
        };
        let known = *self.identity.get_or_init(|| id);
        self.lock_state().palace_id = Some(id);
        if known == id {
            self.note_replacement();
            self.look_for_last_write(connection);
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "{} is another palace than the one this process has been using",
                self.file.display()
            ),
        )
        .with_hint(
            "nothing was read or written; put the right palace back, or restart this process to use this one",
        ))
    }

    /// Warns of another file that holds the same palace: it is a copy, and may be an older one.
    fn note_replacement(&self) {
        let Some(now) = InodeId::from_path(&self.file) else {
            return;
        };
        let mut inode = self.inode.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = inode.replace(now).is_some_and(|before| !before.same_as(now));
        if replaced {
            let message = "palace.db was replaced by a copy of itself while this process was using it: writes made after that copy was taken are not in it";
            self.note_exchange("replaced_file", message);
        }
    }

    /// Keeps a warning about exchanged files for as long as the process runs.
    fn note_exchange(&self, code: &'static str, message: &str) {
        let finding = PalaceFinding::new(code, FindingSeverity::Error, message)
            .with_hint("if this was not meant, put the earlier file back; else restart this process");
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        if exchanges.iter().all(|known| known.code != finding.code) {
            exchanges.push(finding);
        }
    }

    /// Returns the warnings about exchanged files.
    pub(super) fn exchange_warnings(&self) -> Vec<PalaceFinding> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the drawer that the open transaction changed last, if it changed any.
    pub(super) fn find_last_write(transaction: &Connection) -> Result<Option<LastWrite>> {
        transaction
            .prepare_cached(
                "SELECT collection, id, seq FROM drawers WHERE seq = (SELECT value FROM palace WHERE key = 'seq')",
            )
            .and_then(|mut statement| {
                statement.query_row([], |row| {
                    Ok(LastWrite {
                        collection: row.get(0)?,
                        id: row.get(1)?,
                        seq: row.get(2)?,
                    })
                })
            })
            .optional()
            .map_err(sqlite_error)
    }

    /// Remembers the newest write that this process has acknowledged.
    pub(super) fn remember_write(&self, write: Option<LastWrite>) {
        if let Some(write) = write {
            *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) = Some(write);
        }
    }

    /// Warns if the newest acknowledged write is not in the file that took the place of an earlier one: neither the
    /// drawer, in that state or a later one, nor the note that it was removed.
    fn look_for_last_write(&self, connection: &Connection) {
        if !self.parted.swap(false, Ordering::SeqCst) {
            return;
        }
        let last = self
            .last_write
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(last) = last else { return };
        let found: rusqlite::Result<bool> = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM drawers WHERE collection = ?1 AND id = ?2 AND seq >= ?3)
                 OR EXISTS (SELECT 1 FROM tombstones WHERE collection = ?1 AND id = ?2 AND seq > ?3)
                 OR NOT EXISTS (SELECT 1 FROM collections WHERE collection = ?1)",
            rusqlite::params![last.collection, last.id, last.seq],
            |row| row.get(0),
        );
        if matches!(found, Ok(false)) {
            let message = format!(
                "the drawer {} that this process filed is not in palace.db any more: the file or its log was exchanged",
                last.id
            );
            self.note_exchange("lost_write", &message);
        }
    }

    /// Refuses to make a new palace where this process has used one before.
    pub(crate) fn refuse_vanished(&self, absent: AbsentPalace) -> Result<()> {
        if absent == AbsentPalace::Create && self.identity.get().is_some() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "the palace at {} was moved or deleted while this process was using it",
                    self.file.display()
                ),
            )
            .with_hint(
                "nothing was written; put it back, or restart this process to begin a new palace here",
            ));
        }
        Ok(())
    }

    /// Returns the id of the palace that this process has found here.
    pub(crate) fn known_identity(&self) -> Option<[u8; 16]> {
        self.identity.get().copied()
    }

    /// Demands the palace with this id, if the file was not opened before.
    pub(crate) fn expect_identity(&self, id: [u8; 16]) {
        let _ = self.identity.set(id);
    }

    /// Confirms before a commit that it would reach the palace; nothing is written otherwise.
    pub(super) fn confirm_before_commit(&self, connection: &Connection) -> Result<()> {
        match self.heed_unread(vfs::find_breach(connection)) {
            Ok(None) => Ok(()),
            Ok(Some(breach)) => Err(exchanged_error(&self.file, breach)
                .with_hint("nothing of this write was stored; run `loci verify`, then try again")),
            Err(error) => {
                Err(error.with_hint("nothing of this write was stored; look at the disk, then try again"))
            }
        }
    }

    /// Confirms after a commit that it has reached the palace.
    pub(super) fn confirm_after_commit(
        &self,
        connection: &Connection,
    ) -> std::result::Result<(), WriteFailure> {
        let error = match self.heed_unread(vfs::find_breach(connection)) {
            Ok(None) => return Ok(()),
            Ok(Some(breach)) => exchanged_error(&self.file, breach),
            Err(error) => error,
        };
        let error = error.with_context("outcome", "unknown").with_hint(
            "whether this write was stored is unknown; run `loci verify` and look for it before repeating it",
        );
        Err(WriteFailure {
            error,
            at_commit: true,
        })
    }

    /// Confirms that an answer was read from files that fit together until its end.
    pub(crate) fn confirm_answer(&self, connection: &Connection) -> Result<()> {
        match self.heed_unread(vfs::find_overwriting(connection))? {
            None => Ok(()),
            Some(breach) => {
                self.part_with_connections();
                Err(exchanged_error(&self.file, breach)
                    .with_hint("nothing was changed; run `loci verify`, then try again"))
            }
        }
    }
}

/// Returns the error for files that came apart while this process was using them.
pub(crate) fn exchanged_error(file: &Path, breach: FamilyBreach) -> Error {
    let what = match breach {
        FamilyBreach::DatabaseGone => "was moved or deleted",
        FamilyBreach::DatabaseReplaced => "was replaced by another file",
        FamilyBreach::CompanionsRenamed => "lost its log or shared memory (palace.db-wal, palace.db-shm)",
        FamilyBreach::MemoryCut => "had its shared memory (palace.db-shm) cut",
        FamilyBreach::Overwritten => "or its log was overwritten in place",
    };
    Error::new(
        ErrorKind::Conflict,
        format!("{} {what} while this process was using it", file.display()),
    )
}
