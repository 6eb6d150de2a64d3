//! Status: what a palace holds, where, and how far search reaches.

use loci_core::{CollectionName, Coverage, Finding, Health, IdentityState, MaintenanceState, Result};
use serde::Serialize;

use crate::facets::{WingCount, count_wings};
use crate::moves::list_migrations;
use crate::palace::{Palace, PalaceSession};
use crate::spool::Standing;
use crate::view::DrawerScope;

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
    /// Its drawers by wing and room, the most first.
    pub wings: Vec<WingCount>,
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
    /// Events of hooks that wait to be mined; only a caller that knows the spool tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spool: Option<Standing>,
    /// What a reader should know.
    pub warnings: Vec<Finding>,
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

impl Palace {
    /// Reports what the palace and the collection meant hold.
    pub fn status(&self) -> Result<StatusReport> {
        self.read(report_status)
    }
}

fn report_status(session: &PalaceSession<'_>) -> Result<StatusReport> {
    let address = session.palace().address()?;
    let info = session.reader().info()?;
    let collections = session.palace().collections()?;
    let collections = collections.into_iter().map(|info| CollectionStatus {
        name: info.name,
        drawers: info.drawers,
    });
    let upkeep = session.collection().upkeep();
    Ok(StatusReport {
        palace: address.reference.id.clone(),
        backend: address.backend.descriptor().name.clone(),
        collection: info.name,
        drawers: info.drawers,
        wings: count_wings(session, &DrawerScope::default())?,
        embedder: embedder(&info.identity, info.dimension),
        metric: info.metric.name(),
        coverage: info.coverage,
        health: address.backend.health(Some(&address.reference)),
        maintenance: upkeep.map(|upkeep| upkeep.state()).transpose()?,
        collections: collections.collect(),
        migrations: list_migrations(session.collection())?,
        spool: None,
        warnings: info.warnings,
    })
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
