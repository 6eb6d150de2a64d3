//! Shorthand for switching a collection from one model to another and for querying it on the way.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, EmbedderIdentity, EmbeddingSpace, IdentityState, OpenOptions, PendingRequest,
    QueryRequest, Result, SpaceState, SwitchStep, UnembeddedDrawer, VectorFill, VectorFillReport,
};

use crate::samples::{hit_ids, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

/// The question of all these cases: nearest to it is `a` by the old model and `b` by the new one.
pub(crate) const QUESTION: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

/// The model the cases switch to.
pub(crate) fn newer_model() -> EmbedderIdentity {
    model_called("model-b")
}

/// Three drawers with vectors of the first model.
pub(crate) fn open_house(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    scene.open_filled([
        vector_drawer("a", "text of a", &[1.0, 0.0, 0.0, 0.0]),
        vector_drawer("b", "text of b", &[0.0, 1.0, 0.0, 0.0]),
        vector_drawer("c", "text of c", &[0.1, 0.0, 1.0, 0.0]),
    ])
}

/// A handle on the same collection that declares another model, or none.
pub(crate) fn open_declaring(
    scene: &CaseScene<'_>,
    embedder: Option<EmbedderIdentity>,
) -> CaseOutcome<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        ..OpenOptions::for_writing()
    };
    Ok(scene
        .backend()
        .open(&scene.palace(), &default_collection(), &how)?)
}

/// Embeds a text with the new model, which ranks the drawers in another order than the old one.
pub(crate) fn embed_text(text: &str) -> Vec<f32> {
    match text {
        // Nearest to the question is `b`, then `c`, then `a`: the reverse of the old model's order.
        "text of a" => vec![0.0, 0.0, 0.2, 1.0],
        "text of b" => vec![1.0, 0.0, 0.0, 0.0],
        "text of c" => vec![0.5, 1.0, 0.0, 0.0],
        // Any other text is far from the question, and different lengths give different vectors.
        other => vec![-1.0, other.len() as f32 / 100.0, 0.0, 1.0],
    }
}

/// The vector the new model makes for a drawer.
pub(crate) fn make_filling(drawer: &UnembeddedDrawer) -> VectorFill {
    VectorFill {
        id: drawer.id.clone(),
        version: drawer.version,
        vector: embed_text(&drawer.text),
    }
}

/// Every drawer that lacks a vector of this model.
pub(crate) fn list_lacking(
    collection: &dyn Collection,
    of: &EmbedderIdentity,
) -> CaseOutcome<Vec<UnembeddedDrawer>> {
    Ok(collection.require_spaces()?.list_pending(&PendingRequest {
        identity: of.clone(),
        after: 0,
        limit: usize::MAX,
    })?)
}

/// The ids of every drawer that lacks a vector of this model, oldest version first.
pub(crate) fn list_lacking_ids(
    collection: &dyn Collection,
    of: &EmbedderIdentity,
) -> CaseOutcome<Vec<String>> {
    let found = list_lacking(collection, of)?;
    Ok(found.into_iter().map(|drawer| drawer.id.into()).collect())
}

/// Fills the drawers that lack a vector of this model, two at a time.
pub(crate) fn fill_all(collection: &dyn Collection, of: &EmbedderIdentity) -> Result<VectorFillReport> {
    let mut all = VectorFillReport::default();
    let mut after = 0;
    loop {
        let page = collection.require_spaces()?.list_pending(&PendingRequest {
            identity: of.clone(),
            after,
            // Fewer than the three drawers of a house, so that every case with a switch also pages.
            limit: 2,
        })?;
        let Some(last) = page.last() else { return Ok(all) };
        // Pages advance by version, as a real filler's do, so that a drawer that stays pending cannot stop
        // them.
        after = last.version;
        let filled = collection
            .require_spaces()?
            .fill_vectors(of, &page.iter().map(make_filling).collect::<Vec<_>>())?;
        all.stored += filled.stored;
        all.stale += filled.stale;
    }
}

/// Switches a collection to a model, from beginning to end.
pub(crate) fn switch_to(
    collection: &dyn Collection,
    model: &EmbedderIdentity,
) -> Result<Vec<EmbeddingSpace>> {
    collection
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model.clone()))?;
    fill_all(collection, model)?;
    collection.require_spaces()?.take_step(&SwitchStep::Finish)
}

/// Switches a collection to the new model, from beginning to end.
pub(crate) fn switch_over(collection: &dyn Collection) -> CaseOutcome {
    switch_to(collection, &newer_model())?;
    Ok(())
}

/// The ids of every drawer with a vector that answers, nearest to the question first.
pub(crate) fn list_answers(collection: &dyn Collection) -> CaseOutcome<Vec<String>> {
    let lists = collection.query(&QueryRequest::nearest_to(QUESTION.to_vec(), 50))?;
    let ids = lists.first().map(|hits| hit_ids(hits)).unwrap_or_default();
    Ok(ids.into_iter().map(str::to_owned).collect())
}

/// Each space as its model, state and number of vectors.
pub(crate) fn outline_spaces(spaces: &[EmbeddingSpace]) -> Vec<(String, SpaceState, u64)> {
    // Models by name keep the expected lines of the cases readable.
    let name = |identity: &IdentityState| match identity {
        IdentityState::Known(identity) => identity.model.clone(),
        IdentityState::Unset => "unset".to_owned(),
        IdentityState::Unknown => "unknown".to_owned(),
    };
    let one = |space: &EmbeddingSpace| (name(&space.identity), space.state, space.vectors);
    spaces.iter().map(one).collect()
}

/// One line of [`outline_spaces`].
pub(crate) fn outline_line(model: &str, state: SpaceState, vectors: u64) -> (String, SpaceState, u64) {
    (model.to_owned(), state, vectors)
}
