//! Reading a palace: one transaction for each call.

use std::cell::Cell;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::{AbsentPalace, KEPT_MAPPED, PalaceFile};
use crate::deadline::CallLimits;
use crate::{connection, vfs};

/// The distribution over the file of the pages an answer is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageSpread {
    /// Close together.
    Near,
    /// Scattered: mapped, each page would bring its neighbours into memory.
    Strewn,
    /// First parts of the file from end to end, then scattered pages; [`OpenedRead::strewn`] marks the change.
    ScannedFirst,
}

/// One read transaction.
pub(crate) struct OpenedRead<'a> {
    pub(crate) connection: &'a Connection,
    /// The generation of the file that is read; see [`generation`](super::lease::ConnectionLease::generation).
    pub(crate) generation: u64,
    /// Must be called when the sequential part is done and the remaining pages are scattered over the file.
    pub(crate) strewn: &'a dyn Fn(),
}

impl PalaceFile {
    /// Runs `read` in one read transaction: it sees one moment, and every write acknowledged before it began.
    pub(crate) fn read<T>(&self, wait: Duration, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let limits = CallLimits::new(wait, None);
        self.read_within(limits, PageSpread::Near, |opened| read(opened.connection))
    }

    /// As [`PalaceFile::read`], within the limits of a call and for pages distributed as `spread` says.
    pub(crate) fn read_within<T>(
        &self,
        limits: CallLimits,
        spread: PageSpread,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(AbsentPalace::Refuse, limits, spread, read)
    }

    /// As [`PalaceFile::read_within`], on a palace that is created if it is missing.
    pub(crate) fn make_and_read<T>(
        &self,
        limits: CallLimits,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(AbsentPalace::Create, limits, PageSpread::Near, read)
    }

    fn read_through<T>(
        &self,
        absent: AbsentPalace,
        limits: CallLimits,
        spread: PageSpread,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut lease = self
            .lease_reading(absent, limits.wait())
            .map_err(|error| limits.explain_lock(error))?;
        if spread == PageSpread::Strewn {
            lease.unmap_large_file();
        }
        lease.watch_deadline(limits.deadline)?;
        let (generation, large) = (lease.generation, lease.mapped > KEPT_MAPPED);
        // A segment scan wants the map, which saves a copy of every page; the exact vectors read after it are
        // scattered, and mapped each would count a whole neighbourhood of pages as memory of this process.
        let unmapped = Cell::new(false);
        let strewn = || {
            let apart = spread == PageSpread::ScannedFirst && large;
            unmapped.set(apart && connection::unmap_file(&lease).is_ok());
        };
        let opened = OpenedRead {
            connection: &lease,
            generation,
            strewn: &strewn,
        };
        // A complete answer that comes too late is still a timeout: the caller has given up on it.
        let answer = read(&opened).and_then(|answer| limits.deadline.check().map(|()| answer));
        if unmapped.get() {
            lease.mapped = 0;
        }
        answer.map_err(|error| self.name_pages(limits.explain_lock(error)))
    }

    /// Adds the pages known to be damaged to an error of kind `Corrupt`.
    pub(crate) fn name_pages(&self, error: Error) -> Error {
        let pages = if error.kind() == ErrorKind::Corrupt {
            vfs::damaged_pages(&self.file)
        } else {
            Vec::new()
        };
        if pages.is_empty() {
            return error;
        }
        let pages: Vec<String> = pages.iter().map(u32::to_string).collect();
        error.with_context("pages", pages.join(", "))
    }
}
