//! Requests on the wire: palaces, options and reads.

use std::time::Duration;

use loci_core::{
    CreateMode, DocumentFilter, DrawerFields, DrawerId, DrawerOrder, DrawerPosition, EmbedderIdentity, Error,
    Filter, GetRequest, LexicalRequest, Metric, OpenOptions, PalaceRef, PendingRequest, QueryRequest, Result,
    SourceRecordQuery, SwitchStep, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::WireResult;
use super::drawer::read_id;
use super::filter::{WireCondition, filter_json, parse_filter};
use crate::frame::{BlobReader, put_values};

/// A palace as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WirePalace {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

impl WirePalace {
    /// Returns the form of a palace; refuses a path that is not UTF-8.
    pub(crate) fn new(palace: &PalaceRef) -> Result<Self> {
        let path = palace.local_path.as_deref().map(|path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Error::invalid(format!(
                    "the path {} is not UTF-8, as a plug-in needs it",
                    path.display()
                ))
                .with_hint("nothing was changed; choose a folder whose name is plain text")
            })
        });
        Ok(Self {
            id: palace.id.clone(),
            local_path: path.transpose()?,
            namespace: palace.namespace.clone(),
        })
    }

    pub(crate) fn into_palace(self) -> PalaceRef {
        PalaceRef {
            id: self.id,
            local_path: self.local_path.map(Into::into),
            namespace: self.namespace,
        }
    }
}

/// Options for opening as they travel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireOptions {
    visible: Json,
    writable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metric: Option<Metric>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    embedder: Option<EmbedderIdentity>,
    adopts_model: bool,
    carries_unknown: bool,
    wait_ms: u64,
}

impl WireOptions {
    pub(crate) fn new(options: &OpenOptions) -> Self {
        Self {
            visible: filter_json(&options.visible),
            writable: options.writable,
            metric: options.metric,
            dimension: options.dimension,
            embedder: options.embedder.clone(),
            adopts_model: options.adopts_model,
            carries_unknown: options.carries_unknown,
            wait_ms: millis(options.wait),
        }
    }

    pub(crate) fn parse(self) -> WireResult<OpenOptions> {
        Ok(OpenOptions {
            visible: parse_filter(self.visible)?,
            writable: self.writable,
            metric: self.metric,
            dimension: self.dimension,
            embedder: self.embedder,
            adopts_model: self.adopts_model,
            carries_unknown: self.carries_unknown,
            wait: Duration::from_millis(self.wait_ms),
        })
    }
}

/// Whether creating may find an existing collection, as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireMode {
    OpenExisting,
    Exclusive,
}

impl From<CreateMode> for WireMode {
    fn from(mode: CreateMode) -> Self {
        match mode {
            CreateMode::OpenExisting => Self::OpenExisting,
            CreateMode::Exclusive => Self::Exclusive,
        }
    }
}

impl From<WireMode> for CreateMode {
    fn from(mode: WireMode) -> Self {
        match mode {
            WireMode::OpenExisting => Self::OpenExisting,
            WireMode::Exclusive => Self::Exclusive,
        }
    }
}

/// Returns a time in milliseconds, as many as fit.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A time budget as it travels, in microseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WireBudget(u64);

impl WireBudget {
    pub(crate) fn new(budget: Option<Duration>) -> Option<Self> {
        budget.map(|budget| Self(micros(budget)))
    }

    pub(crate) fn duration(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

/// The condition, fields and budget that every read has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireRead {
    #[serde(flatten)]
    condition: WireCondition,
    include: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_us: Option<WireBudget>,
}

impl WireRead {
    fn new(
        filter: &Filter,
        document: &DocumentFilter,
        include: DrawerFields,
        budget: Option<Duration>,
    ) -> Self {
        let fields = [
            ("document", include.document),
            ("metadata", include.metadata),
            ("context", include.context),
            ("embedding", include.embedding),
        ];
        let wanted = fields.into_iter().filter(|(_, wanted)| *wanted);
        Self {
            condition: WireCondition::new(filter, document),
            include: wanted.map(|(name, _)| name.to_owned()).collect(),
            budget_us: WireBudget::new(budget),
        }
    }

    fn fields(&self) -> DrawerFields {
        let wants = |name: &str| self.include.iter().any(|field| field == name);
        DrawerFields {
            document: wants("document"),
            metadata: wants("metadata"),
            context: wants("context"),
            embedding: wants("embedding"),
        }
    }
}

/// A position in an order as it travels: the keys of its order that are set.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WirePosition {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
}

impl WirePosition {
    fn new(position: &DrawerPosition) -> Self {
        let (id, time, source, start) = match position {
            DrawerPosition::Id(id) => (id, None, None, None),
            DrawerPosition::NewestFiled(time, id) | DrawerPosition::NewestSaid(time, id) => {
                (id, *time, None, None)
            }
            DrawerPosition::Source(source, start, id) => (id, None, source.clone(), *start),
        };
        Self {
            id: id.to_string(),
            time: time.map(Timestamp::as_micros),
            source,
            start,
        }
    }

    fn parse(self, order: DrawerOrder) -> WireResult<DrawerPosition> {
        let id: DrawerId = read_id(self.id.into())?;
        let time = self
            .time
            .map(Timestamp::from_micros)
            .transpose()
            .map_err(|error| error.to_string())?;
        Ok(match order {
            DrawerOrder::Id => DrawerPosition::Id(id),
            DrawerOrder::NewestFiled => DrawerPosition::NewestFiled(time, id),
            DrawerOrder::NewestSaid => DrawerPosition::NewestSaid(time, id),
            DrawerOrder::Source => DrawerPosition::Source(self.source, self.start, id),
        })
    }
}

/// A request for drawers as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireGet {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<String>>,
    order: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<WirePosition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
    #[serde(flatten)]
    read: WireRead,
}

impl WireGet {
    pub(crate) fn new(request: &GetRequest) -> Self {
        let ids = request.ids.as_ref();
        Self {
            ids: ids.map(|ids| ids.iter().map(ToString::to_string).collect()),
            order: request.order.name().to_owned(),
            after: request.after.as_ref().map(WirePosition::new),
            limit: request.limit,
            offset: request.offset,
            read: WireRead::new(
                &request.filter,
                &request.document,
                request.include,
                request.budget,
            ),
        }
    }

    pub(crate) fn parse(self) -> WireResult<GetRequest> {
        let order = DrawerOrder::parse(&self.order).map_err(|error| error.to_string())?;
        let ids = self.ids.map(|ids| {
            ids.into_iter()
                .map(|id| read_id(id.into()))
                .collect::<WireResult<_>>()
        });
        let include = self.read.fields();
        let condition = self.read.condition.parse()?;
        Ok(GetRequest {
            ids: ids.transpose()?,
            filter: condition.filter,
            document: condition.document,
            order,
            after: self.after.map(|after| after.parse(order)).transpose()?,
            limit: self.limit,
            offset: self.offset,
            include,
            budget: self.read.budget_us.map(WireBudget::duration),
        })
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// A query as it travels; its vectors are in the blob.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireQuery {
    /// The number of values in each vector.
    vectors: Vec<usize>,
    k: usize,
    /// Whether the answer must be exact where an approximate one was chosen.
    #[serde(default, skip_serializing_if = "is_false")]
    exact: bool,
    #[serde(flatten)]
    read: WireRead,
}

impl WireQuery {
    pub(crate) fn new(request: &QueryRequest, blob: &mut Vec<u8>) -> Self {
        let vectors = request.vectors.iter().map(|vector| {
            put_values(blob, vector);
            vector.len()
        });
        Self {
            vectors: vectors.collect(),
            k: request.k,
            exact: request.exact,
            read: WireRead::new(
                &request.filter,
                &request.document,
                request.include,
                request.budget,
            ),
        }
    }

    pub(crate) fn parse(self, blob: &mut BlobReader<'_>) -> WireResult<QueryRequest> {
        let vectors = self.vectors.into_iter().map(|count| blob.take_values(count));
        let include = self.read.fields();
        let vectors = vectors.collect::<WireResult<_>>()?;
        let condition = self.read.condition.parse()?;
        Ok(QueryRequest {
            vectors,
            k: self.k,
            filter: condition.filter,
            document: condition.document,
            include,
            exact: self.exact,
            budget: self.read.budget_us.map(WireBudget::duration),
        })
    }
}

/// A match of words as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireLexical {
    words: String,
    k: usize,
    #[serde(flatten)]
    read: WireRead,
}

impl WireLexical {
    pub(crate) fn new(request: &LexicalRequest) -> Self {
        Self {
            words: request.words.clone(),
            k: request.k,
            read: WireRead::new(
                &request.filter,
                &request.document,
                request.include,
                request.budget,
            ),
        }
    }

    pub(crate) fn parse(self) -> WireResult<LexicalRequest> {
        let include = self.read.fields();
        let condition = self.read.condition.parse()?;
        Ok(LexicalRequest {
            words: self.words,
            k: self.k,
            filter: condition.filter,
            document: condition.document,
            include,
            budget: self.read.budget_us.map(WireBudget::duration),
        })
    }
}

/// A request for drawers without a vector, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WirePending {
    identity: EmbedderIdentity,
    after: u64,
    limit: usize,
}

impl From<&PendingRequest> for WirePending {
    fn from(request: &PendingRequest) -> Self {
        Self {
            identity: request.identity.clone(),
            after: request.after,
            limit: request.limit,
        }
    }
}

impl From<WirePending> for PendingRequest {
    fn from(wire: WirePending) -> Self {
        Self {
            identity: wire.identity,
            after: wire.after,
            limit: wire.limit,
        }
    }
}

/// A step of a change of model as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireStep {
    Begin(EmbedderIdentity),
    Pause,
    Finish,
    Rollback,
    DropRetired,
}

impl From<&SwitchStep> for WireStep {
    fn from(step: &SwitchStep) -> Self {
        match step {
            SwitchStep::Begin(identity) => Self::Begin(identity.clone()),
            SwitchStep::Pause => Self::Pause,
            SwitchStep::Finish => Self::Finish,
            SwitchStep::Rollback => Self::Rollback,
            SwitchStep::DropRetired => Self::DropRetired,
        }
    }
}

impl From<WireStep> for SwitchStep {
    fn from(step: WireStep) -> Self {
        match step {
            WireStep::Begin(identity) => Self::Begin(identity),
            WireStep::Pause => Self::Pause,
            WireStep::Finish => Self::Finish,
            WireStep::Rollback => Self::Rollback,
            WireStep::DropRetired => Self::DropRetired,
        }
    }
}

/// A request for records of sources, as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireRecordQuery {
    Named(Vec<String>),
    Under {
        prefix: String,
        #[serde(default)]
        after: Option<String>,
        limit: usize,
    },
}

impl From<&SourceRecordQuery> for WireRecordQuery {
    fn from(query: &SourceRecordQuery) -> Self {
        match query.clone() {
            SourceRecordQuery::Named(names) => Self::Named(names),
            SourceRecordQuery::Under { prefix, after, limit } => Self::Under { prefix, after, limit },
        }
    }
}

impl From<WireRecordQuery> for SourceRecordQuery {
    fn from(query: WireRecordQuery) -> Self {
        match query {
            WireRecordQuery::Named(names) => Self::Named(names),
            WireRecordQuery::Under { prefix, after, limit } => Self::Under { prefix, after, limit },
        }
    }
}
