//! Undo: the inverse of an act, made from what was stored before it.
//!
//! An act holds whole drawers in memory, so it lives as long as the visit that did it. Callers drop their acts when
//! drawers are forgotten; one that they still hold then is refused. Nothing that changed since the act is overwritten;
//! the report names what was left as it is.

mod changed;
mod erasure;
mod memory;
mod moved;
mod preview;
mod removed;
mod undoable;

use loci_core::{
    ApplyRequest, Capability, Collection, CollectionReader, Drawer, DrawerFields, DrawerId, GetRequest,
    IdentityState, NewDrawer, Receipt, Result, Write,
};

use crate::palace::{DrawerAct, Palace};
pub(crate) use changed::{AddedDrawer, EditedDrawer};
use erasure::ErasureMark;
pub(crate) use erasure::begin_erasure;
pub(crate) use memory::{RemovalMemory, ThinnedNeighbour};
pub(crate) use moved::MoveMemory;
use moved::MovedDrawer;
pub use preview::ActPreview;
use removed::RemovedDrawers;

/// The most drawers of an act that can be undone.
pub const MOST_REMEMBERED_DRAWERS: u64 = 10_000;

/// The most bytes of text of an act that can be undone.
pub const MOST_REMEMBERED_BYTES: u64 = 64 << 20;

/// An act that can be undone, with what it replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct PalaceAct {
    mark: ErasureMark,
    memory: ActMemory,
}

/// What an act replaced.
#[derive(Debug, Clone, PartialEq)]
enum ActMemory {
    Added(Box<AddedDrawer>),
    Edited(Box<EditedDrawer>),
    Moved(Vec<MovedDrawer>),
    Removed(RemovedDrawers),
}

/// The outcome of undoing an act, which is durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// The number of drawers that are as they were before the act.
    pub undone: u64,
    /// The drawers that were left as they are.
    pub left: Vec<LeftDrawer>,
    /// The number of drawers whose vectors were made anew, because the model was exchanged in the meantime.
    pub embedded: u64,
}

/// A drawer that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftDrawer {
    /// Its id.
    pub id: DrawerId,
    /// The reason, as the end of a sentence that begins with the drawer.
    pub reason: &'static str,
}

impl PalaceAct {
    fn new(mark: ErasureMark, memory: ActMemory) -> Self {
        Self { mark, memory }
    }

    /// Describes the act, such as `deleting 3 drawers`.
    pub fn describe(&self) -> String {
        let drawers = |count: usize| loci_core::format_count(count as u64, "drawer");
        match &self.memory {
            ActMemory::Added(_) => "adding a drawer".to_owned(),
            ActMemory::Edited(_) => "editing a drawer".to_owned(),
            ActMemory::Moved(moved) => format!("moving {}", drawers(moved.len())),
            ActMemory::Removed(removed) => format!("deleting {}", drawers(removed.len())),
        }
    }

    /// Returns whether something was erased since, so that it can never be undone.
    pub fn is_outdated(&self, palace: &Palace) -> Result<bool> {
        Ok(ErasureMark::read(palace)? != self.mark)
    }

    /// Returns the number of drawers it changed.
    pub fn drawers(&self) -> u64 {
        let count = match &self.memory {
            ActMemory::Added(_) | ActMemory::Edited(_) => 1,
            ActMemory::Moved(moved) => moved.len(),
            ActMemory::Removed(removed) => removed.len(),
        };
        count as u64
    }

    /// Returns the drawer, if the act is about one that is there once the act is undone.
    pub fn drawer_after_undo(&self) -> Option<&DrawerId> {
        match &self.memory {
            ActMemory::Added(_) => None,
            ActMemory::Edited(edited) => Some(edited.id()),
            ActMemory::Moved(moved) => match moved.as_slice() {
                [one] => Some(&one.id),
                _ => None,
            },
            ActMemory::Removed(removed) => removed.only_id(),
        }
    }

    /// Estimates the memory it takes, in bytes.
    pub fn estimate_size(&self) -> usize {
        match &self.memory {
            ActMemory::Added(added) => added.estimate_size(),
            ActMemory::Edited(edited) => edited.estimate_size(),
            ActMemory::Moved(moved) => moved.len() * 200,
            ActMemory::Removed(removed) => removed.estimate_size(),
        }
    }
}

impl Palace {
    /// Makes the inverse of an act, in one batch. A drawer that was changed, moved, removed or filed again since the act
    /// is left as it is.
    pub fn undo(&self, act: &PalaceAct) -> Result<UndoReport> {
        let palace = self.for_act(match &act.memory {
            ActMemory::Added(_) => DrawerAct::Removes,
            ActMemory::Edited(_) | ActMemory::Moved(_) | ActMemory::Removed(_) => DrawerAct::Changes,
        })?;
        act.mark.check(self)?;
        match &act.memory {
            ActMemory::Added(added) => added.undo(&palace),
            ActMemory::Edited(edited) => edited.undo(&palace),
            ActMemory::Moved(moved) => moved::undo_move(&palace, moved),
            ActMemory::Removed(removed) => removed.undo(&palace),
        }
    }
}

impl UndoReport {
    fn leave(&mut self, id: &DrawerId, reason: &'static str) {
        self.left.push(LeftDrawer {
            id: id.clone(),
            reason,
        });
    }
}

/// Reads drawers with every field, and with their vectors where the backend hands them out.
pub(crate) fn read_whole(
    palace: &Palace,
    reader: &dyn CollectionReader,
    ids: impl IntoIterator<Item = DrawerId>,
) -> Result<Vec<Drawer>> {
    let include = DrawerFields {
        embedding: hands_out_vectors(palace)?,
        ..DrawerFields::EVERYTHING
    };
    reader.get(&GetRequest {
        include,
        ..GetRequest::by_ids(ids)
    })
}

/// Returns the model whose vectors [`read_whole`] reads; none if the backend hands out none.
pub(crate) fn model_of_vectors(
    palace: &Palace,
    collection: &dyn Collection,
) -> Result<Option<IdentityState>> {
    Ok(hands_out_vectors(palace)?.then(|| collection.model()))
}

fn hands_out_vectors(palace: &Palace) -> Result<bool> {
    let descriptor_of = |capability| {
        palace
            .address()
            .map(|at| at.backend.descriptor().has_capability(&capability))
    };
    descriptor_of(Capability::EmbeddingsOut)
}

/// Applies a batch only while drawers are as they were read. A backend that cannot promise that applies it right after
/// the caller has compared them.
pub(crate) fn apply_as_read(
    palace: &Palace,
    collection: &dyn Collection,
    batch: &[Write],
    read: &[Drawer],
) -> Result<Receipt> {
    let address = palace.address()?;
    let can_expect = address
        .backend
        .descriptor()
        .has_capability(&Capability::ConditionalBatch);
    let request = ApplyRequest::from_writes(batch);
    collection.apply(&if can_expect {
        request.expecting(read)
    } else {
        request
    })
}

/// Returns a drawer as it is filed again: under its id, with its times and its provenance.
fn to_new_drawer(drawer: &Drawer, keeps_vector: bool) -> NewDrawer {
    NewDrawer {
        id: drawer.id.clone(),
        wordless: drawer.document.is_none(),
        document: drawer.document.clone().unwrap_or_default(),
        context: drawer.context.clone(),
        metadata: drawer.metadata.clone().unwrap_or_default(),
        place: drawer.place.clone(),
        filed_at: drawer.filed_at,
        provenance: drawer.provenance.clone(),
        uses: drawer.uses,
        embedding: drawer.embedding.clone().filter(|_| keeps_vector),
    }
}

/// Estimates the memory of a drawer, in bytes.
fn estimate_drawer(drawer: &Drawer) -> usize {
    let vector = drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4);
    text_bytes(drawer) + vector + 400
}

/// Returns the bytes of a drawer's texts.
fn text_bytes(drawer: &Drawer) -> usize {
    let context = drawer.context.as_ref();
    let around = context.map_or(0, |context| context.before.len() + context.after.len());
    drawer.document.as_ref().map_or(0, String::len) + around
}
