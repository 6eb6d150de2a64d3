//! The trail that acts leave in the audit log. An act that writes is in it, durably, before it begins.

use std::net::IpAddr;
use std::sync::Arc;

use loci_core::{Error, ErrorKind, Result};
use loci_team::{
    AuditAct, AuditLog, AuditOutcome, AuditReason, AuditRecord, AuditSubject, TeamActor, TokenId,
};

use super::settings::TeamClock;

/// Who acts, from where and in which palace: the part that the records of one request share.
#[derive(Debug, Clone)]
pub(super) struct TrailSubject {
    pub(super) who: TeamActor,
    pub(super) token: Option<TokenId>,
    pub(super) address: IpAddr,
    pub(super) palace: Option<String>,
}

/// The audit log, as requests write to it.
#[derive(Clone)]
pub(super) struct AuditTrail {
    log: Arc<AuditLog>,
    clock: TeamClock,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl AuditTrail {
    /// Makes the trail. What cannot be recorded is said in the server's log.
    pub(super) fn new(log: Arc<AuditLog>, clock: TeamClock, say: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { log, clock, say }
    }

    /// Returns the log.
    pub(super) fn log(&self) -> &AuditLog {
        &self.log
    }

    /// Records that an act is about to begin, and returns once that is durable. An error refuses the act.
    pub(super) fn begin(&self, from: &TrailSubject, act: AuditAct, subject: AuditSubject) -> Result<()> {
        let ticket = self
            .log
            .append(self.record(from, act, subject, AuditOutcome::Asked))?;
        ticket.wait_durable().map_err(|cause| {
            Error::new(ErrorKind::Unavailable, "the audit log cannot be written")
                .with_hint("nothing was done; ask whoever runs this server")
                .caused_by(cause)
        })
    }

    /// Records an act or its end. It is durable within a second; the request does not wait for that.
    pub(super) fn note(
        &self,
        from: &TrailSubject,
        act: AuditAct,
        subject: AuditSubject,
        outcome: AuditOutcome,
    ) {
        if let Err(error) = self.log.append(self.record(from, act, subject, outcome)) {
            (self.say)(&format!("the audit log cannot be written: {error}"));
        }
    }

    fn record(
        &self,
        from: &TrailSubject,
        act: AuditAct,
        subject: AuditSubject,
        outcome: AuditOutcome,
    ) -> AuditRecord {
        AuditRecord {
            token: from.token.clone(),
            address: Some(from.address),
            palace: from.palace.clone(),
            subject,
            ..AuditRecord::new((self.clock)(), from.who.clone(), act, outcome)
        }
    }
}

/// Returns how an act ended that met an error.
pub(super) fn outcome_of(error: &Error) -> AuditOutcome {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::NotFound => {
            AuditOutcome::Refused(AuditReason::from(error.kind()))
        }
        kind => AuditOutcome::Failed(AuditReason::from(kind)),
    }
}
