//! Deciding what a batch changes: in order, on what is stored, before anything is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loci_core::{
    DeleteSelection, DocumentFilter, Drawer, DrawerFields, DrawerId, DrawerPatch, DrawerTwin, Filter,
    NewDrawer, Receipt, Result, Timestamp, Visibility, Write,
};
use serde_json::json;

use crate::deadline::ChromaDeadline;
use crate::load::RecordScope;
use crate::record::{PIECE, RecordedDrawer, hash_piece};
use crate::shelf::ChromaShelf;

/// The number of pieces that are looked up at once.
const PIECES: usize = 500;

/// The changes of a batch, in its order.
#[derive(Debug)]
pub(crate) struct PlannedBatch {
    pub(crate) changes: Vec<PlannedChange>,
    pub(crate) receipt: Receipt,
}

/// A drawer before and after a batch; at least one of them is there.
#[derive(Debug, Clone)]
pub(crate) struct PlannedChange {
    pub(crate) id: DrawerId,
    pub(crate) before: Option<RecordedDrawer>,
    pub(crate) after: Option<Drawer>,
}

/// Applies a batch to what is known of the collection.
#[derive(Debug)]
pub(crate) struct BatchPlanner<'a> {
    shelf: &'a ChromaShelf,
    visible: &'a Visibility,
    now: Timestamp,
    before: BTreeMap<DrawerId, RecordedDrawer>,
    /// The drawers that matter to the batch, as they are after the writes so far.
    drawers: BTreeMap<DrawerId, Drawer>,
    /// The ids of those drawers by the piece they are.
    pieces: HashMap<String, BTreeSet<DrawerId>>,
    changed: Vec<DrawerId>,
    is_changed: BTreeSet<DrawerId>,
    receipt: Receipt,
}

impl<'a> BatchPlanner<'a> {
    /// Loads everything that decides about the batch.
    pub(crate) fn load(
        shelf: &'a ChromaShelf,
        visible: &'a Visibility,
        now: Timestamp,
        batch: &[Write],
        deadline: ChromaDeadline,
    ) -> Result<Self> {
        let mut planner = Self {
            shelf,
            visible,
            now,
            before: BTreeMap::new(),
            drawers: BTreeMap::new(),
            pieces: HashMap::new(),
            changed: Vec::new(),
            is_changed: BTreeSet::new(),
            receipt: Receipt::default(),
        };
        let ids: Vec<&DrawerId> = batch.iter().flat_map(named_ids).collect();
        let found = shelf.load_by_ids(&ids, DrawerFields::EVERYTHING, deadline)?;
        planner.learn(found.into_values());
        for write in batch {
            if let Write::Delete(DeleteSelection::Matching(condition)) = write {
                let scope = RecordScope::narrow(visible, &condition.filter, &condition.document);
                let found = shelf.load_scope(&scope, DrawerFields::EVERYTHING, deadline)?;
                planner.learn(found.into_values());
            }
        }
        planner.load_pieces(batch, deadline)?;
        Ok(planner)
    }

    fn learn(&mut self, found: impl Iterator<Item = RecordedDrawer>) {
        for stored in found {
            let id = stored.drawer.id.clone();
            if !self.before.contains_key(&id) {
                self.set_drawer(&id, Some(stored.drawer.clone()));
                self.before.insert(id, stored);
            }
        }
    }

    /// Loads the drawers that are the same pieces of the same sources as those of the batch.
    fn load_pieces(&mut self, batch: &[Write], deadline: ChromaDeadline) -> Result<()> {
        let mut pieces = BTreeSet::new();
        for write in batch {
            let result = match write {
                Write::Add(new) | Write::Upsert(new) => Some(new.to_filed_drawer(self.now)?),
                Write::Update(patch) => self.drawers.get(&patch.id).map(|drawer| {
                    let mut drawer = drawer.clone();
                    patch.apply_to(&mut drawer);
                    drawer
                }),
                Write::Delete(_) => None,
            };
            pieces.extend(result.as_ref().and_then(hash_piece));
        }
        let pieces: Vec<String> = pieces.into_iter().collect();
        for some in pieces.chunks(PIECES) {
            let condition = json!({PIECE: {"$in": some}});
            let found = self
                .shelf
                .load_where(Some(&condition), DrawerFields::EVERYTHING, deadline)?;
            self.learn(found.into_values());
        }
        Ok(())
    }

    /// Applies the batch.
    pub(crate) fn plan(mut self, batch: &[Write]) -> Result<PlannedBatch> {
        for write in batch {
            match write {
                Write::Add(new) => self.add_drawer(new, false)?,
                Write::Upsert(new) => self.add_drawer(new, true)?,
                Write::Update(patch) => self.update_drawer(patch)?,
                Write::Delete(DeleteSelection::Ids(ids)) => ids.iter().for_each(|id| self.delete_drawer(id)),
                Write::Delete(DeleteSelection::Matching(condition)) => {
                    self.delete_matching(&condition.filter, &condition.document);
                }
            }
        }
        let Self {
            mut before,
            mut drawers,
            changed,
            receipt,
            ..
        } = self;
        let changes = changed.into_iter().map(|id| PlannedChange {
            before: before.remove(&id),
            after: drawers.remove(&id),
            id,
        });
        // Filed and removed in one batch: nothing is to be done.
        let changes = changes.filter(|change| change.before.is_some() || change.after.is_some());
        Ok(PlannedBatch {
            changes: changes.collect(),
            receipt,
        })
    }

    fn add_drawer(&mut self, new: &NewDrawer, replaces: bool) -> Result<()> {
        let filed = new.to_filed_drawer(self.now)?;
        // Before the id is looked up: otherwise the kind of the error would tell whether a hidden drawer has it.
        self.visible.check_written(&filed)?;
        let existing = self.drawers.get(&new.id);
        if existing.is_some_and(|drawer| !self.visible.sees_drawer(drawer)) {
            return Err(Visibility::id_taken_error(&new.id));
        }
        let is_there = existing.is_some();
        if is_there && !replaces {
            self.receipt.kept.push(new.id.clone());
            return Ok(());
        }
        if self.is_twin(&filed)? {
            return Ok(());
        }
        self.put_drawer(filed);
        let list = if is_there {
            &mut self.receipt.replaced
        } else {
            &mut self.receipt.added
        };
        list.push(new.id.clone());
        Ok(())
    }

    fn update_drawer(&mut self, patch: &DrawerPatch) -> Result<()> {
        let existing = self.drawers.get(&patch.id);
        let Some(existing) = existing.filter(|drawer| self.visible.sees_drawer(drawer)) else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let mut drawer = existing.clone();
        patch.apply_to(&mut drawer);
        self.visible.check_written(&drawer)?;
        if !self.is_twin(&drawer)? {
            self.put_drawer(drawer);
            self.receipt.updated.push(patch.id.clone());
        }
        Ok(())
    }

    fn delete_matching(&mut self, filter: &Filter, document: &DocumentFilter) {
        let scope = RecordScope::narrow(self.visible, filter, document);
        let drawers = self.drawers.values();
        let matching: Vec<DrawerId> = drawers
            .filter(|drawer| scope.accepts(drawer))
            .map(|drawer| drawer.id.clone())
            .collect();
        matching.iter().for_each(|id| self.delete_drawer(id));
    }

    fn delete_drawer(&mut self, id: &DrawerId) {
        let existing = self.drawers.get(id);
        if !existing.is_some_and(|drawer| self.visible.sees_drawer(drawer)) {
            self.receipt.missing.push(id.clone());
            return;
        }
        self.set_drawer(id, None);
        self.note_change(id);
        self.receipt.deleted.push(id.clone());
    }

    /// Lists `drawer` as a twin if the same piece of the same source is filed under another id; refused if that drawer
    /// is out of sight.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let Some(piece) = hash_piece(drawer) else {
            return Ok(false);
        };
        let same = self.pieces.get(&piece).into_iter().flatten();
        let mut others = same.filter(|id| **id != drawer.id);
        let Some(twin) = others.next().and_then(|id| self.drawers.get(id)) else {
            return Ok(false);
        };
        if !self.visible.sees_drawer(twin) {
            return Err(Visibility::piece_taken_error(&drawer.id));
        }
        self.receipt.twins.push(DrawerTwin {
            given: drawer.id.clone(),
            existing: twin.id.clone(),
        });
        Ok(true)
    }

    fn put_drawer(&mut self, drawer: Drawer) {
        let id = drawer.id.clone();
        if drawer.embedding.is_none() {
            self.receipt.without_vector.push(id.clone());
        }
        self.set_drawer(&id, Some(drawer));
        self.note_change(&id);
    }

    fn note_change(&mut self, id: &DrawerId) {
        if self.is_changed.insert(id.clone()) {
            self.changed.push(id.clone());
        }
    }

    /// Replaces what is known of a drawer, and of the piece it is.
    fn set_drawer(&mut self, id: &DrawerId, drawer: Option<Drawer>) {
        let new_piece = drawer.as_ref().and_then(hash_piece);
        let old = match drawer {
            Some(drawer) => self.drawers.insert(id.clone(), drawer),
            None => self.drawers.remove(id),
        };
        if let Some(piece) = old.as_ref().and_then(hash_piece)
            && let Some(ids) = self.pieces.get_mut(&piece)
        {
            ids.remove(id);
        }
        if let Some(piece) = new_piece {
            self.pieces.entry(piece).or_default().insert(id.clone());
        }
    }
}

fn named_ids(write: &Write) -> Vec<&DrawerId> {
    match write {
        Write::Add(new) | Write::Upsert(new) => vec![&new.id],
        Write::Update(patch) => vec![&patch.id],
        Write::Delete(DeleteSelection::Ids(ids)) => ids.iter().collect(),
        Write::Delete(DeleteSelection::Matching(_)) => Vec::new(),
    }
}
