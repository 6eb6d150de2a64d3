//! Palaces on the shared server, and drawers to fill them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_chroma_server::ChromaServerBackend;
use loci_core::{
    Backend, Collection, CollectionName, CreateMode, DrawerId, EmbedderIdentity, IdentityChange, NewDrawer,
    OpenOptions, PalaceRef, Write,
};
use loci_testkit::ChromaServer;

pub(crate) const NEWEST: &str = "1.5.9";
pub(crate) const OLDEST: &str = "0.6.3";

/// Returns the URL of a palace that does not exist yet.
pub(crate) fn fresh_url(port: u16) -> String {
    static PALACES: AtomicU64 = AtomicU64::new(0);
    let number = PALACES.fetch_add(1, Ordering::SeqCst);
    format!(
        "chroma://127.0.0.1:{port}/?database=behaviour-{}-{number}",
        std::process::id()
    )
}

/// Returns a palace that does not exist yet on the server that all tests share.
pub(crate) fn fresh_palace() -> PalaceRef {
    PalaceRef::from_id(fresh_url(ChromaServer::shared(NEWEST)))
}

pub(crate) fn backend() -> ChromaServerBackend {
    ChromaServerBackend::with_token(None)
}

pub(crate) fn name(text: &str) -> CollectionName {
    CollectionName::new(text).unwrap()
}

/// Creates the default collection of a palace.
pub(crate) fn create(backend: &ChromaServerBackend, palace: &PalaceRef) -> Arc<dyn Collection> {
    let options = OpenOptions::for_writing();
    backend
        .create(palace, &name("drawers"), CreateMode::OpenExisting, &options)
        .unwrap()
}

/// Creates the default collection of a palace for vectors of two values, with their model recorded.
pub(crate) fn create_for_vectors(backend: &ChromaServerBackend, palace: &PalaceRef) -> Arc<dyn Collection> {
    let model = EmbedderIdentity {
        model: "tiny".into(),
        revision: "1".into(),
        dimension: 2,
    };
    let options = OpenOptions {
        embedder: Some(model.clone()),
        ..OpenOptions::for_writing()
    };
    let drawers = backend
        .create(palace, &name("drawers"), CreateMode::OpenExisting, &options)
        .unwrap();
    drawers.set_identity(&model, IdentityChange::Confirm).unwrap();
    drawers
}

pub(crate) fn id(text: &str) -> DrawerId {
    DrawerId::new(text).unwrap()
}

/// Returns `n` writes of drawers with small vectors.
pub(crate) fn many_adds(n: usize) -> Vec<Write> {
    let add = |at: usize| {
        let mut drawer = NewDrawer::new(id(&format!("d{at:05}")), format!("text {at}"));
        drawer.embedding = Some(vec![1.0, at as f32]);
        Write::Add(drawer)
    };
    (0..n).map(add).collect()
}
