//! A moment that moves: it answers with what is there now.

use loci_core::{
    Collection, CollectionInfo, CollectionReader, Drawer, DrawerCondition, DrawerHit, FacetCount,
    FacetRequest, GetRequest, LexicalRequest, QueryRequest, Result,
};

#[derive(Debug)]
pub(crate) struct MovingMoment<'a>(pub(crate) &'a dyn Collection);

impl CollectionReader for MovingMoment<'_> {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.0.get(request)
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.0.query(request)
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.0.lexical(request)
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.0.count(condition)
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.0.facets(request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.0.info()
    }
}
