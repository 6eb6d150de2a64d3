//! A moment that moves: it answers with what is there now.

use loci_core::{
    Collection, CollectionInfo, CollectionReader, Drawer, DrawerCondition, Facet, Facets, Get, Hit, Lexical,
    Query, Result,
};

#[derive(Debug)]
pub(crate) struct MovingMoment<'a>(pub(crate) &'a dyn Collection);

impl CollectionReader for MovingMoment<'_> {
    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        self.0.get(request)
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.0.query(request)
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.0.lexical(request)
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.0.count(condition)
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.0.facets(request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.0.info()
    }
}
