//! Init: creates a palace, or a collection in one, before anything is filed.

use std::sync::Arc;

use loci_core::{CollectionName, CreateMode, Embedder, ErrorKind, Metric, OpenOptions, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{Palace, try_embedder};
use crate::status::describe_embedder;

/// The model of a new collection.
#[derive(Debug, Clone)]
pub enum InitModel {
    /// The default model.
    Usual,
    /// This one, or none.
    Chosen(Option<Arc<dyn Embedder>>),
}

/// A collection to create.
#[derive(Debug, Clone)]
pub struct InitRequest {
    /// Its model.
    pub model: InitModel,
    /// The dimension of its vectors; without one, the dimension of the model or of the first vector.
    pub dimension: Option<usize>,
    /// The metric that compares them.
    pub metric: Option<Metric>,
}

/// A collection that exists now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitReport {
    /// The palace.
    pub palace: String,
    /// The backend that holds it.
    pub backend: String,
    /// The name of its model, or `none`.
    pub embedder: String,
    /// Whether this call created it.
    pub created: bool,
    /// The collection.
    pub collection: CollectionName,
    /// The metric that compares its vectors.
    pub metric: Metric,
    /// The dimension of its vectors, once it is fixed.
    pub dimension: Option<usize>,
}

impl Palace {
    /// Creates the selected collection and its palace if they do not exist.
    pub fn init(&self, request: &InitRequest) -> Result<InitReport> {
        self.access().check_upkeep("making a collection")?;
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
            // An existing collection keeps its model, and a bare dimension announces vectors brought from elsewhere.
            InitModel::Usual if exists || request.dimension.is_some() => None,
            InitModel::Usual => self.embedders().usual_embedder()?,
        };
        if let Some(model) = &model {
            // Tried before anything is created: a palace whose model cannot embed would fail at its first drawer.
            try_embedder(model.as_ref())?;
        }
        let options = OpenOptions {
            metric: request.metric,
            dimension: request.dimension,
            embedder: model.map(|model| model.identity().clone()),
            ..OpenOptions::for_writing()
        };
        // Another process may have created it since the check above; both calls then succeed with one collection.
        let mode = CreateMode::OpenExisting;
        let made = address
            .backend
            .create(&address.reference, &name, mode, &options)?;
        let info = made.info()?;
        let model = describe_embedder(&info.identity, info.dimension).model;
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
