//! Maintenance and erasure on the wire.

use std::collections::BTreeMap;

use loci_core::{
    MaintenanceFigure, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus, PurgeReport,
    StoredTrace, Timestamp, UnreachedPart,
};
use serde::{Deserialize, Serialize};

use super::WireResult;

/// The maintenance that is running or due, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireUpkeep {
    running: Vec<String>,
    due: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    figures: BTreeMap<String, WireFigure>,
}

/// A figure about tables or indexes, as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireFigure {
    Count(i64),
    /// In microseconds since 1970.
    MomentUs(i64),
}

impl From<MaintenanceFigure> for WireFigure {
    fn from(figure: MaintenanceFigure) -> Self {
        match figure {
            MaintenanceFigure::Count(count) => Self::Count(count),
            MaintenanceFigure::Moment(moment) => Self::MomentUs(moment.as_micros()),
        }
    }
}

impl WireFigure {
    fn into_figure(self) -> WireResult<MaintenanceFigure> {
        Ok(match self {
            Self::Count(count) => MaintenanceFigure::Count(count),
            Self::MomentUs(moment) => {
                MaintenanceFigure::Moment(Timestamp::from_micros(moment).map_err(|error| error.to_string())?)
            }
        })
    }
}

impl From<MaintenanceState> for WireUpkeep {
    fn from(state: MaintenanceState) -> Self {
        let name = |kind: MaintenanceKind| kind.name().to_owned();
        Self {
            running: state.running.into_iter().map(name).collect(),
            due: state
                .due
                .into_iter()
                .map(|(kind, why)| (name(kind), why))
                .collect(),
            figures: state
                .figures
                .into_iter()
                .map(|(name, figure)| (name, figure.into()))
                .collect(),
        }
    }
}

impl WireUpkeep {
    pub(crate) fn into_state(self) -> WireResult<MaintenanceState> {
        let due = self.due.into_iter();
        let figures = self.figures.into_iter();
        Ok(MaintenanceState {
            running: self.running.into_iter().map(MaintenanceKind::from_name).collect(),
            due: due
                .map(|(kind, why)| (MaintenanceKind::from_name(kind), why))
                .collect(),
            figures: figures
                .map(|(name, figure)| Ok((name, figure.into_figure()?)))
                .collect::<WireResult<_>>()?,
        })
    }
}

/// The outcome of maintenance, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireUpkeepReport {
    status: String,
    #[serde(default)]
    figures: BTreeMap<String, i64>,
}

impl From<MaintenanceReport> for WireUpkeepReport {
    fn from(report: MaintenanceReport) -> Self {
        let status = match report.status {
            MaintenanceStatus::Ran => "ran",
            MaintenanceStatus::AlreadyRunning => "already_running",
            MaintenanceStatus::NothingToDo => "nothing_to_do",
        };
        Self {
            status: status.to_owned(),
            figures: report.figures,
        }
    }
}

impl WireUpkeepReport {
    pub(crate) fn into_report(self, kind: &MaintenanceKind) -> WireResult<MaintenanceReport> {
        Ok(MaintenanceReport {
            kind: kind.clone(),
            status: match self.status.as_str() {
                "ran" => MaintenanceStatus::Ran,
                "already_running" => MaintenanceStatus::AlreadyRunning,
                "nothing_to_do" => MaintenanceStatus::NothingToDo,
                other => return Err(format!("{other:?} is not an outcome of maintenance")),
            },
            figures: self.figures,
        })
    }
}

/// The outcome of a purge, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WirePurge {
    reached: Vec<String>,
    #[serde(default)]
    not_reached: Vec<(String, String)>,
}

impl From<PurgeReport> for WirePurge {
    fn from(report: PurgeReport) -> Self {
        let missed = report.not_reached.into_iter();
        Self {
            reached: report.reached,
            not_reached: missed.map(|part| (part.part, part.reason)).collect(),
        }
    }
}

impl From<WirePurge> for PurgeReport {
    fn from(wire: WirePurge) -> Self {
        let missed = wire.not_reached.into_iter();
        Self {
            reached: wire.reached,
            not_reached: missed
                .map(|(part, reason)| UnreachedPart { part, reason })
                .collect(),
        }
    }
}

/// A place at which a text is stored, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireTrace {
    text: usize,
    file: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    place: Option<String>,
}

impl From<StoredTrace> for WireTrace {
    fn from(
        StoredTrace {
            text,
            file,
            offset,
            place,
        }: StoredTrace,
    ) -> Self {
        Self {
            text,
            file,
            offset,
            place,
        }
    }
}

impl From<WireTrace> for StoredTrace {
    fn from(
        WireTrace {
            text,
            file,
            offset,
            place,
        }: WireTrace,
    ) -> Self {
        Self {
            text,
            file,
            offset,
            place,
        }
    }
}
