//! Maintain: one kind of upkeep on a collection.

use loci_core::{
    CollectionExt, Error, ErrorKind, MaintenanceKind, MaintenanceReport, QueryPrecision, Result, SwitchStep,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::seal::collect_unused;

/// The upkeep to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintainRequest {
    /// The name of its kind.
    pub kind: String,
    /// Also drop the vectors of retired models; only with `compact`.
    pub drop_retired: bool,
}

/// The outcome of upkeep.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MaintainReport {
    /// The backend's own report.
    #[serde(flatten)]
    pub report: MaintenanceReport,
    /// The number of embedding spaces dropped, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_spaces: Option<usize>,
}

impl Palace {
    /// Runs one kind of upkeep on the selected collection.
    pub fn maintain(&self, request: &MaintainRequest) -> Result<MaintainReport> {
        self.access().check_upkeep("upkeep")?;
        let backend = self.address()?.backend;
        let descriptor = backend.descriptor();
        let kinds = &descriptor.maintenance;
        // A choice and not a job: no backend lists it, and each can say what it offers.
        let precision = QueryPrecision::ALL
            .into_iter()
            .find(|precision| precision.name() == request.kind);
        if let Some(precision) = precision.filter(|_| !request.drop_retired) {
            return self.write(|collection| {
                Ok(MaintainReport {
                    report: collection.require_upkeep()?.choose_precision(precision)?,
                    dropped_spaces: None,
                })
            });
        }
        // Kinds belong to backends, so the name is looked up in the backend's list rather than parsed here.
        let Some(kind) = kinds.iter().find(|kind| kind.name() == request.kind) else {
            let message = format!(
                "the backend {:?} does not support the maintenance {:?}",
                descriptor.name, request.kind
            );
            let names: Vec<&str> = kinds.iter().map(MaintenanceKind::name).collect();
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint(format!("nothing was changed; supported: {}", names.join(", "))));
        };
        if request.drop_retired && *kind != MaintenanceKind::COMPACT {
            let error = Error::invalid("--drop-retired works only with `compact`");
            return Err(error.with_hint("nothing was changed; type `loci maintain compact --drop-retired`"));
        }
        self.write(|collection| {
            let mut dropped_spaces = None;
            if request.drop_retired {
                // Dropped before compacting, so that the same run reclaims their space.
                let spaces = collection.require_spaces()?;
                let before = spaces.list_spaces()?.len();
                let left = spaces.take_step(&SwitchStep::DropRetired)?.len();
                dropped_spaces = Some(before.saturating_sub(left));
            }
            if *kind == MaintenanceKind::COMPACT {
                collect_unused(collection, self.now(), &[])?;
            }
            Ok(MaintainReport {
                report: collection.require_upkeep()?.run(kind)?,
                dropped_spaces,
            })
        })
    }
}
