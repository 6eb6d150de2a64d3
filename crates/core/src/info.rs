//! Figures that describe a collection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CollectionName, Cursor, Error, IdentityState, PalaceFinding, Result};

/// A measure of the distance between two vectors.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// One minus the cosine of the angle.
    #[default]
    Cosine,
    /// The squared Euclidean distance.
    L2,
    /// One minus the inner product.
    Ip,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::L2, Self::Ip];

    /// Returns the name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Ip => "ip",
        }
    }

    /// Returns the metric of this name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| {
                Error::invalid(format!("{name:?} is not a metric")).with_hint("use cosine, l2 or ip")
            })
    }
}

/// The size, model and index coverage of a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: CollectionName,
    /// The metric of its vectors.
    pub metric: Metric,
    /// The number of values in its vectors, once known.
    pub dimension: Option<usize>,
    /// The model that made its vectors, as far as it is known.
    pub identity: IdentityState,
    /// The number of drawers.
    pub drawers: u64,
    /// The coverage of its indexes.
    pub coverage: IndexCoverage,
    /// Whether a query may miss nearest drawers as [`crate::Capability::ApproximateQuery`] describes: because the backend
    /// advertises that, or because [`crate::QueryPrecision::Approximate`] was chosen and its index is in use.
    pub approximate: bool,
    /// The sequence number of its newest change; on a restricted handle, that of the newest visible drawer.
    pub seq: Cursor,
    /// Findings of this handle that concern readers, such as damage or an unknown model. An error means that the
    /// collection has lost something it once held.
    pub warnings: Vec<PalaceFinding>,
}

/// The number of drawers each kind of search reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IndexCoverage {
    /// Drawers with a vector, all of which `query` reaches.
    pub nearest: u64,
    /// The part of those packed for speed; the others are scanned one by one.
    pub packed: u64,
    /// Drawers that `lexical` reaches.
    pub lexical: u64,
}
