//! The report of a run: the machine, what was measured, and the figures of each phase.

use std::collections::BTreeMap;

use loci_core::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{BenchmarkWorkload, MachineFacts, MeasuredFigure};

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkReport {
    /// The machine.
    pub machine: MachineFacts,
    /// The versions of Loci and of the contract, by name.
    pub versions: BTreeMap<String, String>,
    /// The backend, by name.
    pub backend: String,
    /// What the backend says about itself.
    pub backend_detail: String,
    /// Whether the backend advertises that a query may miss nearest drawers.
    pub approximate: bool,
    /// The number that the corpus follows from.
    pub seed: u64,
    /// The number of drawers.
    pub rows: u64,
    /// The number of values in a vector.
    pub dimension: usize,
    /// How the backend was loaded and asked.
    pub workload: BenchmarkWorkload,
    /// The phases, in order.
    pub phases: Vec<BenchmarkPhase>,
}

/// The figures of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkPhase {
    /// `loaded`, `settled`, or `after KIND` for a kind of maintenance.
    pub name: String,
    /// The maintenance that was running or due when the figures were taken; null if the backend has none.
    pub maintenance_state: Json,
    /// The report of the maintenance that was run before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Json>,
    /// The figures, by name.
    pub figures: BTreeMap<String, MeasuredFigure>,
    /// The figures that could not be taken, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

impl BenchmarkReport {
    /// Reads a report that was written as JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|cause| {
            Error::new(ErrorKind::Format, "this is not a report of `loci bench --json`")
                .caused_by(cause)
                .with_hint("make one with `loci bench --json > FILE`")
        })
    }
}
