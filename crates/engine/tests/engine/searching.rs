//! Search over the reference backend and over the embedded store, which must answer alike.

mod coverage;
mod dates;
mod laws;
mod limits;
mod order;
mod random;
mod scope;
mod why_not;

use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionExt as _, CollectionName, CreateMode, DrawerId, NewDrawer, OpenOptions,
    PalaceRef, Timestamp, Write,
};
use loci_engine::search::{SearchAnswer, SearchHit, SearchRequest, search_collection};
use loci_engine::{FilingSession, Palace, PalaceAddress};
use tempfile::TempDir;

use crate::embedders::{Bag, Machine};
use crate::{id, name, palace, reference};

/// When every search here is asked.
const NOW: &str = "2024-08-15T12:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn asked(query: &str) -> SearchRequest {
    SearchRequest::new(query, time(NOW))
}

/// A machine with one model.
fn machine() -> Machine {
    Machine(vec![Bag::new("bags", 24)])
}

/// A backend with a palace of its own.
struct World {
    backend: Arc<dyn Backend>,
    palace: PalaceRef,
    _folder: Option<TempDir>,
}

impl World {
    fn reference() -> Self {
        Self {
            backend: Arc::new(reference()),
            palace: palace(),
            _folder: None,
        }
    }

    fn embedded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            backend: Arc::new(loci_store::EmbeddedBackend::new()),
            palace: PalaceRef::local(folder.path().join("palace").to_str().unwrap()),
            _folder: Some(folder),
        }
    }

    fn both() -> [Self; 2] {
        [Self::reference(), Self::embedded()]
    }

    /// The palace as `machine` opens it.
    fn open(&self, machine: &Machine) -> Palace {
        let address = PalaceAddress {
            backend: Arc::clone(&self.backend),
            reference: self.palace.clone(),
        };
        Palace::new(address, Arc::new(machine.clone()), || {
            time("2024-01-01T00:00:00Z")
        })
    }

    /// The collection opened for filing on `machine`.
    fn filing(&self, collection: &CollectionName, machine: &Machine) -> FilingSession {
        let palace = self.open(machine).in_collection(Some(collection.clone()));
        palace.open_filing(None).unwrap()
    }

    /// Files `drawers` on `machine`, which makes their vectors if it can.
    fn file(&self, machine: &Machine, drawers: Vec<NewDrawer>) -> Arc<dyn Collection> {
        let filing = self.filing(&name("drawers"), machine);
        let writes = drawers.into_iter().map(Write::Upsert).collect();
        filing.apply(writes).unwrap();
        Arc::clone(filing.collection())
    }

    /// A collection of these drawers as they are, with the vectors they bring and no others.
    fn holding(&self, collection: &str, machine: &Machine, drawers: &[NewDrawer]) -> Arc<dyn Collection> {
        let how = OpenOptions {
            embedder: Some(machine.0[0].0.clone()),
            ..OpenOptions::for_writing()
        };
        let opened = self
            .backend
            .create(&self.palace, &name(collection), CreateMode::OpenExisting, &how)
            .unwrap();
        let writes: Vec<Write> = drawers.iter().cloned().map(Write::Upsert).collect();
        if !writes.is_empty() {
            opened.apply_batch(&writes).unwrap();
        }
        opened
    }
}

fn drawer(key: &str, text: &str) -> NewDrawer {
    NewDrawer {
        filed_at: Some(time("2024-01-01T00:00:00Z")),
        ..NewDrawer::new(id(key), text)
    }
}

fn find(collection: &Arc<dyn Collection>, machine: &Machine, request: &SearchRequest) -> SearchAnswer {
    search_collection(collection.as_ref(), machine, request).unwrap()
}

fn names(hits: &[SearchHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.drawer.id.as_str()).collect()
}

/// Every drawer of an answer, those that say the same as a hit included, in order of their ids.
fn everything(answer: &SearchAnswer) -> Vec<DrawerId> {
    let twins = answer
        .hits
        .iter()
        .flat_map(|hit| &hit.also_in)
        .map(|twin| &twin.id);
    let mut ids: Vec<DrawerId> = answer
        .hits
        .iter()
        .map(|hit| &hit.drawer.id)
        .chain(twins)
        .cloned()
        .collect();
    ids.sort();
    ids
}
