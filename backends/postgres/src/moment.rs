//! One read operation: a transaction in which every question sees the same moment.

use loci_core::{
    CollectionInfo, CollectionName, CollectionReader, Drawer, DrawerCondition, DrawerHit, FacetCount,
    FacetRequest, ForeseenRead, GetRequest, LexicalRequest, QueryRequest, Result, Visibility,
};
use std::time::Duration;

use crate::deadline::ServerDeadline;
use crate::foresight::Foresight;
use crate::palace::ServerPalace;
use crate::pool::SessionLease;
use crate::session::{PipelineRows, ServerSession};
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
    foresight: Foresight,
}

/// The collection that a moment reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MomentAddress<'a> {
    pub(crate) palace: &'a ServerPalace,
    pub(crate) visibility: &'a Visibility,
    pub(crate) name: &'a CollectionName,
    pub(crate) collection: i64,
}

impl MomentAddress<'_> {
    /// Returns the statements that begin a moment; the second answer is the collection.
    fn begin_statements(&self) -> [SqlStatement; 2] {
        [
            SqlStatement::new("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
            ServerShelf::select_by_number(self.palace.number, self.collection),
        ]
    }
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
    pub(crate) fn begin(address: MomentAddress<'a>, deadline: ServerDeadline) -> Result<Self> {
        let statements = address.begin_statements();
        let (lease, answers) = address
            .palace
            .begin(|session| session.ask_all(&statements, deadline))?;
        Self::from_answers(address, lease, &answers)
    }

    /// Begins a transaction and asks what is foreseen, in one wait. The questions fit the collection as it was `seen`; if
    /// it has changed so that they would be others, their answers are dropped.
    pub(crate) fn begin_foreseeing(
        address: MomentAddress<'a>,
        seen: &ServerShelf,
        foreseen: &[ForeseenRead],
    ) -> Result<Self> {
        let deadline = ServerDeadline::default();
        let (lease, (foresight, mut answers)) = address.palace.begin(|session| {
            let view = MomentView {
                palace: address.palace,
                session,
                shelf: seen,
                visibility: address.visibility,
                deadline,
            };
            let (foresight, questions) = Foresight::prepare(&view, foreseen);
            let mut statements = Vec::from(address.begin_statements());
            statements.extend(questions);
            let answers = session.ask_all(&statements, deadline);
            Ok((foresight, answers.inspect_err(|_| session.end_transaction())?))
        })?;
        let foreseen = answers.split_off(answers.len().min(2));
        let mut moment = Self::from_answers(address, lease, &answers)?;
        if moment.shelf.asks_like(seen) {
            moment.foresight = foresight.answered(foreseen);
        }
        Ok(moment)
    }

    fn from_answers(address: MomentAddress<'a>, lease: SessionLease, answers: &PipelineRows) -> Result<Self> {
        let shelf = answers.get(1).map(Vec::as_slice).unwrap_or_default();
        let shelf = ServerShelf::read_one(shelf, address.name).inspect_err(|_| lease.end_transaction())?;
        Ok(Self {
            palace: address.palace,
            visibility: address.visibility,
            lease,
            shelf,
            foresight: Foresight::default(),
        })
    }

    /// Returns the collection as this moment sees it.
    pub(crate) fn shelf(&self) -> &ServerShelf {
        &self.shelf
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
        nearest::find_nearest(self, request, None)
    }

    pub(crate) fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        lexical::search_words(self, request, None)
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
        self.ask(request.budget, |view| self.foresight.query(view, request))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.ask(request.budget, |view| self.foresight.lexical(view, request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.ask(None, |view| self.foresight.count(view, condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.ask(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.ask(None, |view| view.info())
    }
}
