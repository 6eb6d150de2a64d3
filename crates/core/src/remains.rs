//! The remains of a damaged palace: the drawers that can still be read, and those that cannot.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Backend, PalaceFinding, PalaceRef};

/// Everything that could be read of a palace without trusting its header, its log or its indexes.
#[derive(Debug)]
pub struct PalaceRemains {
    /// A read-only backend that holds the readable drawers of this one palace. It lists and returns drawers by id, with
    /// their vectors and the records of sources, and answers no searches.
    pub backend: Arc<dyn Backend>,
    /// The address of the palace in that backend.
    pub palace: PalaceRef,
    /// Drawers that the palace held and that cannot be read.
    pub lost: Vec<LostDrawers>,
    /// Drawers that can be read, although the palace may have removed or replaced them.
    pub doubtful: Vec<DoubtfulDrawer>,
    /// Other things that were found on the way.
    pub findings: Vec<PalaceFinding>,
}

/// One drawer that cannot be read, or several of which only the number is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostDrawers {
    /// The collection, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The id, if it is known; then this is one drawer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The wing, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// The room, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The number of drawers; absent if even that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The damaged pages that held them, as far as they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<u32>,
    /// The reason.
    pub reason: String,
}

/// A drawer that was read although it may no longer belong to the palace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoubtfulDrawer {
    /// The collection.
    pub collection: String,
    /// The id.
    pub id: String,
    /// The reason for the doubt.
    pub reason: String,
}
