//! A reader that holds on to one moment: one read transaction on one connection, for several reads.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loci_core::{
    CollectionInfo, CollectionReader, Drawer, DrawerCondition, Facet, Facets, Get, Hit, Lexical, Query,
    Result, Visibility,
};

use crate::deadline::Deadline;
use crate::failure::corrupt;
use crate::palace::{Absent, Lease, Palace};
use crate::shelf::Shelf;
use crate::view::ReadView;

/// One read transaction, which ends with its lease.
#[derive(Debug)]
pub(crate) struct Moment<'h> {
    palace: &'h Palace,
    visibility: &'h Visibility,
    shelf: Shelf,
    lease: Mutex<Lease<'h>>,
}

impl<'h> Moment<'h> {
    /// Begins at the state the file has now; `find` names the collection in it.
    pub(crate) fn begin(
        palace: &'h Palace,
        visibility: &'h Visibility,
        wait: Duration,
        find: impl FnOnce(&Lease<'h>) -> Result<Shelf>,
    ) -> Result<Self> {
        let lease = palace.lease_reading(Absent::NotFound, wait)?;
        // The transaction sees the file as it is at its first read, which is this one at the latest.
        let shelf = find(&lease).map_err(|error| palace.name_pages(error))?;
        Ok(Self {
            palace,
            visibility,
            shelf,
            lease: Mutex::new(lease),
        })
    }

    fn view<T>(
        &self,
        budget: Option<Duration>,
        answer: impl FnOnce(&ReadView<'_>) -> Result<T>,
    ) -> Result<T> {
        self.palace.check_open()?;
        let deadline = Deadline::after(budget);
        deadline.check()?;
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        // A damaged page ends a transaction; what came after would be another moment.
        if lease.is_autocommit() {
            return Err(corrupt("this moment ended when a damaged page was met"));
        }
        lease.watch(deadline)?;
        let view = ReadView {
            connection: &lease,
            palace: self.palace,
            shelf: &self.shelf,
            visibility: self.visibility,
            deadline,
            strewn: &|| {},
        };
        let answered = answer(&view).and_then(|answer| deadline.check().map(|()| answer));
        lease.unwatch();
        answered.map_err(|error| self.palace.name_pages(error))
    }
}

impl CollectionReader for Moment<'_> {
    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        self.view(request.budget, |view| view.get(request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.view(request.budget, |view| view.query(request))
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.view(request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.view(None, |view| view.count(condition))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.view(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.view(None, |view| view.info())
    }
}
