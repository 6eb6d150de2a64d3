//! Status: the contents of a palace, its model, its health and the coverage of search.

use loci_core::{
    BackendHealth, CollectionName, IdentityState, IndexCoverage, MaintenanceState, PalaceFinding, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::facets::{WingCount, count_wings};
use crate::migration_records::list_migrations;
use crate::palace::{Palace, PalaceSession};
use crate::seal::SecretPolicy;
use crate::spool::SpoolStanding;
use crate::view::DrawerScope;

/// The status of a palace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// The palace.
    pub palace: String,
    /// The backend that holds it.
    pub backend: String,
    /// The collection the figures describe.
    pub collection: CollectionName,
    /// The number of drawers in that collection.
    pub drawers: u64,
    /// Its drawers by wing and room, largest first.
    pub wings: Vec<WingCount>,
    /// The model that made its vectors.
    pub embedder: EmbedderStatus,
    /// The metric that compares its vectors.
    pub metric: &'static str,
    /// The number of its drawers that each retriever reaches.
    pub coverage: IndexCoverage,
    /// Whether a search by meaning may miss some of the nearest drawers, by the choice of the palace's owner.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approximate: bool,
    /// The health of the palace, as its backend reports it.
    pub health: BackendHealth,
    /// The maintenance that is running or due; absent if the backend has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceState>,
    /// What becomes of secrets in words that are filed.
    pub secrets: SecretPolicy,
    /// Every collection of the palace.
    pub collections: Vec<CollectionStatus>,
    /// Records of the migrations that brought the collection here, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<serde_json::Value>,
    /// Events of hooks that wait to be mined; filled in by a caller that knows the spool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spool: Option<SpoolStanding>,
    /// Findings the reader should know about.
    pub warnings: Vec<PalaceFinding>,
}

/// The model that made a collection's vectors, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EmbedderStatus {
    /// Its name, if known.
    pub model: Option<String>,
    /// Its revision, if known.
    pub revision: Option<String>,
    /// The dimension of the vectors, once it is fixed.
    pub dimension: Option<usize>,
    /// `none`, `known` or `unknown`.
    pub state: &'static str,
}

/// A collection in a list of collections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectionStatus {
    /// Its name.
    pub name: CollectionName,
    /// The number of its drawers.
    pub drawers: u64,
}

impl Palace {
    /// Reports the status of the palace and of the selected collection.
    pub fn report_status(&self) -> Result<StatusReport> {
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
        palace: session.palace().shown_name()?,
        backend: address.backend.descriptor().name.clone(),
        collection: info.name,
        drawers: info.drawers,
        wings: count_wings(session, &DrawerScope::default())?,
        embedder: describe_embedder(&info.identity, info.dimension),
        metric: info.metric.name(),
        coverage: info.coverage,
        approximate: info.approximate,
        health: address.backend.health(Some(&address.reference)),
        maintenance: upkeep.map(|upkeep| upkeep.state()).transpose()?,
        secrets: session.palace().secret_policy()?,
        collections: collections.collect(),
        migrations: list_migrations(session.collection())?,
        spool: None,
        warnings: info.warnings,
    })
}

/// Describes a model as reports show it.
pub fn describe_embedder(identity: &IdentityState, dimension: Option<usize>) -> EmbedderStatus {
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
