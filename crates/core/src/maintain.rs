//! Maintenance: named jobs that a backend advertises and runs on request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Result, Timestamp};

/// Runs the maintenance that a backend advertises.
pub trait Maintenance: fmt::Debug + Send + Sync {
    /// Returns the maintenance that is running or due.
    fn state(&self) -> Result<MaintenanceState>;

    /// Runs one kind of maintenance; a kind that is not advertised is `Unsupported`. If the same kind is started
    /// twice at once it runs once, and the second caller gets `AlreadyRunning`.
    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport>;

    /// Chooses how the collections of the palace answer queries from now on, in every process, and builds or drops the
    /// index for it. `Unsupported` if the backend, or the palace as it is, has no approximate index; then nothing
    /// changes. After `Exact` every answer is exact. See [`crate::CollectionInfo::approximate`].
    fn choose_precision(&self, precision: QueryPrecision) -> Result<MaintenanceReport>;
}

/// How queries by vector are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryPrecision {
    /// By a comparison with every vector.
    Exact,
    /// By an index that may miss some of the nearest; see [`crate::Capability::ApproximateQuery`].
    Approximate,
}

impl QueryPrecision {
    /// Every precision.
    pub const ALL: [Self; 2] = [Self::Exact, Self::Approximate];

    /// Returns the name that commands and reports show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Approximate => "approximate",
        }
    }
}

/// A kind of maintenance, by name. Plug-ins may bring their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct MaintenanceKind(Cow<'static, str>);

impl MaintenanceKind {
    /// Refreshes the statistics that query planning uses.
    pub const ANALYZE: Self = Self(Cow::Borrowed("analyze"));
    /// Reclaims the space of removed and replaced drawers.
    pub const COMPACT: Self = Self(Cow::Borrowed("compact"));
    /// Rebuilds every index from the rows beside the old ones, compares, and swaps.
    pub const REINDEX: Self = Self(Cow::Borrowed("reindex"));

    /// Returns the kind called `name`.
    pub fn from_name(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MaintenanceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The outcome of a maintenance request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceStatus {
    /// The job ran to completion.
    Ran,
    /// Another process or thread is running this kind on this palace; nothing was done here.
    AlreadyRunning,
    /// There was nothing to do.
    NothingToDo,
}

/// The outcome of maintenance, in figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MaintenanceReport {
    /// The kind that was requested.
    pub kind: MaintenanceKind,
    /// The outcome.
    pub status: MaintenanceStatus,
    /// Counts and bytes by name.
    pub figures: BTreeMap<String, i64>,
}

/// The maintenance that is running or due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MaintenanceState {
    /// Kinds running now, in any process.
    pub running: Vec<MaintenanceKind>,
    /// Kinds worth running, each with the reason.
    pub due: Vec<(MaintenanceKind, String)>,
    /// Figures of the backend about its tables and indexes, by name; empty if it has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, MaintenanceFigure>,
}

/// A figure about tables or indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MaintenanceFigure {
    /// A number of something, or bytes.
    Count(i64),
    /// The moment at which something was last done.
    Moment(Timestamp),
}

impl fmt::Display for MaintenanceFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Moment(moment) => moment.fmt(f),
        }
    }
}
