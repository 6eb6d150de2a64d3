//! Undoing a move: each drawer goes back to its own wing and room.

use std::collections::HashMap;

use loci_core::{
    CollectionExt as _, Drawer, DrawerFields, DrawerId, DrawerPatch, DrawerPlace, GetRequest, MetadataValue,
    Result, Write,
};

use super::{MOST_REMEMBERED_DRAWERS, UndoReport};
use crate::palace::Palace;

/// The fields that a move sets.
const FIELDS: [&str; 2] = ["wing", "room"];

/// Where drawers were before they were moved; none if they are too many to be remembered.
#[derive(Debug)]
pub(crate) struct MoveMemory(Option<Vec<MovedDrawer>>);

/// A drawer that was moved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MovedDrawer {
    pub(crate) id: DrawerId,
    /// What was changed: the field, its value and its metadata before, and its value after.
    changes: Vec<PlaceChange>,
}

#[derive(Debug, Clone, PartialEq)]
struct PlaceChange {
    field: &'static str,
    before: Option<String>,
    /// The metadata under the same key, which is a value of its own if it is no text.
    metadata: Option<MetadataValue>,
    after: Option<String>,
}

impl MoveMemory {
    /// Returns a memory that remembers.
    pub(crate) fn new() -> Self {
        Self(Some(Vec::new()))
    }

    /// Returns a memory that keeps nothing.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// Keeps drawers, as they were, that were moved to `target`.
    pub(crate) fn keep<'d>(&mut self, drawers: impl Iterator<Item = &'d Drawer>, target: &DrawerPlace) {
        if let Some(moved) = &mut self.0 {
            moved.extend(drawers.map(|drawer| MovedDrawer::new(drawer, target)));
            if moved.len() as u64 > MOST_REMEMBERED_DRAWERS {
                self.0 = None;
            }
        }
    }

    /// Returns what was moved, if that is something and all of it was kept.
    pub(super) fn into_moved(self) -> Option<Vec<MovedDrawer>> {
        self.0.filter(|moved| !moved.is_empty())
    }
}

impl MovedDrawer {
    /// Remembers where a drawer stands before it is moved to `target`.
    pub(crate) fn new(drawer: &Drawer, target: &DrawerPlace) -> Self {
        let change = |field: &'static str| {
            let after = target.text_field(field)?;
            Some(PlaceChange {
                field,
                before: drawer.place.text_field(field).map(str::to_owned),
                metadata: drawer
                    .metadata
                    .as_ref()
                    .and_then(|metadata| metadata.get(field))
                    .cloned(),
                after: Some(after.to_owned()),
            })
        };
        Self {
            id: drawer.id.clone(),
            changes: FIELDS.into_iter().filter_map(change).collect(),
        }
    }

    /// Returns whether the drawer still stands where the move put it.
    fn is_at(&self, place: &DrawerPlace) -> bool {
        let stands = |change: &PlaceChange| place.text_field(change.field) == change.after.as_deref();
        self.changes.iter().all(stands)
    }

    fn to_patch(&self) -> DrawerPatch {
        let mut patch = DrawerPatch::new(self.id.clone());
        for change in &self.changes {
            match (&change.before, patch.place.text_field_mut(change.field)) {
                (Some(before), Some(field)) => *field = Some(before.clone()),
                // A field is emptied through the metadata key of its name.
                _ => drop(
                    patch
                        .metadata
                        .insert(change.field.to_owned(), change.metadata.clone()),
                ),
            }
        }
        patch
    }
}

/// Moves drawers back, except those that were moved again since.
pub(super) fn undo_move(palace: &Palace, moved: &[MovedDrawer]) -> Result<UndoReport> {
    let mut report = UndoReport::default();
    palace.write(|collection| {
        let found = collection.get(&GetRequest {
            include: DrawerFields::NOTHING,
            ..GetRequest::by_ids(moved.iter().map(|one| one.id.clone()))
        })?;
        let places: HashMap<DrawerId, DrawerPlace> = found
            .into_iter()
            .map(|drawer| (drawer.id, drawer.place))
            .collect();
        let mut batch = Vec::with_capacity(moved.len());
        for one in moved {
            match places.get(&one.id) {
                None => report.leave(&one.id, "was removed since it was moved"),
                Some(place) if !one.is_at(place) => report.leave(&one.id, "was moved again since, and stays"),
                Some(_) => batch.push(Write::Update(one.to_patch())),
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let receipt = collection.apply_batch(&batch)?;
        report.undone = receipt.updated.len() as u64;
        for id in &receipt.missing {
            report.leave(id, "was removed since it was moved");
        }
        Ok(())
    })?;
    Ok(report)
}
