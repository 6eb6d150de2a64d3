//! Write transactions: waiting for a turn, making the change, and committing it if the files are still the palace's own.

use std::time::Duration;

use loci_core::{Error, Result};
use rusqlite::Transaction;

use super::PalaceFile;
use crate::connection::{self, LogAllowance};
use crate::deadline::CallLimits;
use crate::failure::{self, sqlite_error};

impl PalaceFile {
    /// Runs `write` in one write transaction and returns once it is durable. Nothing slow belongs inside.
    pub(crate) fn write<T>(
        &self,
        wait: Duration,
        write: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        self.write_within(CallLimits::new(wait, None), |transaction, _| write(transaction))
    }

    /// As [`PalaceFile::write`], within the limits of a call; `write` also receives the generation of the file.
    pub(crate) fn write_within<T>(
        &self,
        limits: CallLimits,
        write: impl FnOnce(&Transaction<'_>, u64) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        let _turn = self.writers.take_turn(limits.deadline)?;
        self.write_in_turn(limits, write)
    }

    /// As [`PalaceFile::write_within`], for the writer of this process whose turn it is.
    pub(super) fn write_in_turn<T>(
        &self,
        limits: CallLimits,
        write: impl FnOnce(&Transaction<'_>, u64) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        let mut lease = self
            .lease(limits.wait())
            .map_err(|error| limits.explain_lock(error))?;
        lease.watch_deadline(limits.deadline)?;
        let (generation, wait) = (lease.generation, limits.wait());
        let transaction = match connection::begin_write(&mut lease) {
            Ok(transaction) => transaction,
            Err(cause) if failure::is_busy(&cause) => {
                return Err(limits
                    .explain_lock(connection::locked_error(&self.file, wait, cause))
                    .into());
            }
            Err(cause) => return Err(sqlite_error(cause).into()),
        };
        let before = transaction.total_changes();
        let answer = write(&transaction, generation)?;
        // The last point at which the call can still fail with nothing written.
        limits.deadline.check()?;
        if let Err(error) = self.confirm_before_commit(&transaction) {
            // Rolled back, and not lent again: its files are not the palace's any more.
            drop(transaction);
            lease.discard();
            return Err(error.into());
        }
        let newest = Self::find_last_write(&transaction)?;
        let raised = LogAllowance::raise_for(&transaction, transaction.total_changes() - before)?;
        crate::crash::point("before-commit");
        let committed = transaction.commit();
        crate::crash::point("after-commit");
        if let Err(cause) = committed {
            // The state of a connection is uncertain after a failed commit; a new one reads what is on disk.
            lease.discard();
            return Err(WriteFailure {
                error: sqlite_error(cause),
                at_commit: true,
            });
        }
        if let Some(raised) = raised {
            raised.restore(&lease);
        }
        if let Err(failure) = self.confirm_after_commit(&lease) {
            lease.discard();
            return Err(failure);
        }
        self.remember_write(newest);
        Ok(answer)
    }
}

/// The error of a failed write, and whether the commit itself failed.
#[derive(Debug)]
pub(crate) struct WriteFailure {
    pub(crate) error: Error,
    pub(crate) at_commit: bool,
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            at_commit: false,
        }
    }
}

impl From<WriteFailure> for Error {
    fn from(failure: WriteFailure) -> Self {
        failure.error
    }
}
