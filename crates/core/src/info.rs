//! What a collection says of itself.

use serde::{Deserialize, Serialize};

use crate::{CollectionName, Cursor, Error, Finding, IdentityState, Result};

/// How far apart two vectors are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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

    /// The name scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Ip => "ip",
        }
    }

    /// The metric of this name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| Error::invalid(format!("{name:?} is not a metric")).hint("use cosine, l2 or ip"))
    }
}

/// What a collection holds and how far its indexes reach.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: CollectionName,
    /// How its vectors are compared.
    pub metric: Metric,
    /// How many values its vectors have, once that is known.
    pub dimension: Option<usize>,
    /// What is known of the model that made its vectors.
    pub identity: IdentityState,
    /// How many drawers it holds.
    pub drawers: u64,
    /// How far its indexes reach.
    pub coverage: Coverage,
    /// The sequence number of its newest change; on a restricted handle, of the newest drawer it sees.
    pub seq: Cursor,
    /// What this handle has noticed and a reader should know: damage met, an unknown model.
    pub warnings: Vec<Finding>,
}

/// How many drawers each way of searching reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Drawers with a vector, all of which `query` reaches.
    pub nearest: u64,
    /// Of those, the ones packed for speed; the others are scanned one by one.
    pub packed: u64,
    /// Drawers that `lexical` reaches.
    pub lexical: u64,
}
