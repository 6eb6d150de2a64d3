//! A backend whose n-th call fails, to see what those above make of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{
    Backend, Changes, Collection, CollectionInfo, CollectionName, Cursor, Descriptor, Drawer,
    EmbedderIdentity, Error, ErrorKind, Facet, Facets, Filled, Filling, Filter, Get, Health, Hit,
    IdentityChange, Lexical, MaintenanceKind, MaintenanceReport, MaintenanceState, OpenOptions, PalaceRef,
    Pending, Query, Receipt, Result, Revised, Revision, SourceRecord, Sources, Space, Switch, Unembedded,
    Write,
};

/// Whether the failing call still happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The call fails and nothing happens.
    Before,
    /// What was asked happens, and the call fails all the same, as when an answer is lost on its way.
    After,
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The call that fails, counted from 1 over the backend and all its collections.
    pub call: u64,
    /// Whether the call still happens.
    pub when: When,
    /// The kind of the error.
    pub kind: ErrorKind,
}

/// Forwards every call to a backend and fails one of them. Calls that cannot fail are not counted.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Backend>,
    counter: Arc<Counter>,
}

#[derive(Debug)]
struct Counter {
    fault: Fault,
    calls: AtomicU64,
}

impl Counter {
    fn through<T>(&self, name: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.fault.call {
            return call();
        }
        if self.fault.when == When::After {
            call()?;
        }
        Err(Error::new(
            self.fault.kind,
            format!("call {number} ({name}) was made to fail"),
        ))
    }
}

impl Faulty {
    /// Wraps `inner` so that one call fails.
    pub fn new(inner: Arc<dyn Backend>, fault: Fault) -> Self {
        Self {
            inner,
            counter: Arc::new(Counter {
                fault,
                calls: AtomicU64::new(0),
            }),
        }
    }

    /// How many calls were counted so far.
    pub fn calls(&self) -> u64 {
        self.counter.calls.load(Ordering::SeqCst)
    }
}

impl Backend for Faulty {
    fn descriptor(&self) -> &Descriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let inner = self
            .counter
            .through("open", || self.inner.open(palace, collection, how))?;
        Ok(Arc::new(FaultyCollection {
            inner,
            counter: Arc::clone(&self.counter),
        }))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.counter
            .through("collections", || self.inner.collections(palace))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        self.inner.health(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) {
        self.inner.close_palace(palace);
    }

    fn close(&self) {
        self.inner.close();
    }
}

struct FaultyCollection {
    inner: Arc<dyn Collection>,
    counter: Arc<Counter>,
}

impl fmt::Debug for FaultyCollection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyCollection").field(&self.inner).finish()
    }
}

impl Collection for FaultyCollection {
    fn apply(&self, batch: &[Write]) -> Result<Receipt> {
        self.counter.through("apply", || self.inner.apply(batch))
    }

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        self.counter.through("get", || self.inner.get(request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.counter.through("query", || self.inner.query(request))
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.counter.through("lexical", || self.inner.lexical(request))
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.counter.through("count", || self.inner.count(filter))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.counter.through("facets", || self.inner.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.counter.through("info", || self.inner.info())
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.counter
            .through("set_identity", || self.inner.set_identity(identity, why))
    }

    fn maintenance(&self) -> Result<MaintenanceState> {
        self.counter.through("maintenance", || self.inner.maintenance())
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.counter.through("maintain", || self.inner.maintain(kind))
    }

    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        self.counter
            .through("changes_since", || self.inner.changes_since(cursor, limit))
    }

    fn spaces(&self) -> Result<Vec<Space>> {
        self.counter.through("spaces", || self.inner.spaces())
    }

    fn switch(&self, step: &Switch) -> Result<Vec<Space>> {
        self.counter.through("switch", || self.inner.switch(step))
    }

    fn pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.counter.through("pending", || self.inner.pending(request))
    }

    fn fill(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        self.counter
            .through("fill", || self.inner.fill(identity, vectors))
    }

    fn sources(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        self.counter.through("sources", || self.inner.sources(request))
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        self.counter.through("revise", || self.inner.revise(revisions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;
    use loci_core::{CollectionExt, DrawerId, NewDrawer};

    fn faulty(call: u64, when: When) -> Faulty {
        let kind = ErrorKind::Unavailable;
        Faulty::new(Arc::new(Reference::new()), Fault { call, when, kind })
    }

    fn open(backend: &Faulty) -> Result<Arc<dyn Collection>> {
        let name = CollectionName::new("drawers")?;
        backend.open(&PalaceRef::named("p"), &name, &OpenOptions::create())
    }

    #[test]
    fn the_named_call_fails_and_the_others_go_through() {
        for (when, left) in [(When::Before, 0), (When::After, 1)] {
            let backend = faulty(2, when);
            let collection = open(&backend).unwrap();
            let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "text");
            let error = collection.add(drawer).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert_eq!(collection.count(&Filter::All).unwrap(), left, "{when:?}");
            assert_eq!(backend.calls(), 3);
        }
    }

    #[test]
    fn opening_can_be_the_call_that_fails() {
        let backend = faulty(1, When::Before);
        assert_eq!(open(&backend).unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(open(&backend).is_ok());
    }
}
