//! A sample of two collections: evenly spread drawers of the second one, looked up in both.

use std::collections::HashMap;

use loci_core::{CollectionReader, Drawer, DrawerFields, DrawerId, GetRequest, Result};

use crate::merge::DrawerPair;
use loci_engine::CollectionWalk;

/// The number of drawers looked up in one request.
const BATCH_SIZE: usize = 64;

/// Passes to `each` this collection's share of `sample` out of `total` drawers, at least one.
pub(super) fn sample_pairs(
    mine: &dyn CollectionReader,
    theirs: &dyn CollectionReader,
    sample: u64,
    total: u64,
    include: DrawerFields,
    each: &mut dyn FnMut(DrawerPair),
) -> Result<()> {
    // Every n-th drawer and not a random choice: two runs over the same palaces compare the same drawers.
    let stride = total.div_ceil(sample.max(1)).max(1);
    let mut ids: Vec<DrawerId> = Vec::new();
    for (at, drawer) in (0_u64..).zip(CollectionWalk::new(theirs, DrawerFields::NOTHING)) {
        let drawer = drawer?;
        if at.is_multiple_of(stride) {
            ids.push(drawer.id);
        }
        if ids.len() >= BATCH_SIZE {
            look_up_pairs(mine, theirs, std::mem::take(&mut ids), include, each)?;
        }
    }
    look_up_pairs(mine, theirs, ids, include, each)
}

fn look_up_pairs(
    mine: &dyn CollectionReader,
    theirs: &dyn CollectionReader,
    ids: Vec<DrawerId>,
    include: DrawerFields,
    each: &mut dyn FnMut(DrawerPair),
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let request = GetRequest {
        include,
        ..GetRequest::by_ids(ids)
    };
    // By id on both sides: a page of each in order could cover different drawers.
    let here = mine.get(&request)?.into_iter();
    let mut here: HashMap<DrawerId, Drawer> = here.map(|drawer| (drawer.id.clone(), drawer)).collect();
    for other in theirs.get(&request)? {
        each(match here.remove(&other.id) {
            Some(one) => DrawerPair::Both(Box::new(one), Box::new(other)),
            None => DrawerPair::Second(Box::new(other)),
        });
    }
    Ok(())
}
