//! What waits to be committed to one collection.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{Backend, Collection, CollectionName, DrawerId, NewDrawer, PalaceRef, Result};

use crate::open_for_writing;

/// A drawer that waits, and the line it came from.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) line: u64,
    pub(super) drawer: NewDrawer,
}

/// One collection of an import.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) pending: Vec<Pending>,
    /// Roughly how much waits, in bytes.
    pub(super) bytes: usize,
    /// How many values its vectors have, once that is settled.
    pub(super) dimension: Option<usize>,
    ids: BTreeSet<DrawerId>,
    handle: Option<Arc<dyn Collection>>,
    /// Whether the handle was opened to take vectors.
    takes_vectors: bool,
}

impl Shelf {
    pub(super) fn holds(&self, id: &DrawerId) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn push(&mut self, one: Pending) {
        self.bytes += one.drawer.document.len() + one.drawer.embedding.as_ref().map_or(0, |v| v.len() * 4);
        self.ids.insert(one.drawer.id.clone());
        self.pending.push(one);
    }

    pub(super) fn take(&mut self) -> Vec<Pending> {
        self.bytes = 0;
        self.ids.clear();
        std::mem::take(&mut self.pending)
    }

    /// The collection, opened so that it takes `pending`.
    pub(super) fn open(
        &mut self,
        backend: &dyn Backend,
        palace: &PalaceRef,
        name: &CollectionName,
        pending: &[Pending],
    ) -> Result<Arc<dyn Collection>> {
        let vector = pending.iter().find_map(|one| one.drawer.embedding.as_ref());
        if let Some(handle) = &self.handle
            && (self.takes_vectors || vector.is_none())
        {
            return Ok(Arc::clone(handle));
        }
        let handle = open_for_writing(backend, palace, name, vector.map(Vec::len))?;
        self.takes_vectors = vector.is_some();
        self.handle = Some(Arc::clone(&handle));
        Ok(handle)
    }
}
