//! Erasure: removing what was deleted or replaced so that no stored byte of it remains.
//!
//! An erasure has three steps: [`Erasure::begin`] records that one is under way, writes remove or replace drawers as
//! usual, and [`Erasure::purge`] rewrites what is stored. A process that dies in between leaves the record, so that
//! an erasure is never taken for finished before it is.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{ApplyRequest, Collection, DeleteSelection, DrawerId, Result, Write};

/// Erases to the last byte.
pub trait Erasure: fmt::Debug + Send + Sync {
    /// Records durably that an erasure has begun; the record stays until a purge has reached everything.
    fn begin(&self) -> Result<()>;

    /// Returns whether an erasure has begun that no purge has finished.
    fn is_unfinished(&self) -> Result<bool>;

    /// Rewrites what is stored, and returns once no byte of text, metadata, words or vectors that was removed or
    /// replaced before this call remains in anything the backend stores, deleted pages and logs included.
    ///
    /// Parts that cannot be reached are listed with the reason. Other processes keep reading and writing; a writer
    /// may have to wait. `watch` receives the steps done so far and their total.
    fn purge(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<PurgeReport>;

    /// Looks for texts in every byte the backend stores of this palace, and for their words in its indexes, in the form
    /// they have there. Reads only. `watch` receives the bytes read so far and their total.
    fn find_traces(&self, texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>>;
}

/// The outcome of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PurgeReport {
    /// The files and tables that hold nothing any more of what was removed.
    pub reached: Vec<String>,
    /// The parts that may still hold some of it.
    pub not_reached: Vec<UnreachedPart>,
}

/// A part that an erasure could not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreachedPart {
    /// The file or table.
    pub part: String,
    /// The reason, and what can be done.
    pub reason: String,
}

/// A place at which a text or its words are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoredTrace {
    /// The number of the text, counted from 0.
    pub text: usize,
    /// The file.
    pub file: String,
    /// The position of its first byte in the file, if it was found byte by byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The table, and the drawer if it is known, if it was found by decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The outcome of erasing drawers by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// The drawers that were erased.
    pub erased: Vec<DrawerId>,
    /// The ids that were not found.
    pub missing: Vec<DrawerId>,
    /// The parts that were reached and those that were not.
    pub purge: PurgeReport,
}

/// Conveniences over [`Erasure`] that no backend implements.
pub trait ErasureExt: Erasure {
    /// Removes these drawers of `collection`, to the last byte; unknown ids are listed as missing.
    fn erase_drawers(&self, collection: &dyn Collection, ids: &[DrawerId]) -> Result<ErasureReport> {
        self.begin()?;
        let removal = [Write::Delete(DeleteSelection::Ids(ids.to_vec()))];
        let receipt = collection.apply(&ApplyRequest::from_writes(&removal))?;
        Ok(ErasureReport {
            erased: receipt.deleted,
            missing: receipt.missing,
            purge: self.purge(&mut |_, _| {})?,
        })
    }
}

impl<E: Erasure + ?Sized> ErasureExt for E {}
