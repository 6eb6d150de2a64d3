//! The audit log: who did what and when, in a chain in which an edit, a gap or a missing end is noticed.

mod chain;
mod head;
mod key;
mod line;
mod log;
mod opening;
mod parts;
mod record;
mod search;
mod sync;
mod verify;

pub use head::AuditHead;
pub use key::AuditKey;
pub use log::{AuditCounters, AuditLog, AuditLogOptions};
pub use record::{AuditAct, AuditEntry, AuditOutcome, AuditReason, AuditRecord, AuditSubject};
pub use search::{AuditFilter, AuditPage, read_records};
pub use sync::AuditTicket;
pub use verify::{AuditBreak, AuditBreakKind, AuditReport, verify_log};

#[cfg(test)]
mod tests;
