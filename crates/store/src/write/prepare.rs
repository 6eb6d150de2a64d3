//! The slow part of a batch, which needs no stored row and is done before the lock is taken.

use std::collections::HashMap;

use loci_core::{Drawer, DrawerPatch, Metric, NewDrawer, Result, Write};
use loci_index::tokenise::TextIndexer;

use crate::deadline::BudgetDeadline;
use crate::{clock, words};

/// The part of a batch that is computed before the lock is taken.
#[derive(Debug)]
pub(crate) struct PreparedBatch {
    /// New drawers and their packed words, by position in the batch.
    pub(super) filed: HashMap<usize, (Drawer, Vec<u8>)>,
    /// The length of the first vector in the batch.
    pub(super) dimension: Option<usize>,
}

impl PreparedBatch {
    /// Returns the bytes of its texts, words and vectors.
    pub(super) fn size(&self) -> usize {
        let sizes = self.filed.values().map(|(drawer, words)| {
            drawer.document.as_ref().map_or(0, String::len)
                + words.len()
                + drawer
                    .embedding
                    .as_ref()
                    .map_or(0, |vector| size_of_val(vector.as_slice()))
        });
        sizes.sum()
    }
}

/// Checks a batch for a collection by `metric` and does its slow part: completing places and tokenising texts.
pub(crate) fn prepare_batch(
    batch: &[Write],
    metric: Metric,
    deadline: BudgetDeadline,
) -> Result<PreparedBatch> {
    // The dimension of the collection is not known here; it is checked again within the transaction.
    loci_core::write::check_batch(batch, metric, None)?;
    let now = clock::now();
    let mut filed = HashMap::new();
    let mut indexer = TextIndexer::default();
    for (at, write) in batch.iter().enumerate() {
        if let Write::Add(new) | Write::Upsert(new) = write {
            deadline.check()?;
            let drawer = new.to_filed_drawer(now)?;
            let words = words::pack_words(&mut indexer, &drawer);
            filed.insert(at, (drawer, words));
        }
    }
    let dimension = batch
        .iter()
        .find_map(|write| embedding_of(write).map(<[f32]>::len));
    Ok(PreparedBatch { filed, dimension })
}

fn embedding_of(write: &Write) -> Option<&[f32]> {
    match write {
        Write::Add(NewDrawer { embedding, .. })
        | Write::Upsert(NewDrawer { embedding, .. })
        | Write::Update(DrawerPatch { embedding, .. }) => embedding.as_deref(),
        Write::Delete(_) => None,
    }
}
