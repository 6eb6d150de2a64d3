//! Reading a palace: one transaction for each call.

use std::time::Duration;

use loci_core::{Error, Result};
use rusqlite::Connection;

use super::{AbsentPalace, PalaceFile};
use crate::deadline::CallLimits;
use crate::failure;

/// One read transaction.
pub(crate) struct OpenedRead<'a> {
    pub(crate) connection: &'a Connection,
    /// The generation of the file that is read; see [`generation`](super::lease::ConnectionLease::generation).
    pub(crate) generation: u64,
}

impl PalaceFile {
    /// Runs `read` in one read transaction: it sees one moment, and every write acknowledged before it began.
    pub(crate) fn read<T>(&self, wait: Duration, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let limits = CallLimits::new(wait, None);
        self.read_within(limits, |opened| read(opened.connection))
    }

    /// As [`PalaceFile::read`], within the limits of a call.
    pub(crate) fn read_within<T>(
        &self,
        limits: CallLimits,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(AbsentPalace::Refuse, limits, read)
    }

    /// As [`PalaceFile::read_within`], on a palace that is created if it is missing.
    pub(crate) fn make_and_read<T>(
        &self,
        limits: CallLimits,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(AbsentPalace::Create, limits, read)
    }

    fn read_through<T>(
        &self,
        absent: AbsentPalace,
        limits: CallLimits,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut lease = self
            .lease_reading(absent, limits.wait())
            .map_err(|error| limits.explain_lock(error))?;
        lease.watch_deadline(limits.deadline)?;
        let opened = OpenedRead {
            connection: &lease,
            generation: lease.generation,
        };
        // A complete answer that comes too late is still a timeout: the caller has given up on it.
        let answer = read(&opened).and_then(|answer| limits.deadline.check().map(|()| answer));
        // An answer, or an error about damage, from files that were overwritten meanwhile means nothing.
        if let Err(error) = self.confirm_answer(&lease) {
            lease.discard();
            return Err(error);
        }
        answer.map_err(|error| self.name_pages(limits.explain_lock(error)))
    }

    /// Adds the pages known to be damaged to an error of kind `Corrupt`.
    pub(crate) fn name_pages(&self, error: Error) -> Error {
        failure::name_pages(error, &self.file)
    }
}
