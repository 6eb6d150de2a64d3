//! The way from a handle to its collection: which one it is, whose vectors come in, and which drawers are seen.

use std::sync::{Mutex, PoisonError};

use loci_core::{CollectionName, DeclaredEmbedder, OpenOptions, Receipt, Result, Visibility};
use rusqlite::{Connection, Transaction};

use crate::deadline::BudgetDeadline;
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;
use crate::words;
use crate::write::{self, ReadyBatch, WriteTerms};

/// The part of a handle that a transaction needs, shared with changes that another thread may make for it.
#[derive(Debug)]
pub(super) struct CollectionAccess {
    name: CollectionName,
    bound: Mutex<CollectionBinding>,
    declared: DeclaredEmbedder,
    visibility: Visibility,
}

/// The collection that a handle was opened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CollectionBinding {
    /// The generation of the palace's file that holds it.
    generation: u64,
    /// Its number there.
    collection: i64,
}

/// The answer of a change, and what is due once it is durable.
#[derive(Debug)]
pub(super) struct SettledChange<T> {
    pub(super) answer: T,
    /// Whether small segments of words should be merged.
    pub(super) merge_due: bool,
}

impl CollectionAccess {
    /// Creates the access of a handle to the collection as seen by the transaction that opened it.
    pub(super) fn new(generation: u64, opened: &CollectionShelf, how: &OpenOptions) -> Self {
        Self {
            name: opened.name.clone(),
            bound: Mutex::new(CollectionBinding {
                generation,
                collection: opened.collection,
            }),
            declared: how.declared_embedder(&opened.identity()),
            visibility: Visibility::new(how.visible.clone()),
        }
    }

    pub(super) fn name(&self) -> &CollectionName {
        &self.name
    }

    /// Returns the drawers that the handle sees.
    pub(super) fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// Returns the terms of a write by this handle.
    pub(super) fn terms(&self, deadline: BudgetDeadline) -> WriteTerms<'_> {
        WriteTerms {
            declared: &self.declared,
            visibility: &self.visibility,
            deadline,
        }
    }

    /// Returns the collection in an open transaction; `NotFound` once it was dropped, even if another has its name now.
    pub(super) fn find_shelf(&self, connection: &Connection, generation: u64) -> Result<CollectionShelf> {
        let shelf = CollectionShelf::find(connection, &self.name)?;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if bound.generation != generation {
            // The file was replaced, by a restore for example; the handle continues on its new content.
            *bound = CollectionBinding {
                generation,
                collection: shelf.collection,
            };
        } else if bound.collection != shelf.collection {
            return Err(CollectionShelf::missing_error(&self.name));
        }
        Ok(shelf)
    }

    /// Makes a change in an open transaction.
    pub(super) fn change<T>(
        &self,
        transaction: &Transaction<'_>,
        generation: u64,
        change: impl FnOnce(&Transaction<'_>, CollectionShelf) -> Result<T>,
    ) -> Result<SettledChange<T>> {
        let shelf = self.find_shelf(transaction, generation)?;
        let projection = shelf.projection;
        let answer = change(transaction, shelf)?;
        // Asked while the tables are at hand; the merge itself follows in another transaction, after the
        // caller's batch is durable.
        let merge_due = words::merge_is_due(transaction, projection)?;
        Ok(SettledChange { answer, merge_due })
    }

    /// Applies a batch in an open transaction.
    pub(super) fn apply(
        &self,
        palace: &PalaceFile,
        transaction: &Transaction<'_>,
        generation: u64,
        batch: &ReadyBatch<'_>,
        deadline: BudgetDeadline,
    ) -> Result<SettledChange<Receipt>> {
        self.change(transaction, generation, |transaction, shelf| {
            let palace = palace.palace_id(transaction)?;
            write::apply_batch(transaction, palace, shelf, self.terms(deadline), batch)
        })
    }
}
