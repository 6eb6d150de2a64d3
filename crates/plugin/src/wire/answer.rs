//! Answers on the wire.

use std::borrow::Cow;

use loci_core::{
    BackendHealth, ChangeKind, ChangePage, CollectionInfo, CollectionName, Cursor, DrawerChange,
    EmbedderIdentity, EmbeddingSpace, FacetCount, FindingSeverity, IdentityState, IndexCoverage, Metric,
    PalaceFinding, Receipt, RevisionOutcome, SourceRecord, SpaceState, Timestamp, UnembeddedDrawer,
    VectorFillReport,
};
use serde::{Deserialize, Serialize};

use super::WireResult;
use super::call::HandleNumber;
use super::drawer::read_id;

/// Rows of an answer; more may follow in later frames.
#[derive(Serialize, Deserialize)]
pub(crate) struct RowsAnswer<T> {
    pub(crate) rows: Vec<T>,
}

/// An answer that is one value.
#[derive(Serialize, Deserialize)]
pub(crate) struct ValueAnswer<T> {
    pub(crate) value: T,
}

/// An opened collection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenedAnswer {
    pub(crate) handle: HandleNumber,
    pub(crate) model: WireModel,
    pub(crate) metric: Metric,
}

/// The model of a collection as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireModel {
    Unset,
    Unknown,
    Known(EmbedderIdentity),
}

impl From<IdentityState> for WireModel {
    fn from(state: IdentityState) -> Self {
        match state {
            IdentityState::Unset => Self::Unset,
            IdentityState::Unknown => Self::Unknown,
            IdentityState::Known(identity) => Self::Known(identity),
        }
    }
}

impl From<WireModel> for IdentityState {
    fn from(model: WireModel) -> Self {
        match model {
            WireModel::Unset => Self::Unset,
            WireModel::Unknown => Self::Unknown,
            WireModel::Known(identity) => Self::Known(identity),
        }
    }
}

/// A finding as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireFinding {
    code: String,
    severity: WireSeverity,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    segment: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireSeverity {
    Note,
    Warning,
    Error,
}

impl From<PalaceFinding> for WireFinding {
    fn from(finding: PalaceFinding) -> Self {
        Self {
            code: finding.code,
            severity: match finding.severity {
                FindingSeverity::Note => WireSeverity::Note,
                FindingSeverity::Warning => WireSeverity::Warning,
                FindingSeverity::Error => WireSeverity::Error,
            },
            message: finding.message,
            hint: finding.hint,
            collection: finding.collection,
            segment: finding.segment,
        }
    }
}

impl From<WireFinding> for PalaceFinding {
    fn from(wire: WireFinding) -> Self {
        Self {
            code: wire.code,
            severity: match wire.severity {
                WireSeverity::Note => FindingSeverity::Note,
                WireSeverity::Warning => FindingSeverity::Warning,
                WireSeverity::Error => FindingSeverity::Error,
            },
            message: wire.message,
            hint: wire.hint,
            collection: wire.collection,
            segment: wire.segment,
        }
    }
}

/// Health as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireHealth {
    ok: bool,
    detail: String,
}

impl From<BackendHealth> for WireHealth {
    fn from(BackendHealth { ok, detail }: BackendHealth) -> Self {
        Self { ok, detail }
    }
}

impl From<WireHealth> for BackendHealth {
    fn from(WireHealth { ok, detail }: WireHealth) -> Self {
        Self { ok, detail }
    }
}

/// The figures of a collection as they travel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireInfo {
    name: CollectionName,
    metric: Metric,
    #[serde(default)]
    dimension: Option<usize>,
    model: WireModel,
    drawers: u64,
    nearest: u64,
    #[serde(default)]
    packed: u64,
    #[serde(default)]
    lexical: u64,
    /// Whether an index answers that may miss some of the nearest.
    #[serde(default)]
    approximate: bool,
    seq: u64,
    #[serde(default)]
    warnings: Vec<WireFinding>,
}

impl From<CollectionInfo> for WireInfo {
    fn from(info: CollectionInfo) -> Self {
        Self {
            name: info.name,
            metric: info.metric,
            dimension: info.dimension,
            model: info.identity.into(),
            drawers: info.drawers,
            nearest: info.coverage.nearest,
            packed: info.coverage.packed,
            lexical: info.coverage.lexical,
            approximate: info.approximate,
            seq: info.seq.0,
            warnings: info.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<WireInfo> for CollectionInfo {
    fn from(wire: WireInfo) -> Self {
        Self {
            name: wire.name,
            metric: wire.metric,
            dimension: wire.dimension,
            identity: wire.model.into(),
            drawers: wire.drawers,
            coverage: IndexCoverage {
                nearest: wire.nearest,
                packed: wire.packed,
                lexical: wire.lexical,
            },
            approximate: wire.approximate,
            seq: Cursor(wire.seq),
            warnings: wire.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

/// A count of drawers with the same values.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireFacet {
    values: Vec<Option<String>>,
    drawers: u64,
}

impl From<FacetCount> for WireFacet {
    fn from(FacetCount { values, drawers }: FacetCount) -> Self {
        Self { values, drawers }
    }
}

impl From<WireFacet> for FacetCount {
    fn from(WireFacet { values, drawers }: WireFacet) -> Self {
        Self { values, drawers }
    }
}

/// An embedding space as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireSpace {
    model: WireModel,
    state: String,
    vectors: u64,
    drawers: u64,
}

impl From<EmbeddingSpace> for WireSpace {
    fn from(space: EmbeddingSpace) -> Self {
        Self {
            model: space.identity.into(),
            state: space.state.name().to_owned(),
            vectors: space.vectors,
            drawers: space.drawers,
        }
    }
}

impl WireSpace {
    pub(crate) fn into_space(self) -> WireResult<EmbeddingSpace> {
        let states = [
            SpaceState::Active,
            SpaceState::Building,
            SpaceState::Paused,
            SpaceState::Retired,
            SpaceState::Abandoned,
        ];
        let state = states.into_iter().find(|state| state.name() == self.state);
        Ok(EmbeddingSpace {
            identity: self.model.into(),
            state: state.ok_or_else(|| format!("{:?} is not the state of a space", self.state))?,
            vectors: self.vectors,
            drawers: self.drawers,
        })
    }
}

/// A drawer that lacks a vector, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireUnembedded {
    id: String,
    version: u64,
    text: String,
}

impl From<UnembeddedDrawer> for WireUnembedded {
    fn from(drawer: UnembeddedDrawer) -> Self {
        Self {
            id: drawer.id.into(),
            version: drawer.version,
            text: drawer.text,
        }
    }
}

impl WireUnembedded {
    pub(crate) fn estimated_bytes(&self) -> usize {
        self.text.len() + 100
    }

    pub(crate) fn into_drawer(self) -> WireResult<UnembeddedDrawer> {
        Ok(UnembeddedDrawer {
            id: read_id(Cow::Owned(self.id))?,
            version: self.version,
            text: self.text,
        })
    }
}

/// The outcome of filling vectors, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireFillReport {
    stored: u64,
    stale: u64,
}

impl From<VectorFillReport> for WireFillReport {
    fn from(VectorFillReport { stored, stale }: VectorFillReport) -> Self {
        Self { stored, stale }
    }
}

impl From<WireFillReport> for VectorFillReport {
    fn from(WireFillReport { stored, stale }: WireFillReport) -> Self {
        Self { stored, stale }
    }
}

/// The record of a source, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireRecord {
    source: String,
    stamp: String,
    revision: u64,
    revised_at: i64,
}

impl From<SourceRecord> for WireRecord {
    fn from(record: SourceRecord) -> Self {
        Self {
            source: record.source,
            stamp: record.stamp,
            revision: record.revision,
            revised_at: record.revised_at.as_micros(),
        }
    }
}

impl WireRecord {
    pub(crate) fn estimated_bytes(&self) -> usize {
        self.source.len() + self.stamp.len() + 100
    }

    pub(crate) fn into_record(self) -> WireResult<SourceRecord> {
        Ok(SourceRecord {
            source: self.source,
            stamp: self.stamp,
            revision: self.revision,
            revised_at: Timestamp::from_micros(self.revised_at).map_err(|error| error.to_string())?,
        })
    }
}

/// The outcome of a revision, as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireOutcome {
    Done {
        receipt: Box<Receipt>,
        #[serde(default)]
        revision: Option<u64>,
    },
    Overtaken,
}

impl WireOutcome {
    pub(crate) fn estimated_bytes(&self) -> usize {
        match self {
            Self::Done { receipt, .. } => 200 + 70 * (receipt.added.len() + receipt.kept.len()),
            Self::Overtaken => 20,
        }
    }
}

impl From<RevisionOutcome> for WireOutcome {
    fn from(outcome: RevisionOutcome) -> Self {
        match outcome {
            RevisionOutcome::Done { receipt, revision } => Self::Done {
                receipt: Box::new(receipt),
                revision,
            },
            RevisionOutcome::Overtaken => Self::Overtaken,
        }
    }
}

impl From<WireOutcome> for RevisionOutcome {
    fn from(outcome: WireOutcome) -> Self {
        match outcome {
            WireOutcome::Done { receipt, revision } => Self::Done {
                receipt: *receipt,
                revision,
            },
            WireOutcome::Overtaken => Self::Overtaken,
        }
    }
}

/// A page of changes, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireChanges {
    changes: Vec<WireChange>,
    next: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireChange {
    seq: u64,
    op: ChangeKind,
    id: String,
    collection: CollectionName,
}

impl From<ChangePage> for WireChanges {
    fn from(page: ChangePage) -> Self {
        let changes = page.changes.into_iter().map(|change| WireChange {
            seq: change.seq,
            op: change.op,
            id: change.id.into(),
            collection: change.collection,
        });
        Self {
            changes: changes.collect(),
            next: page.next.0,
        }
    }
}

impl WireChanges {
    pub(crate) fn into_page(self) -> WireResult<ChangePage> {
        let changes = self.changes.into_iter().map(|change| {
            Ok(DrawerChange {
                seq: change.seq,
                op: change.op,
                id: read_id(Cow::Owned(change.id))?,
                collection: change.collection,
            })
        });
        Ok(ChangePage {
            changes: changes.collect::<WireResult<_>>()?,
            next: Cursor(self.next),
        })
    }
}
