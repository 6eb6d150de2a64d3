//! One read operation: a transaction in which every question sees the same moment.

use loci_core::{
    CollectionInfo, CollectionName, CollectionReader, Drawer, DrawerCondition, DrawerHit, FacetCount,
    FacetRequest, GetRequest, LexicalRequest, QueryRequest, Result, Visibility,
};
use std::time::Duration;

use crate::deadline::ServerDeadline;
use crate::palace::ServerPalace;
use crate::pool::SessionLease;
use crate::session::ServerSession;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;
use crate::{lexical, nearest, read};

/// An open read transaction on one collection.
#[derive(Debug)]
pub(crate) struct ServerMoment<'a> {
    palace: &'a ServerPalace,
    visibility: &'a Visibility,
    lease: SessionLease,
    shelf: ServerShelf,
}

/// One question within a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MomentView<'a> {
    pub(crate) palace: &'a ServerPalace,
    pub(crate) session: &'a ServerSession,
    pub(crate) shelf: &'a ServerShelf,
    pub(crate) visibility: &'a Visibility,
    pub(crate) deadline: ServerDeadline,
}

impl<'a> ServerMoment<'a> {
    /// Begins a transaction that sees the collection as it is now; `NotFound` if it was dropped.
    pub(crate) fn begin(
        palace: &'a ServerPalace,
        visibility: &'a Visibility,
        name: &CollectionName,
        collection: i64,
        deadline: ServerDeadline,
    ) -> Result<Self> {
        let statements = || {
            [
                SqlStatement::new("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                ServerShelf::select_by_number(palace.number, collection),
            ]
        };
        let (lease, answers) = palace.begin(|session| session.ask_all(&statements(), deadline))?;
        let shelf = answers.get(1).map(Vec::as_slice).unwrap_or_default();
        let shelf = ServerShelf::read_one(shelf, name).inspect_err(|_| lease.end_transaction())?;
        Ok(Self {
            palace,
            visibility,
            lease,
            shelf,
        })
    }

    /// Returns the view of one question with its deadline.
    pub(crate) fn view(&self, deadline: ServerDeadline) -> MomentView<'_> {
        MomentView {
            palace: self.palace,
            session: &self.lease,
            shelf: &self.shelf,
            visibility: self.visibility,
            deadline,
        }
    }

    fn ask<T>(
        &self,
        budget: Option<Duration>,
        answer: impl FnOnce(&MomentView<'_>) -> Result<T>,
    ) -> Result<T> {
        self.palace.check_open()?;
        answer(&self.view(ServerDeadline::begin(budget)?))
    }
}

impl Drop for ServerMoment<'_> {
    fn drop(&mut self) {
        self.lease.end_transaction();
    }
}

impl MomentView<'_> {
    pub(crate) fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        read::get(self, request)
    }

    pub(crate) fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        nearest::find_nearest(self, request)
    }

    pub(crate) fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        lexical::search_words(self, request)
    }

    pub(crate) fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        read::count(self, condition)
    }

    pub(crate) fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        read::facets(self, request)
    }

    pub(crate) fn info(&self) -> Result<CollectionInfo> {
        read::info(self)
    }
}

impl CollectionReader for ServerMoment<'_> {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.ask(request.budget, |view| view.get(request))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.ask(request.budget, |view| view.query(request))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.ask(request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.ask(None, |view| view.count(condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.ask(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.ask(None, |view| view.info())
    }
}
