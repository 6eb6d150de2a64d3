//! Reads of the reference: every question is answered from one state of a table, as one handle sees it.

use loci_core::{
    BackendDescriptor, Capability, CollectionInfo, CollectionName, CollectionReader, Drawer, DrawerCondition,
    DrawerFields, DrawerHit, FacetCount, FacetRequest, GetRequest, LexicalRequest, QueryRequest, Result,
};

use super::budget::CallDeadline;
use super::handle::ReferenceHandle;
use super::table::ReferenceTable;

/// One state of a table, without the drawers out of sight.
pub(super) struct TableReader<'a> {
    pub(super) descriptor: &'a BackendDescriptor,
    pub(super) name: &'a CollectionName,
    pub(super) table: &'a ReferenceTable,
}

impl TableReader<'_> {
    fn check_include(&self, include: DrawerFields) -> Result<()> {
        if include.embedding {
            self.descriptor.require_capability(&Capability::EmbeddingsOut)?;
        }
        Ok(())
    }

    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let deadline = CallDeadline::begin(request.budget)?;
        request.check_request()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        deadline.keep_answer(self.table.get(request))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let deadline = CallDeadline::begin(request.budget)?;
        // Capabilities first: an unsupported request is refused as such, whatever else is wrong with it.
        self.descriptor
            .require_capability(&Capability::EmbeddingsPassthrough)?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        request.check_request(self.table.metric, self.table.dimension)?;
        let approximately = self.descriptor.has_capability(&Capability::ApproximateQuery);
        deadline.keep_answer(self.table.query(request, approximately))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let deadline = CallDeadline::begin(request.budget)?;
        self.descriptor.require_capability(&Capability::Lexical)?;
        request.check_request()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        deadline.keep_answer(self.table.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.descriptor.check_filter(&condition.filter)?;
        Ok(self.table.count(condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        request.check_request()?;
        self.descriptor.check_filter(&request.filter)?;
        Ok(self.table.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        let lexical = self.descriptor.has_capability(&Capability::Lexical);
        Ok(CollectionInfo {
            approximate: self.descriptor.has_capability(&Capability::ApproximateQuery),
            ..self.table.info(self.name, lexical)
        })
    }
}

/// The state of a table at one moment.
#[derive(Debug)]
pub(super) struct TableMoment<'a> {
    pub(super) handle: &'a ReferenceHandle,
    pub(super) table: ReferenceTable,
}

impl TableMoment<'_> {
    fn ask_table<T>(&self, question: impl FnOnce(TableReader<'_>) -> Result<T>) -> Result<T> {
        // A moment outlives neither the close of its palace nor its files.
        self.handle.check_open()?;
        question(self.handle.make_reader(&self.table))
    }
}

/// Implements the reader through `ask`, so that a handle and its moments cannot answer differently.
macro_rules! answer_through_ask {
    ($reader:ty: $($method:ident($($request:ident: $type:ty)?) -> $answer:ty;)+) => {
        impl CollectionReader for $reader {
            $(fn $method(&self $(, $request: $type)?) -> Result<$answer> {
                self.ask_table(|reader| reader.$method($($request)?))
            })+
        }
    };
    ($($reader:ty),+) => {
        $(answer_through_ask! { $reader:
            get(request: &GetRequest) -> Vec<Drawer>;
            query(request: &QueryRequest) -> Vec<Vec<DrawerHit>>;
            lexical(request: &LexicalRequest) -> Vec<DrawerHit>;
            count(condition: &DrawerCondition) -> u64;
            facets(request: &FacetRequest) -> Vec<FacetCount>;
            info() -> CollectionInfo;
        })+
    };
}
answer_through_ask!(ReferenceHandle, TableMoment<'_>);
