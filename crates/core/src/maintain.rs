//! Maintenance: named upkeep a backend advertises and runs on request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Result;

/// Runs the upkeep that a backend advertises.
pub trait Maintenance: fmt::Debug + Send + Sync {
    /// The maintenance that is running or due.
    fn state(&self) -> Result<MaintenanceState>;

    /// Runs one kind of maintenance; a kind that is not advertised is `Unsupported`. The same kind started
    /// twice at once runs once, and the second caller is told that it is already running.
    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport>;
}

/// A kind of upkeep, by name. Plug-ins may bring their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct MaintenanceKind(Cow<'static, str>);

impl MaintenanceKind {
    /// Refreshes the statistics that plan queries.
    pub const ANALYZE: Self = Self(Cow::Borrowed("analyze"));
    /// Gives space of removed and replaced drawers back.
    pub const COMPACT: Self = Self(Cow::Borrowed("compact"));
    /// Rebuilds every index from the rows, beside the old ones, compares, and swaps.
    pub const REINDEX: Self = Self(Cow::Borrowed("reindex"));

    /// The kind called `name`.
    pub fn named(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MaintenanceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a request for maintenance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceStatus {
    /// It ran to its end.
    Ran,
    /// Somebody else is running this kind on this palace now; nothing was done here.
    AlreadyRunning,
    /// There was nothing to do.
    NothingToDo,
}

/// What maintenance did, in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaintenanceReport {
    /// Which kind.
    pub kind: MaintenanceKind,
    /// How it ended.
    pub status: MaintenanceStatus,
    /// Counts and bytes by name.
    pub figures: BTreeMap<String, i64>,
}

/// Which maintenance is running or due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MaintenanceState {
    /// Kinds running now, in any process.
    pub running: Vec<MaintenanceKind>,
    /// Kinds that would do something useful, each with the reason.
    pub due: Vec<(MaintenanceKind, String)>,
}
