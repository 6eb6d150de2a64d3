//! What a removal takes away, remembered while it happens.

use std::collections::HashMap;

use loci_core::{
    Collection, Drawer, DrawerContext, DrawerId, DrawerPatch, IdentityState, MetadataValue, OpenOptions,
    Result,
};

use super::removed::RemovedDrawers;
use super::{MOST_REMEMBERED_BYTES, MOST_REMEMBERED_DRAWERS, model_of_vectors, read_whole, text_bytes};
use crate::deletions::DeletedParts;
use crate::palace::Palace;
use crate::seal::{SealedSpan, may_have_label, read_whole_spans};

/// The drawers read at once.
const PAGE: usize = 512;

/// A drawer that stays, whose context or title repeated words that were removed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThinnedNeighbour {
    pub(super) id: DrawerId,
    /// Its context before and after, if that was changed.
    pub(super) context: Option<(DrawerContext, DrawerContext)>,
    /// Its title, if that was removed.
    pub(super) title: Option<MetadataValue>,
}

/// What a removal takes away. Each of its transactions reads first, and keeps what it really removed.
#[derive(Debug, Default)]
pub(crate) struct RemovalMemory {
    pub(super) drawers: Vec<Drawer>,
    pub(super) spans: Vec<(DrawerId, Vec<SealedSpan>)>,
    pub(super) neighbours: Vec<ThinnedNeighbour>,
    /// What was added to the list of deletions, by the names of the records.
    pub(super) listed: Vec<(String, DeletedParts)>,
    pub(super) model: Option<IdentityState>,
    /// Drawers read, and not known yet to be removed.
    pending: HashMap<DrawerId, (Drawer, Vec<SealedSpan>)>,
    bytes: u64,
    /// Too much was removed, or something that cannot be filed again.
    is_given_up: bool,
}

impl ThinnedNeighbour {
    /// Remembers what a patch takes out of a drawer.
    pub(crate) fn new(drawer: &Drawer, patch: &DrawerPatch) -> Self {
        let context = drawer.context.clone().zip(patch.context.clone());
        let title = drawer
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("title"));
        Self {
            id: drawer.id.clone(),
            context,
            title: title.filter(|_| patch.metadata.contains_key("title")).cloned(),
        }
    }
}

impl RemovalMemory {
    /// Returns a memory that keeps nothing.
    pub(crate) fn nothing() -> Self {
        Self {
            is_given_up: true,
            ..Self::default()
        }
    }

    /// Reads drawers that are about to be removed.
    pub(crate) fn read(
        &mut self,
        palace: &Palace,
        collection: &dyn Collection,
        ids: &[DrawerId],
    ) -> Result<()> {
        self.pending.clear();
        if ids.len() as u64 + self.drawers.len() as u64 > MOST_REMEMBERED_DRAWERS {
            self.give_up();
        }
        if self.is_given_up {
            return Ok(());
        }
        self.model = model_of_vectors(palace, collection)?;
        let whole = palace.open_whole(&OpenOptions::default())?;
        for page in ids.chunks(PAGE) {
            for drawer in read_whole(palace, collection, page.iter().cloned())? {
                self.bytes += text_bytes(&drawer) as u64;
                if self.bytes > MOST_REMEMBERED_BYTES || !drawer.damage.is_empty() {
                    self.give_up();
                    return Ok(());
                }
                let spans = if may_have_label(&drawer) {
                    read_whole_spans(whole.as_ref(), &drawer)?
                } else {
                    Vec::new()
                };
                self.pending.insert(drawer.id.clone(), (drawer, spans));
            }
        }
        Ok(())
    }

    /// Keeps those of the drawers read that were removed.
    pub(crate) fn keep(&mut self, removed: &[DrawerId]) {
        for id in removed {
            match self.pending.remove(id) {
                Some((drawer, spans)) => {
                    if !spans.is_empty() {
                        self.spans.push((id.clone(), spans));
                    }
                    self.drawers.push(drawer);
                }
                // Filed between reading and removing: what is not known cannot be brought back.
                None => self.give_up(),
            }
        }
    }

    /// Keeps what was taken out of drawers that stay.
    pub(crate) fn keep_neighbours(&mut self, neighbours: Vec<ThinnedNeighbour>) {
        if !self.is_given_up {
            self.neighbours.extend(neighbours);
        }
    }

    /// Keeps what was added to the list of deletions, by the names of the records.
    pub(crate) fn keep_listed(&mut self, listed: impl IntoIterator<Item = (String, DeletedParts)>) {
        if !self.is_given_up {
            self.listed.extend(listed);
        }
    }

    fn give_up(&mut self) {
        *self = Self::nothing();
    }

    pub(super) fn into_removed(self) -> Option<RemovedDrawers> {
        let is_kept = !self.is_given_up && !self.drawers.is_empty();
        is_kept.then(|| RemovedDrawers::new(self))
    }
}
