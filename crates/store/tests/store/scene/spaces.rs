//! Models that make a vector of any text, and the steps that take a palace from one to another.

use std::collections::BTreeSet;

use loci_core::*;

use loci_testkit::SeededRandom;

/// A model of this name.
pub(crate) fn model(name: &str, dimension: usize) -> EmbedderIdentity {
    EmbedderIdentity {
        model: name.into(),
        revision: "1".into(),
        dimension,
    }
}

/// Returns the vector a model makes of a text; must never change, since fixtures hold it.
pub(crate) fn made(of: &EmbedderIdentity, text: &str) -> Vec<f32> {
    let seed = of.model.bytes().chain(text.bytes()).fold(0_u64, |seed, byte| {
        seed.wrapping_mul(0x100_0000_01b3)
            .wrapping_add(u64::from(byte) + 1)
    });
    let mut random = SeededRandom::new(seed);
    (0..of.dimension).map(|_| random.next_unit()).collect()
}

/// Returns the vector a model makes of a stored drawer.
pub(crate) fn made_of(of: &EmbedderIdentity, drawer: &Drawer) -> Vec<f32> {
    let text = drawer.document.as_deref().unwrap_or_default();
    made(of, &DrawerContext::indexed_text(drawer.context.as_ref(), text))
}

pub(crate) fn filling(of: &EmbedderIdentity, drawer: &UnembeddedDrawer) -> VectorFill {
    VectorFill {
        id: drawer.id.clone(),
        version: drawer.version,
        vector: made(of, &drawer.text),
    }
}

/// Drawers that lack a vector of this model, after a version.
pub(crate) fn pending(
    collection: &dyn Collection,
    of: &EmbedderIdentity,
    after: u64,
    limit: usize,
) -> Vec<UnembeddedDrawer> {
    let identity = of.clone();
    let request = PendingRequest {
        identity,
        after,
        limit,
    };
    collection
        .require_spaces()
        .unwrap()
        .list_pending(&request)
        .unwrap()
}

/// Fills at most so many drawers, some at a time; returns how many were stored.
pub(crate) fn fill(collection: &dyn Collection, of: &EmbedderIdentity, most: usize, at_once: usize) -> u64 {
    let (mut stored, mut after, mut left) = (0, 0, most);
    loop {
        let page = pending(collection, of, after, at_once.min(left));
        let Some(last) = page.last() else { return stored };
        (after, left) = (last.version, left - page.len());
        let given: Vec<VectorFill> = page.iter().map(|drawer| filling(of, drawer)).collect();
        stored += collection
            .require_spaces()
            .unwrap()
            .fill_vectors(of, &given)
            .unwrap()
            .stored;
    }
}

/// Switches to a model from beginning to end.
pub(crate) fn switch_to(collection: &dyn Collection, to: &EmbedderIdentity) {
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Begin(to.clone()))
        .unwrap();
    fill(collection, to, usize::MAX, 400);
    collection
        .require_spaces()
        .unwrap()
        .take_step(&SwitchStep::Finish)
        .unwrap();
}

/// Each space as its model, state and number of vectors.
pub(crate) fn outline(collection: &dyn Collection) -> Vec<(String, SpaceState, u64)> {
    let name = |identity: &IdentityState| match identity {
        IdentityState::Known(identity) => identity.model.clone(),
        other => format!("{other:?}"),
    };
    let spaces = collection.require_spaces().unwrap().list_spaces().unwrap();
    let line = |space: &EmbeddingSpace| (name(&space.identity), space.state, space.vectors);
    spaces.iter().map(line).collect()
}

/// Every drawer without a vector, and of some drawers spread over all those whose own vector, as the model makes it,
/// does not find them first.
pub(crate) fn unfound(collection: &dyn Collection, of: &EmbedderIdentity) -> Vec<DrawerId> {
    let drawers = collection.get(&super::truth::everything()).unwrap();
    let bare = drawers.iter().filter(|drawer| drawer.embedding.is_none());
    let mut missed: BTreeSet<DrawerId> = bare.map(|drawer| drawer.id.clone()).collect();
    let some: Vec<&Drawer> = drawers.iter().step_by(29).collect();
    let request = QueryRequest {
        vectors: some.iter().map(|drawer| made_of(of, drawer)).collect(),
        include: DrawerFields::NOTHING,
        ..QueryRequest::nearest_to(vec![1.0], 1)
    };
    let lists = collection.query(&request).unwrap();
    for (drawer, hits) in some.iter().zip(lists) {
        if hits.first().is_none_or(|hit| hit.drawer.id != drawer.id) {
            missed.insert(drawer.id.clone());
        }
    }
    missed.into_iter().collect()
}
