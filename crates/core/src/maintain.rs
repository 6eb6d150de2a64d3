//! Maintenance: named jobs that a backend advertises and runs on request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Result;

/// Runs the maintenance that a backend advertises.
pub trait Maintenance: fmt::Debug + Send + Sync {
    /// Returns the maintenance that is running or due.
    fn state(&self) -> Result<MaintenanceState>;

    /// Runs one kind of maintenance; a kind that is not advertised is `Unsupported`. If the same kind is started
    /// twice at once it runs once, and the second caller gets `AlreadyRunning`.
    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport>;
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
}
