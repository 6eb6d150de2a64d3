//! A sample of two collections: drawers of the second, spread evenly, looked up in both.

use std::collections::HashMap;

use loci_core::{CollectionReader, Drawer, DrawerId, Get, Include, Result};

use crate::merge::Pair;
use loci_engine::Walk;

/// How many drawers are looked up in one request.
const AT_ONCE: usize = 64;

/// Gives `each` this collection's share of `sample` drawers of `total`, at least one.
pub(super) fn pairs(
    mine: &dyn CollectionReader,
    theirs: &dyn CollectionReader,
    sample: u64,
    total: u64,
    include: Include,
    each: &mut dyn FnMut(Pair),
) -> Result<()> {
    let stride = total.div_ceil(sample.max(1)).max(1);
    let mut ids: Vec<DrawerId> = Vec::new();
    for (at, drawer) in (0_u64..).zip(Walk::new(theirs, Include::NOTHING)) {
        let drawer = drawer?;
        if at.is_multiple_of(stride) {
            ids.push(drawer.id);
        }
        if ids.len() >= AT_ONCE {
            look_up(mine, theirs, std::mem::take(&mut ids), include, each)?;
        }
    }
    look_up(mine, theirs, ids, include, each)
}

fn look_up(
    mine: &dyn CollectionReader,
    theirs: &dyn CollectionReader,
    ids: Vec<DrawerId>,
    include: Include,
    each: &mut dyn FnMut(Pair),
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let request = Get {
        include,
        ..Get::ids(ids)
    };
    let here = mine.get(&request)?.into_iter();
    let mut here: HashMap<DrawerId, Drawer> = here.map(|drawer| (drawer.id.clone(), drawer)).collect();
    for other in theirs.get(&request)? {
        each(match here.remove(&other.id) {
            Some(one) => Pair::Both(Box::new(one), Box::new(other)),
            None => Pair::Second(Box::new(other)),
        });
    }
    Ok(())
}
