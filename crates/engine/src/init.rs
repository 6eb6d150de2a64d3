//! Init: a palace, or a collection in one, made before anything is filed.

use std::sync::Arc;

use loci_core::{CollectionName, CreateMode, Embedder, ErrorKind, Metric, OpenOptions, Result};
use serde::Serialize;

use crate::palace::{Palace, try_embedder};
use crate::status::embedder;

/// The model of a new collection.
#[derive(Debug, Clone)]
pub enum InitModel {
    /// The usual one.
    Usual,
    /// This one, or none.
    Chosen(Option<Arc<dyn Embedder>>),
}

/// A collection to be made.
#[derive(Debug, Clone)]
pub struct InitRequest {
    /// Its model.
    pub model: InitModel,
    /// The dimension of its vectors; without one, that of the model or of the first vector.
    pub dimension: Option<usize>,
    /// The metric that compares them.
    pub metric: Option<Metric>,
}

/// A collection that exists now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InitReport {
    /// The palace.
    pub palace: String,
    /// The backend that holds it.
    pub backend: String,
    /// The name of its model, or `none`.
    pub embedder: String,
    /// Whether it was made just now.
    pub created: bool,
    /// The collection.
    pub collection: CollectionName,
    /// The metric that compares its vectors.
    pub metric: Metric,
    /// The dimension of its vectors, once that is settled.
    pub dimension: Option<usize>,
}

impl Palace {
    /// Makes the collection meant and the palace around it, where they are missing.
    pub fn init(&self, request: &InitRequest) -> Result<InitReport> {
        self.access().check_whole("making a collection")?;
        self.access().check_writable()?;
        let address = self.address()?;
        let name = match self.named_collection() {
            Some(name) => name.clone(),
            None => CollectionName::new(CollectionName::DEFAULT)?,
        };
        let exists = match address.backend.collections(&address.reference) {
            Ok(listed) => listed.iter().any(|info| info.name == name),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let model = match &request.model {
            InitModel::Chosen(chosen) => chosen.clone(),
            // A collection that exists keeps its model.
            InitModel::Usual if exists || request.dimension.is_some() => None,
            InitModel::Usual => self.embedders().usual()?,
        };
        if let Some(model) = &model {
            try_embedder(model.as_ref())?;
        }
        let options = OpenOptions {
            metric: request.metric,
            dimension: request.dimension,
            embedder: model.map(|model| model.identity().clone()),
            ..OpenOptions::writable()
        };
        let mode = CreateMode::OpenExisting;
        let made = address
            .backend
            .create(&address.reference, &name, mode, &options)?;
        let info = made.info()?;
        let model = embedder(&info.identity, info.dimension).model;
        Ok(InitReport {
            palace: address.reference.id.clone(),
            backend: address.backend.descriptor().name.clone(),
            embedder: model.unwrap_or_else(|| "none".to_owned()),
            created: !exists,
            collection: name,
            metric: info.metric,
            dimension: info.dimension,
        })
    }
}
