//! A reader of one moment: one read transaction on one connection, for several reads.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loci_core::{
    CollectionInfo, CollectionReader, Drawer, DrawerCondition, DrawerHit, FacetCount, FacetRequest,
    GetRequest, LexicalRequest, QueryRequest, Result, Visibility,
};

use crate::deadline::BudgetDeadline;
use crate::failure::corrupt_error;
use crate::palace::{AbsentPalace, ConnectionLease, PalaceFile};
use crate::shelf::CollectionShelf;
use crate::view::ReadView;

/// One read transaction, which ends with its lease.
#[derive(Debug)]
pub(crate) struct ReadMoment<'h> {
    palace: &'h PalaceFile,
    visibility: &'h Visibility,
    shelf: CollectionShelf,
    lease: Mutex<ConnectionLease<'h>>,
}

impl<'h> ReadMoment<'h> {
    /// Begins at the present state of the file; `find` looks up the collection in it.
    pub(crate) fn begin(
        palace: &'h PalaceFile,
        visibility: &'h Visibility,
        wait: Duration,
        find: impl FnOnce(&ConnectionLease<'h>) -> Result<CollectionShelf>,
    ) -> Result<Self> {
        let lease = palace.lease_reading(AbsentPalace::Refuse, wait)?;
        // SQLite fixes the state that a transaction sees at its first read, which is this one at the latest.
        let shelf = find(&lease).map_err(|error| palace.name_pages(error))?;
        Ok(Self {
            palace,
            visibility,
            shelf,
            lease: Mutex::new(lease),
        })
    }

    fn with_view<T>(
        &self,
        budget: Option<Duration>,
        answer: impl FnOnce(&ReadView<'_>) -> Result<T>,
    ) -> Result<T> {
        self.palace.check_open()?;
        let deadline = BudgetDeadline::after(budget);
        deadline.check()?;
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        // A damaged page ends the transaction; later reads would see another moment.
        if lease.is_autocommit() {
            return Err(corrupt_error("this moment ended when a damaged page was met"));
        }
        lease.watch_deadline(deadline)?;
        let view = ReadView {
            connection: &lease,
            palace: self.palace,
            shelf: &self.shelf,
            visibility: self.visibility,
            deadline,
        };
        let answered = answer(&view).and_then(|answer| deadline.check().map(|()| answer));
        lease.stop_watching();
        // Pages of two files would be one answer if the file was overwritten meanwhile.
        self.palace.confirm_answer(&lease)?;
        answered.map_err(|error| self.palace.name_pages(error))
    }
}

impl CollectionReader for ReadMoment<'_> {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.with_view(request.budget, |view| view.get(request))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.with_view(request.budget, |view| view.query(request))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.with_view(request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.with_view(None, |view| view.count(condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.with_view(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.with_view(None, |view| view.info())
    }
}
