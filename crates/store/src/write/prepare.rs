//! The slow part of a batch that needs no stored row, done before the lock.

use std::collections::HashMap;

use loci_core::{Drawer, NewDrawer, Patch, Result, Write};
use loci_index::tokenise::Indexer;

use crate::deadline::Deadline;
use crate::{clock, words};

/// What of a batch is made ready without a stored row: everything slow that needs none.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Filed drawers and their words, by place in the batch.
    pub(super) filed: HashMap<usize, (Drawer, Vec<u8>)>,
    /// The length of the first vector in the batch.
    pub(super) dimension: Option<usize>,
}

/// Checks a batch and does its slow part: completing places and cutting texts into words.
pub(crate) fn prepare(batch: &[Write], deadline: Deadline) -> Result<Prepared> {
    loci_core::write::check_batch(batch, None)?;
    let now = clock::now();
    let mut filed = HashMap::new();
    let mut indexer = Indexer::default();
    for (at, write) in batch.iter().enumerate() {
        if let Write::Add(new) | Write::Upsert(new) = write {
            deadline.check()?;
            let drawer = new.filed(now)?;
            let words = words::of(&mut indexer, &drawer);
            filed.insert(at, (drawer, words));
        }
    }
    let dimension = batch.iter().find_map(|write| embedding(write).map(<[f32]>::len));
    Ok(Prepared { filed, dimension })
}

fn embedding(write: &Write) -> Option<&[f32]> {
    match write {
        Write::Add(NewDrawer { embedding, .. })
        | Write::Upsert(NewDrawer { embedding, .. })
        | Write::Update(Patch { embedding, .. }) => embedding.as_deref(),
        Write::Delete(_) => None,
    }
}
