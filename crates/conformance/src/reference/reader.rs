//! Reads of the reference: every question is asked of one state of a table, as one handle sees it.

use loci_core::{
    Capability, CollectionInfo, CollectionName, CollectionReader, Descriptor, Drawer, DrawerCondition, Facet,
    Facets, Get, Hit, Include, Lexical, Query, Result,
};

use super::budget::Deadline;
use super::handle::Handle;
use super::table::Table;

/// One state of a table, without the drawers out of sight.
pub(super) struct TableReader<'a> {
    pub(super) descriptor: &'a Descriptor,
    pub(super) name: &'a CollectionName,
    pub(super) table: &'a Table,
}

impl TableReader<'_> {
    fn check_include(&self, include: Include) -> Result<()> {
        if include.embedding {
            self.descriptor.require(&Capability::EmbeddingsOut)?;
        }
        Ok(())
    }

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        let deadline = Deadline::begin(request.budget)?;
        request.check()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        deadline.keep(self.table.get(request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        let deadline = Deadline::begin(request.budget)?;
        self.descriptor.require(&Capability::EmbeddingsPassthrough)?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        request.check(self.table.dimension)?;
        let approximately = self.descriptor.can(&Capability::ApproximateQuery);
        deadline.keep(self.table.query(request, approximately))
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        let deadline = Deadline::begin(request.budget)?;
        self.descriptor.require(&Capability::Lexical)?;
        request.check()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        deadline.keep(self.table.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.descriptor.check_filter(&condition.filter)?;
        Ok(self.table.count(condition))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        request.check()?;
        self.descriptor.check_filter(&request.filter)?;
        Ok(self.table.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        let lexical = self.descriptor.can(&Capability::Lexical);
        Ok(self.table.info(self.name, lexical))
    }
}

/// The state of a table at one moment.
#[derive(Debug)]
pub(super) struct TableMoment<'a> {
    pub(super) handle: &'a Handle,
    pub(super) table: Table,
}

impl TableMoment<'_> {
    fn ask<T>(&self, question: impl FnOnce(TableReader<'_>) -> Result<T>) -> Result<T> {
        self.handle.check_open()?;
        question(self.handle.reader(&self.table))
    }
}

/// Answers through `ask`, so that a handle and a moment of it cannot answer differently.
macro_rules! answer_through_ask {
    ($reader:ty: $($method:ident($($request:ident: $type:ty)?) -> $answer:ty;)+) => {
        impl CollectionReader for $reader {
            $(fn $method(&self $(, $request: $type)?) -> Result<$answer> {
                self.ask(|reader| reader.$method($($request)?))
            })+
        }
    };
    ($($reader:ty),+) => {
        $(answer_through_ask! { $reader:
            get(request: &Get) -> Vec<Drawer>;
            query(request: &Query) -> Vec<Vec<Hit>>;
            lexical(request: &Lexical) -> Vec<Hit>;
            count(condition: &DrawerCondition) -> u64;
            facets(request: &Facets) -> Vec<Facet>;
            info() -> CollectionInfo;
        })+
    };
}
answer_through_ask!(Handle, TableMoment<'_>);
