//! Reading a palace: one transaction for each call.

use std::cell::Cell;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::{Absent, KEPT_MAPPED, Palace};
use crate::deadline::CallLimits;
use crate::{connection, vfs};

/// How the pages that an answer is read from lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageSpread {
    /// Close together.
    Near,
    /// All over it: mapped, each page would bring its neighbours into memory.
    Strewn,
    /// First parts of the file from end to end, then all over it; [`OpenedRead::strewn`] says when.
    ScannedFirst,
}

/// One read transaction.
pub(crate) struct OpenedRead<'a> {
    pub(crate) connection: &'a Connection,
    /// Which of the files that stood at this path is read; see [`Lease::generation`].
    pub(crate) generation: u64,
    /// To be called when parts of the file have been read from end to end and what is left is strewn over it.
    pub(crate) strewn: &'a dyn Fn(),
}

impl Palace {
    /// Runs `read` in one read transaction: it sees one moment, and every write acknowledged before it began.
    pub(crate) fn read<T>(&self, wait: Duration, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let limits = CallLimits::new(wait, None);
        self.read_within(limits, PageSpread::Near, |opened| read(opened.connection))
    }

    /// As [`Palace::read`], within the limits of a call and for answers whose pages lie as `spread` says.
    pub(crate) fn read_within<T>(
        &self,
        limits: CallLimits,
        spread: PageSpread,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(Absent::NotFound, limits, spread, read)
    }

    /// As [`Palace::read_within`], on a palace that is made if it is missing.
    pub(crate) fn make_and_read<T>(
        &self,
        limits: CallLimits,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.read_through(Absent::Made, limits, PageSpread::Near, read)
    }

    fn read_through<T>(
        &self,
        absent: Absent,
        limits: CallLimits,
        spread: PageSpread,
        read: impl FnOnce(&OpenedRead<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut lease = self
            .lease_reading(absent, limits.wait())
            .map_err(|error| limits.explain(error))?;
        if spread == PageSpread::Strewn {
            lease.let_go_of_pages();
        }
        lease.watch(limits.deadline)?;
        let (generation, large) = (lease.generation, lease.mapped > KEPT_MAPPED);
        let unmapped = Cell::new(false);
        let strewn = || {
            let apart = spread == PageSpread::ScannedFirst && large;
            unmapped.set(apart && connection::unmap(&lease).is_ok());
        };
        let opened = OpenedRead {
            connection: &lease,
            generation,
            strewn: &strewn,
        };
        let answer = read(&opened).and_then(|answer| limits.deadline.check().map(|()| answer));
        if unmapped.get() {
            lease.mapped = 0;
        }
        answer.map_err(|error| self.name_pages(limits.explain(error)))
    }

    /// Names the pages that are known to be damaged in an error that damage has caused.
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
        error.with("pages", pages.join(", "))
    }
}
