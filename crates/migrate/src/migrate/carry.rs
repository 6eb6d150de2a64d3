//! One drawer on its way: what the target is asked to file for it.

use loci_core::write::check_batch;
use loci_core::{Drawer, Error, NewDrawer, Result, Write};

use super::plan::Plan;
use super::survey::CollectionSurvey;
use crate::canonical::canonical;

/// The drawer as it shall stand in the target, but for a vector that is yet to be made.
pub(super) fn expected(
    drawer: Drawer,
    plan: &Plan,
    survey: &CollectionSurvey,
    dimension: Option<usize>,
) -> Drawer {
    let mut drawer = canonical(drawer);
    if survey.spanless.contains(&drawer.id) {
        drawer.place.span = None;
    }
    let fits = |vector: &Vec<f32>| dimension.is_none_or(|dimension| vector.len() == dimension);
    drawer.embedding = drawer.embedding.filter(fits).filter(|_| plan.carries_vectors());
    drawer.damage = Vec::new();
    drawer
}

/// What is filed for such a drawer; an error says why no backend takes it.
pub(super) fn filed(drawer: Drawer) -> Result<NewDrawer> {
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
    let write = Write::Add(new);
    check_batch(std::slice::from_ref(&write), None)?;
    match write {
        Write::Add(new) => Ok(new),
        _ => Err(Error::invalid("a drawer became something else")),
    }
}

/// Roughly how much memory it takes, in bytes.
pub(super) fn size(drawer: &NewDrawer) -> usize {
    let vector = drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4);
    drawer.document.len() + vector + 256
}
