//! What calls of tools leave in the audit log and in the figures.

use std::sync::Arc;

use loci_core::{Error, Result};
use loci_team::{AuditAct, AuditOutcome, AuditSubject};
use serde_json::{Map, Value};

use super::api::audit_subject;
use super::metrics::TeamMetrics;
use super::trail::{AuditTrail, TrailSubject, outcome_of};
use crate::mcp::tool::{ToolEffect, ToolEntry};
use crate::mcp::watch::{CallWatch, WatchedCall};

/// Records the calls of one caller in one palace.
pub(super) struct AuditedCalls {
    trail: AuditTrail,
    metrics: Arc<TeamMetrics>,
    from: TrailSubject,
}

impl AuditedCalls {
    /// Makes the watch of one caller.
    pub(super) fn new(trail: AuditTrail, metrics: Arc<TeamMetrics>, from: TrailSubject) -> Arc<Self> {
        Arc::new(Self { trail, metrics, from })
    }
}

impl CallWatch for AuditedCalls {
    fn begin_tool(&self, tool: &ToolEntry, arguments: &Map<String, Value>) -> Result<Box<dyn WatchedCall>> {
        let (act, subject) = audit_subject(tool.name, arguments, None);
        if tool.effect != ToolEffect::Reads {
            self.trail.begin(&self.from, act, subject)?;
        }
        Ok(Box::new(AuditedCall {
            trail: self.trail.clone(),
            metrics: Arc::clone(&self.metrics),
            from: self.from.clone(),
            writes: tool.effect != ToolEffect::Reads,
            tool: tool.name,
            arguments: arguments.clone(),
        }))
    }

    fn note_resources(&self, outcome: std::result::Result<(), &Error>) {
        let outcome = outcome_of_call(outcome);
        let subject = AuditSubject::default();
        self.trail.note(&self.from, AuditAct::READ, subject, outcome);
    }
}

/// A call that ends with a record.
struct AuditedCall {
    trail: AuditTrail,
    metrics: Arc<TeamMetrics>,
    from: TrailSubject,
    writes: bool,
    tool: &'static str,
    arguments: Map<String, Value>,
}

impl WatchedCall for AuditedCall {
    fn end(self: Box<Self>, outcome: std::result::Result<&Value, &Error>) {
        let (act, subject) = audit_subject(self.tool, &self.arguments, outcome.ok());
        if let Some(palace) = self.from.palace.as_deref().filter(|_| self.writes) {
            self.metrics.note_write(palace, outcome.is_ok());
        }
        if let Err(error) = outcome {
            self.metrics.note_error(error.kind());
        }
        self.trail
            .note(&self.from, act, subject, outcome_of_call(outcome));
    }
}

fn outcome_of_call<T>(outcome: std::result::Result<T, &Error>) -> AuditOutcome {
    match outcome {
        Ok(_) => AuditOutcome::Done,
        Err(error) => outcome_of(error),
    }
}
