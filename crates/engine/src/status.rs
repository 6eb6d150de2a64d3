//! Status: what a palace holds, where, and how far search reaches.

use loci_core::{
    Backend, Collection, CollectionName, Coverage, Facets, Finding, Health, IdentityState, MaintenanceState,
    PalaceRef, Result,
};
use serde::Serialize;

use crate::migrate::record::migrations;

/// What a palace holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusReport {
    /// The palace.
    pub palace: String,
    /// The backend that holds it.
    pub backend: String,
    /// The collection the figures are of.
    pub collection: CollectionName,
    /// How many drawers that collection holds.
    pub drawers: u64,
    /// Its drawers by wing and room.
    pub wings: Vec<WingStatus>,
    /// What made its vectors.
    pub embedder: EmbedderStatus,
    /// How its vectors are compared.
    pub metric: &'static str,
    /// How many of its drawers each way of searching reaches.
    pub coverage: Coverage,
    /// Whether the palace can be used, as its backend says.
    pub health: Health,
    /// The maintenance that is running or due; absent where the backend has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceState>,
    /// Every collection of the palace.
    pub collections: Vec<CollectionStatus>,
    /// Records of the migrations that brought the collection here, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<serde_json::Value>,
    /// What a reader should know.
    pub warnings: Vec<Finding>,
}

/// The drawers of one wing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WingStatus {
    /// Its name; `None` for drawers without a wing.
    pub wing: Option<String>,
    /// How many drawers.
    pub drawers: u64,
    /// By room.
    pub rooms: Vec<RoomStatus>,
}

/// The drawers of one room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoomStatus {
    /// Its name; `None` for drawers without a room.
    pub room: Option<String>,
    /// How many drawers.
    pub drawers: u64,
}

/// What is known of the model that made a collection's vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbedderStatus {
    /// Its name, where known.
    pub model: Option<String>,
    /// What pins it, where known.
    pub revision: Option<String>,
    /// How many values the vectors have, once that is settled.
    pub dimension: Option<usize>,
    /// `none`, `known` or `unknown`.
    pub state: &'static str,
}

/// One collection in a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectionStatus {
    /// Its name.
    pub name: CollectionName,
    /// How many drawers it holds.
    pub drawers: u64,
}

/// Says what `collection` and the palace around it hold.
pub fn status(
    backend: &dyn Backend,
    palace: &PalaceRef,
    collection: &dyn Collection,
) -> Result<StatusReport> {
    let info = collection.info()?;
    let collections = backend
        .collections(palace)?
        .into_iter()
        .map(|info| CollectionStatus {
            name: info.name,
            drawers: info.drawers,
        });
    Ok(StatusReport {
        palace: palace.id.clone(),
        backend: backend.descriptor().name.clone(),
        collection: info.name,
        drawers: info.drawers,
        wings: wings(collection)?,
        embedder: embedder(&info.identity, info.dimension),
        metric: info.metric.name(),
        coverage: info.coverage,
        health: backend.health(Some(palace)),
        maintenance: collection.upkeep().map(|upkeep| upkeep.state()).transpose()?,
        collections: collections.collect(),
        migrations: migrations(collection)?,
        warnings: info.warnings,
    })
}

fn wings(collection: &dyn Collection) -> Result<Vec<WingStatus>> {
    let mut wings: Vec<WingStatus> = Vec::new();
    for facet in collection.facets(&Facets::by_room())? {
        let mut values = facet.values.into_iter();
        let (wing, room) = (values.next().flatten(), values.next().flatten());
        let room = RoomStatus {
            room,
            drawers: facet.drawers,
        };
        // Facets come in order, so that the rooms of a wing stand together.
        match wings.last_mut().filter(|last| last.wing == wing) {
            Some(last) => {
                last.drawers += facet.drawers;
                last.rooms.push(room);
            }
            None => wings.push(WingStatus {
                wing,
                drawers: facet.drawers,
                rooms: vec![room],
            }),
        }
    }
    Ok(wings)
}

/// What is known of a model, as reports show it.
pub fn embedder(identity: &IdentityState, dimension: Option<usize>) -> EmbedderStatus {
    let unnamed = |state| EmbedderStatus {
        model: None,
        revision: None,
        dimension,
        state,
    };
    match identity {
        IdentityState::Unset => unnamed("none"),
        IdentityState::Unknown => unnamed("unknown"),
        IdentityState::Known(known) => EmbedderStatus {
            model: Some(known.model.clone()),
            revision: Some(known.revision.clone()),
            dimension: Some(known.dimension),
            state: "known",
        },
    }
}
