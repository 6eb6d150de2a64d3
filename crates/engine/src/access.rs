//! Opening collections for writers that bring their own vectors.

use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionName, EmbedderIdentity, IdentityState, OpenOptions, PalaceRef, Result,
};

/// Who made vectors that a user hands over without an embedder: the user vouches for them.
pub fn given(dimension: usize) -> EmbedderIdentity {
    EmbedderIdentity {
        model: "given".into(),
        revision: "1".into(),
        dimension,
    }
}

/// Opens a collection to write into, making what is missing.
///
/// `dimension` is that of the vectors to come, if any will. They are taken to be of the collection's own model;
/// a collection without one becomes a collection of given vectors. Where the model is unknown, the contract
/// refuses the write.
pub fn open_for_writing(
    backend: &dyn Backend,
    palace: &PalaceRef,
    collection: &CollectionName,
    dimension: Option<usize>,
) -> Result<Arc<dyn Collection>> {
    let plain = backend.open(palace, collection, &OpenOptions::create())?;
    let Some(dimension) = dimension else {
        return Ok(plain);
    };
    let embedder = match plain.info()?.identity {
        IdentityState::Unset => given(dimension),
        IdentityState::Known(identity) => identity,
        IdentityState::Unknown => return Ok(plain),
    };
    let how = OpenOptions {
        embedder: Some(embedder),
        ..OpenOptions::create()
    };
    backend.open(palace, collection, &how)
}
