//! One drawer on its way: the form in which the target is asked to file it.

use loci_core::write::check_batch;
use loci_core::{Drawer, Error, Metric, NewDrawer, Result, Write};

use super::plan::CollectionPlan;
use super::survey::CollectionSurvey;
use crate::canonical::to_canonical_by;

/// Returns the drawer as the target is to hold it, except for a vector that is still to be made.
pub(super) fn expected_drawer(
    drawer: Drawer,
    plan: &CollectionPlan,
    survey: &CollectionSurvey,
    dimension: Option<usize>,
) -> Drawer {
    let mut drawer = to_canonical_by(plan.info.metric, drawer);
    if survey.spanless.contains(&drawer.id) {
        drawer.place.span = None;
    }
    // Other software may hold vectors of several lengths in one collection; the contract allows one.
    let fits = |vector: &Vec<f32>| dimension.is_none_or(|dimension| vector.len() == dimension);
    drawer.embedding = drawer.embedding.filter(fits).filter(|_| plan.carries_vectors());
    // Damage is a property of the source's bytes. The copy is sound, and the record lists what was damaged.
    drawer.damage = Vec::new();
    drawer
}

/// Converts a drawer for filing in a collection by this metric. The error says why no backend accepts it.
pub(super) fn to_new_drawer(drawer: Drawer, metric: Metric) -> Result<NewDrawer> {
    let new = NewDrawer {
        id: drawer.id,
        wordless: drawer.document.is_none(),
        document: drawer.document.unwrap_or_default(),
        context: drawer.context,
        metadata: drawer.metadata.unwrap_or_default(),
        place: drawer.place,
        filed_at: drawer.filed_at,
        provenance: drawer.provenance,
        uses: drawer.uses,
        embedding: drawer.embedding,
    };
    // The contract's own check, before any batch is built: one bad drawer must not spoil a batch of a
    // thousand.
    let write = Write::Add(new);
    check_batch(std::slice::from_ref(&write), metric, None)?;
    match write {
        Write::Add(new) => Ok(new),
        _ => Err(Error::invalid("the write is not an addition")),
    }
}

/// Estimates the memory of a drawer, in bytes.
pub(super) fn estimate_size(drawer: &NewDrawer) -> usize {
    let vector = drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4);
    drawer.document.len() + vector + 256
}
