//! Calls on the wire: one variant for each call of the contract, and nothing else.

use std::borrow::Cow;

use loci_core::{EmbedderIdentity, FacetKey, VectorFill};
use serde::{Deserialize, Serialize};

use super::WireResult;
use super::drawer::{WireDrawer, read_id};
use super::filter::WireCondition;
use super::request::{
    WireBudget, WireGet, WireLexical, WireMode, WireOptions, WirePalace, WirePending, WireQuery,
    WireRecordQuery, WireStep,
};
use super::write::WireWrite;
use crate::frame::{BlobReader, put_values};

/// A call with the time that the host will wait for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct CallHeader<'a> {
    /// The milliseconds after which the host gives up.
    pub(crate) deadline_ms: u64,
    pub(crate) call: WireCall<'a>,
}

/// The number of an open collection or moment, given by the plug-in.
pub(crate) type HandleNumber = u32;

/// One call of the contract.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireCall<'a> {
    Open {
        palace: WirePalace,
        collection: String,
        options: WireOptions,
    },
    Create {
        palace: WirePalace,
        collection: String,
        mode: WireMode,
        options: WireOptions,
    },
    DropCollection {
        palace: WirePalace,
        collection: String,
    },
    Collections {
        palace: WirePalace,
    },
    PalaceId {
        palace: WirePalace,
    },
    Health {
        #[serde(default)]
        palace: Option<WirePalace>,
    },
    ListDamage {
        palace: WirePalace,
    },
    ClosePalace {
        palace: WirePalace,
    },
    /// Lets go of a handle.
    Release {
        handle: HandleNumber,
    },
    Get {
        handle: HandleNumber,
        request: WireGet,
    },
    Query {
        handle: HandleNumber,
        request: WireQuery,
    },
    Lexical {
        handle: HandleNumber,
        request: WireLexical,
    },
    Count {
        handle: HandleNumber,
        request: WireCondition,
    },
    Facets {
        handle: HandleNumber,
        by: Vec<FacetKey>,
        request: WireCondition,
    },
    Info {
        handle: HandleNumber,
    },
    Apply {
        handle: HandleNumber,
        writes: Vec<WireWrite<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Cow<'a, str>>,
        /// Without their vectors.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        expects: Vec<WireDrawer<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_us: Option<WireBudget>,
    },
    SetIdentity {
        handle: HandleNumber,
        identity: EmbedderIdentity,
        force: bool,
    },
    Moment {
        handle: HandleNumber,
    },
    ListSpaces {
        handle: HandleNumber,
    },
    TakeStep {
        handle: HandleNumber,
        step: WireStep,
    },
    ListPending {
        handle: HandleNumber,
        request: WirePending,
    },
    FillVectors {
        handle: HandleNumber,
        identity: EmbedderIdentity,
        fills: Vec<WireFill<'a>>,
    },
    FindRecords {
        handle: HandleNumber,
        request: WireRecordQuery,
    },
    Revise {
        handle: HandleNumber,
        revisions: Vec<WireRevision<'a>>,
    },
    ChangesSince {
        handle: HandleNumber,
        cursor: u64,
        limit: usize,
    },
    MaintenanceState {
        handle: HandleNumber,
    },
    RunMaintenance {
        handle: HandleNumber,
        kind: Cow<'a, str>,
    },
    ChoosePrecision {
        handle: HandleNumber,
        precision: Cow<'a, str>,
    },
    BeginErasure {
        handle: HandleNumber,
    },
    IsUnfinished {
        handle: HandleNumber,
    },
    Purge {
        handle: HandleNumber,
    },
    FindTraces {
        handle: HandleNumber,
        texts: Cow<'a, [String]>,
    },
}

/// A vector to be filled in, as it travels; its values are in the blob.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireFill<'a> {
    id: Cow<'a, str>,
    version: u64,
    values: usize,
}

impl<'a> WireFill<'a> {
    pub(crate) fn new(fill: &'a VectorFill, blob: &mut Vec<u8>) -> Self {
        put_values(blob, &fill.vector);
        Self {
            id: fill.id.as_str().into(),
            version: fill.version,
            values: fill.vector.len(),
        }
    }

    pub(crate) fn into_fill(self, blob: &mut BlobReader<'_>) -> WireResult<VectorFill> {
        Ok(VectorFill {
            id: read_id(self.id)?,
            version: self.version,
            vector: blob.take_values(self.values)?,
        })
    }
}

/// A revision as it travels; the plug-in asks for its parts.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireRevision<'a> {
    pub(crate) source: Cow<'a, str>,
    #[serde(default)]
    pub(crate) expects: Option<u64>,
    #[serde(default)]
    pub(crate) stamp: Option<Cow<'a, str>>,
}

/// Asks for the next part of a revision.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NextHeader {
    /// The number of the revision in the call, counted from 0.
    pub(crate) revision: usize,
}

/// The part that was asked for; no writes at all after the last one.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartHeader<'a> {
    #[serde(default)]
    pub(crate) writes: Option<Vec<WireWrite<'a>>>,
}

/// Work done so far.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProgressHeader {
    pub(crate) done: u64,
    pub(crate) total: u64,
}
