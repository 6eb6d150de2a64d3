//! Short ways to take a collection from one model to another and to ask it on the way.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, EmbedderIdentity, Filled, Filling, IdentityState, OpenOptions, Pending, Query,
    Result, Space, SpaceState, Switch, Unembedded,
};

use crate::samples::{hit_ids, vectored};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

/// What every question of these cases is: the old model's `a` and the new model's `b` are nearest to it.
pub(crate) const ASKED: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

/// The model the cases switch to.
pub(crate) fn newer() -> EmbedderIdentity {
    model("model-b")
}

/// Three drawers with vectors of the first model.
pub(crate) fn house(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    scene.filled([
        vectored("a", "text of a", &[1.0, 0.0, 0.0, 0.0]),
        vectored("b", "text of b", &[0.0, 1.0, 0.0, 0.0]),
        vectored("c", "text of c", &[0.1, 0.0, 1.0, 0.0]),
    ])
}

/// A handle on the same collection that declares another model, or none.
pub(crate) fn declaring(
    scene: &Scene<'_>,
    embedder: Option<EmbedderIdentity>,
) -> Outcome<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        ..OpenOptions::writable()
    };
    Ok(scene.backend().open(&scene.palace(), &drawers(), &how)?)
}

/// What the new model makes of a text: another order than the old one's, and other vectors for other texts.
pub(crate) fn embed(text: &str) -> Vec<f32> {
    match text {
        "text of a" => vec![0.0, 0.0, 0.2, 1.0],
        "text of b" => vec![1.0, 0.0, 0.0, 0.0],
        "text of c" => vec![0.5, 1.0, 0.0, 0.0],
        other => vec![-1.0, other.len() as f32 / 100.0, 0.0, 1.0],
    }
}

/// The vector the new model makes for a drawer.
pub(crate) fn filling(drawer: &Unembedded) -> Filling {
    Filling {
        id: drawer.id.clone(),
        version: drawer.version,
        vector: embed(&drawer.text),
    }
}

/// Every drawer that lacks a vector of this model.
pub(crate) fn lacking(collection: &dyn Collection, of: &EmbedderIdentity) -> Outcome<Vec<Unembedded>> {
    Ok(collection.require_spaces()?.list_pending(&Pending {
        identity: of.clone(),
        after: 0,
        limit: usize::MAX,
    })?)
}

/// The ids of every drawer that lacks a vector of this model, oldest version first.
pub(crate) fn lacking_ids(collection: &dyn Collection, of: &EmbedderIdentity) -> Outcome<Vec<String>> {
    let found = lacking(collection, of)?;
    Ok(found.into_iter().map(|drawer| drawer.id.into()).collect())
}

/// Fills what lacks a vector of this model, two drawers at a time.
pub(crate) fn fill_all(collection: &dyn Collection, of: &EmbedderIdentity) -> Result<Filled> {
    let mut all = Filled::default();
    let mut after = 0;
    loop {
        let page = collection.require_spaces()?.list_pending(&Pending {
            identity: of.clone(),
            after,
            limit: 2,
        })?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.version;
        let filled = collection
            .require_spaces()?
            .fill_vectors(of, &page.iter().map(filling).collect::<Vec<_>>())?;
        all.stored += filled.stored;
        all.stale += filled.stale;
    }
}

/// Switches a collection to a model, from beginning to end.
pub(crate) fn switch_to(collection: &dyn Collection, model: &EmbedderIdentity) -> Result<Vec<Space>> {
    collection
        .require_spaces()?
        .take_step(&Switch::Begin(model.clone()))?;
    fill_all(collection, model)?;
    collection.require_spaces()?.take_step(&Switch::Finish)
}

/// Switches a collection to the new model, from beginning to end.
pub(crate) fn switch_over(collection: &dyn Collection) -> Outcome {
    switch_to(collection, &newer())?;
    Ok(())
}

/// The ids of every drawer with a vector that answers, nearest to the question first.
pub(crate) fn answers(collection: &dyn Collection) -> Outcome<Vec<String>> {
    let lists = collection.query(&Query::nearest(ASKED.to_vec(), 50))?;
    let ids = lists.first().map(|hits| hit_ids(hits)).unwrap_or_default();
    Ok(ids.into_iter().map(str::to_owned).collect())
}

/// Each space as its model, state and number of vectors.
pub(crate) fn outline(spaces: &[Space]) -> Vec<(String, SpaceState, u64)> {
    let name = |identity: &IdentityState| match identity {
        IdentityState::Known(identity) => identity.model.clone(),
        IdentityState::Unset => "unset".to_owned(),
        IdentityState::Unknown => "unknown".to_owned(),
    };
    let one = |space: &Space| (name(&space.identity), space.state, space.vectors);
    spaces.iter().map(one).collect()
}

/// One line of [`outline`].
pub(crate) fn line(model: &str, state: SpaceState, vectors: u64) -> (String, SpaceState, u64) {
    (model.to_owned(), state, vectors)
}
